// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `transfer_recorded` from outside, on logs that were made up: every number of its tables beside one that is counted out here.
#include <doctest/doctest.h>

#ifdef AUGUR_TRANSFER_RECORDED_PROGRAM // else there is no Eigen

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>

#include "../io/archives.hpp"
#include "../record/autotvm_lines.hpp"
#include "child_program.hpp"

namespace transfer_recorded_test {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// Milliseconds of each configuration, by its number; infinity: it failed.
using latencies = std::map<int, double>;

struct made_up_task {
    std::string device, name;
    int channels = 0; ///< what tells tasks of one name apart
    latencies ms;

    [[nodiscard]] double best() const {
        double least = inf;
        for (const auto& entry : ms) least = (std::min)(least, entry.second);
        return least;
    }
    [[nodiscard]] double share(int configuration) const { return best() / ms.at(configuration); }
};

std::string config_of(int number) { return R"({"index": 1, "code_hash": null, "entity": [["tile_f", "sp", [-1, )" + std::to_string(number) + "]]]}"; }

/// Every other configuration is there twice, the second time slower.
void write_log(const std::string& path, const std::vector<made_up_task>& tasks, const std::string& device) {
    std::ofstream out(path);
    for (const auto& t : tasks) {
        if (t.device != device) continue;
        const std::string input = R"(["llvm", ")" + t.name + R"(", [["TENSOR", [1, )" + std::to_string(t.channels) + R"(, 8, 8], "float32"]], {}])";
        for (const auto& [number, ms] : t.ms)
            for (int again = 0; again <= number % 2; ++again)
                out << autotvm_lines::line(input, config_of(number),
                                           std::isfinite(ms) ? "[[" + std::to_string((1 + again) * ms) + "e-3], 0, 1.5, 1680907291.0]"
                                                             : std::string(autotvm_lines::failed_result))
                    << '\n';
    }
}

/// The mean of the best share of `n` configurations, over all sequences of draws.
double by_draws(const made_up_task& t, std::size_t n) {
    std::vector<double> shares;
    for (const auto& entry : t.ms) shares.push_back(t.share(entry.first));
    double sum = 0, count = 0;
    std::vector<std::size_t> draw(n, 0);
    for (bool more = true; more; ++count) {
        double best = 0;
        for (const auto i : draw) best = (std::max)(best, shares[i]);
        sum += best;
        more = false;
        for (auto& i : draw) {
            more = ++i < shares.size();
            if (more) break;
            i = 0;
        }
    }
    return sum / count;
}

/// The three configurations that cover the sources, the sums counted anew for each choice.
double by_cover(const made_up_task& target, const std::vector<const made_up_task*>& sources) {
    std::vector<int> known, chosen;
    for (const auto& entry : target.ms)
        if (std::any_of(sources.begin(), sources.end(), [&](const auto* s) { return s->ms.count(entry.first) > 0; })) known.push_back(entry.first);
    const auto covered = [&](const std::vector<int>& choice) {
        double sum = 0;
        for (const auto* s : sources) {
            const double like = std::exp(-std::abs(std::log(static_cast<double>(s->channels) / target.channels)) / 2);
            double mean = 0, best = 0;
            for (const auto& entry : s->ms) mean += s->share(entry.first) / static_cast<double>(s->ms.size());
            for (const int c : choice) best = (std::max)(best, s->ms.count(c) > 0 ? s->share(c) : mean);
            sum += like * best;
        }
        return sum;
    };
    double best = 0;
    while (chosen.size() < (std::min)(known.size(), std::size_t{3})) {
        int next = -1;
        double most = -1, most_alone = -1; // where several cover as much, the best by itself
        for (const int c : known) {
            if (std::count(chosen.begin(), chosen.end(), c) > 0) continue;
            auto with = chosen;
            with.push_back(c);
            const double sum = covered(with), alone = covered({c});
            if (sum > most + 1e-6 || (sum > most - 1e-6 && alone > most_alone)) { // the program's shares are floats
                most = sum;
                most_alone = alone;
                next = c;
            }
        }
        chosen.push_back(next);
        best = (std::max)(best, target.share(next));
    }
    return best;
}

struct expected_row {
    double targets = 0, pairs = 0, one = 0, all = 0, as_many = 0, ranked = 0, random_3 = 0;

    void add(const made_up_task& target, const std::vector<const made_up_task*>& sources) {
        std::vector<double> shares; // of each source's fastest configuration that the target has
        for (const auto* s : sources) {
            int fastest = -1;
            for (const auto& [number, ms] : s->ms)
                if (target.ms.count(number) > 0 && std::isfinite(ms) && (fastest < 0 || ms < s->ms.at(fastest))) fastest = number;
            if (fastest >= 0) shares.push_back(target.share(fastest));
        }
        if (shares.empty()) return;
        ++targets;
        pairs += static_cast<double>(shares.size());
        one += std::accumulate(shares.begin(), shares.end(), 0.0);
        all += *std::max_element(shares.begin(), shares.end());
        as_many += by_draws(target, shares.size());
        ranked += by_cover(target, sources);
        random_3 += by_draws(target, 3);
    }
    [[nodiscard]] std::vector<double> cells() const {
        return {targets, pairs, one / pairs, all / targets, as_many / targets, ranked / targets, random_3 / targets};
    }
};

/// The numbers behind each row's title.
std::map<std::string, std::vector<double>> rows_of(const std::string& text) {
    std::map<std::string, std::vector<double>> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto gap = line.find("  ");
        if (gap == std::string::npos) continue;
        std::istringstream cells(line.substr(gap));
        auto& row = out[line.substr(0, gap)];
        for (std::string cell; cells >> cell;) row.push_back(cell == "-" ? inf : std::strtod(cell.c_str(), nullptr));
    }
    return out;
}

} // namespace

TEST_CASE("transfer_recorded: the shares of configurations between tasks and between devices are those of the logs") {
    const scratch folder("transfer-recorded");
    augur::random_engine rng(11);
    std::vector<made_up_task> tasks;
    for (const char* device : {"cpu_a", "cpu_b"})
        for (const auto& [name, channels] : std::vector<std::pair<std::string, int>>{{"conv", 8}, {"conv", 16}, {"conv", 48}, {"dense", 4}}) {
            auto& t = tasks.emplace_back(made_up_task{device, name, channels, {}});
            for (int number = 0; number < 12; ++number)
                if (rng.below(4) != 0) t.ms[number] = rng.below(6) == 0 ? inf : 1 + static_cast<double>(rng.below(100'000)) / 1000;
        }
    tasks.push_back({"cpu_b", "conv", 20, {{0, inf}, {3, inf}}}); // nothing of it ran
    for (const char* device : {"cpu_a", "cpu_b"}) write_log(folder / (std::string(device) + ".first.jsonl"), tasks, device);

    std::map<std::string, expected_row> expected;
    for (const auto& target : tasks) {
        if (!std::isfinite(target.best())) continue;
        std::vector<const made_up_task*> others, elsewhere, twins;
        for (const auto& s : tasks) {
            if (s.name != target.name || !std::isfinite(s.best())) continue;
            if (s.device != target.device) elsewhere.push_back(&s);
            else if (s.channels != target.channels) others.push_back(&s);
            if (s.device != target.device && s.channels == target.channels) twins.push_back(&s);
        }
        const std::string other = target.device == "cpu_a" ? "cpu_b" : "cpu_a";
        expected[target.name + ", other tasks on " + target.device].add(target, others);
        expected[target.name + ", the same task, " + other + " to " + target.device].add(target, twins);
        expected[target.name + ", all tasks of other devices to " + target.device].add(target, elsewhere);
    }

    REQUIRE(wait_for(start(folder, AUGUR_TRANSFER_RECORDED_PROGRAM,
                           {"--autotvm", folder / "cpu_a.first.jsonl", "--autotvm", folder / "cpu_b.first.jsonl"})) == 0);
    const auto said = contents(folder / "out");
    CAPTURE(said);
    const auto rows = rows_of(said);
    std::size_t compared = 0;
    for (const auto& entry : expected) {
        const std::string title = entry.first;
        CAPTURE(title);
        CHECK((rows.count(title) > 0) == (entry.second.targets > 0)); // a dense has no other task on its device
        if (rows.count(title) == 0) continue;
        const auto wanted = entry.second.cells();
        const auto& row = rows.at(title);
        REQUIRE(row.size() == wanted.size() + 1); // and no TLP
        for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(row[i] - wanted[i]) < 6e-4);
        ++compared;
    }
    CHECK(compared == 10);
}

TEST_CASE("transfer_recorded: the best configuration of one archive on another") {
    const scratch folder("transfer-recorded");
    const auto entry = [](int block, const std::string& time) {
        return "\"" + std::to_string(block) + R"(": {"block": )" + std::to_string(block) + R"(, "share": 0.5, "layout": "row", "time": )" + time +
               R"(, "compile_time": 1, "benchmark_time": 1})";
    };
    const auto write = [&](const std::string& name, const std::string& device, const std::vector<std::string>& entries) {
        auto text = archives::cache_of(entries);
        text.replace(text.find("Some GPU"), std::string("Some GPU").size(), device);
        std::ofstream(folder / name) << text;
    };
    const std::string failed = "\"RuntimeFailedConfig\"";
    write("one.json", "One", {entry(1, "4.0"), entry(2, "2.0"), entry(3, "8.0"), entry(4, failed)});
    write("two.json", "Two", {entry(1, "10.0"), entry(2, "40.0"), entry(3, failed), entry(4, "5.0")});
    REQUIRE(wait_for(start(folder, AUGUR_TRANSFER_RECORDED_PROGRAM, {"--archive", folder / "one.json", "--archive", folder / "two.json"})) == 0);
    const auto said = contents(folder / "out");
    CAPTURE(said);
    CHECK(contains(said, "on One"));
    auto rows = rows_of(said);
    CHECK(rows.at("One") == std::vector<double>{1, 0.125}); // block 2 there: 5 of 40
    CHECK(rows.at("Two") == std::vector<double>{0, 1});     // block 4 failed
    CHECK(rows.at("the best of the others' best") == std::vector<double>{0, 0.125});
    // shares on One 0.5, 1, 0.25, 0 and on Two 0.5, 0.125, 0, 1: the other's fastest three
    CHECK(rows.at("3 ranked by the others' records") == std::vector<double>{1, 0.5});
    const made_up_task one{"", "", 1, {{1, 4}, {2, 2}, {3, 8}, {4, inf}}}, two{"", "", 1, {{1, 10}, {2, 40}, {3, inf}, {4, 5}}};
    CHECK(std::abs(rows.at("3 at random").at(0) - by_draws(one, 3)) < 6e-4);
    CHECK(std::abs(rows.at("3 at random").at(1) - by_draws(two, 3)) < 6e-4);
}

TEST_CASE("transfer_recorded: every wrong argument is one sentence and exit code 2") {
    const scratch folder("transfer-recorded");
    check_refusals(folder, AUGUR_TRANSFER_RECORDED_PROGRAM,
                   {{{}, "got 0 --archive"},
                    {{"--archive", "a"}, "got 1 --archive"},
                    {{"--autotvm", "log", "--archive", "a"}, "got 1 --archive"},
                    {{"--autotvm", ""}, "--autotvm: expected a value, got none"},
                    {{"--tlp=yes"}, "--tlp takes no value"},
                    {{"--archive", "a", "--archive", "b", "--tlp"}, "--tlp goes with --autotvm"},
                    {{"log"}, "unexpected argument 'log'"}});
    std::ofstream(folder / "none.jsonl") << "no record\n";
    CHECK(wait_for(start(folder, AUGUR_TRANSFER_RECORDED_PROGRAM, {"--autotvm", folder / "none.jsonl"})) == 1);
    CHECK(contains(contents(folder / "err"), "none: expected records of AutoTVM, found none"));
    std::ofstream(folder / "failed.json") << archives::cache_of({archives::entries[1]});
    CHECK(wait_for(start(folder, AUGUR_TRANSFER_RECORDED_PROGRAM, {"--archive", folder / "failed.json", "--archive", folder / "failed.json"})) == 1);
    CHECK(contains(contents(folder / "err"), "expected a configuration that ran"));
    std::ofstream(folder / "one.json") << archives::cache_of({archives::entries[0]});
    auto other = archives::cache_of({R"("1": {"width": 1, "time": 2.0})"});
    other.replace(other.find(R"("block", "share", "layout")"), 26, R"("width")");
    std::ofstream(folder / "other.json") << other;
    CHECK(wait_for(start(folder, AUGUR_TRANSFER_RECORDED_PROGRAM, {"--archive", folder / "one.json", "--archive", folder / "other.json"})) == 1);
    CHECK(contains(contents(folder / "err"), "other.json: expected the kernel of"));
}

} // namespace transfer_recorded_test

#endif
