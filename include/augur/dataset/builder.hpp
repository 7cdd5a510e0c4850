// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_DATASET_BUILDER_HPP
#define AUGUR_DATASET_BUILDER_HPP

/// @file
/// Builder of data sets (dataset/dataset.hpp): collects records, merges equal ones, samples the records of large tasks.

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/dataset/detail/packed_ids.hpp>
#include <augur/dataset/primitive_table.hpp>
#include <augur/record/logged_schedule.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/target/machine_identity.hpp>

namespace augur::inline v0 {

/// Filters of `dataset_builder::finish`.
struct dataset_options {
    bool merge_equal = true; ///< merge the records of a task that have the same primitives; keep the smallest latency (TLP paper, section 4.3)
    bool failures = true;    ///< keep failed records
    std::size_t cap = 0;     ///< limit on the records of a task, sampled at random; 0: no limit
    std::uint64_t seed = 0;  ///< seed of that sample
};

/// Collects records and builds a data set. For parallel reading each thread fills its own builder; `merge` in the order of the sources then gives the
/// same result as one thread.
///
/// Cost        24 bytes per record and 3 bytes per primitive; `add` is linear in its primitives
/// Threads     one thread per builder
class dataset_builder {
public:
    /// Returns the number of a task, without a machine, and adds the task if it is new. Error: limit (2^32 tasks or names).
    [[nodiscard]] result<std::uint32_t> task(std::string_view key, std::string_view target, const std::array<std::int64_t, 8>& hardware) {
        return add_task(key, target, hardware, {});
    }

    /// Returns the number of the same task on a machine, and adds it if it is new: one kernel on two machines is two tasks. Error: limit.
    /// pre: `task` comes from this builder
    [[nodiscard]] result<std::uint32_t> on(std::uint32_t task, const machine_identity& machine) {
        AUGUR_ASSERT(task < tasks_.size(), "dataset_builder::on: task of another builder");
        const detail::task_row row = tasks_[task].row;
        const std::string key(store_.names[row.key]), target(store_.names[row.target]); // views would not survive a new name
        return add_task(key, target, row.hardware, machine == machine_identity{} ? std::string() : to_text(machine));
    }

    /// Returns the number of a source (a network, a file) and adds the source if it is new.
    [[nodiscard]] std::uint32_t source(std::string_view name) { return store_.sources.intern(name); }

    /// Table that gives the ids for `add`.
    [[nodiscard]] primitive_table& primitives() noexcept { return store_.primitives; }

    /// Adds a record of ids from `primitives()`.
    ///
    /// A record with status ok is refused and counted in the report if its latency is NaN, infinite, zero or negative. The latency of a failed record
    /// is ignored.
    /// Errors: limit (2^32 records, 2^44 ids, 2^24 distinct primitives, a schedule of 2^20 primitives).
    /// pre: task, source and ids come from this builder
    [[nodiscard]] result<void> add(std::uint32_t task, std::uint32_t source, std::span<const primitive_id> ids, double seconds, outcome status) {
        AUGUR_ASSERT(task < tasks_.size() && source < store_.sources.size(), "dataset_builder::add: task or source of another builder");
        // Also for a record that is refused below: the source contains the task, whatever the outcome of the tuning.
        insert_sorted(tasks_[task].sources, source);
        if (status == outcome::ok && !std::isfinite(seconds)) return ++report_.not_finite, result<void>();
        if (status == outcome::ok && !(seconds > 0)) return ++report_.not_positive, result<void>();
        if (ids.size() > detail::id_list::longest)
            return error{errc::limit, "expected a schedule of at most " + std::to_string(detail::id_list::longest) + " primitives, got " +
                                          std::to_string(ids.size())};
        if (store_.primitives.size() > detail::packed_id::most) return too_many_distinct();
        const auto place = reserve(ids.size());
        if (!place) return place.error();
        std::transform(ids.begin(), ids.end(), store_.blocks.at(*place), detail::packed_id::pack);
        rows_.push_back({detail::id_list::make(*place, ids.size()), status == outcome::ok ? seconds : infinity, task, status});
        ++report_.added;
        return {};
    }

    /// Adds a schedule with the mean latency of its repeats; one that ran and has no latency (`outcome::unstable`) is refused and counted as above.
    /// Errors: as above, and those of `intern`; invalid_argument for a step list that is the log form of another schedule type: see `add_trials`.
    template <class S>
    [[nodiscard]] result<void> add(std::uint32_t task, std::uint32_t source, const S& s, const measurement& measured) {
        augur::detail::require_schedule<S>();
        if constexpr (std::same_as<S, step_list>)
            if (auto fits = check_ansor_steps(s); !fits) return fits;
        scratch_.clear();
        if (auto done = intern(store_.primitives, s, scratch_); !done) return done;
        return add(task, source, std::span<const primitive_id>(scratch_), measured);
    }
    /// As above, with ids from `primitives()`.
    [[nodiscard]] result<void> add(std::uint32_t task, std::uint32_t source, std::span<const primitive_id> ids, const measurement& measured) {
        const double* const bad = measured.unsound();
        double latency = infinity;
        if (bad != nullptr) latency = *bad;
        else if (measured.ok())
            latency = std::accumulate(measured.seconds.begin(), measured.seconds.end(), 0.0) / static_cast<double>(measured.seconds.size());
        return add(task, source, ids, latency, measured.status == outcome::unstable ? outcome::ok : measured.status);
    }

    /// Appends the records of another builder, as if they had been added here, and empties that builder.
    /// Error: limit; this builder is then unusable.
    [[nodiscard]] result<void> merge(dataset_builder&& from) {
        dataset_builder other = std::exchange(from, dataset_builder());
        std::vector<primitive_id> ids;
        ids.reserve(other.store_.primitives.size());
        primitive_interner sink(store_.primitives, ids);
        for (primitive_id id = 0; id < other.store_.primitives.size(); ++id) other.store_.primitives.visit(id, sink);
        if (auto done = sink.finish(); !done) return done;
        if (store_.primitives.size() > detail::packed_id::most) return too_many_distinct();

        std::vector<std::uint32_t> sources(other.store_.sources.size());
        for (std::uint32_t s = 0; s < sources.size(); ++s) sources[s] = source(other.store_.sources[s]);
        std::vector<std::uint32_t> tasks(other.tasks_.size());
        for (std::size_t t = 0; t < tasks.size(); ++t) {
            const open_task& added = other.tasks_[t];
            const auto number = add_task(other.store_.names[added.row.key], other.store_.names[added.row.target], added.row.hardware,
                                         other.machine_of(static_cast<std::uint32_t>(t)));
            if (!number) return number.error();
            tasks[t] = *number;
            for (const std::uint32_t s : added.sources) insert_sorted(tasks_[*number].sources, sources[s]);
        }
        for (; !other.rows_.empty(); other.rows_.pop_front()) {
            const entry& r = other.rows_.front();
            const auto place = reserve(r.ids.length());
            if (!place) return place.error();
            const std::span<const detail::packed_id> theirs = other.ids(r);
            std::transform(theirs.begin(), theirs.end(), store_.blocks.at(*place),
                           [&](detail::packed_id id) { return detail::packed_id::pack(ids[id.get()]); });
            rows_.push_back({detail::id_list::make(*place, r.ids.length()), r.seconds, tasks[r.task], r.status});
        }
        report_.added += other.report_.added;
        report_.not_finite += other.report_.not_finite;
        report_.not_positive += other.report_.not_positive;
        return {};
    }

    /// Builds the data set. Tasks without a record after the filters are left out. O(n log n) in the records of a task; takes about as long as adding
    /// the records.
    [[nodiscard]] dataset finish(const dataset_options& options = {}) && {
        const std::vector<std::uint32_t> order = by_task();
        std::vector<bool> gone(rows_.size());
        for (std::size_t t = 0; t < tasks_.size(); ++t) {
            const std::span<const std::uint32_t> records(order.data() + tasks_[t].row.first, tasks_[t].row.last - tasks_[t].row.first);
            if (options.merge_equal) merge_equal(records, gone);
            if (!options.failures)
                for (const std::uint32_t r : records)
                    if (!gone[r] && rows_[r].status != outcome::ok) gone[r] = true, ++report_.dropped;
            if (options.cap > 0) cap(tasks_[t], records, options, gone);
        }
        close_gaps(gone);
        arrange(order, gone);
        return dataset(std::make_shared<const detail::dataset_store>(std::move(store_)));
    }

private:
    static constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max() - 1;
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    static error too_many_distinct() { return {errc::limit, "more than 2^24 distinct primitives in one data set"}; }

    /// `machine`: its text; empty: unknown.
    [[nodiscard]] result<std::uint32_t> add_task(std::string_view key, std::string_view target, const std::array<std::int64_t, 8>& hardware,
                                                 std::string_view machine) {
        if (tasks_.size() >= most || store_.names.size() >= most - 2) return error{errc::limit, "more than 2^32 - 2 tasks or names in one data set"};
        const std::uint32_t k = store_.names.intern(key);
        const std::uint32_t t = store_.names.intern(target);
        const std::uint32_t m = machine.empty() ? detail::no_machine : store_.names.intern(machine);
        std::uint64_t h = mix64((std::uint64_t{k} << 32U) | t);
        for (const std::int64_t n : hardware) h = mix64(h ^ static_cast<std::uint64_t>(n));
        if (m != detail::no_machine) h = mix64(h ^ m);
        auto at = task_index_.find(h, [&](std::uint32_t i) {
            const auto& row = tasks_[i].row;
            return row.key == k && row.target == t && row.hardware == hardware && tasks_[i].machine == m;
        });
        if (at == detail::hash_index::none) {
            at = static_cast<std::uint32_t>(tasks_.size());
            auto& row = tasks_.emplace_back().row;
            tasks_.back().machine = m;
            row.key = k;
            row.target = t;
            row.hardware = hardware;
            task_index_.insert(h, at);
        }
        return at;
    }

    /// Text of the machine of a task; empty: unknown.
    [[nodiscard]] std::string_view machine_of(std::uint32_t task) const {
        const std::uint32_t m = tasks_[task].machine;
        return m == detail::no_machine ? std::string_view() : store_.names[m];
    }

    /// Reserves space for the `n` ids of one more record. Error: limit.
    [[nodiscard]] result<std::uint64_t> reserve(std::size_t n) {
        if (rows_.size() >= most) return error{errc::limit, "more than 2^32 - 2 records in one data set"};
        const std::uint64_t place = store_.blocks.reserve(n);
        if (place + n > detail::id_list::farthest) return error{errc::limit, "more than 2^44 primitives in all records of one data set"};
        return place;
    }
    static void insert_sorted(std::vector<std::uint32_t>& list, std::uint32_t value) {
        if (const auto at = std::lower_bound(list.begin(), list.end(), value); at == list.end() || *at != value) list.insert(at, value);
    }

    struct entry {
        detail::id_list ids;
        double seconds;
        std::uint32_t task;
        outcome status;
    };
    struct open_task {
        detail::task_row row;
        std::vector<std::uint32_t> sources;
        std::uint32_t machine = detail::no_machine; ///< index into the names
    };

    /// Returns the record numbers sorted by task, stable, and sets [first, last) of each task in that order.
    [[nodiscard]] std::vector<std::uint32_t> by_task() {
        for (auto& t : tasks_) t.row.last = 0;
        for (const entry& r : rows_) ++tasks_[r.task].row.last;
        std::uint64_t at = 0;
        for (auto& t : tasks_) {
            t.row.first = at;
            at += std::exchange(t.row.last, at);
        }
        std::vector<std::uint32_t> order(rows_.size());
        std::uint32_t i = 0;
        for (const entry& r : rows_) order[static_cast<std::size_t>(tasks_[r.task].row.last++)] = i++;
        return order;
    }

    [[nodiscard]] std::span<const detail::packed_id> ids(const entry& r) const { return {store_.blocks.at(r.ids.place()), r.ids.length()}; }

    void merge_equal(std::span<const std::uint32_t> records, std::vector<bool>& gone) {
        std::vector<std::pair<std::uint64_t, std::uint32_t>> hashed;
        hashed.reserve(records.size());
        for (const std::uint32_t r : records) {
            std::uint64_t h = 0;
            for (const detail::packed_id id : ids(rows_[r])) h = mix64(h ^ id.get());
            hashed.emplace_back(h, r);
        }
        std::sort(hashed.begin(), hashed.end());
        for (std::size_t i = 0; i < hashed.size(); ++i) {
            entry& first = rows_[hashed[i].second];
            if (gone[hashed[i].second]) continue;
            for (std::size_t j = i + 1; j < hashed.size() && hashed[j].first == hashed[i].first; ++j) {
                const entry& later = rows_[hashed[j].second];
                const auto a = ids(first), b = ids(later);
                if (gone[hashed[j].second] || !std::equal(a.begin(), a.end(), b.begin(), b.end())) continue;
                if (later.seconds < first.seconds) {
                    first.seconds = later.seconds;
                    first.status = later.status;
                }
                gone[hashed[j].second] = true;
                ++report_.merged;
            }
        }
    }

    /// Samples the records that a task keeps. The sample depends on the task and the seed, not on the other tasks.
    void cap(const open_task& of, std::span<const std::uint32_t> records, const dataset_options& options, std::vector<bool>& gone) {
        std::vector<std::uint32_t> left;
        for (const std::uint32_t r : records)
            if (!gone[r]) left.push_back(r);
        if (left.size() <= options.cap) return;
        const detail::task_row& task = of.row;
        std::uint64_t h = fnv1a64(store_.names[task.target], fnv1a64(store_.names[task.key]));
        for (const std::int64_t n : task.hardware) h = mix64(h ^ static_cast<std::uint64_t>(n));
        if (of.machine != detail::no_machine) h = fnv1a64(store_.names[of.machine], h);
        random_engine(options.seed).stream(h).shuffle(std::span(left));
        for (std::size_t i = options.cap; i < left.size(); ++i) gone[left[i]] = true;
        report_.capped += left.size() - options.cap;
    }

    /// Moves the ids of the kept records to the front. A list only moves towards the front, so that the copy never overwrites a later list.
    void close_gaps(const std::vector<bool>& gone) {
        store_.blocks.rewind();
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            if (gone[i]) continue;
            const detail::id_list from = rows_[i].ids;
            const std::uint64_t place = store_.blocks.reserve(from.length());
            if (place != from.place()) std::copy_n(store_.blocks.at(from.place()), from.length(), store_.blocks.at(place));
            rows_[i].ids = detail::id_list::make(place, from.length());
        }
        store_.blocks.shrink();
    }

    /// Fills the arrays of the store in task order.
    void arrange(std::span<const std::uint32_t> order, const std::vector<bool>& gone) {
        std::size_t n = 0;
        for (const bool g : gone) n += g ? 0 : 1;
        auto& lists = store_.lists.mutable_values();
        auto& seconds = store_.seconds.mutable_values();
        auto& status = store_.status.mutable_values();
        lists.reserve(n);
        seconds.reserve(n);
        status.reserve(n);
        bool machines = false;
        std::vector<std::uint32_t> task_machines;
        for (const open_task& t : tasks_) {
            detail::task_row kept = t.row;
            kept.first = lists.size();
            for (std::size_t i = t.row.first; i < t.row.last; ++i) {
                if (gone[order[i]]) continue;
                const entry& r = rows_[order[i]];
                lists.push_back(r.ids);
                seconds.push_back(r.seconds);
                status.push_back(r.status);
                report_.failed += r.status == outcome::ok ? 0 : 1;
                report_.ids += r.ids.length();
            }
            kept.last = lists.size();
            if (kept.first == kept.last) continue;
            kept.first_source = store_.task_sources.size();
            store_.task_sources.mutable_values().insert(store_.task_sources.mutable_values().end(), t.sources.begin(), t.sources.end());
            kept.last_source = store_.task_sources.size();
            store_.tasks.mutable_values().push_back(kept);
            task_machines.push_back(t.machine);
            machines = machines || t.machine != detail::no_machine;
        }
        if (machines) store_.task_machines.mutable_values() = std::move(task_machines);
        rows_.clear();
        report_.records = n;
        report_.primitives = store_.primitives.size();
        report_.bytes = n * (sizeof(detail::id_list) + sizeof(double) + sizeof(outcome)) + report_.ids * sizeof(detail::packed_id) +
                        store_.primitives.bytes() + store_.tasks.view().size_bytes() + store_.task_sources.view().size_bytes() +
                        store_.task_machines.view().size_bytes() + store_.names.first().size_bytes() + store_.names.bytes().size_bytes() +
                        store_.sources.first().size_bytes() + store_.sources.bytes().size_bytes();
        store_.report = report_;
    }

    detail::dataset_store store_;
    std::vector<open_task> tasks_;
    detail::hash_index task_index_;
    std::deque<entry> rows_;
    std::vector<primitive_id> scratch_;
    dataset_report report_;
};

} // namespace augur::inline v0

#endif
