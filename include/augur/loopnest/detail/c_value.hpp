// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_C_VALUE_HPP
#define AUGUR_LOOPNEST_DETAIL_C_VALUE_HPP

/// @file
/// Code generation for lowered expressions: one element, or a vector of neighbouring elements along one loop.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest/detail/c_read.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

class c_value : protected c_read {
protected:
    using c_read::c_read;

    /// The vectors of one read of an epilogue, in the order of the tile's vectors.
    struct tile_read {
        int buffer;
        affine index;
        std::vector<std::string> names;
    };
    std::vector<tile_read> tile_reads_; ///< reads of the epilogue that are loaded for the whole tile
    value_text result_;                 ///< the result of the reduction that the epilogue reads
    std::size_t vector_ = 0;            ///< its place in the tile

    std::string condition(const lowered_expr& e, const lanes& l, int lane) {
        switch (e.op) {
        case expr_op::less_equal:
        case expr_op::equal: {
            const auto a = at_lane(e.index, l, lane);
            const auto r = kernel_.terms.range(a);
            if (e.op == expr_op::less_equal && r.low >= 0) return "1";
            if (e.op == expr_op::less_equal && r.high < 0) return "0";
            if (e.op == expr_op::equal && (r.low > 0 || r.high < 0)) return "0";
            if (e.op == expr_op::equal && r.low == 0 && r.high == 0) return "1";
            return "(" + sum_text(a) + (e.op == expr_op::equal ? " == 0)" : " >= 0)");
        }
        default: {
            const bool conjunction = e.op == expr_op::logical_and;
            const auto a = condition(e.operands[0], l, lane);
            const auto b = condition(e.operands[1], l, lane);
            const char* decides = conjunction ? "0" : "1";
            const char* nothing = conjunction ? "1" : "0";
            if (a == decides || b == decides) return decides;
            if (a == nothing) return b;
            if (b == nothing) return a;
            return "(" + a + (conjunction ? " && " : " || ") + b + ")";
        }
        }
    }

    /// Whether `e` chooses among constants by conditions that are the same in all lanes, as an element of a constant matrix does.
    bool chooses_constants(const lowered_expr& e, const lanes& l) {
        if (e.op != expr_op::select) return e.op == expr_op::constant;
        return !condition_moves(e.operands[0], l) && chooses_constants(e.operands[1], l) && chooses_constants(e.operands[2], l);
    }
    /// Such a choice, written where its conditions are known: compilers take long for hundreds of nested choices in one block.
    /// pre: chooses_constants(e, l)
    std::string constant_choice(const lowered_expr& e, const lanes& l, std::size_t& known_at) {
        if (e.op == expr_op::constant) return value(e, l).text;
        const auto& c = e.operands[0];
        auto yes = condition(c, l, 0);
        if (yes == "1" || yes == "0") return constant_choice(e.operands[yes == "1" ? 1 : 2], l, known_at);
        const auto at = condition_home(c, l);
        known_at = (std::max)(known_at, at);
        if (at + 1 < scopes_.size()) yes = named(at, "const int", yes);
        const auto a = constant_choice(e.operands[1], l, known_at);
        const auto b = constant_choice(e.operands[2], l, known_at);
        return "(" + yes + " ? " + a + " : " + b + ")";
    }

    bool condition_moves(const lowered_expr& e, const lanes& l) {
        if (e.op == expr_op::less_equal || e.op == expr_op::equal) return moves_with_lanes(e.index, l);
        return condition_moves(e.operands[0], l) || condition_moves(e.operands[1], l);
    }

    /// The outermost block in which a condition is known.
    std::size_t condition_home(const lowered_expr& e, const lanes& l) {
        if (e.op == expr_op::less_equal || e.op == expr_op::equal) return home(at_lane(e.index, l, 0));
        return (std::max)(condition_home(e.operands[0], l), condition_home(e.operands[1], l));
    }

    /// Branch-free padding: a read that a condition replaces by the padding constant, if the condition is known outside the innermost loops. There, a
    /// pointer to the data or to an array of that constant is selected, and the inner loops read through it. Empty if not applicable.
    value_text padded_read(const lowered_expr& e, const lanes& l, const std::string& yes, std::size_t known_at) {
        const auto& from = e.operands[1];
        const auto& pad = e.operands[2];
        constexpr std::int64_t stretch = 4096; // elements of aug_zero and aug_lowest
        if (from.op != expr_op::read || pad.op != expr_op::constant) return {};
        known_at = home(from.buffer, known_at);
        const bool zero = pad.value == 0;
        if (!zero && pad.value != identity_of(reducer::max)) return {};
        const auto first = at_lane(from.index, l, 0);
        const auto step = l.width > 1 ? at_lane(from.index, l, 1) - first : affine();
        const auto last = l.width > 1 ? at_lane(from.index, l, l.width - 1) - first : affine();
        const bool vector = l.width > 1 && moves_with_lanes(from.index, l);
        if (vector && !(step == affine(1) && last == affine(l.width - 1))) return {};
        // Vectors of a tile share the pointer, as do reads whose offsets differ by a small constant.
        const auto lane = vector ? l.first : 0;
        affine outer, inner;
        for (const auto& [t, f] : first.terms) (home(term_table::value(t)) > known_at ? inner : outer).terms.emplace_back(t, f);
        if (inner.is_constant() && !vector) return {};
        // Not far outside an array on the stack: gcc takes accesses through such a pointer for accesses to something else.
        const bool local = kernel_.buffers[static_cast<std::size_t>(from.buffer)].type == lowered_buffer::kind::local;
        for (const auto distance : {local ? std::int64_t{1} : stretch / 2, std::int64_t{1}}) {
            outer.constant = floor_div(first.constant - lane, distance) * distance;
            inner.constant = first.constant - outer.constant;
            if (kernel_.terms.range(inner).high + l.width <= stretch) break;
        }
        if (const auto range = kernel_.terms.range(inner); range.low < 0 || range.high + l.width > stretch) return {};
        const auto base = "b" + std::to_string(from.buffer) + " + (" + sum_text(outer) + ")";
        const auto name = named(known_at, "const float *const", yes + " ? " + base + " : " + (zero ? "aug_zero" : "aug_lowest"));
        const auto offset = sum_text(inner);
        if (!vector) return {name + "[" + offset + "]", false};
        return {load_text(name + " + " + offset, l, false), true};
    }

    /// The conditions of a padded read along its lanes. Element i of memory, counted from that of lane 0, is read if each of `low` is at most i, each
    /// of `high` is above i, and `all` is true.
    struct lane_bounds {
        std::vector<affine> low, high;
        std::string all;        ///< empty: always
        std::size_t all_at = 0; ///< the block in which `all` is known
    };

    /// The bounds of the condition `c`, if its affine parts change by one from element to element; the lanes are `stride` elements apart.
    bool bounds_of(const lowered_expr& c, const lanes& l, std::int64_t stride, lane_bounds& out) {
        if (c.op == expr_op::logical_and) return bounds_of(c.operands[0], l, stride, out) && bounds_of(c.operands[1], l, stride, out);
        if (c.op != expr_op::less_equal) return false;
        const auto begin = at_lane(c.index, l, 0);
        const auto step = at_lane(c.index, l, 1) - begin;
        if (!step.is_constant() || !(at_lane(c.index, l, l.width - 1) - begin == affine(step.constant * (l.width - 1)))) return false;
        if (step.constant == stride) {
            out.low.push_back(begin * -1);
        } else if (step.constant == -stride) {
            out.high.push_back(begin + affine(1));
        } else if (step.constant == 0) {
            if (kernel_.terms.range(begin).low >= 0) return true;
            const auto at = home(begin);
            out.all_at = (std::max)(out.all_at, at);
            out.all += (out.all.empty() ? "(" : " && (") + named(at, "const int64_t", sum_text(begin)) + " >= 0)";
        } else {
            return false;
        }
        return true;
    }

    /// The distance of the lanes of a padded read, if it is constant and positive; else 0.
    std::int64_t lane_distance(const lowered_expr& from, const lanes& l) {
        if (l.width < 2) return 0;
        const auto first = at_lane(from.index, l, 0);
        const auto stride = at_lane(from.index, l, 1) - first;
        if (!stride.is_constant() || stride.constant < 1) return 0;
        for (int i = 2; i < l.width; ++i)
            if (!(at_lane(from.index, l, i) - first == affine(stride.constant * iteration_of(l, i)))) return 0;
        return stride.constant;
    }

    /// Adds the reads of `e`, which is evaluated in any case, to `touched_`; those with a border under their conditions on all lanes.
    void touch_all(const lowered_expr& e, const lanes& l) {
        if (e.op == expr_op::read) return touch(e, l, {});
        if (e.op != expr_op::select) {
            for (const auto& o : e.operands) touch_all(o, l);
            return;
        }
        lane_bounds bounds;
        const auto stride = e.operands[1].op == expr_op::read ? lane_distance(e.operands[1], l) : 0;
        if (stride > 1 && bounds_of(e.operands[0], l, stride, bounds)) touch(e.operands[1], l, "bounds " + bounds.all);
    }

    /// The mask of `width` elements from `at` on that lie within `bounds`, of which `ahead` lie before `at`, and between `first` and `last`.
    std::string lane_mask(const lane_bounds& bounds, std::int64_t ahead, std::int64_t first, std::int64_t last, std::int64_t width) {
        std::vector<affine> low, high;
        std::size_t at = 0;
        first = std::clamp(first, std::int64_t{0}, width); // bounds that no lane reaches are left out
        last = std::clamp(last, std::int64_t{0}, width);
        for (auto b : bounds.low) {
            b.constant -= ahead;
            const auto range = kernel_.terms.range(b);
            if (b.is_constant()) first = (std::max)(first, b.constant);
            else if (range.high > first) low.push_back(std::move(b));
        }
        for (auto b : bounds.high) {
            b.constant -= ahead;
            const auto range = kernel_.terms.range(b);
            if (b.is_constant()) last = (std::min)(last, b.constant);
            else if (range.low < last) high.push_back(std::move(b));
        }
        first = std::clamp(first, std::int64_t{0}, width);
        last = std::clamp(last, std::int64_t{0}, width);
        const auto known = std::to_string(((std::uint64_t{1} << last) - 1) & ~((std::uint64_t{1} << first) - 1)) + "u";
        auto from = std::to_string(first), to = std::to_string(last);
        const auto text_of = [&](const affine& b) {
            at = (std::max)(at, home(b));
            return named(home(b), "const int64_t", sum_text(b));
        };
        for (const auto& b : low) {
            const auto text = text_of(b);
            from = from == "0" ? text : "(" + from + " > " + text + " ? " + from + " : " + text + ")";
        }
        for (const auto& b : high) {
            const auto text = text_of(b);
            to = "(" + text + " < " + to + " ? " + text + " : " + to + ")";
        }
        auto mask =
            low.empty() && high.empty() ? known : named(at, "const uint32_t", "aug_lanes(" + from + ", " + to + ", " + std::to_string(width) + ")");
        if (bounds.all.empty()) return low.empty() && high.empty() && first == 0 && last == width ? std::string() : mask;
        return named(bounds.all_at, "const uint32_t", "(" + bounds.all + ") ? ~0u : 0u") + " & " + mask; // one mask of lanes for many rows
    }

    /// A padded read whose conditions move with the lanes, as at the border of a row: the lanes that lie inside are loaded, the others have the padding
    /// constant. Lanes at a constant distance are shuffled out of such loads. Empty if the lanes inside are not neighbours.
    value_text masked_read(const lowered_expr& e, const lanes& l) {
        const auto& from = e.operands[1];
        if (from.op != expr_op::read || e.operands[2].op != expr_op::constant) return {};
        const auto stride = lane_distance(from, l);
        lane_bounds bounds;
        if (stride == 0 || !bounds_of(e.operands[0], l, stride, bounds)) return {};
        std::vector<affine> each;
        for (int i = 0; i < l.width; ++i) each.push_back(at_lane(from.index, l, i));
        auto begin = each.front(); // what lies before or behind may lie outside the buffer
        auto length = (each[static_cast<std::size_t>(l.used() - 1)] - begin).constant + 1;
        for (const auto& t : touched_)
            if (t.buffer == from.buffer && t.when == "bounds " + bounds.all && (t.first - begin).is_constant()) {
                begin = t.first;
                length = t.length;
            }
        const auto lanes_text = std::to_string(l.width);
        const auto load = [&](const affine& at, bool held) -> std::string {
            const auto before = (begin - at).constant;
            auto mask = lane_mask(bounds, (at - each.front()).constant, before, before + length, l.width);
            if (l.behind > 0) mask = "aug_mask(" + mask + ")"; // GCC: see used_mask
            const auto place = address(from.buffer, at);
            const auto to = place.first + " + " + std::to_string(place.second);
            auto text = mask.empty() ? "aug_load" + lanes_text + "(" + to + ")"
                                     : "aug_load_mask" + lanes_text + "(" + to + ", " + mask + ", " + number(e.operands[2].value) + ")";
            for (const auto& [known, v] : loaded_)
                if (known == text) return v.text;
            if (held) return {};
            if (in_place_) return text;
            const value_text v{fresh("x"), true};
            declare_value(v, l.width, text, shared_reads_ || stride > 1);
            loaded_.emplace_back(std::move(text), v);
            return v.text;
        };
        return {stride == 1 ? load(each.front(), false) : shuffled_read(from.buffer, each, true, load), true};
    }

    value_text call(const char* name, const std::vector<value_text>& v, int width) {
        const bool vector = std::any_of(v.begin(), v.end(), [](const value_text& x) { return x.vector; });
        const int w = vector ? width : 1;
        std::string text = std::string("aug_") + name + std::to_string(w) + "(";
        for (std::size_t i = 0; i < v.size(); ++i) text += (i > 0 ? ", " : "") + widened(v[i], w);
        return {text + ")", vector};
    }

    /// `guarded`: evaluated under a condition, so no read may be hoisted.
    value_text value(const lowered_expr& e, const lanes& l, bool guarded = false) {
        const auto at = [&](std::size_t i) { return value(e.operands[i], l, guarded); };
        const auto infix = [&](const char* op) -> value_text {
            const auto a = at(0);
            const auto b = at(1);
            return {"(" + a.text + op + b.text + ")", a.vector || b.vector};
        };
        switch (e.op) {
        case expr_op::constant: return {number(e.value), false};
        case expr_op::axis: {
            if (l.width > 1 && moves_with_lanes(e.index, l))
                return gather(l.width, [&](int i) { return "(float)(" + sum_text(at_lane(e.index, l, (std::min)(i, l.used() - 1))) + ")"; });
            return {"(float)(" + sum_text(at_lane(e.index, l, 0)) + ")", false};
        }
        case expr_op::read: {
            if (e.buffer == lowered_nest::result_buffer) return result_;
            for (const auto& r : tile_reads_)
                if (r.buffer == e.buffer && r.index == e.index) return {r.names[vector_], l.width > 1};
            const auto in_place = std::exchange(in_place_, in_place_ || guarded);
            auto v = read(e.buffer, e.index, l);
            in_place_ = in_place;
            return v;
        }
        case expr_op::add: return infix(" + ");
        case expr_op::sub: return infix(" - ");
        case expr_op::mul: return infix(" * ");
        case expr_op::div: {
            if (is_product_with_reciprocal(e)) {
                const auto a = at(0);
                return {"(" + a.text + " * " + number(1 / e.operands[1].value) + ")", a.vector};
            }
            const auto a = at(0);
            const auto b = at(1);
            if (!a.vector || b.vector || in_place_ || guarded) return {"(" + a.text + " / " + b.text + ")", a.vector || b.vector};
            // One number divides all lanes, as the sum of a softmax does: several vectors share the division that makes its reciprocal.
            const auto once = "1.0f / " + b.text;
            auto known = std::find_if(loaded_.begin(), loaded_.end(), [&](const auto& v) { return v.first == once; });
            if (known == loaded_.end()) {
                const value_text v{fresh("x"), false};
                line("const float " + v.text + " = " + once + ";");
                known = loaded_.emplace(loaded_.end(), once, v);
            }
            return {"(" + a.text + " * " + known->second.text + ")", true};
        }
        case expr_op::min: return call("min", {at(0), at(1)}, l.width);
        case expr_op::max: return call("max", {at(0), at(1)}, l.width);
        case expr_op::exp: return call("exp", {at(0)}, l.width);
        case expr_op::tanh: return call("tanh", {at(0)}, l.width);
        case expr_op::erf: return call("erf", {at(0)}, l.width);
        case expr_op::sqrt: return call("sqrt", {at(0)}, l.width);
        case expr_op::select: {
            const auto& c = e.operands[0];
            if (l.width > 1 && condition_moves(c, l)) {
                const auto in_place = std::exchange(in_place_, in_place_ || guarded);
                auto masked = masked_read(e, l);
                in_place_ = in_place;
                if (!masked.text.empty()) return masked;
                return gather(l.width, [&](int i) {
                    const lanes one{l.term, l.first + iteration_of(l, (std::min)(i, l.used() - 1)), 1};
                    const auto yes = condition(c, one, 0);
                    if (yes == "1" || yes == "0") return value(e.operands[yes == "1" ? 1 : 2], one, true).text;
                    return "(" + yes + " ? " + value(e.operands[1], one, true).text + " : " + value(e.operands[2], one, true).text + ")";
                });
            }
            auto yes = condition(c, l, 0);
            if (yes == "1" || yes == "0") return value(e.operands[yes == "1" ? 1 : 2], l, guarded);
            if (std::size_t choice_at = 0; chooses_constants(e, l)) {
                const auto choice = constant_choice(e, l, choice_at);
                if (choice_at + 1 < scopes_.size()) return {named(choice_at, "const float", choice), false};
                return {choice, false};
            }
            const auto known_at = condition_home(c, l);
            if (auto padded = guarded ? value_text() : padded_read(e, l, yes, known_at); !padded.text.empty()) return padded;
            const bool named_outside = known_at + 1 < scopes_.size();
            if (named_outside) yes = named(known_at, "const int", yes);
            const auto a = value(e.operands[1], l, true);
            const auto b = value(e.operands[2], l, true);
            const bool vector = a.vector || b.vector;
            const int w = vector ? l.width : 1;
            const std::string cast = w > 1 ? "(aug_v" + std::to_string(w) + ")" : ""; // gcc: a product has another vector type than a load
            if (w == 1 && !named_outside) yes += " && AUG_BRANCH";
            return {"(" + yes + " ? " + cast + widened(a, w) + " : " + cast + widened(b, w) + ")", vector};
        }
        default: return {"0.0f", false};
        }
    }

    /// The value to store for the result of a reduction.
    value_text finished(const lowered_nest& n, const lanes& l, value_text result) {
        if (!n.epilogue) return result;
        result_ = std::move(result);
        return value(*n.epilogue, l);
    }

    /// One step of a reduction by max or min. In this order of the operands it skips a value that is NaN.
    static std::string extremum(reducer r, const std::string& v, const std::string& acc, int width) {
        return (r == reducer::max ? "aug_max" : "aug_min") + std::to_string(width) + "(" + v + ", " + acc + ")";
    }

    static std::string combined(reducer r, const std::string& acc, const value_text& v, int width) {
        if (r == reducer::sum) return acc + " += " + v.text + ";";
        return acc + " = " + extremum(r, widened(v, width), acc, width) + ";";
    }
};

} // namespace detail

} // namespace augur::inline v0::loopnest

#endif
