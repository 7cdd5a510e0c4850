// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_AUTOTVM_SPACE_HPP
#define AUGUR_SPACE_AUTOTVM_SPACE_HPP

/// @file
/// Configuration space of an AutoTVM template: one independent decision per knob, with TVM's order of the options and TVM's index of a configuration
/// (python/tvm/autotvm/task/space.py, SplitSpace and ConfigSpace).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/schedule/autotvm_config.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/describe.hpp>
#include <augur/space/detail/python_set.hpp>

namespace augur::inline v0 {

/// Candidate lengths of the parts of a split.
enum class autotvm_split_policy : std::uint8_t {
    factors, ///< the divisors of the extent
    power2,  ///< the powers of two up to the extent
    verbose, ///< both
};

struct autotvm_split_options {
    autotvm_split_policy policy = autotvm_split_policy::factors;
    std::int64_t max_factor = std::int64_t{1} << 31U; ///< limit on each length
    std::optional<bool> no_tail;                      ///< the product of the lengths must divide the extent; TVM's default: only for `factors`
    std::function<bool(std::span<const std::int64_t>)> filter; ///< called with a split as it is returned; empty: keeps all
};

namespace detail {

/// Candidate lengths in TVM's order: ascending, for `verbose` the order of a Python set.
inline std::vector<std::int64_t> autotvm_factors(std::int64_t extent, const autotvm_split_options& options) {
    std::vector<std::int64_t> divisors, powers;
    for (std::int64_t d = 1; d <= extent / d; ++d) {
        if (extent % d != 0) continue;
        divisors.push_back(d);
        if (d != extent / d) divisors.push_back(extent / d);
    }
    std::sort(divisors.begin(), divisors.end());
    for (std::int64_t p = 1; p <= extent; p *= 2) {
        powers.push_back(p);
        if (p > extent / 2) break;
    }
    std::vector<std::int64_t> factors = options.policy == autotvm_split_policy::factors  ? std::move(divisors)
                                        : options.policy == autotvm_split_policy::power2 ? std::move(powers)
                                                                                         : python_set_union(divisors, powers);
    factors.erase(std::remove_if(factors.begin(), factors.end(), [&](std::int64_t f) { return f > options.max_factor; }), factors.end());
    return factors;
}

} // namespace detail

/// The splits of an axis in the order of TVM's SplitSpace: `[-1, l_1, ..., l_k]` with k = outputs - 1 and the product of the lengths at most the extent;
/// l_k, the innermost, varies slowest.
///
/// Cost        the number of tuples of candidate lengths whose product is at most the extent
/// pre: extent >= 1, outputs >= 2
[[nodiscard]] inline std::vector<std::vector<std::int64_t>> autotvm_splits(std::int64_t extent, std::size_t outputs,
                                                                           const autotvm_split_options& options = {}) {
    AUGUR_ASSERT(extent >= 1 && outputs >= 2, "autotvm_splits: extent is at least 1, outputs at least 2");
    const std::vector<std::int64_t> factors = detail::autotvm_factors(extent, options);
    const bool no_tail = options.no_tail.value_or(options.policy == autotvm_split_policy::factors);
    std::vector<std::vector<std::int64_t>> out;
    std::vector<std::int64_t> split(outputs, -1);
    const auto fill = [&](const auto& self, std::size_t level, std::int64_t product) -> void { // level: the part to choose, from the innermost
        if (level == 0) {
            if (no_tail && extent % product != 0) return;
            if (!options.filter || options.filter(split)) out.push_back(split);
            return;
        }
        for (const std::int64_t f : factors) {
            if (f > extent / product) continue;
            split[level] = f;
            self(self, level - 1, product * f);
        }
    };
    fill(fill, outputs - 1, 1);
    return out;
}

/// A knob with the values that it can have, in TVM's order.
struct autotvm_knob_space {
    std::string name;
    autotvm_knob_kind kind = autotvm_knob_kind::other;
    std::vector<std::vector<autotvm_value>> options;
};

/// Knob of kind `split` for an axis.
[[nodiscard]] inline autotvm_knob_space autotvm_split_knob(std::string name, std::int64_t extent, std::size_t outputs,
                                                           const autotvm_split_options& options = {}) {
    autotvm_knob_space knob{std::move(name), autotvm_knob_kind::split, {}};
    for (const auto& split : autotvm_splits(extent, outputs, options)) knob.options.emplace_back(split.begin(), split.end());
    return knob;
}

/// Space of the configurations of a template. Models `decision_space<autotvm_config>` with one decision per knob, whose values are indices of its
/// options. The index of a configuration has the first knob as its least significant digit.
///
/// Threads     immutable after construction; safe to share
class autotvm_space {
public:
    /// Errors: invalid_argument (a knob without options, or an option that does not fit the kind; a split of fewer than two lengths, or of another number
    /// than the knob's first one), limit (2^64 configurations or more).
    [[nodiscard]] static result<autotvm_space> make(std::vector<autotvm_knob_space> knobs) {
        std::uint64_t size = 1;
        for (const autotvm_knob_space& knob : knobs) {
            if (knob.options.empty()) return error{errc::invalid_argument, "expected a knob with options, got '" + knob.name + "' without any"};
            for (const auto& values : knob.options)
                if (!fits(knob.kind, values) || !whole_split(knob, values))
                    return error{errc::invalid_argument, "an option of the knob '" + knob.name + "' does not fit its kind"};
            if (size > (std::numeric_limits<std::uint64_t>::max)() / knob.options.size())
                return error{errc::limit, "expected a space of fewer than 2^64 configurations"};
            size *= knob.options.size();
        }
        return autotvm_space(std::move(knobs), size);
    }

    [[nodiscard]] std::span<const autotvm_knob_space> knobs() const noexcept { return knobs_; }
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; } ///< number of configurations

    /// Decisions of the configuration with this index. pre: index < size()
    [[nodiscard]] decision_vector decisions_of(std::uint64_t index) const {
        AUGUR_ASSERT(index < size_, "autotvm_space::decisions_of: index");
        decision_vector out;
        for (const autotvm_knob_space& knob : knobs_) {
            out.push_back(index % knob.options.size());
            index /= knob.options.size();
        }
        return out;
    }
    /// Index of a configuration. Error: invalid_argument, as `realise`.
    [[nodiscard]] result<std::uint64_t> index_of(std::span<const std::uint64_t> decisions) const {
        if (auto legal = check(decisions); !legal) return legal.error();
        std::uint64_t index = 0;
        for (std::size_t k = knobs_.size(); k-- > 0;) index = index * knobs_[k].options.size() + decisions[k];
        return index;
    }

    /// Walks the knobs. pre: the space outlives the cursor
    class cursor_type {
    public:
        explicit cursor_type(const autotvm_space& space, std::size_t at = 0) noexcept : space_(&space), at_(at) {}
        [[nodiscard]] std::optional<decision> next() const {
            if (at_ >= space_->knobs_.size()) return std::nullopt;
            decision d;
            d.kind = knob().kind == autotvm_knob_kind::split ? decision_kind::tile_size : decision_kind::other;
            d.options = knob().options.size();
            return d;
        }
        void choose(std::uint64_t) noexcept { ++at_; }
        /// The name of the knob.
        void describe(auto& sink) const { sink.primitive(knob().name); }
        /// Of a split a factorisation, without a limit of the innermost length; of a knob with one number a value ordinal.
        [[nodiscard]] decision_scale scale() const {
            using kind = decision_scale::kind;
            if (knob().kind == autotvm_knob_kind::split) {
                std::int64_t extent = 1;
                for (const auto& option : knob().options) extent = (std::max)(extent, product_of(option));
                return {kind::factorisation, extent, knob().options.front().size() - 1, extent};
            }
            const bool numbers = std::all_of(knob().options.begin(), knob().options.end(), [](const auto& values) {
                return values.size() == 1 && std::holds_alternative<std::int64_t>(values[0]);
            });
            return {numbers && std::is_sorted(knob().options.begin(), knob().options.end()) ? kind::ordinal : kind::categorical};
        }
        /// The values of an option; of a split its lengths, without the outermost one, which is derived.
        void words(std::uint64_t value, auto& sink) const {
            for (const autotvm_value& v : values_of(static_cast<std::size_t>(value)))
                std::visit(
                    [&](const auto& x) {
                        if constexpr (std::is_same_v<std::decay_t<decltype(x)>, std::string>) sink.name(x);
                        else sink.number(x);
                    },
                    v);
        }
        /// The option nearest to the given words: of a split by the ratios of the lengths, of one number by difference; of others only an equal one. Of
        /// several, the first. Cost: the options.
        [[nodiscard]] std::optional<std::uint64_t> nearest(std::span<const schedule_item> words) const {
            std::optional<std::uint64_t> best;
            double least = std::numeric_limits<double>::infinity();
            for (std::size_t o = 0; o < knob().options.size(); ++o)
                if (const double distance = distance_of(values_of(o), words); distance < least) {
                    best = o;
                    least = distance;
                }
            return best;
        }

    private:
        const autotvm_space* space_;
        std::size_t at_;

        [[nodiscard]] const autotvm_knob_space& knob() const noexcept { return space_->knobs_[at_]; }
        [[nodiscard]] std::span<const autotvm_value> values_of(std::size_t option) const {
            return std::span(knob().options[option]).subspan(knob().kind == autotvm_knob_kind::split ? 1 : 0);
        }
        [[nodiscard]] static std::int64_t product_of(std::span<const autotvm_value> split) {
            std::int64_t product = 1;
            for (const autotvm_value& v : split.subspan(1)) product *= std::get<std::int64_t>(v);
            return product;
        }
        /// Infinity: values of another form.
        [[nodiscard]] double distance_of(std::span<const autotvm_value> values, std::span<const schedule_item> words) const {
            constexpr double infinity = std::numeric_limits<double>::infinity();
            if (values.size() != words.size()) return infinity;
            const bool near_is_enough = knob().kind == autotvm_knob_kind::split || values.size() == 1;
            double distance = 0;
            for (std::size_t i = 0; i < values.size(); ++i) {
                detail::comparing_sink same(words.subspan(i, 1));
                std::visit(
                    [&](const auto& x) {
                        if constexpr (std::is_same_v<std::decay_t<decltype(x)>, std::string>) same.name(x);
                        else same.number(x);
                    },
                    values[i]);
                if (same.equal()) continue;
                const auto* number = std::get_if<std::int64_t>(&values[i]);
                if (!near_is_enough || number == nullptr || words[i].type != schedule_item::kind::integer) return infinity;
                const auto own = static_cast<double>(*number), wanted = static_cast<double>(words[i].integer);
                distance += knob().kind == autotvm_knob_kind::split ? std::abs(std::log2((std::max)(own, 1.0) / (std::max)(wanted, 1.0)))
                                                                    : std::abs(own - wanted);
            }
            return distance;
        }
    };
    [[nodiscard]] cursor_type cursor() const noexcept { return cursor_type(*this); }

    [[nodiscard]] std::optional<decision> next(std::span<const std::uint64_t> prefix) const { return cursor_type(*this, prefix.size()).next(); }
    /// Error: invalid_argument (another number of decisions than knobs, or a value beyond the options).
    [[nodiscard]] result<autotvm_config> realise(std::span<const std::uint64_t> decisions) const {
        if (auto legal = check(decisions); !legal) return legal.error();
        autotvm_config config;
        for (std::size_t k = 0; k < knobs_.size(); ++k)
            config.knobs.push_back({knobs_[k].name, knobs_[k].kind, knobs_[k].options[static_cast<std::size_t>(decisions[k])]});
        return config;
    }
    /// Inverse of `realise`. Error: not_found (other knobs, or a value that is no option).
    [[nodiscard]] result<decision_vector> decide(const autotvm_config& config) const {
        if (config.knobs.size() != knobs_.size())
            return error{errc::not_found, "expected " + std::to_string(knobs_.size()) + " knobs, got " + std::to_string(config.knobs.size())};
        decision_vector out;
        for (std::size_t k = 0; k < knobs_.size(); ++k) {
            const autotvm_knob& knob = config.knobs[k];
            if (knob.name != knobs_[k].name || knob.kind != knobs_[k].kind)
                return error{errc::not_found, "expected the knob '" + knobs_[k].name + "', got '" + knob.name + "'"};
            const auto& options = knobs_[k].options;
            const auto at = std::find(options.begin(), options.end(), knob.values);
            if (at == options.end()) return error{errc::not_found, "the value of the knob '" + knob.name + "' is none of its options"};
            out.push_back(static_cast<std::uint64_t>(at - options.begin()));
        }
        return out;
    }

private:
    /// A split has the length of its outermost loop and at least one other; all options of the knob have as many.
    static bool whole_split(const autotvm_knob_space& knob, std::span<const autotvm_value> values) {
        return knob.kind != autotvm_knob_kind::split || (values.size() >= 2 && values.size() == knob.options.front().size());
    }

    autotvm_space(std::vector<autotvm_knob_space> knobs, std::uint64_t size) : knobs_(std::move(knobs)), size_(size) {}

    [[nodiscard]] result<void> check(std::span<const std::uint64_t> decisions) const {
        if (decisions.size() != knobs_.size())
            return error{errc::invalid_argument, "expected " + std::to_string(knobs_.size()) + " decisions, got " + std::to_string(decisions.size())};
        for (std::size_t k = 0; k < knobs_.size(); ++k)
            if (decisions[k] >= knobs_[k].options.size())
                return error{errc::invalid_argument, "expected a value below " + std::to_string(knobs_[k].options.size()) + " for the knob '" +
                                                         knobs_[k].name + "', got " + std::to_string(decisions[k])};
        return {};
    }

    std::vector<autotvm_knob_space> knobs_;
    std::uint64_t size_;
};
static_assert(decision_space<autotvm_space, autotvm_config> && described_space<autotvm_space>);

} // namespace augur::inline v0

#endif
