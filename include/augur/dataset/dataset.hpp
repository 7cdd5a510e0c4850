// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_DATASET_DATASET_HPP
#define AUGUR_DATASET_DATASET_HPP

/// @file
/// In-memory data set of measured schedules, grouped by tuning task (built by dataset/builder.hpp). A record is a list of primitive ids, a latency
/// and an outcome.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/dataset/detail/packed_ids.hpp>
#include <augur/dataset/primitive_table.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/concepts.hpp>

namespace augur::inline v0 {

/// One task of a data set. The views are valid as long as the data set.
struct dataset_task {
    std::string_view key;                   ///< workload key
    std::string_view target;                ///< TVM target string
    std::array<std::int64_t, 8> hardware{}; ///< TVM's HardwareParams
    std::uint64_t first = 0, last = 0;      ///< the records of the task are [first, last)
    std::span<const std::uint32_t> sources; ///< sources that contain the task, for example networks, in ascending order
    std::string_view machine;               ///< text of the `machine_identity` that measured it; `{}`: unknown
};

/// Record counts of a data set and of its construction.
struct dataset_report {
    std::uint64_t added = 0;        ///< records that `add` accepted
    std::uint64_t records = 0;      ///< records in the data set
    std::uint64_t failed = 0;       ///< records in the data set with an outcome other than ok
    std::uint64_t not_finite = 0;   ///< records refused: the outcome is ok, and the latency is NaN, infinite or missing
    std::uint64_t not_positive = 0; ///< records refused: the outcome is ok, and the latency is zero or negative
    std::uint64_t merged = 0;       ///< records merged into an earlier record of the same task with the same primitives
    std::uint64_t capped = 0;       ///< records left out by `dataset_options::cap`
    std::uint64_t dropped = 0;      ///< failed records left out by `dataset_options::failures`
    std::uint64_t primitives = 0;   ///< distinct primitives in the table
    std::uint64_t ids = 0;          ///< sum of the schedule lengths of all records, in primitives
    std::uint64_t bytes = 0;        ///< size of all arrays of the data set

    [[nodiscard]] double bytes_a_record() const { return records == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(records); }
    friend bool operator==(const dataset_report&, const dataset_report&) = default;
};

namespace detail {

/// Stored form of a task.
struct task_row {
    std::array<std::int64_t, 8> hardware{};
    std::uint64_t first = 0, last = 0;               ///< range of records
    std::uint64_t first_source = 0, last_source = 0; ///< range in `dataset_store::task_sources`
    std::uint32_t key = 0, target = 0;               ///< indices into `dataset_store::names`
};

inline constexpr std::uint32_t no_machine = (std::numeric_limits<std::uint32_t>::max)();

/// Arrays of a data set. They are owned or are views of the file that `mapping` keeps mapped. The ids are in `blocks` or at `mapped_ids`.
struct dataset_store {
    primitive_table primitives;
    text_pool names;
    text_pool sources;
    column<task_row> tasks;
    column<std::uint32_t> task_sources;
    column<std::uint32_t> task_machines; ///< per task: index into `names`, or `no_machine`; empty: no task has one
    column<id_list> lists;
    column<double> seconds;
    column<outcome> status;
    id_blocks blocks;
    const packed_id* mapped_ids = nullptr;
    std::shared_ptr<const void> mapping;
    dataset_report report;
};

} // namespace detail

/// Schedule view of a record. The table must outlive the view.
struct recorded_schedule {
    const primitive_table* table;
    primitive_ids ids;

    template <schedule_sink K>
    void visit(K& sink) const {
        interned_schedule{table, ids}.visit(sink);
    }
};
static_assert(schedule<recorded_schedule>);

/// Immutable records grouped by task. A `dataset` is a handle: copies share the arrays, which are in memory or in a mapped file (dataset/file.hpp).
///
/// Order       tasks in order of first appearance; the records of a task are contiguous, in the order in which they were added
/// Cost        17 bytes per record and 3 bytes per primitive of a record; a call is O(1), or linear in the schedule it returns
/// Threads     all calls are thread-safe
class dataset {
public:
    dataset() : store_(std::make_shared<const detail::dataset_store>()) {}
    explicit dataset(std::shared_ptr<const detail::dataset_store> store) : store_(std::move(store)) {}

    [[nodiscard]] std::size_t size() const noexcept { return store_->lists.size(); }
    [[nodiscard]] std::size_t tasks() const noexcept { return store_->tasks.size(); }
    [[nodiscard]] dataset_task task(std::size_t t) const {
        const detail::task_row& row = store_->tasks[t];
        const std::uint32_t machine = store_->task_machines.size() == 0 ? detail::no_machine : store_->task_machines[t];
        return {store_->names[row.key],
                store_->names[row.target],
                row.hardware,
                row.first,
                row.last,
                store_->task_sources.view().subspan(static_cast<std::size_t>(row.first_source),
                                                    static_cast<std::size_t>(row.last_source - row.first_source)),
                machine == detail::no_machine ? std::string_view("{}") : store_->names[machine]};
    }
    /// Primitive ids of a record in schedule order.
    [[nodiscard]] primitive_ids schedule(std::size_t record) const { return primitive_ids(packed(record)); }
    /// Mean of the repeats in seconds, as in the TLP authors' code; infinity for a failed record.
    [[nodiscard]] double seconds(std::size_t record) const noexcept { return store_->seconds[record]; }
    [[nodiscard]] outcome status(std::size_t record) const noexcept { return store_->status[record]; }

    [[nodiscard]] const primitive_table& primitives() const noexcept { return store_->primitives; }
    /// Schedule view of a record.
    [[nodiscard]] recorded_schedule visit(std::size_t record) const { return {&store_->primitives, schedule(record)}; }

    [[nodiscard]] std::size_t sources() const noexcept { return store_->sources.size(); }
    [[nodiscard]] std::string_view source(std::uint32_t s) const { return store_->sources[s]; }
    [[nodiscard]] const dataset_report& report() const noexcept { return store_->report; }

private:
    friend struct dataset_file_access;
    [[nodiscard]] std::span<const detail::packed_id> packed(std::size_t record) const {
        const detail::id_list list = store_->lists[record];
        return {store_->mapped_ids != nullptr ? store_->mapped_ids + list.place() : store_->blocks.at(list.place()), list.length()};
    }
    std::shared_ptr<const detail::dataset_store> store_;
};

/// Label of a failed record.
enum class label_rule : std::uint8_t {
    zero,     ///< 0. All labels of a task without a valid record are 0
    faithful, ///< as in the TLP authors' code: a failure has a latency of 1e10 s, and the minimum is at most 1e6 s
};

/// Training labels of the records of one task, in record order.
struct task_labels {
    double min_seconds = 0;     ///< smallest latency in seconds; infinity (faithful: 1e6) if every record failed
    std::vector<double> values; ///< min_seconds / latency, in [0, 1]
};

/// Computes the labels of a task. Linear in its records.
[[nodiscard]] inline task_labels labels(const dataset& data, std::size_t task, label_rule rule = label_rule::zero) {
    const dataset_task t = data.task(task);
    const bool faithful = rule == label_rule::faithful;
    const auto cost = [&](std::uint64_t r) { return faithful && data.status(r) != outcome::ok ? 1e10 : data.seconds(r); };
    task_labels out;
    out.min_seconds = faithful ? 1e6 : std::numeric_limits<double>::infinity();
    for (std::uint64_t r = t.first; r < t.last; ++r) out.min_seconds = (std::min)(out.min_seconds, cost(r));
    out.values.reserve(t.last - t.first);
    for (std::uint64_t r = t.first; r < t.last; ++r) out.values.push_back(std::isinf(cost(r)) ? 0 : out.min_seconds / cost(r));
    return out;
}

} // namespace augur::inline v0

#endif
