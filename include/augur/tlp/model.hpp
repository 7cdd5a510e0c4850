// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_MODEL_HPP
#define AUGUR_TLP_MODEL_HPP

/// @file
/// TLP's network (Zhai et al. 2023, section 4.4; the layers are those of the authors' code).

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/nn/layers/attention.hpp>
#include <augur/nn/layers/init.hpp>
#include <augur/nn/layers/linear.hpp>
#include <augur/nn/layers/lstm.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/tlp/features.hpp>

namespace augur::inline v0::tlp {

/// The numbers of a row as the first layer sees them.
enum class scaling : std::uint8_t {
    raw,       ///< as they are (the authors): extents of thousands saturate the loss
    logarithm, ///< x -> sign(x) log2(1 + |x|): a tile of twice the size is one more, a one-hot column stays as it is
    bands      ///< a number also as its nearness to each power of two and its divisibility (tlp/input_encoding.hpp): learns in a fraction of the time
};

/// What mixes the rows of a schedule (paper 4.4: both are suitable).
enum class backbone : std::uint8_t {
    attention, ///< self-attention, then a sum over the rows: blind to their order
    lstm       ///< one layer of LSTM, the state behind the last row: the order of the rows counts
};

/// Shape of the network.
struct config {
    nn::index columns = 0;                             ///< E; this and the next two: `of`
    nn::index numbers_at = 0, numbers = 0;             ///< columns that hold numbers, not one-hots: those that bands split up
    std::vector<nn::index> encoder{64, 128, 256, 256}; ///< widths; the last one is D
    tlp::backbone backbone = tlp::backbone::attention;
    nn::index attention_layers = 1; ///< attention only
    nn::index heads = 8;            ///< attention only
    nn::index residual_blocks = 2;
    std::vector<nn::index> decoder{256, 128, 64}; ///< widths before the last layer, which gives the score
    nn::index outputs = 1;                        ///< decoders; MTL-TLP has one a platform, the target's first
    tlp::scaling scaling = tlp::scaling::bands;
    bool dead_layer = false; ///< the authors' layer `l0`, which no output depends on

    static constexpr nn::index bands = 18; ///< inputs for a number in bands
    /// This shape for the rows of a schema.
    [[nodiscard]] tlp::config of(const tlp::schema& schema) const;
    /// How many numbers the first layer gets for a row.
    [[nodiscard]] nn::index inputs() const { return columns + (scaling == tlp::scaling::bands ? (bands - 1) * numbers : 0); }

    /// The authors' network: 676 161 parameters at E = 22, 65 792 of them dead.
    static tlp::config authors(nn::index columns);
    /// The authors' LSTM: 873 537 parameters at E = 22.
    static tlp::config authors_lstm(nn::index columns);
    /// The authors' MTL-TLP: `authors` with a decoder for each platform, 107 009 parameters each.
    static tlp::config authors_mtl(nn::index columns, nn::index platforms);
    /// As the authors', without the dead layer and with scaled inputs.
    static tlp::config full(nn::index columns);
    /// Half the width of `full`: for a hundred thousand measurements and more, of which it learns as much in a third of the time.
    static tlp::config medium(nn::index columns);
    /// For some thousand measurements, as of one search: a quarter of the width, one block.
    static tlp::config small(nn::index columns);

    /// Does a score depend on the order of the rows?
    [[nodiscard]] row_order order() const { return backbone == tlp::backbone::lstm ? row_order::kept : row_order::free; }
    [[nodiscard]] nn::index width() const { return encoder.empty() ? 0 : encoder.back(); }
    /// Widths of at least 1 and at most 16384, at most 16 layers in a stack, heads that divide D, 1 to 64 outputs.
    [[nodiscard]] result<void> check() const;

    friend bool operator==(const tlp::config&, const tlp::config&) = default;
};

/// Parameters of the network; a gradient and Adam's moments have this type as well.
///
///     rows (T, E) -> encoder, each layer with ReLU -> (T, D) -> [attention + itself]... -> residual blocks -> decoder -> (T, 1) -> sum over the rows
///     rows (T, E) -> encoder, each layer with ReLU -> (T, D) -> LSTM, last state -> (1, D) -> residual blocks -> decoder -> (1, 1)
///
/// With attention the network has no positional encoding: a score depends on which rows a schedule has, not on their order (a schema may write the
/// place into the row). With several outputs all but the decoders is shared.
template <nn::scalar S>
struct model {
    tlp::config config;
    std::vector<nn::linear<S>> encoder;
    std::vector<nn::attention<S>> attention; ///< attention_layers of them, or none
    std::vector<nn::lstm<S>> lstm;           ///< none or one
    std::vector<nn::linear<S>> dead;         ///< none or one
    std::vector<nn::residual<S>> blocks;
    std::vector<std::vector<nn::linear<S>>> decoders; ///< (outputs)

    /// pre: config.check()
    static model zeros(const tlp::config& config);
    /// torch's default initialisation.
    static model random_init(const tlp::config& config, random_engine rng);

    /// The network with one of its outputs alone: what an MTL network is for on that platform.   pre: output < config.outputs
    [[nodiscard]] model only(std::size_t output) const;

    /// The first affine map behind the encoder: what can still be computed once for each distinct row, (D, 3D) or (D, 4D).
    [[nodiscard]] const nn::linear<S>& projection() const { return lstm.empty() ? attention.front().in_proj : lstm.front().input; }
    [[nodiscard]] nn::linear<S>& projection() { return lstm.empty() ? attention.front().in_proj : lstm.front().input; }

    /// Walks the parameters of any number of equal networks together, in the order and by the names of the authors' state dictionary.
    /// A weight matrix here (in, out) is the transpose of torch's.
    template <class F, class... N>
    static void visit(F&& f, N&... nets);

    /// The name of the first parameter that has a NaN or an infinity; empty: there is none.
    [[nodiscard]] std::string not_finite() const {
        std::string bad;
        visit(
            [&](std::string_view name, const auto& p) {
                if (bad.empty() && !p.allFinite()) bad = name;
            },
            *this);
        return bad;
    }
};

} // namespace augur::inline v0::tlp

#include <augur/tlp/detail/model_impl.hpp>

#endif
