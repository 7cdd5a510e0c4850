// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_DATASET_SPLIT_HPP
#define AUGUR_DATASET_SPLIT_HPP

/// @file
/// Splits of a data set into training, validation and test tasks or records.
///
/// The random choice for a task depends only on its workload key and the seed. It does not depend on the order of the logs or on the other tasks, so
/// that data sets of several platforms have the same split.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/number.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/dataset/dataset.hpp>

namespace augur::inline v0 {

/// Task numbers of each part, in ascending order.
struct task_split {
    std::vector<std::uint32_t> train, validation, test;
};

/// Record numbers of each part, in random order.
struct record_split {
    std::vector<std::uint32_t> train, validation;
};

/// Workload key with numeric padding. Some logs write padding as a number, others as text: `"VALID"` becomes 0, and `"SAME"` at stride 1 becomes
/// (kernel - 1) / 2. Only keys of NNFusion's `conv2d_layer` change (batch, channels, height, width, filters, kernel height and width, stride,
/// padding); other keys are returned unchanged.
[[nodiscard]] inline std::string normalised_workload_key(std::string_view key) {
    constexpr std::string_view head = "[\"conv2d_layer\", ", valid = ", \"VALID\"]", same = ", \"SAME\"]";
    if (!key.starts_with(head)) return std::string(key);
    if (key.ends_with(valid)) return std::string(key.substr(0, key.size() - valid.size())) + ", 0]";
    if (!key.ends_with(same)) return std::string(key);
    std::string_view rest = key.substr(head.size(), key.size() - head.size() - same.size());
    std::array<std::int64_t, 8> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto comma = rest.find(", ");
        const auto n = parse_int(rest.substr(0, comma));
        if (!n || (comma == std::string_view::npos) != (i + 1 == numbers.size())) return std::string(key);
        numbers[i] = *n;
        if (comma != std::string_view::npos) rest.remove_prefix(comma + 2);
    }
    if (numbers[7] != 1 || numbers[5] != numbers[6] || numbers[5] < 1 || numbers[5] % 2 == 0) return std::string(key);
    return std::string(key.substr(0, key.size() - same.size())) + ", " + std::to_string((numbers[5] - 1) / 2) + "]";
}

namespace detail {

/// File name without folders and extensions: "x/y/resnet_50.jsonl.gz" -> "resnet_50".
[[nodiscard]] inline std::string_view stem(std::string_view path) {
    if (const auto slash = path.rfind('/'); slash != std::string_view::npos) path.remove_prefix(slash + 1);
    return path.substr(0, path.find('.'));
}

/// Task numbers of each normalised workload key.
[[nodiscard]] inline std::map<std::string, std::vector<std::uint32_t>> tasks_by_key(const dataset& data) {
    std::map<std::string, std::vector<std::uint32_t>> keys;
    for (std::uint32_t t = 0; t < data.tasks(); ++t) keys[normalised_workload_key(data.task(t).key)].push_back(t);
    return keys;
}

} // namespace detail

/// One flag per task: true for the tasks whose normalised key occurs in one of `sources`, also if the key occurs in other sources (TLP paper, section
/// 6.1: hold-out by network). A source matches by its full name or by its file name without folders and extensions.
/// Error: not_found (a source that is not in the data set).
[[nodiscard]] inline result<std::vector<bool>> held_out_by_source(const dataset& data, std::span<const std::string_view> sources) {
    std::vector<bool> held(data.sources());
    for (const std::string_view name : sources) {
        bool found = false;
        for (std::uint32_t s = 0; s < data.sources(); ++s)
            if (data.source(s) == name || detail::stem(data.source(s)) == name) held[s] = found = true;
        if (!found) return error{errc::not_found, "expected a source of the data set, got '" + std::string(name) + "'"};
    }
    std::vector<bool> out(data.tasks());
    for (const auto& [key, tasks] : detail::tasks_by_key(data)) {
        bool any = false;
        for (const std::uint32_t t : tasks)
            for (const std::uint32_t s : data.task(t).sources) any = any || held[s];
        for (const std::uint32_t t : tasks) out[t] = any;
    }
    return out;
}

/// One flag per task: true if the FNV-1a-64 hash of the normalised key is 0 modulo `modulo`. For data sets without network names.
/// pre: modulo > 0
[[nodiscard]] inline std::vector<bool> held_out_by_key(const dataset& data, std::uint64_t modulo = 5) {
    AUGUR_ASSERT(modulo > 0, "held_out_by_key: modulo");
    std::vector<bool> out(data.tasks());
    for (std::uint32_t t = 0; t < out.size(); ++t) out[t] = fnv1a64(normalised_workload_key(data.task(t).key)) % modulo == 0;
    return out;
}

/// Splits by task. The tasks held out are the test set. `validation_share` of the remaining keys, rounded, are for validation: at least one key if
/// there are two or more and the share is above 0; at least one key is left for training if the share is below 1. Tasks with the same key, for
/// example on several targets, are in the same part.
/// pre: one flag per task; 0 <= validation_share <= 1
[[nodiscard]] inline task_split split_tasks(const dataset& data, const std::vector<bool>& held_out, double validation_share = 0.1,
                                            std::uint64_t seed = 0) {
    AUGUR_ASSERT(held_out.size() == data.tasks() && validation_share >= 0 && validation_share <= 1, "split_tasks: one flag a task, a share");
    task_split split;
    std::vector<std::pair<std::uint64_t, std::vector<std::uint32_t>>> rest;
    for (auto& [key, tasks] : detail::tasks_by_key(data)) {
        std::vector<std::uint32_t> kept;
        for (const std::uint32_t t : tasks) held_out[t] ? split.test.push_back(t) : kept.push_back(t);
        if (!kept.empty()) rest.emplace_back(mix64(fnv1a64(key) ^ mix64(seed)), std::move(kept));
    }
    std::sort(rest.begin(), rest.end());
    auto n = static_cast<std::size_t>(std::llround(validation_share * static_cast<double>(rest.size())));
    if (n == 0 && validation_share > 0 && rest.size() >= 2) n = 1;
    if (n == rest.size() && validation_share < 1 && n > 0) --n;
    for (std::size_t i = 0; i < rest.size(); ++i) {
        auto& to = i < n ? split.validation : split.train;
        to.insert(to.end(), rest[i].second.begin(), rest[i].second.end());
    }
    for (auto* list : {&split.train, &split.validation, &split.test}) std::sort(list->begin(), list->end());
    return split;
}

/// Splits the records of `tasks` at random, as in the TLP authors' code: the last `validation_share` of a permutation of all records is for
/// validation. A task then has records in both parts, so that the validation score is optimistic.
/// pre: 0 <= validation_share <= 1
[[nodiscard]] inline record_split split_records(const dataset& data, std::span<const std::uint32_t> tasks, double validation_share = 0.1,
                                                std::uint64_t seed = 0) {
    AUGUR_ASSERT(validation_share >= 0 && validation_share <= 1, "split_records: a share");
    record_split split;
    for (const std::uint32_t t : tasks)
        for (std::uint64_t r = data.task(t).first; r < data.task(t).last; ++r) split.train.push_back(static_cast<std::uint32_t>(r));
    augur::random_engine(seed).shuffle(std::span(split.train));
    auto n = static_cast<std::size_t>((1 - validation_share) * static_cast<double>(split.train.size()));
    if (n == 0 && validation_share < 1 && !split.train.empty()) n = 1;
    split.validation.assign(split.train.begin() + static_cast<std::ptrdiff_t>(n), split.train.end());
    split.train.resize(n);
    return split;
}

/// Samples a share of the records of each task (rounded, at least one) and returns the record numbers in ascending order. Example: a target platform
/// with few labels.
/// pre: 0 <= share <= 1
[[nodiscard]] inline std::vector<std::uint32_t> draw_records(const dataset& data, std::span<const std::uint32_t> tasks, double share,
                                                             std::uint64_t seed = 0) {
    AUGUR_ASSERT(share >= 0 && share <= 1, "draw_records: a share");
    std::vector<std::uint32_t> drawn;
    for (const std::uint32_t t : tasks) {
        const dataset_task task = data.task(t);
        std::vector<std::uint32_t> records;
        for (std::uint64_t r = task.first; r < task.last; ++r) records.push_back(static_cast<std::uint32_t>(r));
        augur::random_engine(seed).stream(fnv1a64(normalised_workload_key(task.key))).shuffle(std::span(records));
        const auto n = std::llround(share * static_cast<double>(records.size()));
        records.resize((std::min)(records.size(), static_cast<std::size_t>((std::max)(1LL, n))));
        std::sort(records.begin(), records.end());
        drawn.insert(drawn.end(), records.begin(), records.end());
    }
    std::sort(drawn.begin(), drawn.end());
    return drawn;
}

} // namespace augur::inline v0

#endif
