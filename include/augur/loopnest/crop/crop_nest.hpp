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
#include <augur/loopnest/crop/detail/crop_statement.hpp>
#include <augur/loopnest/detail/c_text.hpp>
#include <augur/loopnest/detail/loop_choice.hpp>
#include <augur/loopnest/detail/tile_shape.hpp>
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

/// Visits the nests in the form that the C writer gives them. Differences: pooling windows share no elements; a tile with guards stays vectorised;
/// the conditions of padded reads are always true.
template <class Sink>
class crop_visitor {
public:
    crop_visitor(const lowered_kernel& k, const c_options& o, Sink& sink)
        : kernel_(k), options_(o), choose_(o.vector_floats, o.vector_registers), sink_(sink) {}

    void run() {
        for (const auto& b : kernel_.buffers) sink_.buffer((std::max)(std::int64_t{4}, 4 * b.elements));
        sink_.buffer(partial_floats * 4);
        for (const auto n : kernel_.roots) emit(kernel_.nests[n], 0);
    }

private:
    static constexpr std::int64_t partial_floats = 16384;
    /// A loop that is cut into parts of `part` iterations.
    struct cut {
        int term;
        std::int64_t part;
        std::size_t at; ///< index of the outer loop before which the parts are visited
    };
    /// The loops of a nest by their role: outer loops, steps of the reduction, register tile, lanes.
    struct plan {
        lowered_nest nest;
        std::vector<lowered_loop> outer, steps, tile;
        lowered_loop lanes;     ///< term -1: scalar code
        lowered_loop sum_lanes; ///< a reduction loop whose iterations become lanes; term -1: none
        bool begins = false;    ///< the accumulators start with the neutral value in registers
        std::vector<cut> cuts;
    };

    lowered_kernel kernel_;
    const c_options& options_;
    tile_chooser choose_;
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
    void replace(lowered_expr& e, int term, const affine& replacement) {
        e.index = replaced(e.index, term, replacement);
        for (auto& o : e.operands) replace(o, term, replacement);
    }
    affine replaced(const affine& a, int term, const affine& replacement) {
        return kernel_.terms.substitute(a, [&](int t) { return t == term ? replacement : term_table::value(t); });
    }
    void replace(lowered_nest& n, int term, const affine& replacement) {
        n.index = replaced(n.index, term, replacement);
        for (auto& g : n.guards) g = replaced(g, term, replacement);
        replace(n.value, term, replacement);
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
    void neutral(const lowered_nest& n, std::size_t depth) {
        lowered_nest clear = n;
        clear.combine = reducer::none;
        clear.value = {};
        clear.value.op = expr_op::constant;
        clear.loops.clear();
        clear.guards.clear();
        for (std::size_t i = depth; i < n.loops.size(); ++i)
            if (!n.loops[i].reduce) clear.loops.push_back({n.loops[i].term, n.loops[i].extent, false, loop_annotation::none, {}});
        for (const auto& g : n.guards)
            if (std::none_of(n.loops.begin(), n.loops.end(), [&](const lowered_loop& l) { return l.reduce && l.term >= 0 && depends(g, l.term); }))
                clear.guards.push_back(g);
        core(clear, 0);
    }

    [[nodiscard]] std::int64_t most_written_out(const lowered_nest& n) const {
        return (std::min)((std::max)(n.auto_unroll_max_step, std::int64_t{64}), static_cast<std::int64_t>(options_.max_unrolled));
    }

    /// Makes the same choices as `c_writer::core`.
    void core(const lowered_nest& n, std::size_t depth) {
        std::vector<lowered_loop> loops;
        for (std::size_t i = depth; i < n.loops.size(); ++i)
            if (n.loops[i].term >= 0) loops.push_back(n.loops[i]);
        const bool begun = std::any_of(n.loops.begin(), n.loops.begin() + static_cast<std::ptrdiff_t>(depth), [](const auto& l) { return l.reduce; });
        auto v = vector_loop(n, loops);
        plan p;
        if (const auto r = sum_loop(kernel_.terms, n, loops, v); r < loops.size()) {
            p.sum_lanes = loops[r];
            loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(r));
            v = loops.size();
        }
        std::size_t reduce_end = 0;
        for (std::size_t i = 0; i < loops.size(); ++i)
            if (loops[i].reduce) reduce_end = i + 1;
        std::size_t group = reduce_end;
        while (group > 0 && loops[group - 1].reduce) --group;
        p.nest = n;
        const bool tiled = reduce_end > 0 && p.sum_lanes.term < 0;
        std::vector<std::int64_t> extents;
        for (std::size_t i = reduce_end; tiled && i < loops.size(); ++i)
            if (i != v && loops[i].annotation != loop_annotation::parallel) extents.push_back(loops[i].extent);
        tile_shape shape;
        if (tiled) {
            std::int64_t steps = 1;
            for (std::size_t i = group; i < reduce_end; ++i) steps *= loops[i].extent;
            shape = choose_.of_products(v < loops.size() ? loops[v].extent : 1, extents, steps);
        } else if (v < loops.size()) {
            const auto W = static_cast<std::int64_t>(options_.vector_floats);
            const auto e = loops[v].extent;
            shape.lanes = (std::min)(e, 4 * W);
            if (e > 4 * W && e % W == 0 && largest_divisor(e / W, 4) > 1) shape.lanes = W * largest_divisor(e / W, 4);
        }
        if (v < loops.size()) p.lanes = loops[v];
        auto next = shape.parts.begin();
        for (std::size_t i = 0; i < loops.size(); ++i) {
            const auto& l = loops[i];
            if (i == v) {
                if (shape.lanes < l.extent) p.cuts.push_back({l.term, shape.lanes, p.outer.size()});
            } else if (i >= group && i < reduce_end) {
                p.steps.push_back(l);
            } else if (const bool inside = tiled && i >= reduce_end && l.annotation != loop_annotation::parallel; inside && *next++ > 1) {
                p.tile.push_back(l);
                if (next[-1] < l.extent) p.cuts.push_back({l.term, next[-1], p.outer.size()});
            } else {
                p.outer.push_back(l);
            }
        }
        p.begins = n.combine != reducer::none && !begun &&
                   std::none_of(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(group), [](const lowered_loop& l) { return l.reduce; });
        write(p, 0, begun);
    }

    void write(const plan& p, std::size_t depth, bool begun) {
        if (!p.cuts.empty() && p.cuts.front().at == depth) {
            const auto c = p.cuts.front();
            auto q = p;
            q.cuts.erase(q.cuts.begin());
            const auto extent = kernel_.terms[c.term].range.high + 1;
            parts(q, c.term, 0, extent / c.part, c.part, depth, begun);
            if (extent % c.part > 0) parts(q, c.term, extent - extent % c.part, 1, extent % c.part, depth, begun);
            return;
        }
        if (depth == p.outer.size()) return tile(p);
        const auto& l = p.outer[depth];
        if (l.reduce && !begun && p.nest.combine != reducer::none) {
            lowered_nest rest = p.nest;
            rest.loops.assign(p.outer.begin() + static_cast<std::ptrdiff_t>(depth), p.outer.end());
            rest.loops.insert(rest.loops.end(), p.tile.begin(), p.tile.end());
            if (p.lanes.term >= 0) rest.loops.push_back(p.lanes);
            neutral(rest, 0);
        }
        loop(l.term, l.extent, annotation_of(l), [&] { write(p, depth + 1, begun || l.reduce); });
    }
    /// Visits `count` parts of `size` iterations of a loop that is cut, starting at iteration `first`.
    void parts(plan p, int term, std::int64_t first, std::int64_t count, std::int64_t size, std::size_t depth, bool begun) {
        const int outer = count > 1 ? kernel_.terms.loop(count) : -1, inner = kernel_.terms.loop(size);
        auto replacement = affine(first) + term_table::value(inner);
        if (outer >= 0) replacement.add(term_table::value(outer), size);
        replace(p.nest, term, replacement);
        if (p.lanes.term == term) p.lanes.term = inner, p.lanes.extent = size;
        for (auto& l : p.tile)
            if (l.term == term) l.term = inner, l.extent = size;
        loop(outer, count, nest_annotation::serial, [&] { write(p, depth, begun); });
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
        replace(n, l.term, replacement);
        return {outer, inner};
    }

    /// Visits the reduction loops, the register tile and the statement.
    void tile(plan p) {
        auto& n = p.nest;
        if (n.combine == reducer::none) return leaf(p, {}, -1, 1);
        const auto W = static_cast<std::int64_t>(options_.vector_floats);
        std::vector<std::pair<lowered_loop, nest_annotation>> steps;
        int partial = -1; // the loop with one partial sum for each iteration
        std::int64_t partials = 1;
        if (p.sum_lanes.term >= 0) {
            auto width = W;
            while (width > p.sum_lanes.extent) width /= 2;
            const auto count = (std::min)(p.sum_lanes.extent / width, std::int64_t{4});
            const auto whole = p.sum_lanes.extent / (width * count) * width * count;
            if (const auto rest = p.sum_lanes.extent - whole; rest > 0) { // the remainder is scalar
                auto q = p;
                auto left = p.sum_lanes;
                left.extent = rest;
                left.term = kernel_.terms.loop(rest);
                replace(q.nest, p.sum_lanes.term, affine(whole) + term_table::value(left.term));
                q.sum_lanes.term = -1;
                q.steps.push_back(left);
                auto all = p.sum_lanes;
                all.extent = whole;
                p.sum_lanes = all;
                lane_sums(p, width, count);
                q.begins = false;
                return tile(q);
            }
            return lane_sums(p, width, count);
        }
        std::int64_t sums = choose_.vectors(p.lanes.term >= 0 ? p.lanes.extent : 1), length = 1;
        const auto width = sums;
        for (const auto& l : p.tile) sums *= l.extent;
        const auto limit = most_written_out(n);
        if (!p.steps.empty() && p.steps.back().extent * sums > limit) {
            const auto d = largest_divisor(p.steps.back().extent, std::clamp(limit / sums, std::int64_t{1}, std::int64_t{8}));
            if (d > 1) {
                const auto [outer, inner] = split(n, lowered_loop(p.steps.back()), d);
                p.steps.back() = outer;
                p.steps.push_back(inner);
            }
        }
        for (const auto& l : p.steps) length *= l.extent;
        std::size_t first_out = p.steps.size();
        auto written = sums;
        const bool free = std::none_of(n.guards.begin(), n.guards.end(), [&](const affine& g) {
            return std::any_of(p.steps.begin(), p.steps.end(), [&](const lowered_loop& l) { return l.term >= 0 && depends(g, l.term); });
        });
        while (first_out > 0 && free && written * p.steps[first_out - 1].extent <= limit) written *= p.steps[--first_out].extent;
        if (first_out < p.steps.size()) {
            partials = (std::min)({choose_.turns(sums / width, width, length), written / sums, p.steps.back().extent});
            while (p.steps.back().extent % partials != 0) --partials;
        }
        if (partials > 1) {
            const auto [outer, inner] = split(n, lowered_loop(p.steps.back()), partials);
            p.steps.back() = outer;
            p.steps.push_back(inner);
            partial = inner.term;
        }
        for (std::size_t i = 0; i < p.steps.size(); ++i)
            steps.emplace_back(p.steps[i], i >= first_out ? nest_annotation::unrolled : nest_annotation::serial);
        leaf(p, steps, partial, partials);
    }
    void lane_sums(plan p, std::int64_t width, std::int64_t count) {
        const auto [rest, lane] = split(p.nest, lowered_loop(p.sum_lanes), width);
        auto outer = rest;
        std::vector<std::pair<lowered_loop, nest_annotation>> steps;
        int partial = -1;
        for (const auto& l : p.steps) steps.emplace_back(l, nest_annotation::serial);
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

    void leaf(const plan& p, const std::vector<std::pair<lowered_loop, nest_annotation>>& steps, int partial, std::int64_t partials) {
        const auto body = [&](auto&& self, std::size_t i, bool last) -> void {
            if (!last && i < steps.size()) return loop(steps[i].first.term, steps[i].first.extent, steps[i].second, [&] { self(self, i + 1, last); });
            const auto k = last ? i : i - steps.size();
            if (k < p.tile.size()) return loop(p.tile[k].term, p.tile[k].extent, nest_annotation::unrolled, [&] { self(self, i + 1, last); });
            if (k == p.tile.size() && p.lanes.term >= 0 && !(last && p.nest.index.factor(p.lanes.term) == 0))
                return loop(p.lanes.term, p.lanes.extent, nest_annotation::vectorized, [&] { statement(p, partial, partials, last); });
            statement(p, partial, partials, last);
        };
        body(body, 0, false);
        if (partials > 1) body(body, 0, true);
    }

    /// Visits one step of the reduction; with `last`, the addition of the partial sums.
    void statement(const plan& p, int partial, std::int64_t partials, bool last) {
        const auto& n = p.nest;
        crop_statement s(kernel_.terms, open_);
        const auto result = s.place(static_cast<std::uint32_t>(n.buffer), n.index, p.begins);
        if (n.combine == reducer::none) {
            s.store(result, s.value(n.value));
            sink_.statement(s.take(share(n.guards)));
            return;
        }
        nest_access sum = result;
        if (partials > 1) { // partial sums have a buffer, which features_of_nest holds in registers when enough are free
            sum = {static_cast<std::uint32_t>(kernel_.buffers.size()), element_type::f32, 0, {}, true};
            std::int64_t stride = 1;
            const auto digit = [&](int term, std::int64_t extent) {
                for (std::uint32_t i = 0; i < open_.size(); ++i)
                    if (open_[i] == term) sum.digits.push_back({i, stride, 1, 0});
                stride *= extent;
            };
            if (p.lanes.term >= 0) digit(p.lanes.term, p.lanes.extent);
            for (const auto& l : p.tile) digit(l.term, l.extent);
            if (!last) digit(partial, partials);
            else {
                std::uint32_t v = s.load(result);
                for (std::int64_t k = 0; k < partials; ++k, sum.offset += stride) {
                    auto from = sum;
                    from.begins = false;
                    v = s.combined(n.combine, v, s.load(from));
                }
                s.store(result, v);
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
        crop_values values(kernel_.terms);
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
