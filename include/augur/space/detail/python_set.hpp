// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_DETAIL_PYTHON_SET_HPP
#define AUGUR_SPACE_DETAIL_PYTHON_SET_HPP

/// @file
/// Order in which CPython iterates over a set of integers. AutoTVM numbers the splits of the policy `verbose` in this order, so that the index of a
/// configuration depends on it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace augur::inline v0::detail {

/// The hash table of CPython's set (Objects/setobject.c, CPython 3.7 to 3.13), for integers from 1 to 2^61 - 2, which hash to themselves.
class python_set {
public:
    python_set() = default;
    explicit python_set(std::span<const std::int64_t> values) {
        for (const std::int64_t v : values) add(v);
    }

    /// set_add_entry: a table that is more than 3/5 full grows fourfold.
    void add(std::int64_t value) {
        std::int64_t& slot = table_[place(value)];
        if (slot == value) return;
        slot = value;
        ++used_;
        if (used_ * 5 >= (table_.size() - 1) * 3) resize(used_ > 50'000 ? used_ * 2 : used_ * 4);
    }
    /// set_merge
    void merge(const python_set& other) {
        if (other.used_ == 0) return;
        if ((used_ + other.used_) * 5 >= (table_.size() - 1) * 3) resize((used_ + other.used_) * 2);
        if (used_ == 0 && table_.size() == other.table_.size()) {
            *this = other;
            return;
        }
        const bool clean = used_ == 0;
        for (const std::int64_t v : other.table_) {
            if (v == 0) continue;
            if (clean) table_[place(v)] = v, ++used_;
            else add(v);
        }
    }
    [[nodiscard]] std::vector<std::int64_t> values() const {
        std::vector<std::int64_t> out;
        for (const std::int64_t v : table_)
            if (v != 0) out.push_back(v);
        return out;
    }

private:
    /// Slot of a value, or the free slot where it belongs.
    [[nodiscard]] std::size_t place(std::int64_t value) const {
        constexpr std::size_t linear_probes = 9;
        const std::size_t mask = table_.size() - 1;
        auto perturb = static_cast<std::size_t>(value);
        for (std::size_t i = perturb & mask;; perturb >>= 5U, i = (i * 5 + 1 + perturb) & mask) {
            const std::size_t last = i + linear_probes <= mask ? i + linear_probes : i;
            for (std::size_t at = i; at <= last; ++at)
                if (table_[at] == 0 || table_[at] == value) return at;
        }
    }
    void resize(std::size_t least) {
        std::size_t size = 8;
        while (size <= least) size *= 2;
        std::vector<std::int64_t> old(size, 0);
        std::swap(old, table_);
        for (const std::int64_t v : old)
            if (v != 0) table_[place(v)] = v;
    }

    std::vector<std::int64_t> table_ = std::vector<std::int64_t>(8, 0); ///< 0: free
    std::size_t used_ = 0;
};

/// `list(set(a) | set(b))`
[[nodiscard]] inline std::vector<std::int64_t> python_set_union(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
    python_set both; // set_or copies the first set, then merges the second
    both.merge(python_set(a));
    both.merge(python_set(b));
    return both.values();
}

} // namespace augur::inline v0::detail

#endif
