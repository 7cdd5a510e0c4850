// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_TRAIN_SAMPLES_HPP
#define AUGUR_TLP_TRAIN_SAMPLES_HPP

/// @file
/// Training and evaluation samples of TLP: schedules of a data set with labels for one output or, aligned by schedule, for several platforms.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <augur/core/hash.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/dataset/split.hpp>

namespace augur::inline v0::tlp {

/// How labels are computed from records.
struct label_options {
    label_rule failures = label_rule::zero;
    /// Reference latency of a label: false: the least of the whole task; true: the least of the given records, e.g. when only a part of the task
    /// counts as measured.
    bool least_of_given = false;
};

/// Schedules with labels (N schedules, K outputs). A value.
struct training_samples {
    std::size_t outputs = 1;            ///< K
    std::vector<std::uint32_t> records; ///< (N) index of a record of the data set that has the schedule
    std::vector<std::uint32_t> groups;  ///< (N) one output: task; several: workload (normalised key) on any platform; numbered from 0, ascending
    std::vector<float> labels;          ///< (N, K) least latency / latency, 0 for a failure
    std::vector<std::uint8_t> known;    ///< (N, K) 0 for a missing label
    std::vector<double> least;          ///< (groups, K) least latency in seconds; infinity if there is none

    [[nodiscard]] std::size_t size() const { return records.size(); }
};

namespace detail {

/// Renumbers the groups that have samples as 0, 1, ..., and takes over their least latencies.
///
/// @param least  (all groups, K) least latency in seconds, by the numbers before; 1e6 or more if there is none
inline void number_groups(training_samples& samples, std::span<const double> least) {
    std::uint32_t group = 0, previous = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const std::uint32_t now = samples.groups[i];
        if (i > 0 && now != previous) ++group;
        if (i == 0 || now != previous) {
            for (std::size_t k = 0; k < samples.outputs; ++k) {
                const double low = least[now * samples.outputs + k];
                samples.least.push_back(low < 1e6 ? low : std::numeric_limits<double>::infinity());
            }
        }
        previous = now;
        samples.groups[i] = group;
    }
}

} // namespace detail

/// Makes samples for K outputs from K lists of records, one per platform.
///
/// With one output every record is a sample, grouped by task. With several outputs, records with equal schedules (the same primitives) of one
/// workload (the normalised key) become one sample with the labels of all platforms that measured it. Of two records of one platform the faster
/// counts.
///
/// pre: every index is a record of `data`
/// @param records  (K) records of each output; all records of one list have the same target, because a label compares records of one target
/// @note           O(all records and their primitives); samples are sorted by workload, then in the order of the records
[[nodiscard]] inline training_samples make_samples(const dataset& data, std::span<const std::vector<std::uint32_t>> records,
                                                   const label_options& options = {}) {
    training_samples out;
    out.outputs = records.size();
    const std::size_t outputs = out.outputs;
    const bool faithful = options.failures == label_rule::faithful;
    const auto cost = [&](std::uint32_t r) { return faithful && data.status(r) != outcome::ok ? 1e10 : data.seconds(r); };
    const double none = faithful ? 1e6 : std::numeric_limits<double>::infinity();

    std::vector<std::uint32_t> task_of(data.size());
    std::map<std::string, std::uint32_t, std::less<>> numbers; // workloads by normalised key; with one output, tasks
    std::vector<std::uint32_t> workload_of(data.tasks());
    for (std::uint32_t t = 0; t < data.tasks(); ++t) {
        const dataset_task task = data.task(t);
        std::fill(task_of.begin() + static_cast<std::ptrdiff_t>(task.first), task_of.begin() + static_cast<std::ptrdiff_t>(task.last), t);
        std::string key = outputs > 1 ? normalised_workload_key(task.key) : std::to_string(t);
        workload_of[t] = numbers.try_emplace(std::move(key), static_cast<std::uint32_t>(numbers.size())).first->second;
    }

    struct entry {
        std::uint32_t group, output, record;
        std::size_t place; ///< index in the input
    };
    std::vector<entry> entries;
    std::vector<double> least(numbers.size() * outputs, none);
    for (std::uint32_t k = 0; k < outputs; ++k) {
        for (const std::uint32_t r : records[k]) {
            AUGUR_ASSERT(r < data.size(), "make_samples: a record of another data set");
            const std::uint32_t group = workload_of[task_of[r]];
            entries.push_back({group, k, r, entries.size()});
            if (options.least_of_given) least[group * outputs + k] = (std::min)(least[group * outputs + k], cost(r));
        }
        if (options.least_of_given) continue;
        std::vector<bool> seen(data.tasks());
        for (const std::uint32_t r : records[k]) {
            const std::uint32_t t = task_of[r];
            if (seen[t]) continue;
            seen[t] = true;
            double& low = least[workload_of[t] * outputs + k];
            for (std::uint64_t i = data.task(t).first; i < data.task(t).last; ++i) low = (std::min)(low, cost(static_cast<std::uint32_t>(i)));
        }
    }
    // not std::stable_sort: clang reports a deprecated function inside libstdc++ 12's implementation
    const auto earlier = [](const entry& a, const entry& b) { return a.group != b.group ? a.group < b.group : a.place < b.place; };
    std::sort(entries.begin(), entries.end(), earlier);

    std::unordered_multimap<std::uint64_t, std::uint32_t> index; // samples of the current group by the hash of their schedule
    std::uint32_t last = 0;
    for (const entry& e : entries) {
        const auto ids = data.schedule(e.record);
        std::size_t at = out.size();
        if (outputs > 1) {
            if (out.size() > 0 && e.group != last) index.clear();
            last = e.group;
            const std::uint64_t hash = fnv1a64({reinterpret_cast<const char*>(ids.data()), ids.size_bytes()});
            const auto [from, to] = index.equal_range(hash);
            for (auto i = from; i != to && at == out.size(); ++i) {
                const auto other = data.schedule(out.records[i->second]);
                if (std::equal(ids.begin(), ids.end(), other.begin(), other.end())) at = i->second;
            }
            if (at == out.size()) index.emplace(hash, static_cast<std::uint32_t>(at));
        }
        if (at == out.size()) {
            out.records.push_back(e.record);
            out.groups.push_back(e.group);
            out.labels.resize(out.labels.size() + outputs);
            out.known.resize(out.known.size() + outputs);
        }
        const std::size_t slot = at * outputs + e.output;
        const double seconds = cost(e.record);
        const double label = std::isfinite(seconds) ? least[e.group * outputs + e.output] / seconds : 0.0;
        out.labels[slot] = out.known[slot] != 0 ? (std::max)(out.labels[slot], static_cast<float>(label)) : static_cast<float>(label);
        out.known[slot] = 1;
    }
    detail::number_groups(out, least);
    return out;
}

/// Makes samples for one output.
[[nodiscard]] inline training_samples make_samples(const dataset& data, std::span<const std::uint32_t> records, const label_options& options = {}) {
    const std::vector<std::uint32_t> one(records.begin(), records.end());
    return make_samples(data, std::span(&one, 1), options);
}

/// Indices of all records of the given tasks.
[[nodiscard]] inline std::vector<std::uint32_t> records_of(const dataset& data, std::span<const std::uint32_t> tasks) {
    std::vector<std::uint32_t> out;
    for (const std::uint32_t t : tasks) {
        AUGUR_ASSERT(t < data.tasks(), "records_of: a task");
        for (std::uint64_t r = data.task(t).first; r < data.task(t).last; ++r) out.push_back(static_cast<std::uint32_t>(r));
    }
    return out;
}

} // namespace augur::inline v0::tlp

#endif
