// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Does a model trained offline find fast programs sooner than one that learns on the way? Section 6.3 of the TLP paper, on kernels of this machine.
#include <algorithm>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <augur/record/replace_file.hpp>

#include "flags.hpp"
#include "program.hpp"
#include "rows.hpp"

namespace {

using augur::errc;
using augur::error;

struct wishes {
    examples::search_plan plan;
    std::string network = "resnet_18", teacher, report;
    std::size_t kernels = 0, teacher_kernels = 0;
    std::vector<std::string> rows;
    bool quick = false, again = false;
};

augur::result<bool> read_flags(std::span<char* const> arguments, wishes& w) {
    examples::flag_set flags;
    auto& p = w.plan;
    bool help = false;
    std::string ids;
    for (const auto& row : examples::search_rows) ids += (ids.empty() ? "" : ",") + std::string(row.id);
    flags.add_text("network", "NAME", "whose kernels are tuned; default resnet_18", w.network);
    flags.add_number("kernels", "N", "only the N heaviest of them; default all", w.kernels, 1, 1000);
    flags.add_number("trials", "N", "candidates a kernel, on average; default 64", p.options.search.trials, 1, 1'000'000);
    flags.add_number("round", "N", "candidates of a kernel between two looks at the model; default a quarter of --trials, 4 to 64",
                     p.options.search.round, 1, 1'000'000);
    flags.add_number("seeds", "N", "searches a row; default 3", p.seeds, 1, 1000);
    flags.add("rows", "LIST", "only these; default " + ids, [&](std::string_view text) -> augur::result<void> {
        while (!text.empty()) {
            const auto comma = (std::min)(text.find(','), text.size());
            w.rows.emplace_back(text.substr(0, comma));
            if (std::none_of(std::begin(examples::search_rows), std::end(examples::search_rows),
                             [&](const auto& r) { return r.id == w.rows.back(); }))
                return error{errc::invalid_argument, "expected some of " + ids + ", got '" + examples::shown(w.rows.back()) + "'"};
            text.remove_prefix((std::min)(comma + 1, text.size()));
        }
        return {};
    });
    flags.add_text("teacher", "NAME", "network whose other kernels the offline models learn from; default resnet_50, for resnet_50 mobilenet_v2",
                   w.teacher);
    flags.add_number("teacher-kernels", "N", "only the N heaviest of them; default all", w.teacher_kernels, 1, 1000);
    flags.add_number("collect", "N", "random candidates of each that are measured for it; default 500", p.collect, 2, 1'000'000);
    flags.add_number("labels", "N", "records a kernel that MTL-TLP sees of them; default 500", p.labels, 2, 1'000'000);
    flags.add_number("other", "N", "records a task of the other platform; default 128", p.other, 2, 1'000'000);
    flags.add_number("effort", "N", "thousands of schedules that a training sees in all; default 400", p.effort, 1, 1'000'000);
    flags.add_data_folder("ansor-x86-24core/, for MTL-TLP", p.data);
    flags.add_text("work", "FOLDER", "logs, times and weights; the same command goes on with what is there; default tlp_search.work", p.folder);
    flags.add_text("report", "FILE", "write an HTML report with the tuning curves", w.report);
    flags.add_switch("again", "in the end measure the winners of all searches once more, side by side, longer", w.again);
    flags.add_number("threads", "N", "threads that kernels and models use; default: all processors", p.options.threads, 1, 1024);
    flags.add_number("seed", "N", "the first; default 1", p.options.search.seed, 0, 1'000'000'000);
    flags.add_text("compiler", "COMMAND", "C compiler, with leading arguments; default: the variable CC, else cc", p.options.compiler.command);
    flags.add_switch("quick", "two small kernels, few candidates, small networks: shows that it works, in 3 minutes, without data", w.quick);
    flags.add_switch("help", "print this", help);
    if (auto read = flags.parse(arguments); !read) return read.error();
    if (help) {
        std::printf("usage: tlp_search [flags]\n\n%s\nExit code: 0 done, 1 it failed on the way, 2 wrong flags or files, 130 interrupted.\n",
                    flags.help().c_str());
        return false;
    }
    if (p.folder.empty()) p.folder = w.quick ? "tlp_search.quick" : "tlp_search.work";
    if (w.quick) {
        if (!flags.given("data")) p.data.clear();
        for (const char* name : {"network", "kernels", "teacher", "teacher-kernels"})
            if (flags.given(name)) return error{errc::invalid_argument, "--quick has its own kernels: it does not go with --" + std::string(name)};
        if (!flags.given("trials")) p.options.search.trials = 12;
        if (!flags.given("seeds")) p.seeds = 1;
        if (!flags.given("collect")) p.collect = 24;
        if (!flags.given("effort")) p.effort = 4;
        p.small = true;
    }
    return true;
}

/// The heaviest kernels of a network, by operations and uses; none of `without`.
augur::network heaviest(augur::network from, std::size_t most, const augur::network& without) {
    const auto work = [](const augur::network_kernel& k) {
        const auto t = augur::loopnest::kernel_task::create(k.workload, {});
        return t ? t->flops() * k.uses : 0.0;
    };
    std::erase_if(from.kernels, [&](const augur::network_kernel& k) {
        return std::any_of(without.kernels.begin(), without.kernels.end(), [&](const auto& other) { return other.workload == k.workload; });
    });
    if (most == 0 || most >= from.kernels.size()) return from;
    std::sort(from.kernels.begin(), from.kernels.end(), [&](const auto& a, const auto& b) { return work(a) > work(b); });
    from.kernels.erase(from.kernels.begin() + static_cast<std::ptrdiff_t>(most), from.kernels.end());
    return from;
}

augur::result<void> choose_kernels(wishes& w) {
    auto& p = w.plan;
    if (w.quick) {
        p.options.work.name = "two small kernels";
        p.teacher.name = "two others";
        for (const char* k : {"dense:m=32,n=64,k=64,bias,relu", "conv2d:h=14,w=14,c=16,f=32,k=3,pad=1,bias"})
            if (auto added = p.options.work.add(augur::kernel::parse(k)); !added) return added;
        for (const char* k : {"dense:m=64,n=32,k=32,bias", "conv2d:h=7,w=7,c=32,f=32,k=3,pad=1,relu"})
            if (auto added = p.teacher.add(augur::kernel::parse(k)); !added) return added;
        return {};
    }
    auto searched = augur::find_network(w.network);
    if (!searched) return searched.error();
    auto teacher = augur::find_network(!w.teacher.empty() ? w.teacher : w.network == "resnet_50" ? "mobilenet_v2" : "resnet_50");
    if (!teacher) return teacher.error();
    p.teacher = heaviest(*std::move(teacher), w.teacher_kernels, *searched);
    if (p.teacher.kernels.empty()) return error{errc::invalid_argument, "--teacher: all kernels of " + p.teacher.name + " are searched themselves"};
    p.options.work = heaviest(*std::move(searched), w.kernels, {});
    return {};
}

/// What must stay the same as long as a folder is gone on with.
std::string settings_of(const augur::session& s, const examples::search_plan& p) {
    std::string out;
    const auto add = [&](const std::string& name, const std::string& value) { out += name + " " + value + "\n"; };
    add("machine", augur::to_text(s.made_with().machine));
    add("compiler", s.made_with().machine.compiler + " " + s.made_with().flags);
    add("threads", std::to_string(s.report().threads));
    add("candidates", std::to_string(s.options().search.trials) + " in rounds of " + std::to_string(s.options().search.round_size()));
    for (const auto& k : p.options.work.kernels) add("kernel", k.workload.text() + " " + std::to_string(k.uses));
    add("collect", std::to_string(p.collect));
    for (const auto& k : p.teacher.kernels) add("teacher", k.workload.text());
    add("training",
        std::to_string(p.labels) + " " + std::to_string(p.other) + " " + std::to_string(p.effort) + (p.small ? " small" : "") + ", heads alike");
    return out;
}

/// Random candidates of the teacher's kernels into `collect.jsonl`, as `tune --collect` would. False: interrupted.
augur::result<bool> collect(const examples::search_plan& p, examples::progress_line& progress) {
    augur::session_options options = p.options;
    options.work = p.teacher;
    options.search.trials = p.collect;
    options.search.round = 0;
    options.search.model = "none";
    options.search.scheduler = augur::scheduling::round_robin;
    options.collect = true;
    options.resume = true;
    options.take_over = false; // a training set of this machine
    options.log = p.folder + "/collect.jsonl";
    auto session = augur::session::create(std::move(options));
    if (!session) return session.error();
    const auto done = session->tune(examples::hooks_on(progress));
    progress.clear();
    if (!done) return done.error();
    if (done->searches.back().failed) return *done->searches.back().failed;
    return !examples::stop_requested().load();
}

int run(wishes& w) {
    auto& p = w.plan;
    const auto complain = [](const error& why, int code) { return examples::complain("tlp_search", why, code); };
    examples::catch_signals();
    if (auto chosen = choose_kernels(w); !chosen) return complain(chosen.error(), examples::misuse);
    auto session = augur::session::create(p.options);
    if (!session) return complain(session.error(), examples::misuse);
    auto& s = *session;
    p.options.threads = s.report().threads;
    if (auto mine = examples::claim_folder(p.folder, settings_of(s, p)); !mine) return complain(mine.error(), examples::misuse);
    if (const auto other = examples::other_platform(p);
        !other.empty() && (w.rows.empty() || std::find(w.rows.begin(), w.rows.end(), "mtl") != w.rows.end()))
        if (auto same = examples::claim_folder(p.folder + "/mtl", other); !same) return complain(same.error(), examples::misuse);
    if (!w.report.empty())
        if (auto writable = examples::can_write(w.report); !writable) return complain(writable.error(), examples::misuse);
    for (const auto& [name, text] : examples::facts_of(s.report())) std::printf("%-16s %s\n", name.c_str(), text.c_str());
    std::fflush(stdout);

    examples::progress_line progress;
    std::vector<examples::search_outcome> all;
    for (const auto& row : examples::search_rows)
        if (w.rows.empty() || std::find(w.rows.begin(), w.rows.end(), row.id) != w.rows.end()) all.push_back({&row, {}, {}});
    const auto stopped = [] { return examples::stop_requested().load(); };

    std::map<std::string_view, augur::result<bool>> weights; // what the rows begin with
    for (const auto& o : all) {
        if (o.row->weights.empty() || weights.count(o.row->weights) != 0 || stopped()) continue;
        if (weights.empty())
            if (auto there = collect(p, progress); !there) return complain(there.error(), examples::failed);
        if (!stopped()) weights.emplace(o.row->weights, examples::train_weights(p, o.row->weights, progress));
    }
    for (std::uint64_t seed = p.options.search.seed; seed < p.options.search.seed + p.seeds;
         ++seed) // a seed of all rows, then the next: a busy hour meets all alike
        for (auto& o : all) {
            if (stopped() || !o.why_not.empty()) continue;
            if (const auto at = weights.find(o.row->weights); at != weights.end() && !at->second) {
                o.why_not = at->second.error().detail;
                std::fprintf(stderr, "%s is absent: %s\n", std::string(o.row->name).c_str(), o.why_not.c_str());
                continue;
            }
            const auto done = examples::run_search(s, p, *o.row, seed, progress);
            if (!done && done.error().code != errc::unsupported) return complain(done.error(), examples::failed);
            if (!done) o.why_not = done.error().detail;
        }

    std::vector<augur::search_report> winners;
    for (auto& o : all)
        for (std::uint64_t seed = p.options.search.seed; seed < p.options.search.seed + p.seeds && o.why_not.empty(); ++seed)
            if (auto trace = examples::read_search(s, p, *o.row, seed)) o.traces.push_back(*std::move(trace));
            else if (trace.error().code != errc::not_found) return complain(trace.error(), examples::failed);
    if (w.again && !stopped()) {
        for (auto& o : all)
            for (auto& t : o.traces) winners.push_back(t.result);
        s.measure_best(winners, examples::hooks_on(progress));
        progress.clear();
        std::size_t i = 0;
        for (auto& o : all)
            for (auto& t : o.traces) t.result = winners[i++];
    }
    for (auto& o : all)
        if (o.traces.empty() && o.why_not.empty()) o.why_not = "not begun yet";
    std::printf("\n%s\n", examples::table_text(examples::search_table(s, all)).c_str());
    for (const auto& line : examples::search_notes(s, p, all)) std::printf("%s\n", line.c_str());
    if (!w.report.empty()) {
        if (auto written = augur::replace_file(w.report, examples::search_html(s, p, all)); !written)
            return complain(written.error(), examples::failed);
        std::printf("report  %s\n", w.report.c_str());
    }
    std::printf("work    %s\n", p.folder.c_str());
    return stopped() ? examples::interrupted : examples::done;
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    const auto go = read_flags(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)), w);
    if (!go) return examples::complain("tlp_search", go.error(), examples::misuse);
    return *go ? run(w) : examples::done;
}
