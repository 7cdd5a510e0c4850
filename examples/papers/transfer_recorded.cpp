// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transfer between kernels and between machines on recorded measurements, where the truth is known: AutoTVM logs (configurations of one task on another
// task, or of one CPU on another) and Kernel Tuner files (one GPU's best configuration on another GPU). transfer_recorded --help.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <augur/core/hash.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/io/autotvm_log.hpp>
#include <augur/io/tuning_archive.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/tlp/train/dataset_trainer.hpp>
#include <augur/transfer/source_cover.hpp>
#include <augur/transfer/workload_distance.hpp>

#include "console.hpp"
#include "executor.hpp"
#include "flags.hpp"
#include "program.hpp"
#include "tlp_fit.hpp"

namespace {

using augur::result;

/// The recorded configurations of a task on a device.
struct recorded_task {
    std::string device, name, key; ///< name: of the template
    augur::transfer::workload_arguments arguments;
    std::unordered_map<std::uint64_t, double> latency; ///< by the hash of the configuration; seconds, the least of its records
    double best = 0;
    std::unordered_map<std::uint64_t, float> scores; ///< by a TLP that was trained on other tasks of the device; empty: none was

    /// The share of the best latency that a configuration has; 0: it failed or was not recorded.
    [[nodiscard]] double share(std::uint64_t configuration) const {
        const auto at = latency.find(configuration);
        return at == latency.end() || !std::isfinite(at->second) ? 0 : best / at->second;
    }
};

recorded_task task_of(const augur::dataset& data, std::uint32_t t, std::string device) {
    recorded_task out;
    out.device = std::move(device);
    out.key = data.task(t).key;
    if (auto read = augur::transfer::workload_arguments::parse(out.key)) {
        out.arguments = *std::move(read);
        out.name = out.arguments.dag;
    }
    out.best = augur::labels(data, t).min_seconds;
    for (auto r = data.task(t).first; r < data.task(t).last; ++r) {
        auto [at, fresh] = out.latency.try_emplace(augur::hash_schedule(data.visit(r)), data.seconds(r));
        if (!fresh) at->second = (std::min)(at->second, data.seconds(r));
    }
    return out;
}

/// How alike two tasks are: the sum of the logarithms of the ratios of their arguments.
double distance(const recorded_task& a, const recorded_task& b) {
    if (a.arguments.arguments.size() != b.arguments.arguments.size()) return 20;
    double sum = 0;
    for (std::size_t i = 0; i < a.arguments.arguments.size(); ++i) {
        const auto &x = a.arguments.arguments[i], &y = b.arguments.arguments[i];
        if (x.number > 0 && y.number > 0) sum += std::abs(std::log(static_cast<double>(x.number) / static_cast<double>(y.number)));
        else if (!(x == y)) sum += 1;
    }
    return sum;
}

/// The fastest configuration of a source among those that the target has a record of; nullptr: there is none.
const std::pair<const std::uint64_t, double>* fastest_common(const recorded_task& source, const recorded_task& target) {
    const std::pair<const std::uint64_t, double>* out = nullptr;
    for (const auto& c : source.latency)
        if (std::isfinite(c.second) && target.latency.contains(c.first) &&
            (out == nullptr || c.second < out->second || (c.second == out->second && c.first < out->first)))
            out = &c;
    return out;
}

/// The mean share of the best of `n` configurations drawn at random.
double random_share(const recorded_task& t, std::size_t n) {
    std::vector<double> shares;
    for (const auto& [configuration, latency] : t.latency) shares.push_back(std::isfinite(latency) ? t.best / latency : 0);
    std::sort(shares.begin(), shares.end());
    double mean = 0, below = 0; // probability that all n are at most the i-th: ((i+1)/N)^n
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const double p = std::pow(static_cast<double>(i + 1) / static_cast<double>(shares.size()), static_cast<double>(n));
        mean += shares[i] * (p - below);
        below = p;
    }
    return mean;
}

/// The configurations of the sources of which the target has a record; of others nobody knows how fast they are there.
std::vector<std::uint64_t> candidates_of(const recorded_task& target, std::span<const recorded_task* const> sources) {
    std::vector<std::uint64_t> out;
    for (const auto* s : sources)
        for (const auto& [configuration, latency] : s->latency)
            if (target.latency.contains(configuration)) out.push_back(configuration);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

/// The best share of the `n` configurations of the sources that the target's TLP ranks highest.
double share_by_tlp(const recorded_task& target, std::span<const recorded_task* const> sources, std::size_t n) {
    auto candidates = candidates_of(target, sources);
    std::sort(candidates.begin(), candidates.end(), [&](std::uint64_t a, std::uint64_t b) {
        const auto of_a = target.scores.at(a), of_b = target.scores.at(b);
        return of_a != of_b ? of_a > of_b : a < b;
    });
    double best = 0;
    for (std::size_t i = 0; i < (std::min)(n, candidates.size()); ++i) best = (std::max)(best, target.share(candidates[i]));
    return best;
}

/// The best share of the `n` configurations that cover the sources (`cover_sources`), near sources counting more.
double ranked_share(const recorded_task& target, std::span<const recorded_task* const> sources, std::size_t n) {
    const auto candidates = candidates_of(target, sources);
    std::vector<double> weights;
    std::vector<float> shares;
    for (const auto* s : sources) {
        weights.push_back(std::exp(-distance(*s, target) / 2));
        double mean = 0;
        for (const auto& [configuration, latency] : s->latency) mean += s->share(configuration) / static_cast<double>(s->latency.size());
        for (const auto c : candidates) shares.push_back(static_cast<float>(s->latency.contains(c) ? s->share(c) : mean));
    }
    double best = 0;
    for (const auto c : augur::transfer::cover_sources(shares, weights, n)) best = (std::max)(best, target.share(candidates[c]));
    return best;
}

/// Mean shares over the targets of one row.
struct row {
    std::size_t targets = 0, pairs = 0;
    double one = 0, pool = 0, pool_size = 0, random = 0, ranked = 0, random_3 = 0, by_tlp = 0;

    void add(const recorded_task& target, std::span<const recorded_task* const> sources) {
        double all = 0, best = 0;
        std::size_t n = 0;
        for (const auto* s : sources)
            if (const auto* c = fastest_common(*s, target)) {
                const double share = target.share(c->first);
                all += share;
                best = (std::max)(best, share);
                ++n;
            }
        if (n == 0) return;
        ++targets;
        pairs += n;
        one += all;
        pool += best;
        pool_size += static_cast<double>(n);
        random += random_share(target, n);
        random_3 += random_share(target, 3);
        ranked += ranked_share(target, sources, 3);
        const bool one_device = std::all_of(sources.begin(), sources.end(), [&](const auto* s) { return s->device == target.device; });
        if (one_device && !target.scores.empty()) by_tlp += share_by_tlp(target, sources, 3);
    }
    [[nodiscard]] std::vector<std::string> cells(std::string title) const {
        const auto mean = [&](double sum) { return examples::text_of("%.3f", sum / static_cast<double>(targets)); };
        return {std::move(title),
                std::to_string(targets),
                std::to_string(pairs),
                examples::text_of("%.3f", one / static_cast<double>(pairs)),
                mean(pool),
                mean(random),
                mean(ranked),
                mean(random_3),
                by_tlp > 0 ? mean(by_tlp) : "-"};
    }
};

/// Scores every task by a TLP that was trained on the tasks of the other parts of the data set.
/// @param tasks  of the data set, in its order
result<void> add_scores(const augur::dataset& data, std::span<recorded_task> tasks, examples::executor& threads) {
    constexpr std::uint64_t parts = 4;
    for (std::uint64_t part = 0; part < parts; ++part) {
        std::vector<std::uint32_t> train, scored;
        for (std::uint32_t t = 0; t < data.tasks(); ++t) (augur::fnv1a64(data.task(t).key) % parts == part ? scored : train).push_back(t);
        if (train.empty() || scored.empty()) continue;
        const auto tlp = examples::fit_tlp(data, examples::records_of(data, train), 8, 1, threads);
        if (!tlp) return tlp.error();
        augur::tlp::forward_backward<float> pass;
        for (const auto t : scored) {
            const auto records = examples::records_of(data, std::vector<std::uint32_t>{t});
            const auto scores = augur::tlp::record_scores(tlp->net, tlp->table, data, records, threads, pass);
            for (std::size_t i = 0; i < records.size(); ++i) tasks[t].scores[augur::hash_schedule(data.visit(records[i]))] = scores[i];
        }
    }
    return {};
}

/// @param with_tlp  with the scores of a TLP, which is trained for it
result<std::vector<recorded_task>> read_autotvm(const std::vector<std::string>& paths, bool with_tlp, examples::executor& threads) {
    std::map<std::string, std::vector<std::string>> devices;
    for (const auto& path : paths) {
        const auto name = std::filesystem::path(path).filename().string();
        devices[name.substr(0, name.find('.'))].push_back(path);
    }
    std::vector<recorded_task> out;
    for (const auto& [device, logs] : devices) {
        augur::dataset_builder builder;
        if (auto read = augur::read_autotvm_logs(logs, threads, builder); !read) return read.error();
        const augur::dataset data = std::move(builder).finish();
        if (data.tasks() == 0) return augur::error{augur::errc::not_found, device + ": expected records of AutoTVM, found none"};
        std::vector<recorded_task> tasks;
        for (std::uint32_t t = 0; t < data.tasks(); ++t) tasks.push_back(task_of(data, t, device));
        if (with_tlp)
            if (auto added = add_scores(data, tasks, threads); !added) return augur::error{added.error().code, device + ": " + added.error().detail};
        for (auto& task : tasks)
            if (std::isfinite(task.best)) out.push_back(std::move(task));
    }
    return out;
}

std::vector<std::vector<std::string>> autotvm_table(const std::vector<recorded_task>& tasks) {
    std::map<std::string, row> between_tasks, same_task, between_devices;
    for (const auto& target : tasks) {
        std::vector<const recorded_task*> others, elsewhere;
        std::map<std::string, std::vector<const recorded_task*>> twins; // the same task on another device
        for (const auto& s : tasks) {
            if (s.name != target.name) continue;
            if (s.device == target.device && s.key != target.key) others.push_back(&s);
            if (s.device != target.device) elsewhere.push_back(&s);
            if (s.device != target.device && s.key == target.key) twins[s.device].push_back(&s);
        }
        between_tasks[target.name + ", other tasks on " + target.device].add(target, others);
        for (const auto& [device, same] : twins) same_task[target.name + ", the same task, " + device + " to " + target.device].add(target, same);
        between_devices[target.name + ", all tasks of other devices to " + target.device].add(target, elsewhere);
    }
    std::vector<std::vector<std::string>> rows{
        {"from", "targets", "pairs", "one source", "all sources", "as many at random", "3 ranked", "3 at random", "3 by TLP"}};
    for (const auto* group : {&between_tasks, &same_task, &between_devices})
        for (const auto& [title, r] : *group)
            if (r.targets > 0) rows.push_back(r.cells(title));
    return rows;
}

/// The tunable parameters of the kernel that an archive is of.
std::vector<std::string> parameters_of(const augur::tuning_archive& archive) {
    std::vector<std::string> out;
    if (!archive.records.empty())
        for (const auto& p : archive.records.front().point.parameters) out.push_back(p.name);
    return out;
}

result<std::vector<std::vector<std::string>>> archive_table(const std::vector<std::string>& paths) {
    struct device {
        std::string name;
        recorded_task records;
        std::uint64_t winner = 0;
    };
    std::vector<device> devices;
    std::vector<std::string> parameters; // T4 files do not name their kernel
    for (const auto& path : paths) {
        augur::tuning_archive archive;
        if (auto read = augur::read_tuning_archive(path, archive); !read) return read.error();
        if (devices.empty()) parameters = parameters_of(archive);
        else if (parameters_of(archive) != parameters)
            return augur::error{augur::errc::invalid_argument,
                                path + ": expected the kernel of " + paths.front() + ", got one with other parameters"};
        device d{archive.target().empty() ? std::filesystem::path(path).filename().string() : std::string(archive.target()), {}, 0};
        for (const auto& r : archive.records) {
            const auto hash = augur::hash_schedule(r.point);
            auto [at, fresh] = d.records.latency.try_emplace(hash, r.measured.latency());
            if (!fresh) at->second = (std::min)(at->second, r.measured.latency());
            if (r.measured.ok() && (d.records.best == 0 || r.measured.latency() < d.records.best)) {
                d.records.best = r.measured.latency();
                d.winner = hash;
            }
        }
        if (d.winner == 0) return augur::error{augur::errc::not_found, path + ": expected a configuration that ran"};
        devices.push_back(std::move(d));
    }
    std::vector<std::vector<std::string>> rows{{"best configuration of"}};
    for (const auto& d : devices) rows[0].push_back("on " + d.name);
    for (const auto& from : devices) {
        rows.push_back({from.name});
        for (const auto& to : devices) rows.back().push_back(examples::text_of("%.3f", to.records.share(from.winner)));
    }
    rows.push_back({"the best of the others' best"});
    for (const auto& to : devices) {
        double best = 0;
        for (const auto& from : devices)
            if (&from != &to) best = (std::max)(best, to.records.share(from.winner));
        rows.back().push_back(examples::text_of("%.3f", best));
    }
    rows.push_back({"3 ranked by the others' records"});
    for (const auto& to : devices) {
        std::vector<const recorded_task*> sources;
        for (const auto& from : devices)
            if (&from != &to) sources.push_back(&from.records);
        rows.back().push_back(examples::text_of("%.3f", ranked_share(to.records, sources, 3)));
    }
    rows.push_back({"3 at random"});
    for (const auto& to : devices) rows.back().push_back(examples::text_of("%.3f", random_share(to.records, 3)));
    return rows;
}

} // namespace

int main(int argc, char** argv) {
    std::vector<std::string> autotvm, archives;
    examples::flag_set flags;
    bool help = false, tlp = false;
    flags.add_texts("autotvm", "LOG", "AutoTVM log; its name begins with the device, up to a dot; may be given again", autotvm);
    flags.add_texts("archive", "FILE", "Kernel Tuner cache or T4 file of a kernel on a device; may be given again", archives);
    flags.add_switch("tlp", "rank the configurations of other tasks by a TLP, too, trained on three quarters of a device's tasks without the target",
                     tlp);
    flags.add_switch("help", "print this", help);
    const auto read = flags.parse(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)));
    if (!read) return examples::complain("transfer_recorded", read.error(), examples::misuse);
    if (help) {
        std::printf("usage: transfer_recorded [flags]\n\n%s\nA share is the best recorded latency of the target over that of the configuration.\n",
                    flags.help().c_str());
        return examples::done;
    }
    if (autotvm.empty() ? archives.size() < 2 : archives.size() == 1)
        return examples::complain("transfer_recorded",
                                  {augur::errc::invalid_argument, "expected --autotvm or --archive of two devices, got " +
                                                                      std::to_string(archives.size()) + " --archive; try --help"},
                                  examples::misuse);
    if (tlp && autotvm.empty())
        return examples::complain("transfer_recorded", {augur::errc::invalid_argument, "--tlp goes with --autotvm"}, examples::misuse);
    if (!autotvm.empty()) {
        if (tlp) examples::catch_signals(); // between epochs
        auto threads = examples::make_executor(2);
        const auto tasks = read_autotvm(autotvm, tlp, threads);
        if (!tasks)
            return examples::complain("transfer_recorded", tasks.error(),
                                      tasks.error().code == augur::errc::interrupted ? examples::interrupted : examples::failed);
        std::printf("%s\n", examples::table_text(autotvm_table(*tasks)).c_str());
    }
    if (!archives.empty()) {
        const auto rows = archive_table(archives);
        if (!rows) return examples::complain("transfer_recorded", rows.error(), examples::failed);
        std::printf("%s", examples::table_text(*rows).c_str());
    }
    return examples::done;
}
