// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_NEST_FEATURES_OF_NEST_HPP
#define AUGUR_PROGRAM_NEST_FEATURES_OF_NEST_HPP

/// @file
/// Static extraction of program features from a loop nest, without a compiler and without running the program.
///
/// ```cpp
/// auto features = augur::features_of_nest(nest);       // any `loop_nest`
/// auto p = augur::crop::predict(*features, machine, 8);
/// ```

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/program/detail/nest_code.hpp>
#include <augur/program/detail/nest_memory.hpp>
#include <augur/program/features.hpp>
#include <augur/program/nest/options.hpp>
#include <augur/workload/loop_nest.hpp>

namespace augur::inline v0 {

/// Checks that a nest meets the semantics of the concept `loop_nest` and the size limits.
/// @note errors: invalid_argument, limit; with the number of the statement
[[nodiscard]] inline result<void> check_nest(const loop_nest_builder& nest) {
    if (!nest.balanced()) return error{errc::invalid_argument, "loop nest: a loop that does not end, or ends twice"};
    for (std::size_t b = 0; b < nest.buffers().size(); ++b)
        if (nest.buffers()[b] < 1 || nest.buffers()[b] > std::int64_t{1} << 46U)
            return error{errc::invalid_argument,
                         "loop nest: buffer " + std::to_string(b) + " has " + std::to_string(nest.buffers()[b]) + " bytes, expected 1 to 2^46"};
    constexpr double most = 0x1p53; // features_limits::count
    const auto& nodes = nest.nodes();
    std::vector<std::size_t> depths(nodes.size(), 0); // loops of a node, itself included; a parent stands before its children
    std::vector<double> counts(nodes.size(), 1.0);    // iterations of all of them
    for (std::size_t i = 1; i < nodes.size(); ++i) {
        const auto& n = nodes[i];
        depths[i] = depths[n.parent];
        counts[i] = counts[n.parent];
        if (!n.is_loop()) continue;
        if (n.extent < 1 || n.extent > std::int64_t{1} << 40U)
            return error{errc::invalid_argument, "loop nest: a loop of " + std::to_string(n.extent) + " iterations, expected 1 to 2^40"};
        if (++depths[i] > 60) return error{errc::limit, "loop nest: a loop in 60 others"};
        if ((counts[i] *= static_cast<double>(n.extent)) > most) return error{errc::limit, "loop nest: a loop that runs more than 2^53 times"};
    }
    for (const auto& n : nodes) {
        if (n.is_loop()) continue;
        std::vector<std::int64_t> extents;
        for (auto at = n.parent; at != 0; at = nodes[at].parent) extents.insert(extents.begin(), nodes[at].extent);
        const auto refuse = [&](errc code, const std::string& text) {
            return error{code, "loop nest: statement " + std::to_string(n.statement) + ": " + text};
        };
        const auto& s = nest.statements()[n.statement];
        if (!(s.share >= 0 && s.share <= 1)) return refuse(errc::invalid_argument, "share: expected 0 to 1");
        for (std::size_t i = 0; i < s.operations.size(); ++i) {
            const auto& o = s.operations[i];
            const auto name = "operation " + std::to_string(i) + " (" + std::string(to_string(o.op)) + ")";
            for (const auto v : o.operands)
                if (v != nest_operation::none && v >= i) return refuse(errc::invalid_argument, name + " uses one that does not stand before it");
            const bool memory = o.op == instruction_class::load || o.op == instruction_class::store;
            if (memory != (o.access < s.accesses.size()) || (o.op == instruction_class::store && o.operands[0] == nest_operation::none))
                return refuse(errc::invalid_argument, name + ": loads and stores have an access, stores an operand, others no access");
        }
        for (std::size_t i = 0; i < s.accesses.size(); ++i) {
            const auto& a = s.accesses[i];
            const auto name = "access " + std::to_string(i);
            if (a.buffer >= nest.buffers().size()) return refuse(errc::invalid_argument, name + ": no buffer " + std::to_string(a.buffer));
            double reach = std::abs(static_cast<double>(a.offset)); // of its index, at most
            for (const auto& d : a.digits) {
                if (d.loop >= extents.size() || d.divide < 1 || d.modulo < 0)
                    return refuse(errc::invalid_argument, name + ": expected digits of loops around it, divided by 1 or more");
                reach += std::abs(static_cast<double>(d.stride)) * static_cast<double>(extents[d.loop]);
            }
            if (reach > most) return refuse(errc::limit, name + ": an index of more than 2^53");
        }
    }
    return {};
}

/// Features of a loop nest: task graphlets, execution counts and memory profiles.
///
/// A parallel loop with only serial loops around it becomes a parallel function, whose iterations are distributed over the threads. Vectorised loops
/// become lanes and unrolled loops are written out. Elements that a loop does not move stay in registers across it, as far as registers are free.
/// @param options  registers and unrolling of the modelled compiler, accesses followed, line size, set counts; `nest_options::of(machine)` fits them
/// to a machine
/// @note errors: those of check_nest; unsupported, the line size; invalid_argument, `options.sets`. Cost: linear in the generated code, plus about
/// 20 ns for each access that is followed
template <loop_nest N>
[[nodiscard]] result<program_features> features_of_nest(const N& nest, const nest_options& options = {}, std::string name = "nest") {
    if (auto known = check_line_bytes(options.line_bytes); !known) return known.error();
    if (options.sets.size() > 16) return error{errc::invalid_argument, "nest_options.sets: expected at most 16"};
    for (const auto n : options.sets)
        if (n < 1 || n > std::uint64_t{1} << 26U)
            return error{errc::invalid_argument, "nest_options.sets: expected 1 to 2^26, got " + std::to_string(n)};
    loop_nest_builder kept;
    loop_nest_traits<N>::visit(nest, kept);
    if (auto fits = check_nest(kept); !fits) return fits.error();
    program_features p;
    p.name = std::move(name);
    p.source = "loop nest";
    const auto add = [&](function_features f, detail::nest_trace trace) {
        std::vector<associativity_profile> sets;
        auto profile = trace.profile(kept.buffers(), options.line_bytes, options.accesses, options.warm, options.sets, sets);
        if (trace.sampled()) p.source = "loop nest, long loops sampled";
        f.memory.push_back({1, profile, profile, std::move(sets)});
        p.functions.push_back(std::move(f));
    };
    std::vector<detail::nest_function::parallel_region> regions;
    detail::nest_function all(kept, options);
    auto whole = all.whole(regions);
    add(std::move(whole), all.trace());
    for (const auto& r : regions) {
        detail::nest_function one(kept, options);
        auto body = one.body(r);
        add(std::move(body), one.trace());
    }
    if (auto fits = check_features(p); !fits) return fits.error();
    return p;
}

} // namespace augur::inline v0

#endif
