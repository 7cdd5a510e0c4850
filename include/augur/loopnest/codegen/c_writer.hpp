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
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/detail/c_tile.hpp>
#include <augur/loopnest/detail/loop_choice.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

class c_writer : private c_tile {
public:
    c_writer(lowered_kernel k, const c_options& o) : c_tile(std::move(k), o) {}

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
        lowered_nest clear = n;
        clear.combine = reducer::none;
        clear.value = {};
        clear.value.op = expr_op::constant;
        clear.value.value = identity_of(n.combine);
        clear.loops.clear();
        clear.guards.clear();
        std::vector<int> reduce;
        for (std::size_t i = 0; i < n.loops.size(); ++i) {
            if (n.loops[i].reduce) reduce.push_back(n.loops[i].term);
            else if (i >= depth) clear.loops.push_back({n.loops[i].term, n.loops[i].extent, false, loop_annotation::none, {}});
        }
        for (const auto& g : n.guards)
            if (!depends_on(g, reduce)) clear.guards.push_back(g);
        block([&] { core(clear, 0); });
    }

    /// Writes the loops from `depth` on; none of them carries attached stages.
    void core(const lowered_nest& n, std::size_t depth) {
        std::vector<lowered_loop> loops;
        for (std::size_t i = depth; i < n.loops.size(); ++i)
            if (n.loops[i].term >= 0) loops.push_back(n.loops[i]);
        bool begun = false; // the first reduce loop is outside: the results in memory are partial sums
        for (std::size_t i = 0; i < depth; ++i) begun = begun || n.loops[i].reduce;

        auto v = vector_loop(n, loops);
        plan p;
        if (const auto r = sum_loop(kernel_.terms, n, loops, v); r < loops.size()) {
            p.sum_lanes = loops[r];
            loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(r)); // innermost, wherever the loop was: a reduction has no order here
            v = loops.size();
        }
        std::size_t after_reduce = 0; // index of the first loop after the last reduce loop
        for (std::size_t i = 0; i < loops.size(); ++i)
            if (loops[i].reduce) after_reduce = i + 1;
        std::size_t group = after_reduce; // index of the first of the adjacent reduce loops that end there
        while (group > 0 && loops[group - 1].reduce) --group;

        p.nest = n;
        const bool tiled = after_reduce > 0 && p.sum_lanes.term < 0;
        std::vector<std::int64_t> extents;
        std::vector<lowered_loop> rows;
        for (std::size_t i = after_reduce; tiled && i < loops.size(); ++i) {
            if (i == v || loops[i].annotation == loop_annotation::parallel) continue;
            rows.push_back(loops[i]);
            extents.push_back(loops[i].extent);
        }
        tile_shape shape;
        if (tiled) {
            std::int64_t steps = 1;
            for (std::size_t i = group; i < after_reduce; ++i) steps *= loops[i].extent;
            const auto across = v < loops.size() ? loops[v].extent : 1;
            const auto windows = windows_of(n, rows, std::span(loops).subspan(group, after_reduce - group));
            shape = overlap(windows) ? choose_.of_windows(across, extents, windows, steps) : choose_.of_products(across, extents, steps);
        } else if (v < loops.size()) {
            const auto W = static_cast<std::int64_t>(options_.vector_floats);
            const auto e = loops[v].extent;
            shape.lanes = (std::min)(e, 4 * W);
            if (e > 4 * W && e % W == 0 && largest_divisor(e / W, 4) > 1) shape.lanes = W * largest_divisor(e / W, 4);
        }

        if (v < loops.size()) {
            p.lanes = loops[v];
            p.lanes.attached.clear();
        }
        auto next = shape.parts.begin();
        for (std::size_t i = 0; i < loops.size(); ++i) {
            const auto& l = loops[i];
            if (i == v) {
                if (shape.lanes < l.extent) p.cuts.push_back({p.lanes, shape.lanes, p.outer.size()});
            } else if (i >= group && i < after_reduce) {
                p.reduce_loops.push_back(l);
            } else if (const bool inside = tiled && i >= after_reduce && l.annotation != loop_annotation::parallel; inside && *next++ > 1) {
                p.tile.push_back(l);
                if (next[-1] < l.extent) p.cuts.push_back({l, next[-1], p.outer.size()});
            } else {
                p.outer.push_back(l);
            }
        }
        if (tiled) unroll(p, shape);
        p.neutral_in_registers =
            n.combine != reducer::none && !begun &&
            std::none_of(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(group), [](const lowered_loop& l) { return l.reduce; });
        write(p, 0);
    }

    /// Splits the innermost reduce loop if it is too long for full unrolling, so that some of its steps are unrolled.
    void unroll(plan& p, const tile_shape& shape) {
        auto sums = static_cast<std::int64_t>(segments(shape.lanes).size());
        for (const auto part : shape.parts) sums *= part;
        if (p.reduce_loops.empty() || p.reduce_loops.back().extent * sums <= most_written_out(p.nest)) return;
        const auto whole = p.reduce_loops.back();
        auto inner = whole;
        inner.extent = largest_divisor(whole.extent, std::clamp(most_written_out(p.nest) / sums, std::int64_t{1}, std::int64_t{8}));
        if (inner.extent == 1) return;
        auto& outer = p.reduce_loops.back();
        outer.extent = whole.extent / inner.extent;
        outer.term = kernel_.terms.loop(outer.extent);
        inner.term = kernel_.terms.loop(inner.extent);
        substitute(p.nest, whole.term, term_table::value(outer.term) * inner.extent + term_table::value(inner.term));
        p.reduce_loops.push_back(inner);
    }

    /// Writes `count` parts of `size` iterations of a split loop, starting at iteration `first`.
    void write_parts(plan p, const lowered_loop& whole, std::int64_t first, std::int64_t count, std::int64_t size, std::size_t depth) {
        const int outer = count > 1 ? kernel_.terms.loop(count) : -1;
        auto inner = whole;
        inner.extent = size;
        inner.term = kernel_.terms.loop(size);
        substitute(p.nest, whole.term, affine(first) + (outer >= 0 ? term_table::value(outer) * size : affine()) + term_table::value(inner.term));
        if (p.lanes.term == whole.term) p.lanes = inner;
        for (auto& l : p.tile)
            if (l.term == whole.term) l = inner;
        loop(outer, count, whole.annotation == loop_annotation::parallel, [&] { write(p, depth); });
    }

    void write(const plan& p, std::size_t depth) {
        if (!p.cuts.empty() && p.cuts.front().at == depth) {
            auto q = p;
            q.cuts.erase(q.cuts.begin());
            const auto& c = p.cuts.front();
            const auto left = c.loop.extent % c.part;
            write_parts(q, c.loop, 0, c.loop.extent / c.part, c.part, depth);
            if (left > 0) write_parts(q, c.loop, c.loop.extent - left, 1, left, depth);
            return;
        }
        if (depth == p.outer.size()) return tile(p);
        const auto& l = p.outer[depth];
        const bool reduced_before =
            std::any_of(p.outer.begin(), p.outer.begin() + static_cast<std::ptrdiff_t>(depth), [](const lowered_loop& x) { return x.reduce; });
        const bool begun = std::any_of(p.nest.loops.begin(), p.nest.loops.end(), [&](const lowered_loop& x) {
            return x.reduce && std::any_of(scopes_.begin(), scopes_.end(),
                                           [&](const scope& s) { return std::find(s.loops.begin(), s.loops.end(), x.term) != s.loops.end(); });
        });
        if (l.reduce && !reduced_before && !begun && p.nest.combine != reducer::none) {
            lowered_nest rest = p.nest;
            rest.loops.assign(p.outer.begin() + static_cast<std::ptrdiff_t>(depth), p.outer.end());
            rest.loops.insert(rest.loops.end(), p.reduce_loops.begin(), p.reduce_loops.end());
            rest.loops.insert(rest.loops.end(), p.tile.begin(), p.tile.end());
            if (p.lanes.term >= 0) rest.loops.push_back(p.lanes);
            neutral(rest, 0);
        }
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
