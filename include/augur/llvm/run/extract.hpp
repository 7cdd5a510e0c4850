// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_RUN_EXTRACT_HPP
#define AUGUR_LLVM_RUN_EXTRACT_HPP

/// @file
/// Feature extraction from an LLVM module in the current process (analyse, instrument, compile, run, combine), with signal handlers that report
/// failures of the program.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/time.h>

#include <llvm/Support/ErrorHandling.h>

#include <augur/llvm/run/entry.hpp>
#include <augur/llvm/run/jit.hpp>
#include <augur/llvm/run/prepare.hpp>
#include <augur/program/features.hpp>

namespace augur::inline v0::detail {

/// Reports signals, out-of-memory and LLVM's fatal errors to the parent before the child process ends.
struct ir_failures {
    static inline const child_report* report = nullptr;
    static inline const char* step = "read";
    static inline double seconds = 0;
    static inline std::vector<std::pair<std::size_t, std::string>>* names = nullptr; ///< (counter, the function or block that it counts)
    static inline std::vector<::llvm::Function*>* foreign = nullptr;

    static void install(const child_report& to, const ir_options& o) {
        report = &to;
        seconds = o.time_limit_seconds;
        struct sigaction act{};
        act.sa_sigaction = &handle;
        act.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigfillset(&act.sa_mask);
        for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGALRM, SIGXCPU}) ::sigaction(s, &act, nullptr);
        itimerval timer{};
        timer.it_value.tv_sec = static_cast<time_t>(seconds);
        timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - static_cast<double>(timer.it_value.tv_sec)) * 1e6);
        ::setitimer(ITIMER_REAL, &timer, nullptr);
        ::llvm::install_fatal_error_handler(
            [](void*, const char* message, bool) { report_failure(errc::unsupported, "LLVM reported a fatal error", message); });
        std::set_new_handler([] { report_failure(errc::limit, "out of memory", ""); });
    }
    static void no_such_function(std::uint64_t i) {
        report->fail(errc::not_found,
                     "the program calls '" + (*foreign)[i]->getName().take_front(80).str() + "', which is not here (ir_options.symbols)");
    }

private:
    [[noreturn]] static void report_failure(errc code, const char* failure, const char* details) {
        std::array<char, 512> text;
        const int n = std::snprintf(text.data(), text.size(), "%s while it was to %s%s%s%s", failure, step, *details != '\0' ? ": " : "", details,
                                    hottest_place().data());
        report->fail(code, {text.data(), (std::min)(static_cast<std::size_t>(n), text.size() - 1)});
    }
    /// Names the function or block with the highest count so far.
    static std::array<char, 256> hottest_place() {
        std::array<char, 256> text{};
        if (ir_run::now == nullptr || names == nullptr) return text;
        const std::string* most = nullptr;
        std::uint64_t times = 0;
        for (const auto& [counter, name] : *names)
            if (const auto n = ir_run::now->counters[counter]; n > times) times = n, most = &name;
        if (most != nullptr)
            std::snprintf(text.data(), text.size(), "; the highest execution count is %llu, of %s", static_cast<unsigned long long>(times),
                          most->c_str());
        return text;
    }
    static void handle(int signal, siginfo_t* info, void*) {
        std::array<char, 256> text{};
        if (signal == SIGALRM) {
            std::snprintf(text.data(), text.size(), "stopped at its time limit of %g seconds", seconds);
            report_failure(errc::limit, text.data(), "");
        }
        if (signal == SIGXCPU) report_failure(errc::limit, "stopped at its limit of processor time", "");
        const bool running = ir_run::now != nullptr;
        if (running && (signal == SIGSEGV || signal == SIGBUS))
            ir_run::now->memory.describe(reinterpret_cast<std::uint64_t>(info->si_addr), text.data(), text.size());
        if (running && ir_run::now->heap.refused() > 0) {
            const auto used = std::char_traits<char>::length(text.data());
            std::snprintf(text.data() + used, text.size() - used, "; before that it asked for %llu bytes, more than the memory limit has left",
                          static_cast<unsigned long long>(ir_run::now->heap.refused()));
        }
        const char* const failure = signal == SIGSEGV || signal == SIGBUS ? "wild access to memory"
                                    : signal == SIGFPE                    ? "division by zero or overflow of a division"
                                    : signal == SIGILL                    ? "an instruction that this processor does not have, or unreachable code"
                                    : signal == SIGABRT                   ? "abort"
                                                                          : "killed by a signal";
        report_failure(running ? errc::illegal_schedule : errc::unsupported, failure, text.data());
    }
};

/// Computes the counts of all edges and blocks from the counters. The count of a block is the sum of its incoming edges; a single outgoing edge has
/// the count of its block.
inline void settle_counts(ir_function& f, const ir_counters& c, const std::vector<std::uint64_t>& counters) {
    const std::size_t n = f.blocks.size();
    std::vector<std::size_t> open(n, 0), only(n, f.flow.size());
    for (std::size_t e = 0; e < f.flow.size(); ++e) {
        ++open[f.flow[e].target];
        if (c.edges[e] < 0) only[f.flow[e].source] = e;
    }
    f.blocks[0].count = counters[c.calls];
    std::vector<std::uint32_t> ready;
    const auto set_edge = [&](std::size_t e, std::uint64_t count) {
        f.flow[e].label.count = count;
        const auto to = f.flow[e].target;
        f.blocks[to].count += count;
        if (--open[to] == 0) ready.push_back(to);
    };
    for (std::uint32_t b = 0; b < n; ++b)
        if (open[b] == 0) ready.push_back(b);
    for (std::size_t e = 0; e < f.flow.size(); ++e)
        if (c.edges[e] >= 0) set_edge(e, counters[static_cast<std::size_t>(c.edges[e])]);
    while (!ready.empty()) {
        const auto b = ready.back();
        ready.pop_back();
        if (only[b] < f.flow.size()) set_edge(only[b], f.blocks[b].count);
    }
}

/// Analyses, instruments, compiles and runs a module in the current process and returns its features. It changes the module.
/// Errors: those of find_entry, prepare_module, ir_jit and add_entry; parse (an invalid module); limit (blocks or instructions); illegal_schedule
/// (the program returned an error).
inline result<program_features> extract_features(::llvm::Module& m, const ir_options& o, const child_report& report) {
    namespace ir = ::llvm;
    const auto step = [&](const char* name) {
        ir_failures::step = name;
        report.send(0, name);
    };
    // --- analysis
    step("analyse");
    std::string broken;
    ir::raw_string_ostream sink(broken);
    if (ir::verifyModule(m, &sink)) {
        std::replace(broken.begin(), broken.end(), '\n', ' ');
        return error{errc::parse, "the module is not valid: " + broken.substr(0, 300)};
    }
    auto target = ir_jit::create();
    if (!target) return target.error();
    const auto entry = find_entry(m, o.entry);
    if (!entry) return entry.error();
    const std::string name = (*entry)->getName().str();
    auto prepared = prepare_module(m, **entry, o);
    if (!prepared) return prepared.error();
    (*target)->adopt(m);

    std::vector<ir_function> functions;
    std::size_t instructions = 0;
    {
        ir::PassBuilder passes;
        ir::LoopAnalysisManager loops;
        ir::FunctionAnalysisManager analyses;
        ir::CGSCCAnalysisManager calls;
        ir::ModuleAnalysisManager modules;
        analyses.registerPass([&] { return passes.buildDefaultAAPipeline(); });
        passes.registerModuleAnalyses(modules);
        passes.registerCGSCCAnalyses(calls);
        passes.registerFunctionAnalyses(analyses);
        passes.registerLoopAnalyses(loops);
        passes.crossRegisterProxies(loops, analyses, calls, modules);
        const features_limits limits;
        for (auto* const f : prepared->functions) {
            instructions += f->getInstructionCount();
            if (f->size() > limits.blocks || instructions > limits.instructions / 2)
                return error{errc::limit, "function '" + f->getName().take_front(80).str() + "': more than " + std::to_string(limits.blocks) +
                                              " blocks, or the program has more than " + std::to_string(limits.instructions / 2) + " instructions"};
            functions.push_back(ir_graphlets(*f, analyses, o.contract).make());
        }
    }
    // The body of a parallel region is a function whose address is taken. Functions that only bodies call are parallel, too.
    std::vector<parallel_part> parts;
    std::vector<std::size_t> part_functions; // (parts) index of the function
    std::vector<std::string> part_names;
    for (std::size_t i = 0; i < functions.size(); ++i) {
        auto& code = *functions[i].code;
        if (i == 0 || !code.hasAddressTaken()) continue;
        parts.push_back({0, loop_extent(code), 0});
        part_functions.push_back(i);
        part_names.push_back("augur.body." + std::to_string(i));
    }
    std::vector<std::vector<std::size_t>> reached_by(functions.size()); // (functions) parts
    const auto serial = reached_from(**entry, false);
    for (std::size_t p = 0; p < parts.size(); ++p)
        for (auto* const f : reached_from(*functions[part_functions[p]].code, false))
            for (std::size_t i = 0; i < functions.size(); ++i)
                if (functions[i].code == f && std::find(serial.begin(), serial.end(), f) == serial.end()) reached_by[i].push_back(p);

    // --- instrumentation and compilation
    step("compile");
    std::vector<std::string> function_names;
    for (std::size_t i = 0; i < functions.size(); ++i) function_names.push_back(functions[i].code->getName().str());
    for (std::size_t p = 0; p < parts.size(); ++p) {
        functions[part_functions[p]].code->setName(part_names[p]);
        functions[part_functions[p]].code->setLinkage(ir::GlobalValue::ExternalLinkage);
        functions[part_functions[p]].code->setVisibility(ir::GlobalValue::DefaultVisibility);
    }
    ir_run run(o, report, std::move(parts));
    ir_instrumenter instrumenter(m, {&ir_run::cell, ir_run::flush_hook, ir_run::range_hook, ir_run::copy_hook, run.line_bits()});
    std::vector<ir_counters> numbers;
    std::vector<std::pair<std::size_t, std::string>> names; // names of the counters for failure reports
    for (std::size_t i = 0; i < functions.size(); ++i) {
        const auto& f = functions[i];
        numbers.push_back(instrumenter.number(f));
        const std::string function = "function '" + function_names[i].substr(0, 80) + "'";
        names.emplace_back(numbers[i].calls, function);
        for (std::size_t e = 0; e < f.flow.size(); ++e)
            if (numbers[i].edges[e] >= 0)
                names.emplace_back(numbers[i].edges[e], function + ", block '" + f.blocks[f.flow[e].target].name.substr(0, 80) + "'");
    }
    run.counters.assign(instrumenter.counters(), 0);
    for (std::size_t i = 0; i < functions.size(); ++i) instrumenter.instrument(functions[i], numbers[i], run.counters.data());
    auto foreign = prepared->foreign;
    stub_foreign(foreign, ir_failures::no_such_function, m);
    call_memory arguments;
    // The heap has 3/4 of the memory limit, so that a program that checks its allocations sees a failure before the process is killed.
    if (auto opened = run.heap.open(run.memory, o.memory_limit_bytes / 4 * 3); !opened) return opened.error();
    const auto start = add_entry(m, **entry, o, run.memory, arguments);
    if (!start) return start.error();
    if (auto compiled = (*target)->compile(m, o.symbols); !compiled) return compiled.error();
    const auto address = (*target)->address(*start);
    if (!address) return address.error();
    std::vector<std::uint64_t> bodies;
    for (const auto& part_name : part_names) {
        const auto body = (*target)->address(part_name);
        if (!body) return body.error();
        bodies.push_back(*body);
    }
    run.place_parts(bodies);

    // --- one run
    step("run");
    ir_failures::names = &names;
    ir_failures::foreign = &foreign;
    std::int32_t status = 0;
    if (auto ran = run.run([&] { status = reinterpret_cast<std::int32_t (*)()>(*address)(); }); !ran) return ran.error();
    ir_failures::step = "put together what it found";
    if (status != 0)
        return error{errc::illegal_schedule,
                     "the program failed with " + std::to_string(status) + (run.last_error.empty() ? "" : ": " + run.last_error.substr(0, 200)) +
                         (run.heap.refused() > 0 ? "; there was no room for " + std::to_string(run.heap.refused()) + " bytes" : "")};

    // --- results
    program_features out;
    out.name = name;
    out.source =
        "LLVM IR, run with LLVM " LLVM_VERSION_STRING "; " + std::to_string(run.accesses()) + " accesses to memory, " +
        (run.trace_ended_early()          ? "the trace ends early, after " + std::to_string(o.trace.most)
         : run.accesses() > o.trace.exact ? "of which the first " + std::to_string(o.trace.exact) + " were counted one by one and the others sampled"
                                          : "counted one by one");
    auto memory = run.finish();
    for (std::size_t i = 0; i < functions.size(); ++i) {
        auto& f = functions[i];
        if (run.counters[numbers[i].calls] == 0) continue;
        settle_counts(f, numbers[i], run.counters);
        for (std::size_t c = 0; c < f.copies.size(); ++c) { // memory intrinsics get their average length
            const auto times = f.blocks[f.copies[c].block].count;
            const auto bytes = times > 0 ? run.counters[numbers[i].copied[c]] / times : 1;
            for (const auto v : f.copies[c].vertices)
                f.blocks[f.copies[c].block].code[v].lanes = static_cast<std::uint32_t>(std::clamp(bytes, std::uint64_t{1}, std::uint64_t{65536}));
        }
        auto& made = out.functions.emplace_back();
        made.name = function_names[i];
        made.count = run.counters[numbers[i].calls];
        const auto body = std::find(part_functions.begin(), part_functions.end(), i);
        if (body != part_functions.end()) made.launches = run.parts()[static_cast<std::size_t>(body - part_functions.begin())].launches;
        else made.launches = 0;
        for (const auto p : reached_by[i])
            if (part_functions[p] != i) made.launches += run.parts()[p].launches;
        made.parallel = made.launches > 0;
        made.launches = made.parallel ? (std::min)(made.launches, made.count) : 1;
        if (body != part_functions.end() && made.parallel)
            made.memory = {std::move(memory[static_cast<std::size_t>(body - part_functions.begin()) + 2])};
        made.flow = control_flow_graph(std::move(f.blocks), std::move(f.flow));
    }
    for (auto& f : out.functions) // the entry gets the profile of the serial part
        if (!f.parallel && !part_functions.empty() && f.memory.empty() && f.name == name) f.memory = {memory[1]};
    out.memory = {std::move(memory[0])};
    if (auto fits = check_features(out); !fits) return error{fits.error().code, "expected consistent counts: " + fits.error().detail};
    return out;
}

} // namespace augur::inline v0::detail

#endif
