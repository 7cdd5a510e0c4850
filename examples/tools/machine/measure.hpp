// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_MACHINE_MEASURE_HPP
#define AUGUR_EXAMPLES_TOOLS_MACHINE_MEASURE_HPP

/// @file
/// Runs the micro-benchmarks and makes a machine of what they say. No kernel is timed: each number is of one instruction or one walk through memory.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/number.hpp>
#include <augur/loopnest/run/compile.hpp>
#include <augur/loopnest/run/program_runner.hpp>
#include <augur/program/reuse/associativity_profile.hpp>
#include <augur/target/machine_check.hpp>

#include "console.hpp"
#include "memory.hpp"
#include "probes.hpp"

namespace examples {

/// What a loop took, in ns a step: the least of many repeats, their median, and a cycle of the clock at that time.
struct loop_time {
    double least = 0;
    double median = 0;
    double cycle = 1;

    [[nodiscard]] double cycles() const noexcept { return least / cycle; }
    [[nodiscard]] double spread() const noexcept { return least > 0 ? median / least - 1 : 0; }
    /// Half of the repeats took so much longer than the fastest that the time may be that of other work on the machine.
    [[nodiscard]] bool noisy() const noexcept { return !(spread() <= 0.25); }
    /// Which of two measurements of the same counts: one that is not noisy, and of equals the faster one.
    [[nodiscard]] bool better_than(const loop_time& other) const noexcept {
        return noisy() != other.noisy() ? other.noisy() : cycles() < other.cycles();
    }
};

/// What a launch adds to a call, in cycles; an error: one of the two is noise.
[[nodiscard]] inline augur::result<double> launch_cycles(const loop_time& alone, const loop_time& launched) {
    for (const auto* t : {&alone, &launched})
        if (t->noisy())
            return augur::error{augur::errc::io,
                                "launch: noise, the median is " + std::to_string(std::lround(100 * t->spread())) + " % above the least"};
    return (std::max)(0.0, launched.cycles() - alone.cycles());
}

/// Three digits: more is not in the measurement.
[[nodiscard]] inline double rounded(double v) {
    if (!(v > 0)) return 0;
    const double unit = std::pow(10.0, std::floor(std::log10(v)) - 2);
    return std::round(v / unit) * unit;
}

/// Measures this machine.
class machine_meter {
public:
    /// @param host  what the system tells of it (detect_machine), or less
    machine_meter(augur::machine host, augur::loopnest::compiler_options compiler, bool quick, augur::loopnest::stop_flag stop)
        : asked_(std::move(compiler)), quick_(quick), stop_(stop), machine_(augur::complete_machine(std::move(host))) {}

    /// @return errors: not_found and invalid_argument (the compiler), io, interrupted
    [[nodiscard]] augur::result<augur::machine> run(progress_line& progress) {
        progress.show(0, steps, "compiling", true);
        auto folder = augur::loopnest::work_folder::create();
        if (!folder) return folder.error();
        auto cc = augur::loopnest::find_compiler(asked_, *folder, stop_);
        if (!cc) return cc.error();
        probe_writer probes(machine_);
        const auto vector = "#define VECTOR_BYTES " + std::to_string(machine_.vector_bytes) + "\n";
        if (auto built =
                build(*cc, *folder, {{"probes", probes.source()}, {"memory", std::string(probe_prelude) + vector + std::string(memory_source)}});
            !built)
            return built.error();
        progress.show(1, steps, "instructions", true);
        if (auto ran = time(folder->path() + "/probes", {}); !ran) return ran.error();
        instructions();
        progress.show(2, steps, "branches", true);
        const auto memory = folder->path() + "/memory";
        if (auto ran = time(memory, {"branches"}); !ran) note(ran.error().detail);
        progress.show(3, steps, "caches", true);
        caches(memory);
        progress.show(4, steps, "memory", true);
        far(memory);
        progress.show(5, steps, "window", true);
        if (auto ran = time(memory, {"window", std::to_string(far_bytes() / 2)}); !ran) note(ran.error().detail);
        core();
        progress.show(6, steps, "launches", true);
        if (auto ran = launches(); !ran) {
            machine_.core.from = augur::provenance::defaulted; // the cost of a launch keeps its default
            note(ran.error().detail);
        }
        progress.show(steps, steps, "done", true);
        if (stop_ != nullptr && stop_->load()) return augur::error{augur::errc::interrupted, "stopped"};
        if (auto fits = augur::check_machine(machine_); !fits) return fits.error();
        return machine_;
    }

    /// All times, by name.
    [[nodiscard]] const std::map<std::string, loop_time>& times() const noexcept { return times_; }
    /// What could not be measured, and why.
    [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }
    /// The clock of scalar code.
    [[nodiscard]] double clock_hz() const {
        double cycle = 1e9;
        for (const auto& [name, t] : times_) cycle = (std::min)(cycle, t.cycle);
        return 1e9 / cycle;
    }
    /// The clock while the longest vectors are multiplied, which may be slower: that of the machine file, for that is what kernels do.
    [[nodiscard]] double vector_clock_hz() const {
        const auto* t = find(probe_name(augur::instruction_class::fma, augur::element_type::f32, static_cast<int>(machine_.vector_bytes / 4), false));
        return t != nullptr ? 1e9 / t->cycle : 0;
    }

private:
    using op = augur::instruction_class;
    using element = augur::element_type;
    static constexpr std::size_t steps = 7;
    static constexpr int passes = 4; ///< of a measurement that stays noisy, at most
    static constexpr auto measured = augur::provenance::measured;

    augur::loopnest::compiler_options asked_;
    bool quick_;
    augur::loopnest::stop_flag stop_;
    augur::machine machine_;
    std::map<std::string, loop_time> times_;
    std::vector<std::string> notes_;

    void note(std::string text) { notes_.push_back(std::move(text)); }
    [[nodiscard]] const loop_time* find(const std::string& name) const {
        const auto at = times_.find(name);
        return at == times_.end() ? nullptr : &at->second;
    }
    [[nodiscard]] double cycles(const std::string& name) const {
        const auto* t = find(name);
        return t != nullptr ? t->cycles() : 0;
    }

    /// Whether there are all these times, and none is noise; a note says which is.
    template <class... Names>
    bool quiet(const std::string& what, const Names&... names) {
        for (const std::string& name : {std::string(names)...}) {
            const auto* t = find(name);
            if (t == nullptr) return false;
            if (!t->noisy()) continue;
            note(what + ": noise, the median of " + name + " is " + std::to_string(std::lround(100 * t->spread())) +
                 " % above the least; a default instead");
            return false;
        }
        return true;
    }

    augur::result<void> build(const augur::loopnest::compiler& cc, const augur::loopnest::work_folder& folder,
                              const std::vector<std::pair<std::string, std::string>>& programs) const {
        std::vector<augur::loopnest::process_spec> jobs;
        for (const auto& [name, text] : programs) {
            const auto stem = folder.path() + "/" + name;
            if (auto written = augur::loopnest::write_private_file(stem + ".c", text); !written) return written;
            auto& job = jobs.emplace_back();
            job.arguments = cc.command;
            job.arguments.insert(job.arguments.end(), cc.flags.begin(), cc.flags.end());
            for (const char* a : {"-std=gnu11", "-w", "-pthread", "-o"}) job.arguments.emplace_back(a);
            job.arguments.push_back(stem);
            job.arguments.push_back(stem + ".c");
            job.arguments.emplace_back("-lm");
            job.wall_seconds = 120;
            job.temporary = folder.path();
        }
        const auto ended = augur::loopnest::run_processes(jobs, static_cast<std::size_t>(machine_.processors), stop_);
        for (const auto& r : ended) {
            if (r.stopped) return augur::error{augur::errc::interrupted, "stopped while compiling"};
            if (!r.ok())
                return augur::error{augur::errc::invalid_argument,
                                    "C compiler '" + cc.identity + "': " + (r.timed_out ? "takes too long" : shown_text(r.errors))};
        }
        return {};
    }
    static std::string shown_text(std::string_view text) {
        std::string out;
        for (const char c : text.substr(0, 400)) out += c >= ' ' && c < 127 ? c : ' ';
        return out;
    }

    /// Runs a program and keeps the times that it prints, and runs it again while some are noise; `as` stands before their names.
    augur::result<void> time(const std::string& path, const std::vector<std::string>& arguments, const std::string& as = {}) {
        std::vector<std::string> names;
        auto ran = time_once(path, arguments, as, names);
        const auto noise = [&] { return std::any_of(names.begin(), names.end(), [&](const auto& name) { return find(name)->noisy(); }); };
        const int most = arguments.empty() ? 2 : passes; // the many instructions repeat themselves, and take longest
        for (int pass = 1; ran && pass < most && noise(); ++pass) ran = time_once(path, arguments, as, names);
        return ran;
    }
    augur::result<void> time_once(const std::string& path, const std::vector<std::string>& arguments, const std::string& as,
                                  std::vector<std::string>& names) {
        augur::loopnest::process_spec job;
        job.arguments = {path, quick_ ? "1" : "0"};
        job.arguments.insert(job.arguments.end(), arguments.begin(), arguments.end());
        job.wall_seconds = 300; // some seconds, where nothing else runs
        const auto r = augur::loopnest::run_process(job, stop_);
        const auto what = arguments.empty() ? std::string("instructions") : arguments.front();
        if (r.stopped) return augur::error{augur::errc::interrupted, "stopped while measuring " + what};
        std::string_view text = r.output;
        while (!text.empty()) {
            const auto line = text.substr(0, text.find('\n'));
            text.remove_prefix((std::min)(line.size() + 1, text.size()));
            std::array<std::string_view, 3> words;
            std::string_view rest = line;
            for (std::size_t i = 3; i-- > 0;) {
                const auto blank = rest.rfind(' ');
                if (blank == std::string_view::npos) break;
                words[i] = rest.substr(blank + 1);
                rest = rest.substr(0, blank);
            }
            const auto a = augur::parse_double(words[0]), b = augur::parse_double(words[1]), c = augur::parse_double(words[2]);
            if (!a || !b || !c || !(*a > 0) || !(*c > 0)) continue;
            const loop_time t{*a, *b, *c};
            const auto [at, fresh] = times_.try_emplace(names.emplace_back(as + std::string(rest)), t);
            if (!fresh && t.better_than(at->second)) at->second = t; // of several passes
        }
        if (!r.ok())
            return augur::error{augur::errc::io, what + ": the benchmark " +
                                                     (r.timed_out ? "takes too long"
                                                      : r.exited  ? "fails: "
                                                                  : "died: ") +
                                                     (r.exited ? shown_text(r.errors) : "signal " + std::to_string(r.code))};
        return {};
    }

    // ---- instructions ----------------------------------------------------------------------------------------------------------------------

    /// The kinds of `pair_names` that share units, as groups; the name of a group is that of its first kind.
    [[nodiscard]] std::map<std::string, std::string> shared_units() const {
        std::map<std::string, std::string> unit_of;
        std::vector<std::string> leaders;
        for (const auto& name : probe_writer::pair_names(machine_)) {
            const double own = cycles(name);
            if (own <= 0) continue;
            std::string with = name;
            for (const auto& leader : leaders) {
                const double other = cycles(leader), together = cycles(name + "+" + leader);
                if (together > 0 && together - (std::max)(own, other) > 0.5 * (std::min)(own, other)) {
                    with = leader;
                    break;
                }
            }
            if (with == name) leaders.push_back(name);
            unit_of[name] = with;
        }
        return unit_of;
    }

    void instructions() {
        machine_.clock_hz = rounded(vector_clock_hz() > 0 ? vector_clock_hz() : clock_hz());
        const auto shares = shared_units();
        const auto pair_names = probe_writer::pair_names(machine_);
        const auto unit_named = [&](const std::string& name) {
            for (std::size_t u = 0; u < machine_.units.size(); ++u)
                if (machine_.units[u].name == name) return u;
            machine_.units.push_back({name, 1});
            return machine_.units.size() - 1;
        };
        const auto unit_of = [&](op o, element t, int lanes) {
            if (o == op::load || o == op::gather) return unit_named("load");
            if (o == op::store || o == op::scatter) return unit_named("store");
            if (o == op::fdiv || o == op::fsqrt || o == op::idiv) return unit_named("divide");
            if (o >= op::exp) return unit_named("call");
            const bool scalar = !is_float(t) && lanes == 1;
            if (o == op::reduce) o = op::shuffle;
            if (scalar && o != op::imul && o != op::convert) o = op::ialu;
            for (const auto& name : pair_names) { // the kind is what stands before the type
                const auto kind = std::string(to_string(o)) + ".";
                const bool same = name.starts_with(kind) && (name.find(".1.throughput") != std::string::npos) == (scalar && o != op::convert);
                const auto at = same ? shares.find(name) : shares.end();
                if (at == shares.end()) continue;
                const auto leader = at->second.substr(0, at->second.find('.'));
                const bool of_scalars = at->second.find(".1.throughput") != std::string::npos;
                return unit_named(leader == "fma" ? "arithmetic" : of_scalars ? (leader == "ialu" ? "integer" : "integer " + leader) : leader);
            }
            return unit_named(std::string(to_string(o)));
        };
        machine_.costs.clear();
        for (std::size_t o = 0; o < augur::instruction_classes; ++o)
            for (const auto t : {element::f32, element::f64, element::i32, element::i64})
                for (int lanes = 1; lanes * bytes_of(t) <= machine_.vector_bytes; lanes *= 2) cost(static_cast<op>(o), t, lanes, unit_of);
        if (const auto* t = find("branch")) {
            const auto u = unit_named("branch");
            const auto from = t->noisy() ? augur::provenance::defaulted : measured;
            machine_.costs.push_back({op::branch, element::i64, 1, rounded(t->cycles()), rounded(t->cycles()), u, from});
        }
        const auto noise = std::count_if(machine_.costs.begin(), machine_.costs.end(), [](const auto& c) { return c.from != measured; });
        if (noise > 0) note(std::to_string(noise) + " of " + std::to_string(machine_.costs.size()) + " costs are noise, and marked as defaults");
        for (std::size_t u = 0; u < machine_.units.size(); ++u) {
            double least = 16;
            for (const auto& c : machine_.costs)
                if (c.unit == u) least = (std::min)(least, c.throughput);
            machine_.units[u].count = static_cast<int>(std::clamp(std::round(1 / least), 1.0, 16.0));
        }
    }

    template <class Unit>
    void cost(op o, element t, int lanes, const Unit& unit_of) {
        const double between = cycles(probe_name(o, t, lanes, false));
        if (between <= 0) return;
        double latency = cycles(probe_name(o, t, lanes, true));
        const auto less = [&](op other) { latency -= cycles(probe_name(other, t, lanes, true)); };
        if (o == op::fsqrt || o == op::log || o == op::pow) less(op::fadd);
        const bool scalar = lanes == 1 && !is_float(t);
        if (o == op::compare && !scalar) less(op::select);
        if (o == op::convert || (scalar && (o == op::compare || o == op::select))) latency /= 2;
        if (o == op::reduce) less(op::shuffle);
        if (o == op::load && !scalar) latency -= cycles("between files") / 2;
        if (o == op::store) latency = 1;         // nobody waits for it but a load, and that is store_forward
        if (o == op::scatter) latency = between; // likewise
        const auto* waits = find(probe_name(o, t, lanes, true));
        const bool noise = find(probe_name(o, t, lanes, false))->noisy() || (waits != nullptr && waits->noisy());
        machine_.costs.push_back({o, t, lanes, rounded((std::max)(latency, 0.05)), rounded((std::max)(between, 0.05)), unit_of(o, t, lanes),
                                  noise ? augur::provenance::defaulted : measured});
    }

    // ---- the core ----------------------------------------------------------------------------------------------------------------------------

    void core() {
        auto& c = machine_.core;
        int known = 0;
        if (const double nop = cycles("nop"); nop > 0 && quiet("issue width", "nop")) c.issue_width = rounded(1 / nop), ++known;
        const auto wide = static_cast<int>(machine_.vector_bytes / 4);
        if (const double there = cycles("forward.vector"); there > 0 && quiet("load behind a store", "forward.vector"))
            c.store_forward = rounded((std::max)(1.0, there - cycles(probe_name(op::fadd, element::f32, wide, true)))), ++known;
        const double random = cycles("branches.random"), foreseen = (cycles("branches.never") + cycles("branches.always")) / 2;
        if (foreseen > 0 && random > foreseen && quiet("branch not foreseen", "branches.random", "branches.never", "branches.always"))
            c.mispredict = rounded(2 * (random - foreseen)), ++known;
        const auto noise =
            std::count_if(times_.begin(), times_.end(), [](const auto& t) { return t.first.starts_with("window.") && t.second.noisy(); });
        if (noise > 8) note("window: noise, so are " + std::to_string(noise) + " points of its curve; a default instead");
        else if (const double w = window(); w > 0) c.window = w, ++known;
        c.predicted_trips = trips();
        c.from = known == 4 ? measured : augur::provenance::defaulted;
    }

    /// The longest loop whose end is foreseen when nothing else is going on.
    [[nodiscard]] double trips() const {
        std::vector<std::pair<double, double>> by_rounds;
        for (const auto& [name, t] : times_)
            if (name.starts_with("loops.")) by_rounds.emplace_back(*augur::parse_double(std::string_view(name).substr(6)), t.cycles());
        std::sort(by_rounds.begin(), by_rounds.end());
        if (by_rounds.size() < 8) return 0;
        std::vector<double> slopes; // of one round more; a few are steps, where an end is no longer foreseen
        for (std::size_t i = 1; i < by_rounds.size(); ++i)
            slopes.push_back((by_rounds[i].second - by_rounds[i - 1].second) / (by_rounds[i].first - by_rounds[i - 1].first));
        std::sort(slopes.begin(), slopes.end());
        const double each = slopes[slopes.size() / 2];
        double base = 1e30, longest = 0;
        for (std::size_t i = 0; i < 5; ++i) base = (std::min)(base, by_rounds[i].second - each * by_rounds[i].first);
        for (const auto& [rounds, t] : by_rounds) {
            if (t - each * rounds - base > 0.5 * machine_.core.mispredict) break;
            longest = rounds;
        }
        return longest;
    }

    /// How many instructions fit between two loads that still go on at the same time.
    [[nodiscard]] double window() const {
        std::vector<std::pair<double, double>> by_distance;
        for (const auto& [name, t] : times_)
            if (name.starts_with("window.")) by_distance.emplace_back(*augur::parse_double(std::string_view(name).substr(7)), t.cycles());
        std::sort(by_distance.begin(), by_distance.end());
        if (by_distance.size() < 12) return 0;
        const auto middle = [&](std::size_t from) {
            std::array<double, 5> part{};
            for (std::size_t i = 0; i < 5; ++i) part[i] = by_distance[from + i].second;
            std::sort(part.begin(), part.end());
            return part[2];
        };
        const double low = middle(0), high = middle(by_distance.size() - 5);
        if (high < 1.5 * low) return 0; // nothing to be seen
        std::size_t i = by_distance.size() - 1;
        while (i > 0 && by_distance[i - 1].second > (low + high) / 2) --i;
        if (i == 0) return 0;
        const auto& [n0, t0] = by_distance[i - 1];
        const auto& [n1, t1] = by_distance[i];
        return std::round(n0 + (n1 - n0) * ((low + high) / 2 - t0) / (t1 - t0)) + 2; // the loads themselves
    }

    // ---- caches and memory -------------------------------------------------------------------------------------------------------------------

    /// Far more than the last cache, and not all memory.
    [[nodiscard]] std::int64_t far_bytes() const {
        const std::int64_t wanted = (std::max)(std::int64_t{64} << 20U, 2 * machine_.caches.back().bytes);
        const std::int64_t most = machine_.memory.bytes > 0 ? machine_.memory.bytes / 4 : wanted;
        return (std::min)({wanted, most, std::int64_t{1} << 30U}) / 4096 * 4096;
    }

    /// What all threads read together: twice all instances of all caches, and not all memory. 0: memory is too small for more than the caches hold.
    [[nodiscard]] std::int64_t far_bytes_of_all() const {
        std::int64_t cached = 0;
        for (const auto& c : machine_.caches) cached += c.bytes * ((machine_.processors + c.sharers - 1) / c.sharers);
        const std::int64_t wanted = (std::max)(std::int64_t{64} << 20U, 2 * cached);
        const std::int64_t bytes = machine_.memory.bytes > 0 ? (std::min)(wanted, machine_.memory.bytes / 4) : wanted;
        return bytes > cached ? bytes / 4096 * 4096 : 0;
    }

    /// What does not go by the clock of the core, in its cycles.
    [[nodiscard]] double of_clock(const std::string& name) const {
        const auto* t = find(name);
        return t != nullptr ? t->least * 1e-9 * machine_.clock_hz : 0;
    }

    void caches(const std::string& program) {
        for (std::size_t i = 0; i < machine_.caches.size(); ++i) {
            auto& c = machine_.caches[i];
            // Half of it; twice the one before of a cache that others use as well
            const bool shared = i > 0 && c.sharers != machine_.caches[0].sharers;
            const std::int64_t bytes = shared ? (std::min)(c.bytes / 2, 2 * machine_.caches[i - 1].bytes) : c.bytes / 2;
            const auto name = "L" + std::to_string(c.level) + ".";
            auto walked = time(program, {"chase", std::to_string(bytes)}, name);
            if (walked) walked = time(program, {"read", std::to_string(bytes), "0"}, name);
            // A cache of one's own goes by the clock of the core, one further away by its own.
            const double latency = shared ? of_clock(name + "chase") : cycles(name + "chase");
            const double byte = shared ? of_clock(name + "read") : cycles(name + "read");
            if (!walked || latency <= 0 || byte <= 0 || (i > 0 && latency <= machine_.caches[i - 1].latency)) {
                note(name + " not measured" + (walked ? "" : ": " + walked.error().detail));
                continue;
            }
            if (!quiet("L" + std::to_string(c.level), name + "chase", name + "read")) continue;
            c.latency = rounded(latency);
            c.bytes_per_cycle = rounded(1 / byte);
            c.from = measured;
        }
        sets(program);
        for (std::size_t i = 1; i < machine_.caches.size(); ++i) // a default behind what was measured
            if (machine_.caches[i].latency <= machine_.caches[i - 1].latency) machine_.caches[i].latency = 3 * machine_.caches[i - 1].latency;
    }

    /// Lines for one set of the first cache, more than a set of a profile remembers, out of half of the second one.
    void sets(const std::string& program) {
        auto& c = machine_.caches.front();
        if (machine_.caches.size() < 2 || c.ways < 1 || c.from != measured) return;
        const auto period = c.bytes / c.ways, rows = (std::min)(machine_.caches[1].bytes / 2 / period, std::int64_t{64}) / 4 * 4;
        if (rows <= static_cast<std::int64_t>(augur::associativity_stream::deepest)) return;
        if (!time(program, {"sets", std::to_string(rows * period), std::to_string(period)}, "L1.")) note("L1.sets not measured");
        else if (quiet("sets of L1", "L1.sets")) c.set_cycles = rounded(cycles("L1.sets"));
    }

    void far(const std::string& program) {
        const auto bytes = std::to_string(far_bytes());
        auto& m = machine_.memory;
        const int threads = (std::min)(machine_.processors, 256);
        const auto together = threads > 1 ? far_bytes_of_all() : 0;
        const auto all_read = "memory.read." + std::to_string(together > 0 ? threads : 1);
        auto walked = time(program, {"chase", bytes}, "memory.");
        if (walked) walked = time(program, {"read", bytes, "1"}, "memory.");
        if (walked && together > 0) walked = time(program, {"read", std::to_string(together), std::to_string(threads)}, "memory.");
        const double latency = of_clock("memory.chase");
        if (walked && !quiet("memory", "memory.chase", "memory.read.1", all_read)) {
            m.latency = (std::max)(m.latency, 2 * machine_.caches.back().latency);
            return;
        }
        if (!walked || latency <= machine_.caches.back().latency) {
            m.latency = (std::max)(m.latency, 2 * machine_.caches.back().latency);
            note("memory not measured" + (walked ? std::string() : ": " + walked.error().detail));
            return;
        }
        m.latency = rounded(latency);
        at_hand(program);
        m.core_bytes_per_second = rounded(1e9 / find("memory.read.1")->least);
        if (threads > 1 && together == 0) {
            note("memory: a quarter of it is not more than all caches hold, so the bandwidth of all cores is not measured");
            return; // a default, and with it the whole memory
        }
        m.bytes_per_second = (std::max)(m.core_bytes_per_second, rounded(1e9 / find(all_read)->least));
        m.from = measured;
    }

    /// How much of the last cache there is: a guest of a cloud has a part of what it is told. What takes longer to read than the middle between it and
    /// memory is no longer there. By reading, not by a walk: what the neighbours leave of a line depends on how soon one comes back to it.
    void at_hand(const std::string& program) {
        auto& c = machine_.caches.back();
        if (machine_.caches.size() < 2 || c.from != measured) return;
        const auto inner = machine_.caches[machine_.caches.size() - 2].bytes;
        std::int64_t some = 2 * inner;
        for (auto bytes = some + some / 2; bytes <= c.bytes / 2; bytes += bytes / 2) {
            const auto name = "last." + std::to_string(bytes) + ".";
            if (!time(program, {"read", std::to_string(bytes), "0"}, name)) return;
            if (of_clock(name + "read") > (1 / c.bytes_per_cycle + of_clock("memory.read.1")) / 2) {
                const auto set = c.line_bytes * c.ways;
                note("L" + std::to_string(c.level) + ": of " + std::to_string(c.bytes) + " bytes some " + std::to_string(some) + " are at hand");
                c.bytes = (std::max)(some / set, std::int64_t{1}) * set;
                return;
            }
            some = bytes;
        }
    }

    /// What it takes to hand nothing to all threads of the embedded compiler's runner.
    augur::result<void> launches() {
        if (machine_.processors < 2) return {};
        augur::loopnest::runner_options o;
        o.compiler = asked_;
        o.stop = stop_;
        o.threads = machine_.processors;
        o.timing.repeats = quick_ ? 16 : 64;
        o.timing.min_repeat_seconds = 0.002;
        o.timing.cutoff = 1e30;
        auto runner = augur::loopnest::program_runner::create(o);
        if (!runner) return runner.error();
        std::vector<augur::loopnest::generated_program> programs(2);
        for (std::size_t i = 0; i < 2; ++i) {
            auto& p = programs[i];
            p.entry = i == 0 ? "aug_alone" : "aug_launched";
            const auto body = p.entry + "_body", parts = std::to_string(machine_.processors);
            p.source = "static void " + body +
                       "(void *context, int64_t begin, int64_t end) { float *const *b = context;\n"
                       "    for (int64_t i = begin; i < end; ++i) b[0][16 * i] = 1; }\nvoid " +
                       p.entry + "(float *const *b, void (*launch)(void (*)(void *, int64_t, int64_t), void *, int64_t)) { " +
                       (i == 0 ? body + "((void *)b, 0, " : "launch(" + body + ", (void *)b, ") + parts + "); }\n";
            p.buffers = {{augur::loopnest::program_buffer::role::output, 16 * machine_.processors, 0, 0, 1}};
            p.flops = 1;
        }
        constexpr std::array<const char*, 2> names{"launch.alone", "launch"};
        augur::result<double> extra = augur::error{augur::errc::io, "launches not measured"};
        for (int pass = 0; pass < passes && !extra; ++pass) {
            const auto done = runner->measure(programs, augur::loopnest::expected_outputs{});
            for (std::size_t i = 0; i < 2; ++i) {
                if (!done[i].ok()) return augur::error{augur::errc::io, "launches not measured: " + done[i].reason};
                auto seconds = done[i].seconds;
                std::sort(seconds.begin(), seconds.end());
                const loop_time t{1e9 * seconds.front(), 1e9 * seconds[seconds.size() / 2], 1e9 / machine_.clock_hz};
                const auto [at, fresh] = times_.try_emplace(names[i], t);
                if (!fresh && t.better_than(at->second)) at->second = t;
            }
            extra = launch_cycles(times_.at(names[0]), times_.at(names[1]));
        }
        if (!extra) return augur::error{extra.error().code, extra.error().detail + "; a default instead"};
        machine_.core.parallel_launch = rounded(*extra);
        return {};
    }
};

} // namespace examples

#endif
