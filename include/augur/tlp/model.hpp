// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_MODEL_HPP
#define AUGUR_TLP_MODEL_HPP

/// @file
/// TLP's neural network: configuration and parameters (Zhai et al. 2023, section 4.4; layers as in the authors' code).

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
#include <augur/tlp/schema.hpp>

namespace augur::inline v0::tlp {

/// Scaling of the features at the input of the first layer.
enum class scaling : std::uint8_t {
    raw,       ///< unscaled, as in the authors' code; extents of thousands saturate the loss
    logarithm, ///< x -> sign(x) log2(1 + |x|): doubling a tile size adds about 1; one-hot columns do not change
    bands      ///< each number as 18 inputs: logarithm, distance to powers of two, divisibility (tlp/input_encoding.hpp); trains fastest
};

/// Layer that combines the rows of a schedule (paper section 4.4 finds both suitable).
enum class backbone : std::uint8_t {
    attention, ///< self-attention, then a sum over the rows; the score does not depend on the row order
    lstm       ///< one LSTM layer, state after the last row; the score depends on the row order
};

/// Hyperparameters that determine the shape of the model.
struct config {
    nn::index columns = 0;                             ///< E; `with_input` sets columns, numbers_at and numbers
    nn::index numbers_at = 0, numbers = 0;             ///< first column and count of numeric (not one-hot) columns, to which `bands` applies
    std::vector<nn::index> encoder{64, 128, 256, 256}; ///< layer widths; the last one is D
    tlp::backbone backbone = tlp::backbone::attention;
    nn::index attention_layers = 1; ///< attention only
    nn::index heads = 8;            ///< attention only
    nn::index residual_blocks = 2;
    std::vector<nn::index> decoder{256, 128, 64}; ///< layer widths without the final layer of width 1
    nn::index outputs = 1;                        ///< decoders (heads); MTL-TLP has one per platform, the target platform's first
    tlp::scaling scaling = tlp::scaling::bands;
    bool dead_layer = false; ///< the authors' layer `l0`, which has parameters but no effect on any output

    static constexpr nn::index bands = 18; ///< inputs per number with `scaling::bands`
    /// Copy of this config with `columns`, `numbers_at` and `numbers` taken from `schema`.
    [[nodiscard]] tlp::config with_input(const tlp::schema& schema) const;
    /// Inputs of the first layer per row.
    [[nodiscard]] nn::index inputs() const { return columns + (scaling == tlp::scaling::bands ? (bands - 1) * numbers : 0); }

    /// The authors' attention model: 676 161 parameters at E = 22, 65 792 of them in `dead_layer`.
    static tlp::config authors(nn::index columns);
    /// The authors' LSTM model: 873 537 parameters at E = 22.
    static tlp::config authors_lstm(nn::index columns);
    /// The authors' MTL-TLP: `authors` with one decoder of 107 009 parameters per platform.
    static tlp::config authors_mtl(nn::index columns, nn::index platforms);
    /// `authors` without the dead layer and with `scaling::bands`.
    static tlp::config full(nn::index columns);
    /// Half the width of `full`, for 100 000 measurements or more: equal accuracy in a third of the training time.
    static tlp::config medium(nn::index columns);
    /// A quarter of the width of `full` and one residual block, for the few thousand measurements of one search.
    static tlp::config small(nn::index columns);

    /// `kept` if a score depends on the order of the rows (LSTM), else `free`.
    [[nodiscard]] row_order order() const { return backbone == tlp::backbone::lstm ? row_order::kept : row_order::free; }
    [[nodiscard]] nn::index width() const { return encoder.empty() ? 0 : encoder.back(); }
    /// Validates: widths of 1 to 16384, at most 16 layers per stack, 1 to 64 outputs; with attention also its layers and heads that divide D.
    /// Errors: shape_mismatch.
    [[nodiscard]] result<void> check() const;

    friend bool operator==(const tlp::config&, const tlp::config&) = default;
};

/// Parameters of the model. Gradients and Adam's moments have the same type.
///
///     rows (T, E) -> encoder, each layer with ReLU -> (T, D) -> [attention + itself]... -> residual blocks -> decoder -> (T, 1) -> sum over the rows
///     rows (T, E) -> encoder, each layer with ReLU -> (T, D) -> LSTM, last state -> (1, D) -> residual blocks -> decoder -> (1, 1)
///
/// The attention backbone has no positional encoding: a score depends on the multiset of rows, not on their order (`schema::positions` adds the
/// position to the row). With several outputs all layers except the decoders are shared.
template <nn::scalar S>
struct model {
    tlp::config config;
    std::vector<nn::linear<S>> encoder;
    std::vector<nn::attention<S>> attention; ///< (attention_layers), empty with an LSTM
    std::vector<nn::lstm<S>> lstm;           ///< none or one
    std::vector<nn::linear<S>> dead;         ///< none or one
    std::vector<nn::residual<S>> blocks;
    std::vector<std::vector<nn::linear<S>>> decoders; ///< (outputs)

    /// pre: config.check()
    static model zeros(const tlp::config& config);
    /// Initialises the parameters with torch's defaults.   pre: config.check()
    static model random_init(const tlp::config& config, random_engine rng);

    /// Single-output model with decoder `output`, e.g. the head of one platform of an MTL model.   pre: output < config.outputs
    [[nodiscard]] model only(std::size_t output) const;

    /// First affine map after the encoder: attention's in_proj (D, 3D) or the LSTM's input map (D, 4D). It depends on one row only, so it is computed
    /// once per distinct row.
    [[nodiscard]] const nn::linear<S>& projection() const { return lstm.empty() ? attention.front().in_proj : lstm.front().input; }
    [[nodiscard]] nn::linear<S>& projection() { return lstm.empty() ? attention.front().in_proj : lstm.front().input; }

    /// Calls f(name, parameters...) for each parameter of models of equal config, in the order and with the names of the authors' state dictionary.
    /// A weight matrix is (in, out), the transpose of torch's.
    template <class F, class... N>
    static void visit(F&& f, N&... nets);

    /// Name of the first parameter with a NaN or an infinity; empty if all are finite.
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
