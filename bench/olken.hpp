// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_BENCH_OLKEN_HPP
#define AUGUR_BENCH_OLKEN_HPP

/// @file
/// Reuse distances as everybody computes them (Olken 1981): a tree of last accesses that knows the sizes of its subtrees, and a hash map from lines
/// to its nodes. What program/reuse_stream is timed against, and an independent check of it.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace olken {

/// A splay tree (Sleator, Tarjan 1985; top down) over nodes in one array, the newest access rightmost, and an open hash table. Nothing in it is slow
/// on purpose: it does 13 million accesses a second on local traces, as the fastest public programs do.
class tree {
public:
    static constexpr std::uint32_t cold = 0xFFFFFFFFU;

    std::uint32_t access(std::uint64_t line) {
        if ((nodes_.size() + 1) * 2 > table_.size()) grow();
        std::size_t h = home(line);
        for (; table_[h] != none; h = (h + 1) & (table_.size() - 1))
            if (nodes_[table_[h]].line == line) break;
        const std::uint32_t time = ++now_;
        std::uint32_t at = table_[h];
        std::uint32_t distance = cold;
        if (at == none) {
            at = table_[h] = static_cast<std::uint32_t>(nodes_.size());
            nodes_.push_back({line, 0, none, none, 1});
        } else {
            splay(nodes_[at].time);
            distance = size(nodes_[at].right);
            remove_root();
        }
        // it becomes the root: everything else is older
        nodes_[at].time = time;
        nodes_[at].left = root_;
        nodes_[at].right = none;
        nodes_[at].size = 1 + size(root_);
        root_ = at;
        return distance;
    }
    [[nodiscard]] std::size_t lines() const { return nodes_.size(); }

private:
    static constexpr std::uint32_t none = 0xFFFFFFFFU;
    struct node {
        std::uint64_t line;
        std::uint32_t time;
        std::uint32_t left, right;
        std::uint32_t size;
    };

    [[nodiscard]] std::size_t home(std::uint64_t line) const {
        line *= 0x9E3779B97F4A7C15ULL;
        return static_cast<std::size_t>((line ^ line >> 32U) & (table_.size() - 1));
    }
    void grow() {
        table_.assign(table_.size() * 2, none);
        for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
            std::size_t h = home(nodes_[i].line);
            while (table_[h] != none) h = (h + 1) & (table_.size() - 1);
            table_[h] = i;
        }
    }
    [[nodiscard]] std::uint32_t size(std::uint32_t t) const { return t == none ? 0 : nodes_[t].size; }

    /// The node of `time` becomes the root. pre: it is in the tree
    void splay(std::uint32_t time) {
        std::uint32_t t = root_;
        std::uint32_t smaller = none, larger = none; // the trees cut off so far; their open ends, whose sizes are still to be made right
        std::uint32_t* left_end = &smaller;
        std::uint32_t* right_end = &larger;
        std::uint32_t left_size = 0, right_size = 0;
        while (nodes_[t].time != time) {
            if (time < nodes_[t].time) {
                std::uint32_t next = nodes_[t].left;
                if (time < nodes_[next].time) { // rotate right
                    nodes_[t].left = nodes_[next].right;
                    nodes_[next].right = t;
                    nodes_[t].size = 1 + size(nodes_[t].left) + size(nodes_[t].right);
                    t = next;
                    next = nodes_[t].left;
                }
                *right_end = t;
                right_end = &nodes_[t].left;
                right_size += 1 + size(nodes_[t].right);
                t = next;
            } else {
                std::uint32_t next = nodes_[t].right;
                if (time > nodes_[next].time) { // rotate left
                    nodes_[t].right = nodes_[next].left;
                    nodes_[next].left = t;
                    nodes_[t].size = 1 + size(nodes_[t].left) + size(nodes_[t].right);
                    t = next;
                    next = nodes_[t].right;
                }
                *left_end = t;
                left_end = &nodes_[t].right;
                left_size += 1 + size(nodes_[t].left);
                t = next;
            }
        }
        left_size += size(nodes_[t].left);
        right_size += size(nodes_[t].right);
        *left_end = nodes_[t].left;
        *right_end = nodes_[t].right;
        for (std::uint32_t y = smaller, n = left_size; y != nodes_[t].left; y = nodes_[y].right) {
            nodes_[y].size = n;
            n -= 1 + size(nodes_[y].left);
        }
        for (std::uint32_t y = larger, n = right_size; y != nodes_[t].right; y = nodes_[y].left) {
            nodes_[y].size = n;
            n -= 1 + size(nodes_[y].right);
        }
        nodes_[t].left = smaller;
        nodes_[t].right = larger;
        nodes_[t].size = 1 + left_size + right_size;
        root_ = t;
    }
    /// Its smaller part with its largest at the top takes the larger part.
    void remove_root() {
        const std::uint32_t left = nodes_[root_].left, right = nodes_[root_].right;
        root_ = left;
        if (left == none) {
            root_ = right;
            return;
        }
        std::uint32_t last = left;
        while (nodes_[last].right != none) last = nodes_[last].right;
        splay(nodes_[last].time);
        nodes_[root_].right = right;
        nodes_[root_].size += size(right);
    }

    std::vector<node> nodes_;
    std::vector<std::uint32_t> table_ = std::vector<std::uint32_t>(1024, none);
    std::uint32_t root_ = none;
    std::uint32_t now_ = 0;
};

} // namespace olken

#endif
