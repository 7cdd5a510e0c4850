// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_INSTRUMENT_TRACE_PROFILE_HPP
#define AUGUR_LLVM_INSTRUMENT_TRACE_PROFILE_HPP

/// @file
/// Streaming reuse profiles of a memory trace per program part: exact up to N accesses, sampled beyond. The trace is not stored.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/llvm/options.hpp>
#include <augur/program/reuse/associativity_profile.hpp>
#include <augur/program/reuse/profile.hpp>
#include <augur/program/reuse/stream.hpp>

namespace augur::inline v0::detail {

/// Profiles of the accesses of one thread or of several interleaved threads. A part is a function whose accesses have their own profile.
///
/// After the first `exact` accesses, reuse distances below 1024 come from bursts: in every period of 2^20 accesses 49152 are measured after 16384
/// accesses of warm-up. Larger distances come from a sample of the cache lines (SHARDS: Waldspurger, Park, Garthwaite, Ahmad 2015) in one stream for
/// all parts. The two samples complement each other: a line sample is inaccurate at the small distances that determine the L1 hit rate, and a burst
/// does not see large distances.
/// Cost       10 ns per exact access, about 2 ns per sampled access
/// Memory     that of a reuse_stream
class trace_profile {
public:
    trace_profile(const trace_options& o, std::uint64_t exact)
        : options_(o), left_(exact), last_(o.rate < 1 ? static_cast<std::uint64_t>((std::max)(o.rate * 0x1p64, 1.0)) - 1 : ~std::uint64_t{0}),
          seed_(mix64(o.seed)) {
        for (const auto n : o.sets) {
            sets_.push_back(*associativity_stream::create(n, associativity_stream::deepest, o.line_bytes));
            no_sets_.push_back(sets_.back().profile());
        }
    }

    /// Adds accesses of a part, in program order, as cache line numbers.
    void feed(std::span<const std::uint64_t> lines, std::size_t part) {
        while (parts_.size() <= part) parts_.emplace_back(options_.line_bytes, no_sets_);
        for (std::size_t s = 0; s < sets_.size(); ++s) sets_[s].feed(lines, parts_[part].sets[s]);
        const auto now = lines.first(static_cast<std::size_t>((std::min)(left_, std::uint64_t{lines.size()})));
        if (!now.empty()) {
            left_ -= now.size();
            stream_.feed(now, parts_[part].exact, options_.warm ? &first_uses_ : nullptr);
            if (options_.warm && (first_use_parts_.empty() || first_uses_.size() > first_use_parts_.back().first))
                first_use_parts_.emplace_back(first_uses_.size(), part);
            choose(now, scratch_);
        }
        if (now.size() < lines.size()) sample(lines.subspan(now.size()), parts_[part]);
    }

    /// Profiles of one part.
    struct profiles {
        reuse_profile reuse;
        std::vector<associativity_profile> sets;
    };
    /// Returns (parts + 1) profiles: those of each part, then that of the program. Call it once.
    std::vector<profiles> finish() {
        const bool sampled = std::any_of(parts_.begin(), parts_.end(), [](const part_profile& p) { return p.accesses > 0; });
        if (options_.warm) warm(sampled);
        std::vector<profiles> all(parts_.size() + 1, {reuse_profile(options_.line_bytes), no_sets_});
        const auto lines = static_cast<std::uint64_t>(std::llround(static_cast<double>(far_.lines()) / options_.rate));
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            all[i] = {parts_[i].exact, std::move(parts_[i].sets)};
            if (sampled) add_sample(parts_[i], lines, all[i].reuse);
            [[maybe_unused]] bool same = static_cast<bool>(all.back().reuse.merge(all[i].reuse));
            for (std::size_t s = 0; s < sets_.size(); ++s) same = static_cast<bool>(all.back().sets[s].merge(all[i].sets[s]));
        }
        return all;
    }

private:
    static constexpr std::size_t period = std::size_t{1} << 20U, settle = std::size_t{1} << 14U, burst = std::size_t{1} << 16U;

    struct part_profile {
        part_profile(std::int64_t line_bytes, std::vector<associativity_profile> none)
            : exact(line_bytes), near(line_bytes), far(line_bytes), sets(std::move(none)) {}
        reuse_profile exact;
        std::uint64_t accesses = 0; ///< accesses after the exact ones
        reuse_profile near;         ///< all distances in bursts
        reuse_profile far;          ///< distances among sampled lines
        std::vector<associativity_profile> sets;
    };

    /// Feeds the accesses to sampled lines to the stream of all parts; adds their distances to `profile`.
    void choose(std::span<const std::uint64_t> lines, reuse_profile& profile) {
        std::array<std::uint64_t, 1024> kept;
        for (; !lines.empty(); lines = lines.subspan((std::min)(kept.size(), lines.size()))) {
            std::size_t n = 0;
            for (const auto line : lines.first((std::min)(kept.size(), lines.size()))) {
                kept[n] = line;
                n += mix64(line ^ seed_) <= last_ ? 1 : 0;
            }
            far_.feed({kept.data(), n}, profile);
        }
    }
    void sample(std::span<const std::uint64_t> lines, part_profile& p) {
        p.accesses += lines.size();
        choose(lines, p.far);
        while (!lines.empty()) {
            const std::size_t until = at_ < settle ? settle : at_ < burst ? burst : period;
            const auto now = lines.first((std::min)(lines.size(), until - at_));
            if (at_ < burst) near_.feed(now, at_ < settle ? scratch_ : p.near);
            at_ += now.size();
            lines = lines.subspan(now.size());
            if (at_ == period) near_ = reuse_stream(), at_ = 0;
        }
    }
    /// Replaces the cold accesses by the first accesses of a repeated run. Their distances and set positions follow from the recorded first uses
    /// without a second run. First uses after the first `exact` accesses are not recorded.
    void warm(bool sampled) {
        std::vector<std::uint32_t> distances(first_uses_.size());
        if (!sampled) {
            const reuse_stream again = stream_;
            stream_.append(again, first_uses_, distances);
        }
        std::size_t from = 0;
        for (const auto& [to, part] : first_use_parts_) {
            auto& p = parts_[part];
            if (!sampled) p.exact.replace_cold(std::span(distances).subspan(from, to - from));
            for (std::size_t s = 0; s < sets_.size(); ++s) {
                const auto [fills, crowded] = std::pair(p.sets[s].fills, p.sets[s].crowded);
                sets_[s].feed(std::span(first_uses_).subspan(from, to - from), p.sets[s]);
                p.sets[s].accesses -= to - from; // the first run counted them as misses and fills at the right place
                p.sets[s].fills = fills;
                p.sets[s].crowded = crowded;
            }
            from = to;
        }
    }
    /// Adds the sampled accesses of a part to `profile`, scaled to their number.
    void add_sample(const part_profile& p, std::uint64_t lines, reuse_profile& profile) const {
        const auto again = lines > 0 ? lines - 1 : 0;
        if (options_.warm) { // the distance of a first use in a repeated run is about the number of other lines
            const std::uint64_t cold = profile.cold();
            reuse_profile warmed(options_.line_bytes);
            for (std::size_t b = 0; b < reuse_profile::bins; ++b)
                if (profile.count(b) > 0) warmed.add(reuse_profile::low(b), profile.count(b));
            warmed.add(again, cold);
            profile = std::move(warmed);
        }
        constexpr auto limit = reuse_profile::exact;
        double near = 0, near_all = static_cast<double>(p.near.total()), far = 0;
        for (std::size_t b = 0; b < limit; ++b) near += static_cast<double>(p.near.count(b));
        const auto distance = [&](std::size_t b) {
            return (static_cast<double>(reuse_profile::low(b)) + static_cast<double>(reuse_profile::width(b) - 1) / 2) / options_.rate;
        };
        for (std::size_t b = 0; b < reuse_profile::bins; ++b)
            if (distance(b) >= static_cast<double>(limit)) far += static_cast<double>(p.far.count(b));
        far += static_cast<double>(p.far.cold());
        const auto all = static_cast<double>(p.accesses);
        const double near_share = near_all > 0 ? near / near_all : 1; // a part without accesses in a burst has small distances
        double exact_sum = 0;
        std::uint64_t rounded_sum = 0;
        const auto scaled = [&](double share, double total) { // cumulative rounding, so that the counts add up to p.accesses
            exact_sum += total > 0 ? all * share / total : 0;
            const auto n = (std::min)(static_cast<std::uint64_t>(std::llround(exact_sum)), p.accesses) - rounded_sum;
            rounded_sum += n;
            return n;
        };
        for (std::size_t b = 0; b < limit; ++b)
            if (p.near.count(b) > 0) profile.add(b, scaled(near_share * static_cast<double>(p.near.count(b)), near));
        for (std::size_t b = 0; b < reuse_profile::bins; ++b)
            if (p.far.count(b) > 0 && distance(b) >= static_cast<double>(limit))
                profile.add(static_cast<std::uint64_t>((std::min)(distance(b), 0x1p62)),
                            scaled((1 - near_share) * static_cast<double>(p.far.count(b)), far));
        const auto cold = scaled((1 - near_share) * static_cast<double>(p.far.cold()), far);
        if (options_.warm) profile.add(again, cold);
        else profile.add_cold(cold);
        profile.add(near_share < 1 ? limit : 0, p.accesses - rounded_sum);
    }

    trace_options options_;
    std::uint64_t left_;
    std::uint64_t last_; ///< largest hash of a sampled line
    std::uint64_t seed_;
    reuse_stream stream_, near_, far_;
    std::vector<part_profile> parts_;
    reuse_profile scratch_{64};
    std::vector<std::uint64_t> first_uses_;
    std::vector<std::pair<std::size_t, std::size_t>> first_use_parts_; ///< (end index in first_uses_, part)
    std::size_t at_ = 0;                                               ///< position in the period
    std::vector<associativity_stream> sets_;
    std::vector<associativity_profile> no_sets_; ///< empty profile of each stream
};

} // namespace augur::inline v0::detail

#endif
