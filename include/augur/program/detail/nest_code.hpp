// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_DETAIL_NEST_CODE_HPP
#define AUGUR_PROGRAM_DETAIL_NEST_CODE_HPP

/// @file
/// Code generator for loop nests: the basic blocks that an optimising compiler would emit, and their execution counts. Loop-invariant loads move in
/// front of the loop; accumulators stay in registers and are stored after the loop.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <augur/program/detail/nest_blocks.hpp>

namespace augur::inline v0::detail {

/// Generates one function of a nest.
class nest_function : private nest_blocks {
public:
    nest_function(const loop_nest_builder& nest, const nest_options& options) : nest_blocks(nest, options) {}

    struct parallel_region {
        std::uint32_t node;
        std::uint64_t launches;
    };

    /// The function of the whole nest. Each outermost parallel loop becomes a call and is appended to `regions`.
    function_features whole(std::vector<parallel_region>& regions) {
        regions_ = &regions;
        begin(1);
        children(0);
        return finish("nest", 1, 1, false);
    }
    /// The function that is the body of a parallel loop.
    function_features body(const parallel_region& r) {
        std::vector<std::uint32_t> outer;
        for (auto at = r.node; at != 0; at = nest_.nodes()[at].parent) outer.push_back(at);
        for (auto at = outer.rbegin(); at != outer.rend(); ++at) {
            const auto extent = nest_.nodes()[*at].extent;
            open_loops_.push_back({extent == 1 ? kind::fixed : kind::rolled, extent, 0});
            trace_.begin(extent);
        }
        const auto count = r.launches * static_cast<std::uint64_t>(nest_.nodes()[r.node].extent);
        begin(count);
        outside_ = open_loops_.size();
        children(r.node);
        for (std::size_t i = 0; i < outer.size(); ++i) trace_.end();
        return finish("nest." + std::to_string(r.node), count, r.launches, true);
    }
    [[nodiscard]] const nest_trace& trace() const noexcept { return trace_; }

private:
    std::vector<parallel_region>* regions_ = nullptr;

    void statement(const nest_statement& s) {
        if (s.share <= 0) return;
        std::uint64_t count = now().count;
        const auto previous = current();
        if (s.share < 1) {
            const auto test = add({instruction_class::compare, element_type::i64, fold_hint::compare_branch, 1});
            now().edges.emplace_back(test, add({instruction_class::branch, element_type::i64, fold_hint::none, 1}));
            count = static_cast<std::uint64_t>(std::llround(static_cast<double>(count) * s.share));
            begin(count, "if");
            paths_.push_back({previous, current(), count});
            trace_.maybe(s.share);
        }
        const auto n = static_cast<std::uint32_t>(lanes());
        std::vector<operand> values;
        for (const auto& o : s.operations) {
            if (o.op == instruction_class::load) {
                const auto p = place_of(s.accesses[o.access]);
                if (const auto h = held_at(p); h != nest_operation::none) {
                    values.push_back({false, h});
                    continue;
                }
                const auto at = std::find_if(seen_.begin(), seen_.end(), [&](const auto& x) { return x.first == p; });
                if (at != seen_.end()) {
                    values.push_back({true, at->second});
                    continue;
                }
                const auto v = load(p);
                seen_.emplace_back(p, v);
                values.push_back({true, v});
                continue;
            }
            if (o.op == instruction_class::store) {
                const auto p = place_of(s.accesses[o.access]);
                const auto v = values[o.operands[0]];
                values.push_back(v);
                if (const auto h = held_at(p); h != nest_operation::none) {
                    make(h, v);
                    continue;
                }
                store(p, v);
                std::erase_if(seen_, [&](const auto& x) { return x.first.buffer == p.buffer && (x.first == p || !alike(x.first, p)); });
                if (v.local) seen_.emplace_back(p, v.index);
                continue;
            }
            const auto v = add({o.op, o.type, fold_hint::none, n});
            for (const auto i : o.operands)
                if (i != nest_operation::none) use(values[i], v);
            values.push_back({true, v});
        }
        if (s.share < 1) {
            trace_.end_maybe();
            const auto last = current();
            const auto all = blocks_[previous].count;
            begin(all, "then");
            paths_.push_back({last, current(), count});
            paths_.push_back({previous, current(), all - count});
        }
    }

    // ---- loops -------------------------------------------------------------------------------------------------------------------------------

    [[nodiscard]] std::uint64_t size_of(std::uint32_t node) const { // number of operations with unrolled loops written out
        const auto& n = nest_.nodes()[node];
        if (!n.is_loop()) return nest_.statements()[n.statement].operations.size();
        std::uint64_t sum = 1;
        for (const auto c : n.children) sum += size_of(c);
        return n.annotation == nest_annotation::unrolled ? (std::min)(sum, std::uint64_t{1} << 20U) * static_cast<std::uint64_t>(n.extent) : sum;
    }
    [[nodiscard]] kind kind_of(std::uint32_t node) const {
        const auto& n = nest_.nodes()[node];
        if (n.extent == 1) return kind::fixed;
        if (n.annotation == nest_annotation::vectorized && lanes() == 1 && n.extent <= 1024) return kind::lanes;
        if (n.annotation == nest_annotation::unrolled && size_of(node) <= options_.unrolled) return kind::fixed;
        return kind::rolled;
    }
    void children(std::uint32_t node) {
        for (const auto c : nest_.nodes()[node].children) {
            const auto& n = nest_.nodes()[c];
            if (!n.is_loop()) statement(nest_.statements()[n.statement]);
            else if (regions_ != nullptr && n.annotation == nest_annotation::parallel && only_serial_loops()) call(c);
            else loop(c);
        }
    }
    /// True outside unrolled and vectorised loops. Inside them a parallel loop is treated as a serial one.
    [[nodiscard]] bool only_serial_loops() const {
        return std::all_of(open_loops_.begin(), open_loops_.end(), [](const open_loop& l) { return l.form == kind::rolled || l.extent == 1; });
    }
    void call(std::uint32_t node) {
        if (now().count == 0) return;
        add({instruction_class::call, element_type::i64, fold_hint::none, 1});
        regions_->push_back({node, now().count});
    }

    void loop(std::uint32_t node) {
        const auto& n = nest_.nodes()[node];
        const auto form = kind_of(node);
        open_loops_.push_back({form, n.extent, 0});
        if (form == kind::fixed) {
            for (std::int64_t i = 0; i < n.extent; ++i) {
                open_loops_.back().value = i;
                children(node);
            }
        } else if (form == kind::lanes) {
            children(node);
        } else {
            rolled(node, n.extent);
        }
        open_loops_.pop_back();
    }

    void rolled(std::uint32_t node, std::int64_t extent) {
        const auto depth = open_loops_.size() - 1;
        const auto first_held = held_.size();
        hold(node, depth);
        const auto count = now().count;
        for (auto i = first_held; i < held_.size(); ++i) bring(static_cast<std::uint32_t>(i));
        add({instruction_class::ialu, element_type::i64, fold_hint::none, 1}); // initialises the loop counter
        const auto previous = current();
        trace_.begin(extent);
        begin(count * static_cast<std::uint64_t>(extent), "loop");
        const auto head = current();
        paths_.push_back({previous, head, count});
        children(node);
        trace_.end();
        // One pointer is advanced for each buffer whose accesses depend on this loop; the loop counter is one of these pointers.
        const auto pointers = (std::max)(moving(node, depth), std::size_t{1});
        for (std::size_t i = 1; i < pointers; ++i) add({instruction_class::ialu, element_type::i64, fold_hint::none, 1});
        const auto counter = add({instruction_class::ialu, element_type::i64, fold_hint::none, 1});
        const auto test = add({instruction_class::compare, element_type::i64, fold_hint::compare_branch, 1});
        now().edges.emplace_back(counter, test);
        now().edges.emplace_back(test, add({instruction_class::branch, element_type::i64, fold_hint::none, 1}));
        const auto last = current();
        paths_.push_back({last, head, count * static_cast<std::uint64_t>(extent - 1)});
        begin(count, "behind");
        paths_.push_back({last, current(), count});
        for (auto i = first_held; i < held_.size(); ++i) {
            auto& h = held_[i];
            if (h.depth != depth) continue;
            if (h.stored) in_lanes(h, [&] { store(h.address, {false, static_cast<std::uint32_t>(i)}); });
            h.active = false;
        }
    }

    /// Calls `f(address, is_store, begins)` for every access below a node, with unrolled loops written out.
    template <class F>
    void each_access(std::uint32_t node, const F& f) {
        for (const auto c : nest_.nodes()[node].children) {
            const auto& n = nest_.nodes()[c];
            if (!n.is_loop()) {
                const auto& s = nest_.statements()[n.statement];
                for (const auto& o : s.operations)
                    if (o.access != nest_operation::none)
                        f(place_of(s.accesses[o.access]), o.op == instruction_class::store, s.accesses[o.access].begins);
                continue;
            }
            const auto form = kind_of(c);
            open_loops_.push_back({form, n.extent, 0});
            for (std::int64_t i = 0; i < (form == kind::fixed ? n.extent : 1); ++i) {
                open_loops_.back().value = i;
                each_access(c, f);
            }
            open_loops_.pop_back();
        }
    }

    /// Chooses the values that stay in registers across the loop at `depth`, within the limit of `nest_options::registers`.
    void hold(std::uint32_t node, std::size_t depth) {
        struct seen_access {
            place address;
            bool stays, written, read, begins;
            std::int64_t width;
            std::size_t registers;
        };
        std::vector<seen_access> all;
        each_access(node, [&](place p, bool writes, bool begins) {
            const auto at = std::find_if(all.begin(), all.end(), [&](const seen_access& a) { return a.address == p; });
            if (at == all.end()) {
                const bool stays = !varies(p, depth, kind::rolled) && held_at(p) == nest_operation::none;
                const auto need = registers_of(p);
                all.push_back({std::move(p), stays, writes, !writes, begins && !writes, lanes(), need});
            } else {
                at->written = at->written || writes;
                at->read = at->read || !writes;
                at->begins = at->begins || (begins && !writes);
            }
        });
        std::size_t used = 0;
        for (const auto& h : held_) used += h.active ? h.registers : 0U;
        for (const bool written : {true, false}) // accumulators have priority over values that are only read
            for (const auto& a : all) {
                if (!a.stays || a.written != written || used + a.registers > options_.registers) continue;
                const bool changed = std::any_of(all.begin(), all.end(), [&](const seen_access& b) { // another access may alias the element
                    return &a != &b && a.address.buffer == b.address.buffer && (a.written || b.written) && !alike(a.address, b.address);
                });
                if (changed) continue;
                used += a.registers;
                held_.push_back({a.address, depth, a.registers, a.width, a.read, a.written, a.begins, true});
            }
    }

    /// Calls `f` with the vectorised loop of a held value open, although that loop starts further inside the nest.
    template <class F>
    void in_lanes(const held_value& h, const F& f) {
        if (h.lanes == lanes()) return f();
        const auto outer = open_loops_;
        std::size_t deepest = open_loops_.size();
        for (const auto& d : h.address.digits) deepest = (std::max)(deepest, std::size_t{d.loop} + 1);
        open_loops_.resize((std::max)(deepest, outer.size() + 1), {kind::lanes, h.lanes, 0});
        f();
        open_loops_ = outer;
    }

    void bring(std::uint32_t value) {
        const auto& h = held_[value];
        if (!h.loaded) return;
        in_lanes(h, [&] {
            const auto n = static_cast<std::uint32_t>(lanes());
            if (h.begins) make(value, {true, add({instruction_class::move, h.address.type, fold_hint::none, n})});
            else make(value, {true, load(h.address)});
        });
    }

    /// The number of buffers whose addresses depend on the loop at `depth`.
    std::size_t moving(std::uint32_t node, std::size_t depth) {
        std::vector<std::uint32_t> buffers;
        each_access(node, [&](const place& p, bool, bool) {
            const bool moves = std::any_of(p.digits.begin(), p.digits.end(), [&](const nest_digit& d) { return d.loop == depth; });
            if (moves && std::find(buffers.begin(), buffers.end(), p.buffer) == buffers.end()) buffers.push_back(p.buffer);
        });
        return buffers.size();
    }
};

} // namespace augur::inline v0::detail

#endif
