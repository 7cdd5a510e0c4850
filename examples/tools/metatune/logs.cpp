// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "metatune.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include <augur/core/random_engine.hpp>
#include <augur/io/ansor_log.hpp>
#include <augur/loopnest/features/schedule_nest.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/loopnest/schedule/untuned_schedule.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/session/sample_schedules.hpp>
#include <augur/target/machine_identity.hpp>

namespace metatune_program {

namespace {

using augur::errc;
using augur::error;
using augur::step_list;

/// A record of a log, with the task and steps by number.
struct log_record {
    std::uint32_t task;
    std::vector<std::uint32_t> steps;
    double seconds;
    std::string measured_by; ///< machine, compiler, flags
};

/// The records of one log. A `trial_sink`.
struct log_records {
    std::vector<augur::logged_task> tasks;
    std::vector<step_list> steps;
    std::vector<log_record> records;

    std::uint32_t task(const augur::logged_task& t) {
        tasks.push_back(t);
        return static_cast<std::uint32_t>(tasks.size()) - 1;
    }
    std::uint32_t step(const step_list& s) {
        steps.push_back(s);
        return static_cast<std::uint32_t>(steps.size()) - 1;
    }
    augur::result<void> add(const augur::record_view& r) {
        records.push_back(
            {r.task_number, {r.steps.begin(), r.steps.end()}, r.measured.latency(), augur::to_text(r.machine) + ' ' + std::string(r.flags)});
        return {};
    }
    [[nodiscard]] step_list schedule(const log_record& r) const {
        step_list out;
        for (const auto s : r.steps) out.steps.insert(out.steps.end(), steps[s].steps.begin(), steps[s].steps.end());
        return out;
    }
};

/// Keeps `most` schedules of a kernel, drawn.
void thin_out(logged_kernel& k, std::size_t most, std::uint64_t seed) {
    if (k.schedules.size() <= most) return;
    std::vector<std::size_t> order(k.schedules.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    augur::random_engine(seed).shuffle(std::span(order));
    order.resize(most);
    std::sort(order.begin(), order.end());
    logged_kernel kept{k.task, k.cores, {}, {}};
    for (const auto i : order) {
        kept.schedules.push_back(std::move(k.schedules[i]));
        kept.seconds.push_back(k.seconds[i]);
    }
    k = std::move(kept);
}

} // namespace

augur::result<log_contents> read_logs(std::span<const std::string> paths, std::span<const augur::kernel> left_out, std::size_t most,
                                      std::uint64_t seed, examples::executor& threads) {
    std::vector<log_records> logs(paths.size());
    const auto reports = augur::read_ansor_logs(paths, threads, [&](std::size_t i) -> log_records& { return logs[i]; });
    if (!reports) return reports.error();
    log_contents out;
    for (const auto& r : *reports) out.bad += r.summary.bad;
    std::map<std::string, std::optional<augur::loopnest::kernel_task>> tasks; // by workload; none: of another compiler
    std::map<std::string, std::size_t> kernels;                               // by workload and what it was measured by
    std::vector<std::unordered_map<std::uint64_t, std::size_t>> seen;         // of each kernel, by hash of the schedule
    for (const auto& log : logs)
        for (const auto& r : log.records) {
            ++out.records;
            const auto& logged = log.tasks[r.task];
            const auto [at, is_new] = tasks.try_emplace(logged.workload_key);
            if (is_new)
                if (const auto k = augur::kernel::from_workload_key(logged.workload_key)) {
                    auto made = augur::loopnest::kernel_task::create(*k, {});
                    if (made) at->second.emplace(*std::move(made));
                }
            if (!at->second) {
                ++out.foreign;
                continue;
            }
            if (std::find(left_out.begin(), left_out.end(), at->second->workload()) != left_out.end()) {
                ++out.left_out;
                continue;
            }
            const auto [number, first] = kernels.try_emplace(logged.workload_key + '\n' + logged.target + '\n' + r.measured_by, out.kernels.size());
            if (first) {
                const auto cores = std::clamp<std::int64_t>(logged.hardware[0], 1, 1 << 20); // a log may say anything
                out.kernels.push_back({*at->second, static_cast<int>(cores), {}, {}});
                seen.emplace_back();
            }
            logged_kernel& to = out.kernels[number->second];
            auto schedule = log.schedule(r);
            const auto [place, fresh] = seen[number->second].try_emplace(augur::hash_schedule(schedule), to.schedules.size());
            if (fresh) {
                to.schedules.push_back(std::move(schedule));
                to.seconds.push_back(r.seconds);
            } else {
                to.seconds[place->second] = (std::min)(to.seconds[place->second], r.seconds);
            }
        }
    if (out.kernels.empty())
        return error{errc::not_found, "the logs have no kernel of the embedded compiler: " + std::to_string(out.foreign) + " of " +
                                          std::to_string(out.records) + " records are of other compilers, " + std::to_string(out.left_out) +
                                          " left out"};
    for (auto& k : out.kernels) thin_out(k, most, seed);
    return out;
}

augur::result<metatune::super_graph> graph_of(std::span<const logged_kernel> kernels, std::span<const augur::kernel> unmeasured, std::size_t random,
                                              std::uint64_t seed, examples::executor& threads) {
    metatune::super_graph graph;
    const auto add = [&](const augur::loopnest::kernel_task& task, int cores, std::vector<step_list> schedules) -> augur::result<void> {
        augur::loopnest::ansor_options options;
        options.num_cores = cores;
        const auto named = [&](const error& e) { return error{e.code, task.workload().text() + ": " + e.detail}; };
        const auto space = augur::loopnest::ansor_space::create(task.dag(), options);
        if (!space) return named(space.error());
        for (auto& s : augur::sample_schedules(*space, random, seed)) schedules.push_back(std::move(s));
        schedules.push_back(augur::loopnest::untuned_schedule(*task.dag(), cores));      // with which every search begins
        std::vector<std::optional<augur::iterator_features>> features(schedules.size()); // none: it cannot be lowered
        threads.bulk(schedules.size(), [&](std::size_t i) {
            if (auto found = augur::loopnest::schedule_features(task, schedules[i])) features[i] = *std::move(found);
        });
        for (const auto& f : features)
            if (f)
                if (auto added = graph.add(*f, augur::schedule_rows::role); !added) return named(added.error());
        return {};
    };
    for (const logged_kernel& k : kernels)
        if (auto added = add(k.task, k.cores, k.schedules); !added) return added.error();
    for (const augur::kernel& k : unmeasured) {
        const auto task = augur::loopnest::kernel_task::create(k, {});
        if (!task) return error{task.error().code, k.text() + ": " + task.error().detail};
        if (auto added = add(*task, kernels.empty() ? 1 : kernels.front().cores, {}); !added) return added.error();
    }
    return graph;
}

std::vector<kernel_samples> samples_of(std::span<const logged_kernel> kernels, const augur::schedule_rows& rows, examples::executor& threads) {
    std::vector<kernel_samples> out(kernels.size());
    threads.bulk(kernels.size(), [&](std::size_t i) {
        const logged_kernel& k = kernels[i];
        kernel_samples& to = out[i];
        to.name = k.task.workload().text();
        for (std::size_t s = 0; s < k.schedules.size(); ++s) {
            auto loops = rows(k.task, k.schedules[s]);
            if (loops) {
                to.samples.candidates.push_back(*std::move(loops));
                to.samples.seconds.push_back(k.seconds[s]);
            } else if (to.unread++ == 0) {
                to.first_unread = loops.error().detail;
            }
        }
    });
    return out;
}

augur::result<metatune::standardisation> standardise(std::span<kernel_samples> all) {
    std::vector<const metatune::loop_rows*> from;
    for (const auto& k : all)
        for (const auto& rows : k.samples.candidates) from.push_back(&rows);
    auto columns = metatune::standardisation::fit(from);
    for (auto& k : all)
        for (auto& rows : k.samples.candidates)
            if (auto applied = columns.apply(rows); !applied) return applied.error();
    return columns;
}

} // namespace metatune_program
