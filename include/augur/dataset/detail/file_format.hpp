// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_DATASET_DETAIL_FILE_FORMAT_HPP
#define AUGUR_DATASET_DETAIL_FILE_FORMAT_HPP

/// @file
/// Header and arrays of a data set file (dataset/file.hpp), and the consistency checks of its records and tasks.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <augur/core/hash.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/dataset/detail/packed_ids.hpp>
#include <augur/dataset/detail/xxh64.hpp>
#include <augur/dataset/primitive_table.hpp>
#include <augur/record/measurement.hpp>

namespace augur::inline v0::detail {

inline constexpr std::size_t dataset_sections = 17;
/// Version of a file. The schemas of the versions differ. Version 1 had ids of four bytes.
inline constexpr std::uint32_t dataset_version = 2;               ///< no task has a machine
inline constexpr std::uint32_t dataset_version_with_machines = 3; ///< `task_machines` follows, one element per task

/// Header of a data set file, as it is stored.
struct dataset_head {
    std::array<char, 8> magic{'A', 'U', 'G', 'U', 'R', 'S', 'E', 'T'};
    std::uint32_t version = dataset_version;
    std::uint32_t byte_order = 0x01020304;
    std::uint64_t schema = 0;
    std::uint64_t size = 0;                               ///< bytes of the file
    std::uint64_t content = 0;                            ///< hash of `counts` and of all bytes after the header
    std::uint64_t origin = 0;                             ///< number given by the caller
    std::array<std::uint64_t, dataset_sections> counts{}; ///< elements of each array
    std::uint64_t seal = 0;                               ///< hash of the fields above

    [[nodiscard]] std::uint64_t seal_of() const {
        xxh64 hash;
        hash.add(this, offsetof(dataset_head, seal));
        return hash.value();
    }
};
static_assert(std::has_unique_object_representations_v<dataset_head> && sizeof(dataset_head) % 8 == 0);

/// Arrays of a file in file order.
struct dataset_arrays {
    std::span<const std::uint64_t> report;
    std::span<const std::uint64_t> text_first;
    std::span<const char> text_bytes;
    std::span<const std::uint32_t> kinds;
    std::span<const std::uint32_t> item_first;
    std::span<const item_tag> tags;
    std::span<const std::int64_t> words;
    std::span<const std::uint64_t> name_first;
    std::span<const char> name_bytes;
    std::span<const std::uint64_t> source_first;
    std::span<const char> source_bytes;
    std::span<const task_row> tasks;
    std::span<const std::uint32_t> task_sources;
    std::span<const double> seconds;
    std::span<const outcome> status;
    std::span<const id_list> lists;
    std::span<const packed_id> ids;
    std::span<const std::uint32_t> task_machines; ///< behind the others, and without a count: that of `tasks`

    /// Calls `f(name, span)` for each array but `task_machines` until f returns false. While a file is written, `lists` and `ids` are empty: `emit` computes them.
    template <class A, class F>
    static constexpr bool each(A& a, F&& f) {
        return f("report", a.report) && f("text_first", a.text_first) && f("text_bytes", a.text_bytes) && f("kinds", a.kinds) &&
               f("item_first", a.item_first) && f("tags", a.tags) && f("words", a.words) && f("name_first", a.name_first) &&
               f("name_bytes", a.name_bytes) && f("source_first", a.source_first) && f("source_bytes", a.source_bytes) && f("tasks", a.tasks) &&
               f("task_sources", a.task_sources) && f("seconds", a.seconds) && f("status", a.status) && f("lists", a.lists) && f("ids", a.ids);
    }
};
static_assert(std::has_unique_object_representations_v<task_row> && sizeof(id_list) == 8 && sizeof(outcome) == 1 && sizeof(item_tag) == 1);

using report_numbers = std::array<std::uint64_t, sizeof(dataset_report) / sizeof(std::uint64_t)>;

[[nodiscard]] constexpr std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) & ~std::uint64_t{7}; }

/// Header with the schema, counts and size of a file of `arrays`, with `lists` and `ids` elements in the arrays of these names.
inline dataset_head head_of(const dataset_arrays& arrays, std::uint64_t lists, std::uint64_t ids, std::uint32_t version) {
    dataset_head head;
    head.version = version;
    head.schema = fnv1a64("augur data set");
    head.size = sizeof head;
    std::size_t i = 0;
    dataset_arrays::each(arrays, [&]<class T>(std::string_view name, std::span<const T> s) {
        const std::uint64_t count = name == "lists" ? lists : name == "ids" ? ids : s.size();
        head.schema = fnv1a64(std::to_string(sizeof(T)), fnv1a64(name, head.schema));
        head.size += padded(count * sizeof(T));
        head.counts[i++] = count;
        return true;
    });
    if (version == dataset_version_with_machines) {
        head.schema = fnv1a64("4", fnv1a64("task_machines", head.schema));
        head.size += padded(arrays.tasks.size() * sizeof(std::uint32_t));
    }
    return head;
}

/// Fault of the records, of which a hash that matches does not guarantee the consistency; empty: none.
inline std::string fault_of_records(const dataset_arrays& a) {
    const std::uint64_t records = a.lists.size();
    if (a.seconds.size() != records || a.status.size() != records)
        return "expected one latency and one outcome for each of " + std::to_string(records) + " records";
    std::uint64_t place = 0;
    for (std::size_t r = 0; r < records; ++r) {
        const bool ok = a.status[r] == outcome::ok;
        const bool latency = ok ? std::isfinite(a.seconds[r]) && a.seconds[r] > 0 : a.seconds[r] == std::numeric_limits<double>::infinity();
        if (a.status[r] > outcome::unstable || !latency) return "record " + std::to_string(r) + ": the outcome and the latency contradict each other";
        if (a.lists[r].place() != place || a.lists[r].length() > a.ids.size() - place)
            return "record " + std::to_string(r) + ": expected its primitives directly after those of the previous record";
        place += a.lists[r].length();
    }
    if (place != a.ids.size()) return "expected " + std::to_string(place) + " primitive ids, got " + std::to_string(a.ids.size());
    for (const packed_id id : a.ids)
        if (id.get() >= a.kinds.size())
            return "expected a primitive id below " + std::to_string(a.kinds.size()) + ", got " + std::to_string(id.get());
    return {};
}

/// Fault of the tasks, which partition the records and the sources; empty: none.
inline std::string fault_of_tasks(const dataset_arrays& a, std::size_t names, std::size_t sources) {
    std::uint64_t record = 0, source = 0;
    for (std::size_t t = 0; t < a.tasks.size(); ++t) {
        const task_row& row = a.tasks[t];
        if (row.key >= names || row.target >= names || row.first != record || row.last <= row.first || row.last > a.lists.size() ||
            row.first_source != source || row.last_source < source || row.last_source > a.task_sources.size())
            return "task " + std::to_string(t) + ": expected its records and sources directly after those of the previous task";
        record = row.last;
        source = row.last_source;
    }
    for (const std::uint32_t m : a.task_machines)
        if (m >= names && m != no_machine)
            return "expected the number of a name below " + std::to_string(names) + " as machine, got " + std::to_string(m);
    if (record != a.lists.size() || source != a.task_sources.size()) return "the last records or sources belong to no task";
    for (const std::uint32_t n : a.task_sources)
        if (n >= sources) return "expected a source number below " + std::to_string(sources) + ", got " + std::to_string(n);
    return {};
}

} // namespace augur::inline v0::detail

#endif
