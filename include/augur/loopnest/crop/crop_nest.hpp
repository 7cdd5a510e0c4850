// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_CROP_CROP_NEST_HPP
#define AUGUR_LOOPNEST_CROP_CROP_NEST_HPP

/// @file
/// Loop nests of lowered kernels for Crop, without a C compiler: the `loop_nest` model of the C writer's output, with the same loop order, register
/// tiles, lanes and unrolling.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/loopnest/codegen/c_options.hpp>
#include <augur/loopnest/detail/lowered_statement.hpp>
#include <augur/loopnest/detail/epilogue.hpp>
#include <augur/loopnest/detail/tile_plan.hpp>
#include <augur/loopnest/lower/lower.hpp>
#include <augur/program/nest/features_of_nest.hpp>
#include <augur/workload/loop_nest.hpp>

namespace augur::inline v0::loopnest {

/// A lowered kernel as a `loop_nest`. Holds a pointer to the kernel. Packing is left out, because it runs once.
struct crop_nest {
    const lowered_kernel* kernel = nullptr; ///< not null
    c_options options = {};

    template <class Sink>
    void visit(Sink& sink) const;
};

namespace detail {

/// Visits the nests in the form that the C writer gives them, from the same tile plans. Differences: overlapping windows share no operations; partial
/// sums divide the unrolled steps evenly; a tile with guards stays vectorised; the conditions of padded reads are always true.
template <class Sink>
class crop_visitor {
public:
    crop_visitor(const lowered_kernel& k, const c_options& o, Sink& sink) : kernel_(with_epilogues(k)), planner_(o), sink_(sink) {}

    void run() {
        for (const auto& b : kernel_.buffers) sink_.buffer((std::max)(std::int64_t{4}, 4 * b.elements));
        sink_.buffer(partial_floats * 4);
        for (const auto n : kernel_.roots) emit(kernel_.nests[n], 0);
    }

private:
    static constexpr std::int64_t partial_floats = 16384;

    lowered_kernel kernel_;
    tile_planner planner_;
    Sink& sink_;
    std::vector<int> open_; ///< terms of the enclosing loops

    template <class F>
    void loop(int term, std::int64_t extent, nest_annotation annotation, const F& body) {
        if (term < 0) return body();
        sink_.begin_loop(extent, annotation);
        open_.push_back(term);
        body();
        open_.pop_back();
        sink_.end_loop();
    }
    [[nodiscard]] static nest_annotation annotation_of(const lowered_loop& l) {
        return l.annotation == loop_annotation::parallel ? nest_annotation::parallel : nest_annotation::serial;
    }
    [[nodiscard]] bool depends(const affine& a, int term) const {
        return kernel_.terms.depends(a, [&](int t) { return t == term; });
    }

    void emit(const lowered_nest& n, std::size_t depth) {
        std::size_t core_begin = 0;
        for (std::size_t i = 0; i < n.loops.size(); ++i)
            if (!n.loops[i].attached.empty()) core_begin = i + 1;
        if (depth >= core_begin) return core(n, depth);
        if (n.combine != reducer::none && depth == n.first_reduce()) neutral(n, depth);
        const auto l = n.loops[depth];
        loop(l.term, l.extent, annotation_of(l), [&] {
            for (const auto a : l.attached) emit(lowered_nest(kernel_.nests[a]), 0);
            emit(n, depth + 1);
        });
    }
    /// Visits the code that stores the neutral value of the reduction to the results below `depth`.
    void neutral(const lowered_nest& n, std::size_t depth) { core(neutral_nest(kernel_.terms, n, depth), 0); }

    void core(const lowered_nest& n, std::size_t depth) {
        const bool begun = std::any_of(n.loops.begin(), n.loops.begin() + static_cast<std::ptrdiff_t>(depth), [](const auto& l) { return l.reduce; });
        write(planner_.plan(kernel_.terms, n, depth), 0, begun);
    }

    void write(const tile_plan& p, std::size_t depth, bool begun) {
        if (!p.cuts.empty() && p.cuts.front().at == depth)
            return planner_.for_each_part(kernel_.terms, p, [&](int term, std::int64_t count, const tile_plan& part) {
                loop(term, count, nest_annotation::serial, [&] { write(part, depth, begun); });
            });
        if (depth == p.outer.size()) return tile(p);
        const auto& l = p.outer[depth];
        if (l.reduce && !begun && p.nest.combine != reducer::none) neutral(p.inner_nest(depth), 0);
        loop(l.term, l.extent, annotation_of(l), [&] { write(p, depth + 1, begun || l.reduce); });
    }

    /// Splits a loop into an outer loop and an inner loop of `size` iterations. The extent of the outer loop is rounded down, but at least 1.
    std::pair<lowered_loop, lowered_loop> split(lowered_nest& n, const lowered_loop& l, std::int64_t size) {
        auto outer = l, inner = l;
        outer.extent = (std::max)(l.extent / size, std::int64_t{1});
        inner.extent = size;
        outer.term = outer.extent > 1 ? kernel_.terms.loop(outer.extent) : -1;
        inner.term = kernel_.terms.loop(size);
        auto replacement = term_table::value(inner.term);
        if (outer.term >= 0) replacement.add(term_table::value(outer.term), size);
        substitute(kernel_.terms, n, l.term, replacement);
        return {outer, inner};
    }

    /// Visits the reduction loops, the register tile and the statement.
    void tile(tile_plan p) {
        if (p.nest.combine == reducer::none) return leaf(p, {}, -1, 1);
        if (p.sum_lanes.term >= 0) return lanes_of_sum(p);
        const bool guarded = std::any_of(p.nest.guards.begin(), p.nest.guards.end(), [&](const affine& g) {
            return std::any_of(p.reduce_loops.begin(), p.reduce_loops.end(),
                               [&](const lowered_loop& l) { return l.term >= 0 && depends(g, l.term); });
        });
        const auto unrolling = planner_.unrolling(p, guarded);
        int partial = -1; // the loop with one partial sum for each iteration
        std::int64_t partials = 1;
        if (unrolling.first_unrolled < p.reduce_loops.size()) partials = largest_divisor(p.reduce_loops.back().extent, unrolling.partial);
        if (partials > 1) {
            const auto [outer, inner] = split(p.nest, lowered_loop(p.reduce_loops.back()), partials);
            p.reduce_loops.back() = outer;
            p.reduce_loops.push_back(inner);
            partial = inner.term;
        }
        std::vector<std::pair<lowered_loop, nest_annotation>> steps;
        for (std::size_t i = 0; i < p.reduce_loops.size(); ++i)
            steps.emplace_back(p.reduce_loops[i], i >= unrolling.first_unrolled ? nest_annotation::unrolled : nest_annotation::serial);
        leaf(p, steps, partial, partials);
    }

    /// Visits a reduction over lanes; the remainder is scalar.
    void lanes_of_sum(tile_plan p) {
        const auto [width, vectors, rounds] = planner_.lanes_of_sum(p.sum_lanes.extent);
        const auto whole = rounds * width * vectors;
        const auto rest = p.sum_lanes.extent - whole;
        if (rest == 0) return lane_sums(p, width, vectors);
        auto remainder = p;
        auto left = p.sum_lanes;
        left.extent = rest;
        left.term = kernel_.terms.loop(rest);
        substitute(kernel_.terms, remainder.nest, p.sum_lanes.term, affine(whole) + term_table::value(left.term));
        remainder.sum_lanes.term = -1;
        remainder.reduce_loops.push_back(left);
        remainder.neutral_in_registers = false;
        p.sum_lanes.extent = whole;
        p.nest.epilogue.reset();
        lane_sums(p, width, vectors);
        tile(remainder);
    }

    void lane_sums(tile_plan p, std::int64_t width, std::int64_t count) {
        const auto [rest, lane] = split(p.nest, lowered_loop(p.sum_lanes), width);
        auto outer = rest;
        std::vector<std::pair<lowered_loop, nest_annotation>> steps;
        int partial = -1;
        for (const auto& l : p.reduce_loops) steps.emplace_back(l, nest_annotation::serial);
        if (count > 1) {
            const auto [whole, some] = split(p.nest, outer, count);
            steps.emplace_back(whole, nest_annotation::serial);
            steps.emplace_back(some, nest_annotation::unrolled);
            partial = some.term;
        } else {
            steps.emplace_back(outer, nest_annotation::serial);
        }
        p.lanes = lane;
        leaf(p, steps, partial, partial >= 0 ? count : 1);
    }

    void leaf(const tile_plan& p, const std::vector<std::pair<lowered_loop, nest_annotation>>& steps, int partial, std::int64_t partials) {
        const auto body = [&](auto&& self, std::size_t i, bool last) -> void {
            if (!last && i < steps.size()) return loop(steps[i].first.term, steps[i].first.extent, steps[i].second, [&] { self(self, i + 1, last); });
            const auto k = last ? i : i - steps.size();
            if (k < p.tile.size()) return loop(p.tile[k].term, p.tile[k].extent, nest_annotation::unrolled, [&] { self(self, i + 1, last); });
            if (k == p.tile.size() && p.lanes.term >= 0 && !(last && p.nest.index.factor(p.lanes.term) == 0))
                return loop(p.lanes.term, p.lanes.extent, nest_annotation::vectorized, [&] { statement(p, partial, partials, last); });
            statement(p, partial, partials, last);
        };
        body(body, 0, false);
        if (partials > 1 || p.nest.epilogue) body(body, 0, true);
    }

    /// Visits one step of the reduction; with `last`, the addition of the partial sums and the epilogue.
    void statement(const tile_plan& p, int partial, std::int64_t partials, bool last) {
        const auto& n = p.nest;
        lowered_statement s(kernel_.terms, open_);
        const auto result = s.place(static_cast<std::uint32_t>(n.buffer), n.index, p.neutral_in_registers);
        if (n.combine == reducer::none) {
            s.store(result, s.value(n.value));
            sink_.statement(s.take(share(n.guards)));
            return;
        }
        nest_access sum = result;
        if (partials > 1 || n.epilogue) { // partial sums have a buffer, which features_of_nest holds in registers when enough are free
            sum = {static_cast<std::uint32_t>(kernel_.buffers.size()), element_type::f32, 0, {}, true};
            std::int64_t stride = 1;
            const auto digit = [&](int term, std::int64_t extent) {
                for (std::uint32_t i = 0; i < open_.size(); ++i)
                    if (open_[i] == term) sum.digits.push_back({i, stride, 1, 0});
                stride *= extent;
            };
            if (p.lanes.term >= 0) digit(p.lanes.term, p.lanes.extent);
            for (const auto& l : p.tile) digit(l.term, l.extent);
            if (!last) {
                if (partial >= 0) digit(partial, partials);
            } else {
                std::uint32_t v = s.load(result);
                for (std::int64_t k = 0; k < partials; ++k, sum.offset += stride) {
                    auto from = sum;
                    from.begins = false;
                    v = s.combined(n.combine, v, s.load(from));
                }
                s.store(result, n.epilogue ? s.finished(*n.epilogue, v) : v);
                sink_.statement(s.take(share(n.guards)));
                return;
            }
        }
        const auto v = s.value(n.value);
        s.store(sum, s.combined(n.combine, s.load(sum), v));
        sink_.statement(s.take(share(n.guards)));
    }

    /// The share of the enclosing iterations in which all guards hold. Exact up to 20000 iterations, else estimated from a sample with a fixed seed.
    [[nodiscard]] double share(const std::vector<affine>& guards) const {
        if (guards.empty()) return 1;
        std::vector<int> terms;
        double points = 1;
        for (const auto t : open_)
            if (std::any_of(guards.begin(), guards.end(), [&](const affine& g) { return depends(g, t); })) {
                terms.push_back(t);
                points *= static_cast<double>(kernel_.terms[t].range.high + 1);
            }
        term_values values(kernel_.terms);
        constexpr double most = 20'000;
        augur::random_engine draw(1);
        const auto rounds = static_cast<std::int64_t>((std::min)(points, most));
        std::int64_t accepted = 0;
        for (std::int64_t i = 0; i < rounds; ++i) {
            auto rest = i;
            for (const auto t : terms) {
                const auto extent = kernel_.terms[t].range.high + 1;
                if (points > most) values.set(t, static_cast<std::int64_t>(draw.below(static_cast<std::uint64_t>(extent))));
                else values.set(t, rest % extent), rest /= extent;
            }
            accepted += std::all_of(guards.begin(), guards.end(), [&](const affine& g) { return values.evaluate(g) >= 0; }) ? 1 : 0;
        }
        return static_cast<double>(accepted) / static_cast<double>(rounds);
    }
};

} // namespace detail

template <class Sink>
void crop_nest::visit(Sink& sink) const {
    detail::crop_visitor<Sink>(*kernel, options, sink).run();
}

/// Program features of a lowered kernel. The vector registers of `code` replace those of `options`.
/// @note errors: those of features_of_nest
[[nodiscard]] inline result<program_features> crop_features(const lowered_kernel& kernel, const c_options& code = {}, nest_options options = {}) {
    options.registers = static_cast<std::size_t>(code.vector_registers);
    options.register_bytes = std::int64_t{4} * code.vector_floats;
    return features_of_nest(crop_nest{&kernel, code}, options);
}

} // namespace augur::inline v0::loopnest

#endif
