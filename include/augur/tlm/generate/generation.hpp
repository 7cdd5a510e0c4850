// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_GENERATE_GENERATION_HPP
#define AUGUR_TLM_GENERATE_GENERATION_HPP

/// @file
/// What is to be generated, and what was.

#include <array>
#include <cstddef>
#include <cstdint>

#include <augur/core/error.hpp>
#include <augur/space/concepts.hpp>
#include <augur/tlm/generate/token_probabilities.hpp>

namespace augur::inline v0::tlm {

struct generation_options : token_sampling {
    std::size_t count = 64;   ///< points; fewer come if the space has no more with a probability
    bool sample = true;       ///< false: the most likely ones (beam search; greedy for one)
    std::size_t batch = 64;   ///< sequences of the model at the same time
    std::size_t discards = 8; ///< aligned: fewer points come if so many sentences for each of them are thrown away
    std::uint64_t seed = 1;

    /// Errors: invalid_argument
    [[nodiscard]] result<void> check() const {
        if (temperature > 0 && top_p > 0 && top_p <= 1 && batch > 0) return {};
        return error{errc::invalid_argument, "generator: expected a temperature above 0, a top_p within 0 and 1 and a batch of at least 1"};
    }
};

/// A generated point.
struct generated_point {
    decision_vector decisions;
    double log_probability = 0;       ///< of its choices as they are sampled, before any point is taken out; of all its tokens if they are aligned
    double model_log_probability = 0; ///< of the same tokens by the model alone
};

/// What generation did.
struct generation_report {
    struct by_kind {
        std::size_t choices = 0; ///< tokens that the model chose
        double masked = 0;       ///< sum over them of the probability that the model gave to what is not legal
    };
    std::size_t points = 0;
    std::size_t forced = 0;    ///< tokens without an alternative; they need no logits unless samples are aligned
    std::size_t discarded = 0; ///< sentences thrown away: with a token that is not legal (if aligned), or excluded points
    std::size_t unsayable = 0; ///< legal choices with a word that the vocabulary does not have
    std::array<by_kind, decision_kinds> kinds{};

    [[nodiscard]] std::size_t choices() const noexcept {
        std::size_t n = 0;
        for (const auto& k : kinds) n += k.choices;
        return n;
    }
};

} // namespace augur::inline v0::tlm

#endif
