// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DEMONSTRATIONS_HPP
#define AUGUR_SESSION_DEMONSTRATIONS_HPP

/// @file
/// Tuning logs as sentences that a language model is fine-tuned on. Empty without the component tlm (AUGUR_HAS_TLM).

#ifdef AUGUR_HAS_TLM

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/space/concepts.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/sentence.hpp>
#include <augur/workload/kernel.hpp>

namespace augur::inline v0 {

/// What was read of the logs.
struct log_demonstrations {
    dataset sentences;        ///< a corpus of TLM, with latencies
    std::size_t records = 0;  ///< read
    std::size_t foreign = 0;  ///< of kernels that `loopnest` does not have
    std::size_t left_out = 0; ///< of kernels that were to be passed over
    std::size_t outside = 0;  ///< no points of the search spaces here
    std::size_t damaged = 0;  ///< lines

    [[nodiscard]] std::string text() const {
        return std::to_string(sentences.size()) + " sentences of " + std::to_string(sentences.tasks()) + " kernels; of " + std::to_string(records) +
               " records " + std::to_string(foreign) + " of other compilers, " + std::to_string(left_out) + " left out, " + std::to_string(outside) +
               " no points of the spaces here, " + std::to_string(damaged) + " damaged lines";
    }
};

/// Sentences of the `best` fastest schedules of each kernel and machine in tuning logs, of any machine: its words are in the prompt.
///
/// @param left_out  kernels whose records are passed over, for example those that a model is tested with
/// Errors  those of the logs; not_found: they have no schedule of the search spaces here
[[nodiscard]] inline result<log_demonstrations> read_demonstrations(std::span<const std::string> logs, std::size_t best,
                                                                    std::span<const kernel> left_out = {}) {
    struct tuned_kernel {
        loopnest::ansor_space space;
        std::vector<std::pair<double, decision_vector>> points;
    };
    log_demonstrations out;
    std::map<std::string, std::optional<loopnest::kernel_task>> tasks; // by workload key; none: of another compiler
    std::map<std::string, std::optional<tuned_kernel>> kernels;        // by prompt; none: without a space
    for (const auto& path : logs) {
        auto reader = log_reader::open(path);
        if (!reader) return reader.error();
        for (record r;;) {
            const auto more = reader->next(r);
            if (!more) return more.error();
            if (!*more) break;
            ++out.records;
            const auto [known, first_record] = tasks.try_emplace(r.task.workload_key);
            auto& task = known->second;
            if (first_record)
                if (const auto k = kernel::from_workload_key(r.task.workload_key)) {
                    auto made = loopnest::kernel_task::create(*k, {});
                    if (made) task.emplace(*std::move(made));
                }
            if (!task) {
                ++out.foreign;
                continue;
            }
            if (std::find(left_out.begin(), left_out.end(), task->workload()) != left_out.end()) {
                ++out.left_out;
                continue;
            }
            const auto [at, is_new] = kernels.try_emplace(tlm::prompt_text(*task, r.machine));
            if (is_new) {
                loopnest::ansor_options options;
                options.num_cores = std::clamp<std::int64_t>(r.task.hardware[0], 1, 1 << 20); // a log may say anything
                if (auto space = loopnest::ansor_space::create(task->dag(), options)) at->second.emplace(tuned_kernel{*std::move(space), {}});
            }
            if (!at->second || !r.measured.ok()) continue;
            auto point = at->second->space.decide(r.schedule);
            if (point) at->second->points.emplace_back(r.measured.latency(), *std::move(point));
            else ++out.outside;
        }
        out.damaged += reader->summary().bad;
    }
    dataset_builder to;
    const auto source = to.source("logs");
    for (auto& [prompt, kernel] : kernels) {
        if (!kernel) continue;
        std::sort(kernel->points.begin(), kernel->points.end());
        std::set<decision_vector> taken; // a schedule may have several records
        for (const auto& [seconds, point] : kernel->points) {
            if (taken.size() == best) break;
            if (!taken.insert(point).second) continue;
            if (auto added = tlm::add_sentence(to, source, prompt, kernel->space, point, seconds); !added) return added.error();
        }
    }
    out.sentences = std::move(to).finish();
    if (out.sentences.size() == 0) return error{errc::not_found, "the logs have no schedule of the search spaces here: " + out.text()};
    return out;
}

} // namespace augur::inline v0

#endif // AUGUR_HAS_TLM

#endif
