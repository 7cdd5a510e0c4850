// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_RUN_EXTRACT_HPP
#define AUGUR_LLVM_RUN_EXTRACT_HPP

/// @file
/// Feature extraction from an LLVM module in the current process: analyse, instrument, compile, run, combine counts and profiles.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include <augur/llvm/analyse/graphlets.hpp>
#include <augur/llvm/instrument/counters.hpp>
#include <augur/llvm/run/entry.hpp>
#include <augur/llvm/run/failures.hpp>
#include <augur/llvm/run/jit.hpp>
#include <augur/llvm/run/prepare.hpp>
#include <augur/program/features.hpp>

namespace augur::inline v0::detail {

/// Parallel regions of a program, one per body function. The body of a region is a function whose address is taken.
struct parallel_regions {
    std::vector<parallel_part> parts;
    std::vector<std::size_t> bodies;                  ///< (parts) index of the body function
    std::vector<std::vector<std::size_t>> reached_by; ///< (functions) parts whose body calls the function, unless serial code calls it, too

    /// The part whose body is a function; the number of parts if there is none.
    [[nodiscard]] std::size_t part_of(std::size_t function) const {
        return static_cast<std::size_t>(std::find(bodies.begin(), bodies.end(), function) - bodies.begin());
    }
};

/// A program after static analysis.
struct analysed_program {
    std::vector<ir_function> functions; ///< the entry first
    std::vector<std::string> names;     ///< (functions) names before `export_bodies`
    parallel_regions regions;
};

/// Error: parse (an invalid module).
inline result<void> verify_module(const ::llvm::Module& m) {
    std::string broken;
    ::llvm::raw_string_ostream sink(broken);
    if (!::llvm::verifyModule(m, &sink)) return {};
    std::replace(broken.begin(), broken.end(), '\n', ' ');
    return error{errc::parse, "the module is not valid: " + broken.substr(0, 300)};
}

/// Makes the graphlets and the control flow of each function. Error: limit (blocks or instructions).
inline result<std::vector<ir_function>> analyse_functions(const std::vector<::llvm::Function*>& list, bool contract) {
    namespace ir = ::llvm;
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
    std::vector<ir_function> functions;
    std::size_t instructions = 0;
    for (auto* const f : list) {
        instructions += f->getInstructionCount();
        if (f->size() > limits.blocks || instructions > limits.instructions / 2)
            return error{errc::limit, "function '" + f->getName().take_front(80).str() + "': more than " + std::to_string(limits.blocks) +
                                          " blocks, or the program has more than " + std::to_string(limits.instructions / 2) + " instructions"};
        functions.push_back(ir_graphlets(*f, analyses, contract).make());
    }
    return functions;
}

/// Finds the bodies of parallel regions and the functions that only bodies call. The entry is no body.
inline parallel_regions find_parallel_regions(const std::vector<ir_function>& functions) {
    parallel_regions regions;
    for (std::size_t i = 1; i < functions.size(); ++i) {
        auto& code = *functions[i].code;
        if (!code.hasAddressTaken()) continue;
        regions.parts.push_back({0, loop_extent(code), 0});
        regions.bodies.push_back(i);
    }
    regions.reached_by.resize(functions.size());
    const auto serial = reached_from(*functions.front().code, false);
    for (std::size_t p = 0; p < regions.parts.size(); ++p)
        for (auto* const f : reached_from(*functions[regions.bodies[p]].code, false))
            for (std::size_t i = 0; i < functions.size(); ++i)
                if (functions[i].code == f && std::find(serial.begin(), serial.end(), f) == serial.end()) regions.reached_by[i].push_back(p);
    return regions;
}

/// Static analysis of the functions of a program, the entry first. Errors: those of analyse_functions.
inline result<analysed_program> analyse_program(const std::vector<::llvm::Function*>& list, bool contract) {
    auto functions = analyse_functions(list, contract);
    if (!functions) return functions.error();
    analysed_program program;
    program.functions = std::move(*functions);
    for (const auto& f : program.functions) program.names.push_back(f.code->getName().str());
    program.regions = find_parallel_regions(program.functions);
    return program;
}

/// Symbol of the body function of a region in the compiled program.
inline std::string body_symbol(std::size_t function) { return "augur.body." + std::to_string(function); }

/// Gives the bodies of parallel regions external symbols, so that their addresses can be looked up after linking.
inline void export_bodies(const analysed_program& program) {
    for (const auto i : program.regions.bodies) {
        auto& code = *program.functions[i].code;
        code.setName(body_symbol(i));
        code.setLinkage(::llvm::GlobalValue::ExternalLinkage);
        code.setVisibility(::llvm::GlobalValue::DefaultVisibility);
    }
}

/// Inserts counters and the memory trace into all functions; the counters are in `run`. Returns the counters of each function.
inline std::vector<ir_counters> instrument_program(::llvm::Module& m, const analysed_program& program, ir_run& run) {
    ir_instrumenter instrumenter(m, {&ir_run::cell, ir_run::flush_hook, ir_run::range_hook, ir_run::copy_hook, run.line_bits()});
    std::vector<ir_counters> numbers;
    for (const auto& f : program.functions) numbers.push_back(instrumenter.number(f));
    run.counters.assign(instrumenter.counters(), 0);
    for (std::size_t i = 0; i < numbers.size(); ++i) instrumenter.instrument(program.functions[i], numbers[i], run.counters.data());
    return numbers;
}

/// Names of the counters for failure reports: the function or block that each one counts.
inline std::vector<std::pair<std::size_t, std::string>> counter_names(const analysed_program& program, const std::vector<ir_counters>& numbers) {
    std::vector<std::pair<std::size_t, std::string>> names;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto& f = program.functions[i];
        const std::string function = "function '" + program.names[i].substr(0, 80) + "'";
        names.emplace_back(numbers[i].calls, function);
        for (std::size_t e = 0; e < f.flow.size(); ++e)
            if (numbers[i].edges[e] >= 0)
                names.emplace_back(numbers[i].edges[e], function + ", block '" + f.blocks[f.flow[e].target].name.substr(0, 80) + "'");
    }
    return names;
}

/// Compiles and links an instrumented program and places its parallel parts in `run`. Returns the address of a function without parameters that calls
/// the entry with the arguments of `o`. Errors: those of fenced_heap, add_entry and ir_jit.
inline result<std::uint64_t> compile_program(::llvm::Module& m, const analysed_program& program, const ir_options& o, ir_jit& jit, ir_run& run,
                                             call_memory& arguments) {
    // The heap has 3/4 of the memory limit, so that a program that checks its allocations sees a failure before the process is killed.
    if (auto opened = run.heap.open(run.memory, o.memory_limit_bytes / 4 * 3); !opened) return opened.error();
    const auto start = add_entry(m, *program.functions.front().code, o, run.memory, arguments);
    if (!start) return start.error();
    if (auto compiled = jit.compile(m, o.symbols); !compiled) return compiled.error();
    const auto address = jit.address(*start);
    if (!address) return address.error();
    std::vector<std::uint64_t> bodies;
    for (const auto i : program.regions.bodies) {
        const auto body = jit.address(body_symbol(i));
        if (!body) return body.error();
        bodies.push_back(*body);
    }
    run.place_parts(bodies);
    return *address;
}

/// The error of a program that returned `status`.
inline error program_failure(std::int32_t status, const ir_run& run) {
    return {errc::illegal_schedule, "the program failed with " + std::to_string(status) +
                                        (run.last_error.empty() ? "" : ": " + run.last_error.substr(0, 200)) +
                                        (run.heap.refused() > 0 ? "; there was no room for " + std::to_string(run.heap.refused()) + " bytes" : "")};
}

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

/// Sets the lengths of memory intrinsics to their averages in the run, 64 KiB at most.
inline void set_copy_lengths(ir_function& f, const ir_counters& c, const std::vector<std::uint64_t>& counters) {
    for (std::size_t i = 0; i < f.copies.size(); ++i) {
        auto& block = f.blocks[f.copies[i].block];
        const auto bytes = block.count > 0 ? counters[c.copied[i]] / block.count : 1;
        for (const auto v : f.copies[i].vertices)
            block.code[v].lanes = static_cast<std::uint32_t>(std::clamp(bytes, std::uint64_t{1}, std::uint64_t{65536}));
    }
}

/// Number of launches of the parallel regions that execute a function; 0: it is serial.
inline std::uint64_t launches_of(std::size_t function, const parallel_regions& regions, const ir_run& run) {
    const auto own = regions.part_of(function);
    std::uint64_t launches = own < regions.parts.size() ? run.parts()[own].launches : 0;
    for (const auto p : regions.reached_by[function])
        if (p != own) launches += run.parts()[p].launches;
    return launches;
}

/// Provenance of the features: the LLVM version and how the accesses were counted.
inline std::string describe_run(const ir_run& run, const trace_options& o) {
    return "LLVM IR, run with LLVM " LLVM_VERSION_STRING "; " + std::to_string(run.accesses()) + " accesses to memory, " +
           (run.trace_ended_early()    ? "the trace ends early, after " + std::to_string(o.most)
            : run.accesses() > o.exact ? "of which the first " + std::to_string(o.exact) + " were counted one by one and the others sampled"
                                       : "counted one by one");
}

/// Combines static analysis, counters and memory profiles after the run. Takes the blocks out of `program`.
/// Errors: those of check_features (inconsistent counts).
inline result<program_features> combine_features(analysed_program& program, const std::vector<ir_counters>& numbers, ir_run& run,
                                                 const ir_options& o) {
    program_features out;
    out.name = program.names.front();
    out.source = describe_run(run, o.trace);
    auto memory = run.finish(); // of the whole program, of its serial part, of each parallel part
    const auto& regions = program.regions;
    for (std::size_t i = 0; i < program.functions.size(); ++i) {
        auto& f = program.functions[i];
        const auto count = run.counters[numbers[i].calls];
        if (count == 0) continue;
        settle_counts(f, numbers[i], run.counters);
        set_copy_lengths(f, numbers[i], run.counters);
        auto& made = out.functions.emplace_back();
        made.name = program.names[i];
        made.count = count;
        const auto launches = launches_of(i, regions, run);
        made.parallel = launches > 0;
        made.launches = made.parallel ? (std::min)(launches, count) : 1;
        const auto part = regions.part_of(i);
        if (part < regions.parts.size() && made.parallel) made.memory = {std::move(memory[part + 2])};
        made.flow = control_flow_graph(std::move(f.blocks), std::move(f.flow));
    }
    for (auto& f : out.functions) // the entry gets the profile of the serial part
        if (!f.parallel && !regions.parts.empty() && f.memory.empty() && f.name == out.name) f.memory = {memory[1]};
    out.memory = {std::move(memory[0])};
    if (auto fits = check_features(out); !fits) return error{fits.error().code, "expected consistent counts: " + fits.error().detail};
    return out;
}

/// Analyses, instruments, compiles and runs a module in the current process and returns its features. It changes the module.
/// Errors: those of find_entry, prepare_module, ir_jit and add_entry; parse (an invalid module); limit (blocks or instructions); illegal_schedule
/// (the program returned an error).
inline result<program_features> extract_features(::llvm::Module& m, const ir_options& o, const child_report& report) {
    const auto step = [&](const char* name) {
        ir_failures::step = name;
        report.send(0, name);
    };
    step("analyse");
    if (auto valid = verify_module(m); !valid) return valid.error();
    auto jit = ir_jit::create();
    if (!jit) return jit.error();
    const auto entry = find_entry(m, o.entry);
    if (!entry) return entry.error();
    auto prepared = prepare_module(m, **entry, o);
    if (!prepared) return prepared.error();
    (*jit)->adopt(m);
    auto program = analyse_program(prepared->functions, o.contract);
    if (!program) return program.error();

    step("compile");
    export_bodies(*program);
    ir_run run(o, report, program->regions.parts);
    const auto numbers = instrument_program(m, *program, run);
    auto names = counter_names(*program, numbers);
    stub_foreign(prepared->foreign, ir_failures::no_such_function, m);
    call_memory arguments; // lives until the program has run
    const auto address = compile_program(m, *program, o, **jit, run, arguments);
    if (!address) return address.error();

    step("run");
    ir_failures::names = &names;
    ir_failures::foreign = &prepared->foreign;
    std::int32_t status = 0;
    if (auto ran = run.run([&] { status = reinterpret_cast<std::int32_t (*)()>(*address)(); }); !ran) return ran.error();
    ir_failures::step = "put together what it found";
    if (status != 0) return program_failure(status, run);
    return combine_features(*program, numbers, run, o);
}

} // namespace augur::inline v0::detail

#endif
