// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_C_WINDOWS_HPP
#define AUGUR_LOOPNEST_DETAIL_C_WINDOWS_HPP

/// @file
/// Code generation for register tiles whose results read overlapping windows, as in pooling.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest/detail/c_value.hpp>
#include <augur/loopnest/detail/tile_plan.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

class c_windows : protected c_value {
protected:
    using c_value::c_value;

    [[nodiscard]] static std::string type_of(int width) { return width == 1 ? "float" : "aug_v" + std::to_string(width); }

    /// Calls `f(lanes)` for every vector of the tile, with the tile loops fixed.
    void each_vector(const tile_plan& p, std::size_t depth, const std::function<void(const lanes&)>& f) {
        if (depth < p.tile.size()) {
            for (std::int64_t i = 0; i < p.tile[depth].extent; ++i) {
                fixed_.emplace_back(p.tile[depth].term, i);
                each_vector(p, depth + 1, f);
                fixed_.pop_back();
            }
            return;
        }
        if (p.lanes.term < 0) return f(lanes{});
        for (const auto& s : segments(p.lanes.extent, p.lanes_behind)) f(lanes{p.lanes.term, s.first, s.width, s.behind});
    }

    /// Calls `f(lanes)` for every vector of the tile in every step of the reduce loops from `depth` on, with all of these loops fixed.
    void each_step(const tile_plan& p, std::size_t depth, const std::function<void(const lanes&)>& f) {
        if (depth == p.reduce_loops.size()) return each_vector(p, 0, f);
        for (std::int64_t i = 0; i < p.reduce_loops[depth].extent; ++i) {
            fixed_.emplace_back(p.reduce_loops[depth].term, i);
            each_step(p, depth + 1, f);
            fixed_.pop_back();
        }
    }

    static constexpr std::int64_t most_shared = 512; ///< limit for the distinct window positions of an unrolled tile; four times as many in all

    /// The contribution of one iteration of a reduce loop to some results.
    struct window_part {
        std::vector<std::size_t> loads;  ///< combined over the other reduce loops
        std::vector<std::size_t> takers; ///< results that use this part
        int width = 1;
        std::string name; ///< name of the partial sum, if several results use it
    };
    /// A tile of windows, decomposed into loads and parts.
    struct window_tile {
        std::vector<value_text> loads;
        std::vector<std::vector<std::size_t>> users; ///< parts that use each load
        std::vector<window_part> parts;

        [[nodiscard]] std::size_t operations() const {
            std::size_t n = 0;
            for (const auto& p : parts) n += p.takers.size() > 1 ? p.loads.size() - 1 + p.takers.size() : p.loads.size();
            return n;
        }
    };

    /// Decomposes the windows of a tile along the reduce loop `reduce_loop`.
    [[nodiscard]] window_tile take_apart(const tile_plan& p, std::size_t reduce_loop) {
        window_tile out;
        std::map<std::string, std::size_t> load_of, part_of;
        const auto inner = [&](auto&& self, std::size_t depth, const lanes& l, window_part& to, std::string& key) -> void {
            if (depth == reduce_loop) return self(self, depth + 1, l, to, key);
            if (depth == p.reduce_loops.size()) {
                const auto v = value(p.nest.value, l);
                const auto [at, is_new] = load_of.emplace(v.text, out.loads.size());
                if (is_new) out.loads.push_back(v);
                to.loads.push_back(at->second);
                key += std::to_string(at->second) + ",";
                return;
            }
            for (std::int64_t i = 0; i < p.reduce_loops[depth].extent; ++i) {
                fixed_.emplace_back(p.reduce_loops[depth].term, i);
                self(self, depth + 1, l, to, key);
                fixed_.pop_back();
            }
        };
        in_place_ = true;
        for (std::int64_t i = 0; i < p.reduce_loops[reduce_loop].extent; ++i) {
            fixed_.emplace_back(p.reduce_loops[reduce_loop].term, i);
            std::size_t result = 0;
            each_vector(p, 0, [&](const lanes& l) {
                window_part made;
                made.width = l.width;
                std::string key;
                inner(inner, 0, l, made, key);
                const auto [at, is_new] = part_of.emplace(std::move(key), out.parts.size());
                if (is_new) out.parts.push_back(std::move(made));
                out.parts[at->second].takers.push_back(result++);
            });
            fixed_.pop_back();
        }
        in_place_ = false;
        out.users.resize(out.loads.size());
        for (std::size_t i = 0; i < out.parts.size(); ++i)
            for (const auto l : out.parts[i].loads) out.users[l].push_back(i);
        return out;
    }

    /// Writes a tile of windows, fully unrolled. A part that several windows share along one reduce loop is combined once. A value that several parts
    /// need is loaded once and added to all of them immediately, which keeps register lifetimes short. A sum starts with its first value, without the
    /// neutral value; a maximum or minimum needs it, since the first value may be NaN, unless it starts with a part.
    void shared(const tile_plan& p) {
        const auto& n = p.nest;
        each_step(p, 0, [&](const lanes& l) { touch_all(n.value, l); });
        auto t = take_apart(p, 0);
        for (std::size_t k = 1; k < p.reduce_loops.size(); ++k)
            if (auto other = take_apart(p, k); other.operations() < t.operations()) t = std::move(other);
        std::vector<std::string> sums;
        std::vector<bool> begun;
        each_vector(p, 0, [&](const lanes& l) {
            sums.push_back(fresh("a"));
            begun.push_back(!p.neutral_in_registers);
            if (!p.neutral_in_registers) line(type_of(l.width) + " " + sums.back() + " = " + read(n.buffer, n.index, l).text + ";");
        });
        const auto add = [&](const std::string& to, bool declared, const value_text& v, int width, bool may_be_nan) {
            auto first = widened(v, width);
            if (may_be_nan && n.combine != reducer::sum)
                first = extremum(n.combine, first, widened({number(identity_of(n.combine)), false}, width), width);
            line(declared ? combined(n.combine, to, v, width) : type_of(width) + " " + to + " = " + first + ";");
        };
        const auto give = [&](const window_part& part, const value_text& v, bool may_be_nan) {
            for (const auto i : part.takers) {
                add(sums[i], begun[i], v, part.width, may_be_nan);
                begun[i] = true;
            }
        };
        std::vector<bool> done(t.parts.size(), false);
        std::vector<std::size_t> order(t.parts.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        if (n.combine != reducer::sum) // parts of several results first: what begins with one of them needs no neutral value
            std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
                return std::pair(t.parts[x].takers.size() == 1, x) < std::pair(t.parts[y].takers.size() == 1, y);
            });
        for (const auto first : order) {
            if (done[first]) continue;
            std::vector<std::size_t> together{first}; // parts that have loads in common
            std::set<std::size_t> loads;
            done[first] = true;
            for (std::size_t k = 0; k < together.size(); ++k)
                for (const auto l : t.parts[together[k]].loads) {
                    loads.insert(l);
                    for (const auto other : t.users[l]) {
                        if (done[other]) continue;
                        done[other] = true;
                        together.push_back(other);
                    }
                }
            for (const auto l : loads) {
                auto v = t.loads[l];
                if (t.users[l].size() > 1) {
                    const value_text once{fresh("x"), v.vector};
                    declare_value(once, t.parts[t.users[l].front()].width, v.text, true);
                    v = once;
                }
                for (const auto i : t.users[l]) {
                    auto& part = t.parts[i];
                    if (part.takers.size() == 1) {
                        give(part, v, true);
                        continue;
                    }
                    const bool declared = !part.name.empty();
                    if (!declared) part.name = fresh("s");
                    add(part.name, declared, v, part.width, true);
                }
            }
            for (const auto i : together)
                if (t.parts[i].takers.size() > 1) give(t.parts[i], {t.parts[i].name, t.parts[i].width > 1}, false);
        }
        std::size_t i = 0;
        const bool apart = std::exchange(halves_apart_, false);
        each_vector(p, 0, [&](const lanes& l) {
            const auto sum = apart ? "aug_inner_halves8(" + sums[i] + ")" : sums[i];
            store(n.buffer, n.index, l, finished(n, l, {sum, l.width > 1}));
            ++i;
        });
        loaded_.clear();
        touched_.clear();
    }
};

} // namespace detail

} // namespace augur::inline v0::loopnest

#endif
