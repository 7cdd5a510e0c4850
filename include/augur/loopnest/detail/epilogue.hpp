// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_EPILOGUE_HPP
#define AUGUR_LOOPNEST_DETAIL_EPILOGUE_HPP

/// @file
/// Fuses the element-wise reader of a tile, such as bias and relu, into the reduction that computes the tile: results go from registers through the
/// reader's expression to its buffer, not through a local buffer.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <augur/loopnest/detail/nest_loops.hpp>
#include <augur/loopnest/lower/lower.hpp>

namespace augur::inline v0::loopnest::detail {

/// A loop variable of the reader as a sum over loops of the reduction.
struct loop_image {
    int term = -1;
    affine value;
};

/// Writes each loop of `reader`, which together run over the elements of a tile at `read`, as a sum over the loops of the reduction, which run over the
/// same elements at `written`. None if the loops do not count the elements in the same mixed-radix way.
inline std::optional<std::vector<loop_image>> images_of(const std::vector<lowered_loop>& reader, const affine& read,
                                                        const std::vector<lowered_loop>& reduction, const affine& written) {
    struct digit {
        std::int64_t stride, extent;
        int term;
    };
    const auto digits = [](const std::vector<lowered_loop>& loops, const affine& index, affine& rest) {
        std::vector<digit> out;
        for (const auto& l : loops) {
            if (l.term < 0 || l.reduce || l.extent == 1) continue;
            out.push_back({index.factor(l.term), l.extent, l.term});
            std::erase_if(rest.terms, [&](const auto& t) { return t.first == l.term; });
        }
        std::sort(out.begin(), out.end(), [](const digit& a, const digit& b) { return a.stride < b.stride; });
        return out;
    };
    auto read_rest = read, written_rest = written;
    const auto to = digits(reader, read, read_rest);
    const auto from = digits(reduction, written, written_rest);
    if (!(read_rest == written_rest)) return std::nullopt; // elements at other places, or a place that is no plain sum
    std::vector<loop_image> out;
    std::size_t next = 0;
    for (const auto& d : to) {
        if (d.stride < 1) return std::nullopt;
        loop_image image{d.term, {}};
        for (std::int64_t covered = 1; covered < d.extent; ++next) {
            if (next == from.size() || from[next].stride != d.stride * covered) return std::nullopt;
            image.value.add(term_table::value(from[next].term), covered);
            covered *= from[next].extent;
            if (covered > d.extent) return std::nullopt;
        }
        out.push_back(std::move(image));
    }
    if (next != from.size()) return std::nullopt;
    return out;
}

/// The number of reads of `buffer` in `e`.
inline std::size_t reads_of(const lowered_expr& e, int buffer) {
    std::size_t n = 0;
    each_read(e, [&](const lowered_expr& r) { n += r.buffer == buffer ? 1 : 0; });
    return n;
}

/// The nest of `reader` with the reduction `n`, which is attached to loop `depth`, in place of its inner loops; none if that is not possible.
inline std::optional<lowered_nest> with_epilogue(term_table& terms, const lowered_nest& reader, std::size_t depth, const lowered_nest& n) {
    const auto last = reader.loops.begin() + static_cast<std::ptrdiff_t>(depth) + 1;
    const std::vector<lowered_loop> inner(last, reader.loops.end());
    const auto plain = [](const lowered_loop& l) { return !l.reduce && l.attached.empty() && l.annotation != loop_annotation::parallel; };
    if (reader.combine != reducer::none || n.combine == reducer::none || !std::all_of(inner.begin(), inner.end(), plain)) return std::nullopt;
    if (!stays_in_registers(n.loops)) return std::nullopt;

    std::optional<affine> read;
    bool one_place = true;
    each_read(reader.value, [&](const lowered_expr& r) {
        if (r.buffer != n.buffer) return;
        one_place = one_place && (!read || *read == r.index);
        read = r.index;
    });
    if (!read || !one_place) return std::nullopt;
    const auto images = images_of(inner, *read, n.loops, n.index);
    if (!images) return std::nullopt;

    auto out = reader;
    const auto image = [&](int t) {
        const auto found = std::find_if(images->begin(), images->end(), [&](const loop_image& i) { return i.term == t; });
        return found == images->end() ? term_table::value(t) : found->value;
    };
    lowered_expr result;
    result.op = expr_op::read;
    result.buffer = lowered_nest::result_buffer;
    const auto replace = [&](const auto& self, lowered_expr& e) -> void {
        if (e.op == expr_op::read && e.buffer == n.buffer) {
            e = n.epilogue ? *n.epilogue : result;
            return;
        }
        e.index = terms.substitute(e.index, image);
        for (auto& o : e.operands) self(self, o);
    };
    replace(replace, out.value);
    out.index = terms.substitute(out.index, image);
    for (auto& g : out.guards) g = terms.substitute(g, image);
    for (const auto& g : n.guards)
        if (std::find(out.guards.begin(), out.guards.end(), g) == out.guards.end()) out.guards.push_back(g);
    out.epilogue = std::move(out.value);
    out.value = n.value;
    out.combine = n.combine;
    out.auto_unroll_max_step = n.auto_unroll_max_step;
    out.loops.resize(depth + 1);
    out.loops.back().attached.pop_back();
    out.loops.insert(out.loops.end(), n.loops.begin(), n.loops.end());
    return out;
}

/// `k` with each reduction whose results stay in registers fused with its only reader, if the reader is element-wise and attached right behind it.
inline lowered_kernel with_epilogues(lowered_kernel k) {
    for (auto& reader : k.nests) {
        std::size_t depth = reader.loops.size();
        while (depth > 0 && reader.loops[depth - 1].attached.empty()) --depth;
        if (depth == 0) continue;
        const auto attached = reader.loops[depth - 1].attached.back();
        const auto& n = k.nests[attached];
        std::size_t readers = 0;
        for (const auto& other : k.nests)
            readers += reads_of(other.value, n.buffer) > 0 || (other.epilogue && reads_of(*other.epilogue, n.buffer) > 0);
        if (readers != 1 || k.buffers[static_cast<std::size_t>(n.buffer)].type != lowered_buffer::kind::local) continue;
        if (auto fused = with_epilogue(k.terms, reader, depth - 1, n)) reader = *std::move(fused);
    }
    return k;
}

} // namespace augur::inline v0::loopnest::detail

#endif
