// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_CODEGEN_C_WRITER_HPP
#define AUGUR_LOOPNEST_CODEGEN_C_WRITER_HPP

/// @file
/// C code generation for lowered kernels, with GNU vector types.
///
/// The space loops inside the last reduce loop form a register tile: their results stay in local vectors while the reduce loops around them run,
/// independently of the unroll pragma (LLVM does the same for TVM). A tile larger than the register file is split, evenly or with a remainder, into
/// the fastest shape. The outer part of the split moves outside the reduce loops; this is legal because the iterations of a space loop write
/// distinct elements. A tile with too few sums to hide their latency gets several partial sums per result, used in turn. Results that read
/// overlapping windows share loads and sums.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/detail/c_guarded_tile.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

class c_writer : private c_guarded_tile {
public:
    c_writer(lowered_kernel k, const c_options& o) : c_guarded_tile(std::move(k), o) {}

    generated_program run() {
        generated_program p;
        p.flops = kernel_.flops;
        p.entry = "aug_kernel_" + std::to_string(options_.id);
        std::string body = function(p.entry, kernel_.roots, true);
        if (!kernel_.packing.empty()) {
            p.pack_entry = "aug_pack_" + std::to_string(options_.id);
            body += function(p.pack_entry, kernel_.packing, false);
        }
        if (!too_long() && functions_.size() + body.size() <= options_.max_source_bytes) p.source = std::move(functions_) + body;
        for (const auto& b : kernel_.buffers) {
            using role = program_buffer::role;
            if (b.type == lowered_buffer::kind::local) continue; // local buffers come last
            const auto buffer_role = b.type == lowered_buffer::kind::input    ? (b.constant ? role::weight : role::input)
                                     : b.type == lowered_buffer::kind::output ? role::output
                                     : b.type == lowered_buffer::kind::packed ? role::packed
                                                                              : role::scratch;
            p.buffers.push_back({buffer_role, b.elements, static_cast<std::uint64_t>(b.tensor)});
        }
        return p;
    }

private:
    std::string function(const std::string& name, const std::vector<std::size_t>& nests, bool launch) {
        open({});
        declare_buffers();
        for (const auto n : nests) block([&] { emit(kernel_.nests[n], 0); });
        const auto body = close();
        return "void " + name + (launch ? "(float *const *b, aug_launch launch) {\n(void)launch;\n" : "(float *const *b) {\n") + body + "}\n";
    }

    /// Writes the loops that carry attached stages, then the remaining loops as a core.
    void emit(const lowered_nest& n, std::size_t depth) {
        std::size_t core_begin = 0;
        for (std::size_t i = 0; i < n.loops.size(); ++i)
            if (!n.loops[i].attached.empty()) core_begin = i + 1;
        if (depth >= core_begin) return core(n, depth);
        if (n.combine != reducer::none && depth == n.first_reduce()) neutral(n, depth);
        const auto& l = n.loops[depth];
        loop(l.term, l.extent, l.annotation == loop_annotation::parallel, [&] {
            for (const auto a : l.attached) {
                const auto& nest = kernel_.nests[a];
                declare_local(nest.buffer);
                block([&] { emit(nest, 0); });
            }
            block([&] { emit(n, depth + 1); });
            locals_.resize(locals_.size() - l.attached.size());
        });
    }

    /// Stores the neutral value to the results of the loops from `depth` on, in memory.
    void neutral(const lowered_nest& n, std::size_t depth) {
        const auto clear = neutral_nest(kernel_.terms, n, depth);
        block([&] { core(clear, 0); });
    }

    /// Writes the loops from `depth` on; none of them carries attached stages.
    void core(const lowered_nest& n, std::size_t depth) {
        if (!cut_copy(n, depth)) write(planner_.plan(kernel_.terms, n, depth), 0);
    }

    /// Writes a copy that the end of an axis cuts as a whole one and a shorter one, neither of which has that guard: only such copies are transposed in
    /// registers. False: nothing was written.
    bool cut_copy(const lowered_nest& n, std::size_t depth) {
        if (n.combine != reducer::none || n.value.op != expr_op::read) return false;
        for (std::size_t g = 0; g < n.guards.size(); ++g) {
            const auto guard = n.guards[g];
            std::vector<std::size_t> cut;
            for (auto i = depth; i < n.loops.size(); ++i)
                if (n.loops[i].term >= 0 && depends_on(guard, {n.loops[i].term})) cut.push_back(i);
            if (cut.size() != 1 || n.loops[cut[0]].annotation != loop_annotation::none) continue;
            const auto l = n.loops[cut[0]];
            const auto left = iterations_left(guard, l);
            if (!left) continue;
            auto part = n;
            part.guards.erase(part.guards.begin() + static_cast<std::ptrdiff_t>(g));
            const auto part_under = [&](const affine& allowed) {
                open({});
                core(part, depth);
                const auto body = close();
                return branch(condition(allowed)) + "{\n" + body + "}";
            };
            auto text = part_under(kernel_.terms.sweep(guard, [&](int t) { return t == l.term; }).first);
            if (*left > 0) {
                auto& shorter = part.loops[cut[0]];
                shorter.extent = *left;
                shorter.term = kernel_.terms.loop(*left);
                substitute(kernel_.terms, part, l.term, term_table::value(shorter.term));
                text += " else " + part_under(without(guard, l.term));
            }
            line(text);
            return true;
        }
        return false;
    }

    void write(const tile_plan& p, std::size_t depth) {
        if (!p.cuts.empty() && p.cuts.front().at == depth) {
            const auto parallel = p.cuts.front().loop.annotation == loop_annotation::parallel;
            return planner_.for_each_part(kernel_.terms, p, [&](int term, std::int64_t count, const tile_plan& part) {
                loop(term, count, parallel, [&] { write(part, depth); });
            });
        }
        if (depth == p.outer.size()) return tile(p);
        const auto& l = p.outer[depth];
        const bool reduced_before =
            std::any_of(p.outer.begin(), p.outer.begin() + static_cast<std::ptrdiff_t>(depth), [](const lowered_loop& x) { return x.reduce; });
        const bool begun = std::any_of(p.nest.loops.begin(), p.nest.loops.end(), [&](const lowered_loop& x) {
            return x.reduce && std::any_of(scopes_.begin(), scopes_.end(),
                                           [&](const scope& s) { return std::find(s.loops.begin(), s.loops.end(), x.term) != s.loops.end(); });
        });
        if (l.reduce && !reduced_before && !begun && p.nest.combine != reducer::none) neutral(p.inner_nest(depth), 0);
        loop(l.term, l.extent, l.annotation == loop_annotation::parallel, [&] { write(p, depth + 1); });
    }
};

} // namespace detail

/// Generates C from a lowered kernel.
/// Names are made from numbers, so no text of the DAG reaches the source. The source is empty if it would exceed `max_source_bytes`.
[[nodiscard]] inline generated_program write_c(const lowered_kernel& kernel, const c_options& options = {}) {
    return detail::c_writer(kernel, options).run();
}

} // namespace augur::inline v0::loopnest

#endif
