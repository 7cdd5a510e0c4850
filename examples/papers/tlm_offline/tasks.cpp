// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlm_offline.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include <augur/core/random_engine.hpp>
#include <augur/io/ansor_log.hpp>
#include <augur/io/loopnest/tvm_dag.hpp>
#include <augur/io/trial_sink.hpp>
#include <augur/loopnest/ir/dag_class.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/record/ansor_line.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/space/walk.hpp>
#include <augur/target/machine.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/tlm/sentence.hpp>
#include <augur/workload/class_levels.hpp>
#include <augur/workload/kernel.hpp>

#include "console.hpp"
#include "task_dags.hpp"

namespace tlm_offline {

namespace {

using augur::errc;
using augur::error;
using augur::result;

constexpr std::array<std::string_view, 3> test_networks{"resnet_50", "mobilenet_v2", "resnext_50"}; // the image networks of the TLP paper

/// Keeps the records of a log that have a latency, their steps by number: written out, those of all logs would take a gigabyte.
struct log_sink {
    struct entry {
        std::uint32_t task;
        double seconds;
        std::vector<std::uint32_t> steps;
    };
    std::vector<augur::logged_task> tasks{};
    std::vector<augur::step_list> steps{};
    std::vector<entry> entries{};
    std::size_t failed = 0;

    std::uint32_t task(const augur::logged_task& one) { return tasks.push_back(one), static_cast<std::uint32_t>(tasks.size() - 1); }
    std::uint32_t step(const augur::step_list& one) { return steps.push_back(one), static_cast<std::uint32_t>(steps.size() - 1); }
    result<void> add(const augur::record_view& r) {
        const double seconds = r.measured.latency();
        if (std::isfinite(seconds)) entries.push_back({r.task_number, seconds, std::vector<std::uint32_t>(r.steps.begin(), r.steps.end())});
        else ++failed;
        return {};
    }
};
static_assert(augur::trial_sink<log_sink>);

/// A task of the logs before its DAG is known.
struct logged_records {
    recorded_task task;
    std::string key;
    std::vector<std::pair<std::size_t, std::size_t>> places; ///< log and entry of each record
};

/// What a prompt tells of a logged task: its key has the shapes, and its compute DAG the operations.
struct told_task {
    std::string workload, operations;
    [[nodiscard]] std::string_view key() const noexcept { return workload; }
    [[nodiscard]] std::string_view kernel_class() const noexcept { return operations; }
};

/// A latency that a language model can learn: one sketch and one limit of unrolling are fast in all kernels. The sketch is not the one with the
/// fewest decisions, so that a model that has learned nothing does not prefer it.
double made_up_seconds(const augur::decision_path& path) {
    double seconds = 1e-3;
    for (std::size_t i = 0; i < path.values.size(); ++i) {
        if (path.decisions[i].kind == augur::decision_kind::sketch && path.values[i] != 1) seconds *= 3;
        if (path.decisions[i].kind == augur::decision_kind::unroll && path.values[i] != 2) seconds *= 2;
    }
    return seconds * (1 + 0.01 * augur::random_engine(augur::hash_decisions(path.values)).uniform()); // no two are equal
}

/// Errors: those of the kernel and its space
result<recorded_task> made_up_task(std::string name, augur::random_engine rng) {
    constexpr std::size_t most = 96; // points
    recorded_task made;
    made.name = std::move(name);
    const auto workload = augur::kernel::parse(made.name);
    if (!workload) return workload.error();
    const auto task = augur::loopnest::kernel_task::create(*workload, augur::hardware_params{});
    if (!task) return task.error();
    made.prompt = tlm::prompt_text(*task, augur::machine_identity{});
    made.dag = task->dag();
    const auto space = ansor_space::create(made.dag, made.options);
    if (!space) return space.error();
    const auto points = std::make_shared<std::vector<decision_vector>>();
    std::set<decision_vector> seen;
    for (std::size_t tries = 0; tries < 10 * most && points->size() < most; ++tries) {
        const auto path = augur::sample_path(*space, rng);
        if (!seen.insert(path.values).second) continue;
        made.seconds.push_back(made_up_seconds(path));
        points->push_back(path.values);
    }
    made.point = [points](const ansor_space&, std::size_t record) { return result<decision_vector>((*points)[record]); };
    return made;
}

} // namespace

result<std::vector<recorded_task>> read_tasks(const wishes& w, examples::executor& threads) {
    const auto folder = std::filesystem::path(w.data) / "ansor-x86-24core";
    std::vector<std::string> paths;
    std::error_code failed;
    for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
        if (at->path().string().ends_with(".jsonl.gz")) paths.push_back(at->path().string());
    if (paths.empty())
        return error{errc::not_found, folder.string() + ": expected logs NETWORK.jsonl.gz, there are none; --data FOLDER says where the data is"};
    std::sort(paths.begin(), paths.end());
    const auto logs = std::make_shared<std::vector<log_sink>>(paths.size());
    const auto reports = augur::read_ansor_logs(paths, threads, [&](std::size_t i) -> log_sink& { return (*logs)[i]; });
    if (!reports) return reports.error();

    std::vector<logged_records> all;
    std::map<std::string, std::size_t, std::less<>> numbers; // of tasks, by workload key
    std::size_t records = 0, bad = 0, without_latency = 0;
    for (std::size_t l = 0; l < logs->size(); ++l) {
        const auto& log = (*logs)[l];
        const auto name = std::filesystem::path(paths[l]).filename().string();
        const auto network = name.substr(0, name.find('.'));
        const bool tested = std::find(test_networks.begin(), test_networks.end(), network) != test_networks.end();
        std::vector<std::size_t> number_of;
        for (const auto& logged : log.tasks) {
            const auto [at, is_new] = numbers.try_emplace(logged.workload_key, all.size());
            if (is_new) {
                auto& one = all.emplace_back();
                one.key = logged.workload_key;
                one.task.name = network + " " + logged.workload_key;
                one.task.options.num_cores = std::clamp<std::int64_t>(logged.hardware[0], 1, 1 << 20); // a log may say anything
                one.task.options.evolved = true; // else one record in fifteen is no point of the space
            }
            number_of.push_back(at->second);
            all[at->second].task.tested = all[at->second].task.tested || tested;
        }
        for (std::size_t e = 0; e < log.entries.size(); ++e) {
            auto& one = all[number_of[log.entries[e].task]];
            one.places.emplace_back(l, e);
            one.task.seconds.push_back(log.entries[e].seconds);
        }
        records += (*reports)[l].summary.records;
        bad += (*reports)[l].summary.bad;
        without_latency += log.failed;
    }
    const auto dags = examples::read_dags((std::filesystem::path(w.data) / "task-dags.jsonl.gz").string(),
                                          [&](std::string_view key) { return numbers.contains(key); });
    if (!dags) return dags.error();
    std::vector<recorded_task> out;
    std::size_t records_without_dag = 0, never_ran = 0, tested = 0;
    for (auto& one : all) {
        auto& task = one.task;
        const auto dag = dags->find(one.key);
        if (dag == dags->end()) {
            records_without_dag += task.seconds.size();
            continue;
        }
        if (task.seconds.empty()) {
            ++never_ran;
            continue;
        }
        task.dag = dag->second;
        augur::machine_identity machine; // the logs know its cores alone
        machine.threads = std::to_string(task.options.num_cores);
        const told_task told{one.key, augur::loopnest::class_levels_of(*task.dag).at(augur::class_level::operations)};
        task.prompt = tlm::prompt_text(told, machine);
        task.point = [logs, places = std::move(one.places)](const ansor_space& space, std::size_t record) {
            const auto& log = (*logs)[places[record].first];
            augur::step_list list;
            for (const auto n : log.entries[places[record].second].steps) list.steps.push_back(log.steps[n].steps.front());
            return space.decide(list);
        };
        tested += task.tested ? 1 : 0;
        out.push_back(std::move(task));
    }
    std::printf("%zu records of %zu networks; left out are %zu damaged lines, %zu records with an error, and %zu of tasks without a compute DAG\n"
                "%zu of %zu tasks have a DAG and a latency (%zu have a DAG, and only errors): %zu to learn from, %zu occur in a test network\n",
                records, paths.size(), bad, without_latency, records_without_dag, out.size(), all.size(), never_ran, out.size() - tested, tested);
    return out;
}

result<std::vector<recorded_task>> made_up_tasks(const wishes& w) {
    std::vector<recorded_task> out;
    for (const int m : {8, 12, 16})
        for (const int n : {8, 16})
            for (const int k : {8, 16}) {
                auto made = made_up_task(examples::text_of("dense:m=%d,n=%d,k=%d", m, n, k), augur::random_engine(w.seed).stream(out.size()));
                if (!made) return made.error();
                made->tested = out.size() % 3 == 2;
                out.push_back(*std::move(made));
            }
    const auto tested = std::count_if(out.begin(), out.end(), [](const recorded_task& t) { return t.tested; });
    std::printf("made up: %td tasks to learn from, %td to be judged by\n", static_cast<std::ptrdiff_t>(out.size()) - tested, tested);
    return out;
}

} // namespace tlm_offline
