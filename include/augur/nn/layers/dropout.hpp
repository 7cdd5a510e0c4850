// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_LAYERS_DROPOUT_HPP
#define AUGUR_NN_LAYERS_DROPOUT_HPP

/// @file
/// Dropout: random activations are 0 in training.

#include <cstdint>

#include <augur/core/random_engine.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {

/// Inverted dropout (Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov 2014; scaled as PyTorch does): each element is 0 with probability
/// `rate`, else it is multiplied by 1 / (1 - rate), so the expected value is the element.
///
/// A mask is a function of the engine and of the place in the matrix. So a backward pass applies the dropout of its forward pass once more, and no mask
/// is stored. The masks of a network come from streams of one engine: of a layer, then of a place in the layer.
///
/// A value.   pre: 0 <= rate < 1
struct dropout {
    double rate = 0;         ///< share of the elements that are dropped; 0: none, and nothing is computed
    random_engine engine{0}; ///< of the masks

    [[nodiscard]] bool on() const noexcept { return rate > 0; }
    /// The dropout of the i-th part.
    [[nodiscard]] dropout stream(std::uint64_t i) const noexcept { return on() ? dropout{rate, engine.stream(i)} : dropout{}; }

    /// x <- x with elements dropped, the same ones in each call. So it makes dL/dx of dL/dy, too.
    /// Cost: a random number for two elements
    template <scalar S>
    void apply(map<S> x) const {
        if (!on()) return;
        const auto below = static_cast<std::uint32_t>(rate * 0x1p32);
        const S scale = static_cast<S>(1 / (1 - rate)), none(0);
        auto random = engine;
        std::uint64_t bits = 0;
        for (index i = 0; i < x.size(); ++i) {
            bits = i % 2 == 0 ? random() : bits >> 32U;
            S& one = x.data()[i];
            one = static_cast<std::uint32_t>(bits) < below ? none : one * scale;
        }
    }
    /// x with elements dropped: a copy in `room`, or x itself if none are.
    template <scalar S>
    [[nodiscard]] map<S> applied(map<S> x, buffer<S>& room) const {
        if (!on()) return x;
        auto copy = room.shape(x.rows(), x.cols());
        copy = x;
        apply(copy);
        return copy;
    }
};

} // namespace nn
} // namespace augur::inline v0

#endif
