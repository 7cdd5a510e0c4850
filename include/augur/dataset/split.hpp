// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_DATASET_SPLIT_HPP
#define AUGUR_DATASET_SPLIT_HPP

/// @file
/// Who is trained on, who is validated on, who is judged by.
///
/// What is drawn for a task depends on its key and the seed alone: not on the order of the logs, nor on which other tasks are there, so data sets of
/// several platforms are split alike.

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

/// Tasks by use, each list rising.
struct task_split {
    std::vector<std::uint32_t> train, validation, test;
};

/// Records by use, in the order of the draw.
struct record_split {
    std::vector<std::uint32_t> train, validation;
};

/// A workload key in which padding is a number, as some logs write it and others do not: `"VALID"` is 0, `"SAME"` at stride 1 is (kernel - 1) / 2.
/// Only keys of NNFusion's `conv2d_layer` (batch, channels, height, width, filters, kernel height and width, stride, padding) are changed.
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

/// "x/y/resnet_50.jsonl.gz" -> "resnet_50"
[[nodiscard]] inline std::string_view stem(std::string_view path) {
    if (const auto slash = path.rfind('/'); slash != std::string_view::npos) path.remove_prefix(slash + 1);
    return path.substr(0, path.find('.'));
}

/// The tasks of each normalised key.
[[nodiscard]] inline std::map<std::string, std::vector<std::uint32_t>> tasks_by_key(const dataset& data) {
    std::map<std::string, std::vector<std::uint32_t>> keys;
    for (std::uint32_t t = 0; t < data.tasks(); ++t) keys[normalised_workload_key(data.task(t).key)].push_back(t);
    return keys;
}

} // namespace detail

/// Which tasks are held out: those whose key occurs in one of `sources`, in whatever other source they are as well (paper, 6.1: by networks).
/// A source goes by its name, or by the name of its file without folders and endings.
/// Error: not_found (a source that the data set does not have).
[[nodiscard]] inline result<std::vector<bool>> held_out_by_source(const dataset& data, std::span<const std::string_view> sources) {
    std::vector<bool> held(data.sources());
    for (const std::string_view want : sources) {
        bool found = false;
        for (std::uint32_t s = 0; s < data.sources(); ++s)
            if (data.source(s) == want || detail::stem(data.source(s)) == want) held[s] = found = true;
        if (!found) return error{errc::not_found, "source '" + std::string(want) + "' is not in the data set"};
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

/// Which tasks are held out where there are no networks: those whose normalised key has an FNV-1a-64 of 0 modulo `modulo`.   pre: modulo > 0
[[nodiscard]] inline std::vector<bool> held_out_by_key(const dataset& data, std::uint64_t modulo = 5) {
    AUGUR_ASSERT(modulo > 0, "held_out_by_key: modulo");
    std::vector<bool> out(data.tasks());
    for (std::uint32_t t = 0; t < out.size(); ++t) out[t] = fnv1a64(normalised_workload_key(data.task(t).key)) % modulo == 0;
    return out;
}

/// Splits by task: those held out are the test; of the keys of the rest, a share goes to validation (rounded; at least one
/// when there are two, and below a share of 1 one at least is left to train on).
/// Tasks of one key, on several targets say, stay together.   pre: one flag a task; 0 <= share <= 1
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

/// Splits the records of `tasks` without regard to tasks, as the authors do: a permutation of all of them, whose last share is for validation. Tasks
/// are then in both, so that the validation flatters.   pre: 0 <= share <= 1
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

/// A share of each task's records (rounded, at least one), rising: few labels of a target, say.   pre: 0 <= share <= 1
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
