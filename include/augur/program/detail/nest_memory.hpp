// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_DETAIL_NEST_MEMORY_HPP
#define AUGUR_PROGRAM_DETAIL_NEST_MEMORY_HPP

/// @file
/// Memory trace of a loop nest: enumerates its accesses in program order and computes their reuse profile, without running the program.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <augur/program/reuse/associativity_profile.hpp>
#include <augur/program/reuse/profile.hpp>
#include <augur/program/reuse/stream.hpp>
#include <augur/workload/loop_nest.hpp>

namespace augur::inline v0::detail {

/// Loops and accesses of a nest as one flat list.
///
/// A nest with more accesses than the limit is sampled. Of a long loop two iterations are followed: the first one, which reuses the lines of earlier
/// code, and the second one, which represents all others. The loops inside are followed completely as soon as they are short enough. A reuse across
/// iterations then sees fewer distinct lines than in the full trace, so its distance is scaled by the share of accesses that were left out.
class nest_trace {
public:
    struct access {
        std::uint32_t buffer = 0;
        std::int64_t offset = 0;             ///< bytes
        std::int64_t bytes = 4;              ///< contiguous bytes of one piece
        std::int64_t lanes = 1;              ///< number of pieces
        std::vector<nest_digit> digits;      ///< strides in bytes; loops by their depth in the trace
        std::vector<nest_digit> lane_digits; ///< the same for the lanes
    };

    void begin(std::int64_t extent) { open(kind::loop, extent, 1); }
    void end() { close(); }
    /// The items up to end_maybe() run in a share of the iterations.
    void maybe(double share) { open(kind::maybe, 1, share); }
    void end_maybe() { close(); }
    void touch(access a) {
        items_.push_back({kind::touch, 1, 1, items_.size() + 1, accesses_.size(), static_cast<double>(a.lanes)});
        accesses_.push_back(std::move(a));
    }

    /// Total number of accesses.
    [[nodiscard]] double total() { return cost(0, items_.size()); }
    /// True when the trace was sampled.
    [[nodiscard]] bool sampled() const noexcept { return sampled_; }

    /// The reuse profile of the trace.
    /// @param sizes   bytes of each buffer
    /// @param most    limit of followed accesses; about twice as many where loops are sampled, at most 64 times as many in
    ///                nests of many short loops
    /// @param warm    the same nest has run before: a cold access reuses the line of the previous run
    /// @param sets    set counts of the associativity profiles to compute
    /// @param by_set  receives these profiles, if the whole trace was followed
    [[nodiscard]] reuse_profile profile(const std::vector<std::int64_t>& sizes, std::int64_t line_bytes, std::uint64_t most, bool warm,
                                        std::span<const std::uint64_t> sets, std::vector<associativity_profile>& by_set) {
        reuse_profile out(line_bytes);
        out_ = &out;
        line_ = static_cast<std::uint64_t>(line_bytes);
        shift_ = std::has_single_bit(line_) ? std::countr_zero(line_) : -1;
        warm_ = warm;
        sampled_ = false;
        stream_ = reuse_stream();
        bases_.clear();
        std::uint64_t base = 1 << 20U, footprint = 0;
        std::vector<bool> used(sizes.size(), false);
        for (const auto& a : accesses_) used[a.buffer] = true;
        for (std::size_t b = 0; b < sizes.size(); ++b) {
            bases_.push_back(base);
            const auto bytes = static_cast<std::uint64_t>((std::max)(sizes[b], std::int64_t{1}));
            base += (bytes + 8191) / 4096 * 4096;
            if (used[b]) footprint += (bytes + line_ - 1) / line_;
        }
        footprint_ = (std::max)(footprint, std::uint64_t{1});
        values_.assign(64, 0);
        levels_.clear();
        sets_.clear();
        first_uses_.clear();
        if (total() <= static_cast<double>(most))
            for (const auto n : sets) sets_.push_back(*associativity_stream::create(n, associativity_stream::deepest, line_bytes));
        run(0, items_.size(), 0, 1, static_cast<double>(most));
        flush();
        for (auto& s : sets_) {
            by_set.push_back(s.profile());
            if (!warm) continue;
            const auto [fills, crowded] = std::pair(by_set.back().fills, by_set.back().crowded);
            s.feed(first_uses_, by_set.back()); // the second run, on the lines that the first one left
            by_set.back().accesses -= first_uses_.size();
            by_set.back().fills = fills;
            by_set.back().crowded = crowded;
        }
        return out;
    }

private:
    enum class kind : std::uint8_t { loop, maybe, touch };
    struct item {
        kind type;
        std::int64_t extent;
        double share;
        std::size_t end; ///< index after its last item
        std::size_t access;
        double cost;       ///< accesses of one iteration, including inner loops
        double left = 0.5; ///< accumulated share of a `maybe`; it runs when the sum reaches 1
    };
    /// A sampled loop.
    struct level {
        std::uint64_t lines; ///< distinct lines in this iteration so far
        double factor;       ///< accesses of an iteration for each one that is followed
    };

    std::vector<item> items_;
    std::vector<std::size_t> open_;
    std::vector<access> accesses_;
    std::vector<std::uint64_t> bases_;
    std::vector<std::int64_t> values_;
    std::vector<level> levels_;
    reuse_stream stream_;
    std::vector<associativity_stream> sets_;
    std::vector<std::uint64_t> first_uses_; ///< lines in the order of their first access; empty without sets_
    reuse_profile* out_ = nullptr;
    std::uint64_t line_ = 64, footprint_ = 1;
    int shift_ = -1; ///< a line is 2 ^ shift_ bytes; -1: no power of two
    double weight_ = 1;
    bool warm_ = true, sampled_ = false;
    std::vector<std::uint64_t> lines_;
    std::vector<std::uint32_t> distances_;

    void open(kind type, std::int64_t extent, double share) {
        open_.push_back(items_.size());
        items_.push_back({type, extent, share, 0, 0, 0});
    }
    void close() {
        items_[open_.back()].end = items_.size();
        open_.pop_back();
    }
    double cost(std::size_t from, std::size_t to) {
        double sum = 0;
        for (auto i = from; i < to; i = items_[i].end) {
            auto& x = items_[i];
            if (x.type != kind::touch) x.cost = cost(i + 1, x.end) * x.share;
            sum += x.cost * static_cast<double>(x.extent);
        }
        return sum;
    }

    void flush() {
        distances_.resize(lines_.size());
        stream_.distances(lines_, distances_);
        for (auto& s : sets_) s.feed(lines_);
        for (std::size_t i = 0; i < lines_.size() && !sets_.empty(); ++i)
            if (distances_[i] == cold_access) first_uses_.push_back(lines_[i]);
        const auto times = static_cast<std::uint64_t>((std::max)(1.0, weight_ + 0.5));
        if (levels_.empty() && !warm_ && times == 1) {
            out_->add(distances_);
        } else {
            for (const auto d : distances_) {
                double scale = 1;
                bool outermost = true; // no sampled loop passed yet
                for (auto& l : levels_) {
                    if (d != cold_access && d < l.lines) break; // the line was already used in this iteration
                    ++l.lines;
                    if (outermost) scale = l.factor;
                    outermost = false;
                }
                if (d == cold_access && !warm_) out_->add_cold(times);
                else if (d == cold_access) out_->add(footprint_ - 1, times);
                else out_->add((std::min)(static_cast<std::uint64_t>(static_cast<double>(d) * scale), footprint_ - 1), times);
            }
        }
        lines_.clear();
    }
    void put(std::uint64_t line) {
        lines_.push_back(line);
        if (lines_.size() == 4096) flush();
    }

    [[nodiscard]] std::uint64_t line_of(std::uint64_t address) const noexcept { return shift_ >= 0 ? address >> shift_ : address / line_; }

    void follow(const access& a) {
        std::int64_t at = a.offset;
        for (const auto& d : a.digits) at += d.at(values_[d.loop]);
        for (std::int64_t lane = 0; lane < a.lanes; ++lane) {
            std::int64_t place = at;
            for (const auto& d : a.lane_digits) place += d.at(lane);
            const auto address = bases_[a.buffer] + static_cast<std::uint64_t>(place);
            const auto first = line_of(address), last = line_of(address + static_cast<std::uint64_t>(a.bytes) - 1);
            for (auto l = first; l <= last; ++l) put(l);
        }
    }

    void all(std::size_t from, std::size_t to, std::size_t depth) {
        for (auto i = from; i < to; i = items_[i].end) {
            auto& x = items_[i];
            if (x.cost == 0) continue; // no access in it
            if (x.type == kind::touch) {
                follow(accesses_[x.access]);
            } else if (x.type == kind::maybe) {
                if ((x.left += x.share) >= 1) x.left -= 1, all(i + 1, x.end, depth);
            } else {
                for (values_[depth] = 0; values_[depth] < x.extent; ++values_[depth]) all(i + 1, x.end, depth + 1);
                values_[depth] = 0;
            }
        }
    }

    void set_weight(double weight) {
        if (weight == weight_) return;
        flush();
        weight_ = weight;
    }

    /// Whether the first iteration of a loop stands for all, because the loop may follow far fewer accesses than one has: else many short loops multiply.
    static bool alone(const item& x, double part) { return part < 64 && x.cost > 4096; }

    /// Follows items up to about `most` accesses, sampling long loops. Each access counts `weight` times.
    void run(std::size_t from, std::size_t to, std::size_t depth, double weight, double most) {
        const double wanted = cost(from, to);
        set_weight(weight);
        if (wanted <= (std::max)(most, 4096.0)) return all(from, to, depth);
        for (auto i = from; i < to; i = items_[i].end) {
            auto& x = items_[i];
            const double part = most * x.cost * static_cast<double>(x.extent) / wanted;
            if (x.type == kind::touch) {
                set_weight(weight);
                follow(accesses_[x.access]);
            } else if (x.type == kind::maybe) {
                run(i + 1, x.end, depth, weight * x.share, part);
            } else if (x.extent <= 2 && !alone(x, part)) {
                for (values_[depth] = 0; values_[depth] < x.extent; ++values_[depth]) run(i + 1, x.end, depth + 1, weight, part / 2);
                values_[depth] = 0;
            } else {
                sampled_ = true;
                flush();
                const double left_out = x.cost / (std::max)(1.0, (std::min)(x.cost, followed(i + 1, x.end, part / 2)));
                const std::size_t outer_levels = levels_.size();
                const bool first = alone(x, part);
                for (std::int64_t round = 0; round < (first ? 1 : 2); ++round) {
                    flush();
                    levels_.resize(outer_levels);
                    levels_.push_back({0, left_out});
                    values_[depth] = round;
                    run(i + 1, x.end, depth + 1, weight * static_cast<double>(first ? x.extent : round == 0 ? 1 : x.extent - 1), part / 2);
                    flush();
                }
                levels_.resize(outer_levels);
                values_[depth] = 0;
            }
        }
    }
    /// The number of accesses that `run` follows.
    double followed(std::size_t from, std::size_t to, double most) {
        const double wanted = cost(from, to);
        if (wanted <= (std::max)(most, 4096.0)) return wanted;
        double sum = 0;
        for (auto i = from; i < to; i = items_[i].end) {
            const auto& x = items_[i];
            const double part = most * x.cost * static_cast<double>(x.extent) / wanted;
            if (x.type == kind::touch) sum += x.cost;
            else if (x.type == kind::maybe) sum += followed(i + 1, x.end, part);
            else sum += (alone(x, part) ? 1 : 2) * followed(i + 1, x.end, part / 2);
        }
        return sum;
    }
};

} // namespace augur::inline v0::detail

#endif
