// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_AUTOTVM_NEST_HPP
#define AUGUR_SPACE_AUTOTVM_NEST_HPP

/// @file
/// The loops that a configuration of an AutoTVM template gives (TVM 0.8, python/tvm/topi: cuda/conv2d_direct.py, x86/conv2d_avx_common.py,
/// x86/conv2d_avx_1x1.py, x86/depthwise_conv2d.py).
///
/// ```cpp
/// auto convolution = augur::parse_autotvm_convolution(workload_key); // once a task
/// auto nest = augur::autotvm_nest::make(*convolution, config);
/// auto features = augur::iterator_features_of(*nest);
/// ```

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <augur/core/error.hpp>
#include <augur/schedule/autotvm_config.hpp>
#include <augur/space/autotvm_convolution.hpp>
#include <augur/space/detail/convolution_writer.hpp>
#include <augur/space/detail/nest_index.hpp>
#include <augur/workload/loop_nest.hpp>

namespace augur::inline v0 {

namespace detail {

/// Lengths of the parts of an axis, outermost first. The outermost one follows from the others, as in TVM, which passes only those to its scheduler.
/// `cut`: the product of the lengths may exceed the extent, and the last part is cut off.
template <std::size_t Parts>
result<std::array<std::int64_t, Parts>> autotvm_split(const autotvm_config& config, std::string_view name, std::int64_t extent, bool cut = false) {
    const auto refuse = [&](errc code, const std::string& reason) { return error{code, "knob '" + std::string(name) + "': " + reason}; };
    const auto knob = std::find_if(config.knobs.begin(), config.knobs.end(), [&](const autotvm_knob& k) { return k.name == name; });
    if (knob == config.knobs.end()) return refuse(errc::not_found, "expected a split, the configuration has no such knob");
    if (knob->kind != autotvm_knob_kind::split || knob->values.size() != Parts)
        return refuse(errc::invalid_argument, "expected a split into " + std::to_string(Parts) + " parts, got the kind " +
                                                  std::string(autotvm_knob_kinds[static_cast<std::size_t>(knob->kind)]) + " with " +
                                                  std::to_string(knob->values.size()) + " values");
    std::array<std::int64_t, Parts> parts{};
    std::int64_t product = 1;
    for (std::size_t i = Parts; i-- > 0;) {
        const auto* const length = std::get_if<std::int64_t>(&knob->values[i]);
        if (length == nullptr) return refuse(errc::invalid_argument, "expected lengths in whole numbers");
        parts[i] = *length;
        if (i == 0) break;
        if (*length < 1 || *length > extent / product)
            return refuse(errc::invalid_argument, "expected lengths of a product of 1 to " + std::to_string(extent) + ", got " +
                                                      std::to_string(*length) + " times " + std::to_string(product));
        product *= *length;
    }
    if (!cut && extent % product != 0)
        return refuse(errc::shape_mismatch,
                      "expected lengths that divide " + std::to_string(extent) + ", got a product of " + std::to_string(product));
    const std::int64_t outermost = (extent + product - 1) / product;
    if (parts[0] != -1 && parts[0] != outermost)
        return refuse(errc::shape_mismatch, "expected -1 or " + std::to_string(outermost) + " as the outermost length of an axis of " +
                                                std::to_string(extent) + ", got " + std::to_string(parts[0]));
    parts[0] = outermost;
    return parts;
}

/// The value of a knob of kind `other`.
inline result<autotvm_value> autotvm_option(const autotvm_config& config, std::string_view name) {
    for (const autotvm_knob& knob : config.knobs)
        if (knob.name == name && knob.kind == autotvm_knob_kind::other && knob.values.size() == 1) return knob.values.front();
    return error{errc::not_found, "knob '" + std::string(name) + "': expected one value, the configuration has no such knob"};
}

} // namespace detail

/// The loop nest of a configuration. Models `loop_nest`, with names of buffers and loops.
///
/// Axes have the names of the template; those of the stage that adds up a tile of sums have the suffix `.c`, and a loop over several fused axes has their
/// names, with dots. Axis and level name a loop of a nest uniquely. Buffers: `data` (the image, padded), `kernel`, `accumulator` (the sums),
/// `output`; `image`, where a stage pads it.
///
/// Loops, accesses and arithmetic are those of TVM's program as it is lowered for features (python/tvm/autotvm/feature.py, ana_lower), in which no
/// statement sets the sums to 0, except:
/// - loops that have one iteration in every configuration are left out;
/// - on a GPU, image and kernel are read where they are: there are no loops that fetch them into shared memory, and the padded image exists in memory;
/// - what is no loop is not there: `auto_unroll_max_step` and `unroll_explicit`;
/// - where lengths do not divide a height or width (x86), the last iterations are skipped by the `share` of the statements, and copies that pad read
///   elements of the border from beside the image.
///
/// A value. Threads: concurrent visits are allowed. Cost: about 3 us for a visit
class autotvm_nest {
public:
    /// Errors: not_found, a knob is missing; invalid_argument, one of another kind, or with other lengths than 1 to the extent; shape_mismatch, lengths
    /// that do not divide their axis, except for `tile_ow` and `tile_oh`, which may cut it, or an outermost length other than -1 and what the others
    /// leave; unsupported, a depthwise convolution on x86 where neither of the channel blocks divides the other
    [[nodiscard]] static result<autotvm_nest> make(const autotvm_convolution& convolution, const autotvm_config& config) {
        autotvm_nest nest;
        nest.c_ = convolution;
        auto ready = convolution.form == autotvm_template::conv2d_nchw_cuda ? nest.read_cuda(config) : nest.read_x86(config);
        if (!ready) return ready.error();
        return nest;
    }

    template <class Sink>
    void visit(Sink& sink) const {
        const double share =
            static_cast<double>(c_.y.out) * static_cast<double>(c_.x.out) / static_cast<double>(product(y_)) / static_cast<double>(product(x_));
        detail::convolution_writer<Sink> w(sink, c_.type, share);
        if (c_.form == autotvm_template::conv2d_nchw_cuda) visit_cuda(w);
        else visit_x86(w);
    }

private:
    using index = detail::nest_index;
    using split = std::array<std::int64_t, 4>; ///< lengths, outermost first; unused ones are 1

    autotvm_convolution c_;
    split f_{1, 1, 1, 1}, y_ = f_, x_ = f_; ///< output channels, height, width
    split rc_ = f_, ry_ = f_, rx_ = f_;     ///< input channels, height and width of the window
    bool unroll_kw_ = false;

    [[nodiscard]] static std::int64_t product(const split& s) noexcept { return s[0] * s[1] * s[2] * s[3]; }
    [[nodiscard]] static std::int64_t padded(const window_axis& w) noexcept { return w.in + w.pad_before + w.pad_behind; }
    [[nodiscard]] bool pointwise() const noexcept { return !c_.depthwise() && c_.y.k == 1 && c_.x.k == 1; }

    template <std::size_t Parts>
    static result<void> read(split& to, const autotvm_config& config, std::string_view name, std::int64_t extent, bool cut = false) {
        auto parts = detail::autotvm_split<Parts>(config, name, extent, cut);
        if (!parts) return parts.error();
        std::copy(parts->begin(), parts->end(), to.begin());
        return {};
    }
    result<void> read_cuda(const autotvm_config& config) {
        for (auto ready :
             {read<4>(f_, config, "tile_f", c_.out_channels), read<4>(y_, config, "tile_y", c_.y.out), read<4>(x_, config, "tile_x", c_.x.out),
              read<2>(rc_, config, "tile_rc", c_.in_channels), read<2>(ry_, config, "tile_ry", c_.y.k), read<2>(rx_, config, "tile_rx", c_.x.k)})
            if (!ready) return ready;
        return {};
    }
    result<void> read_x86(const autotvm_config& config) {
        for (auto ready : {read<2>(rc_, config, "tile_ic", c_.in_channels), read<2>(f_, config, "tile_oc", c_.out_channels),
                           read<2>(x_, config, "tile_ow", c_.x.out, true)})
            if (!ready) return ready;
        const auto option = detail::autotvm_option(config, pointwise() ? "tile_oh" : "unroll_kw");
        if (!option) return option.error();
        if (!pointwise()) {
            const auto* const text = std::get_if<std::string>(&*option);
            if (text == nullptr || (*text != "true" && *text != "false"))
                return error{errc::invalid_argument, "knob 'unroll_kw': expected true or false"};
            unroll_kw_ = *text == "true";
            y_[0] = c_.y.out;
        } else {
            const auto* const rows = std::get_if<std::int64_t>(&*option);
            if (rows == nullptr || *rows < 1 || *rows > c_.y.out)
                return error{errc::invalid_argument, "knob 'tile_oh': expected 1 to " + std::to_string(c_.y.out) + " rows"};
            y_ = {(c_.y.out + *rows - 1) / *rows, *rows, 1, 1};
        }
        if (c_.depthwise() && rc_[1] % f_[1] != 0 && f_[1] % rc_[1] != 0)
            return error{errc::unsupported, "tile_ic and tile_oc: expected blocks of which one divides the other, got " + std::to_string(rc_[1]) +
                                                " and " + std::to_string(f_[1])};
        return {};
    }

    template <class W>
    void visit_cuda(W& w) const {
        using enum nest_annotation;
        const std::int64_t height = padded(c_.y), width = padded(c_.x), tile = f_[3] * y_[3] * x_[3];
        w.add_buffer("data", c_.batch * c_.in_channels * height * width);
        w.add_buffer("kernel", c_.out_channels * c_.in_channels * c_.y.k * c_.x.k);
        w.add_buffer("accumulator", tile);
        w.add_buffer("output", c_.batch * c_.out_channels * c_.y.out * c_.x.out);

        const index bf = w.loop("nn.ff", 0, c_.batch * f_[0], block_z), by = w.loop("yy", 0, y_[0], block_y), bx = w.loop("xx", 0, x_[0], block_x);
        const index vf = w.loop("ff", 1, f_[1], virtual_thread), vy = w.loop("yy", 1, y_[1], virtual_thread),
                    vx = w.loop("xx", 1, x_[1], virtual_thread);
        const index tf = w.loop("ff", 2, f_[2], thread_z), ty = w.loop("yy", 2, y_[2], thread_y), tx = w.loop("xx", 2, x_[2], thread_x);
        const auto begin_of = [](const split& s, const index& block, const index& virtual_part, const index& thread) {
            return block * (s[1] * s[2] * s[3]) + virtual_part * (s[2] * s[3]) + thread * s[3];
        };
        const index n = bf / f_[0], f = begin_of(f_, bf % f_[0], vf, tf), y = begin_of(y_, by, vy, ty), x = begin_of(x_, bx, vx, tx);
        const auto sum = [&](const index& ff, const index& yy, const index& xx) { return ff * (y_[3] * x_[3]) + yy * x_[3] + xx; };
        {
            const index rco = w.loop("rc", 0, rc_[0]), ryo = w.loop("ry", 0, ry_[0]), rxo = w.loop("rx", 0, rx_[0]);
            const index rci = w.loop("rc", 1, rc_[1]), ryi = w.loop("ry", 1, ry_[1]), rxi = w.loop("rx", 1, rx_[1]);
            const index ff = w.loop("ff.c", 0, f_[3]), yy = w.loop("yy.c", 0, y_[3]), xx = w.loop("xx.c", 0, x_[3]);
            const index rc = rco * rc_[1] + rci, ry = ryo * ry_[1] + ryi, rx = rxo * rx_[1] + rxi;
            const index row = (y + yy) * c_.y.stride + ry * c_.y.dilation, column = (x + xx) * c_.x.stride + rx * c_.x.dilation;
            w.multiply_add(sum(ff, yy, xx), n * (c_.in_channels * height * width) + rc * (height * width) + row * width + column,
                           (f + ff) * (c_.in_channels * c_.y.k * c_.x.k) + rc * (c_.y.k * c_.x.k) + ry * c_.x.k + rx);
            w.end(9);
        }
        const index ff = w.loop("ff", 3, f_[3]), yy = w.loop("yy", 3, y_[3]), xx = w.loop("xx", 3, x_[3]);
        w.write_back(sum(ff, yy, xx), n * (c_.out_channels * c_.y.out * c_.x.out) + (f + ff) * (c_.y.out * c_.x.out) + (y + yy) * c_.x.out + x + xx);
        w.end(12);
    }

    template <class W>
    void visit_x86(W& w) const {
        using enum nest_annotation;
        const std::int64_t height = padded(c_.y), width = padded(c_.x), in_block = rc_[1], out_block = f_[1], rows = y_[1];
        const std::int64_t in_elements = c_.batch * c_.in_channels, window = c_.y.k * c_.x.k, columns = pointwise() ? c_.x.out : x_[1];
        const bool pads = height != c_.y.in || width != c_.x.in;
        w.add_buffer("data", in_elements * height * width);
        w.add_buffer("kernel", c_.out_channels * (c_.depthwise() ? 1 : c_.in_channels) * window);
        w.add_buffer("accumulator", rows * columns * out_block);
        w.add_buffer("output", c_.batch * c_.out_channels * c_.y.out * c_.x.out);
        if (pads) {
            w.add_buffer("image", in_elements * c_.y.in * c_.x.in);
            const index f = w.loop("n.ic_chunk.ih", 0, c_.batch * rc_[0] * height, parallel), iw = w.loop("iw", 0, width);
            const index ic = w.loop("ic_block", 0, in_block, vectorized);
            w.pad(f * (width * in_block) + iw * in_block + ic,
                  f / height * (c_.y.in * c_.x.in * in_block) + f % height * (c_.x.in * in_block) + iw * in_block + ic,
                  -(c_.y.pad_before * c_.x.in + c_.x.pad_before) * in_block);
            w.end(3);
        }
        const auto data_of = [&](const index& n, const index& chunk, const index& row, const index& column, const index& block) {
            return n * (c_.in_channels * height * width) + chunk * (height * width * in_block) + row * (width * in_block) + column * in_block + block;
        };
        const auto output_of = [&](const index& n, const index& chunk, const index& row, const index& column, const index& block) {
            return n * (c_.out_channels * c_.y.out * c_.x.out) + chunk * (c_.y.out * c_.x.out * out_block) + row * (c_.x.out * out_block) +
                   column * out_block + block;
        };
        if (pointwise()) visit_pointwise(w, data_of, output_of);
        else visit_windows(w, data_of, output_of);
    }

    /// The schedule for windows of one element: tiles of rows and columns, the sums of whole rows in memory.
    template <class W>
    void visit_pointwise(W& w, const auto& data_of, const auto& output_of) const {
        using enum nest_annotation;
        const std::int64_t in_block = rc_[1], out_block = f_[1];
        const index fused = w.loop("n.oc_chunk.oh", 0, c_.batch * f_[0] * y_[0], parallel);
        const index n = fused / (f_[0] * y_[0]), oc = fused / y_[0] % f_[0], oh = fused % y_[0] * y_[1];
        const auto sum = [&](const index& row, const index& column, const index& block) {
            return row * (c_.x.out * out_block) + column * out_block + block;
        };
        {
            const index ow = w.loop("ow.c", 0, x_[0]) * x_[1];
            const index ic = w.loop("ic", 0, rc_[0]), ic_block = w.loop("ic", 1, in_block);
            const index row = w.loop("oh.c", 1, y_[1], unrolled), column = w.loop("ow.c", 1, x_[1], unrolled);
            const index block = w.loop("oc_block.c", 0, out_block, vectorized);
            w.multiply_add(sum(row, ow + column, block), data_of(n, ic, (oh + row) * c_.y.stride, (ow + column) * c_.x.stride, ic_block),
                           oc * (c_.in_channels * out_block) + ic * (in_block * out_block) + ic_block * out_block + block);
            w.end(6);
        }
        const index ow = w.loop("ow", 0, x_[0]) * x_[1];
        const index row = w.loop("oh", 1, y_[1]), column = w.loop("ow", 1, x_[1]);
        const index block = w.loop("oc_block", 0, out_block, vectorized);
        w.write_back(sum(row, ow + column, block), output_of(n, oc, oh + row, ow + column, block));
        w.end(5);
    }

    /// The schedule for other windows, also of a depthwise convolution: tiles of a row.
    template <class W>
    void visit_windows(W& w, const auto& data_of, const auto& output_of) const {
        using enum nest_annotation;
        const bool depthwise = c_.depthwise();
        const std::int64_t in_block = rc_[1], out_block = f_[1], window = c_.y.k * c_.x.k;
        index n, ic, ic_block; // of the kernel, whose channels of a depthwise convolution are one
        if (depthwise) n = w.loop("n", 0, c_.batch);
        const index fused = w.loop(depthwise ? "oc_chunk.oh" : "n.oc_chunk.oh", 0, (depthwise ? 1 : c_.batch) * f_[0] * y_[0], parallel);
        if (!depthwise) n = fused / (f_[0] * y_[0]);
        const index oc = fused / y_[0] % f_[0], oh = fused % y_[0], ow = w.loop("ow", 0, x_[0]) * x_[1];
        const auto sum = [&](const index& column, const index& block) { return column * out_block + block; };
        {
            if (!depthwise) ic = w.loop("ic", 0, rc_[0]);
            const index kh = w.loop("kh", 0, c_.y.k);
            if (!depthwise && unroll_kw_) ic_block = w.loop("ic", 1, in_block);
            const index kw = w.loop("kw", 0, c_.x.k, unroll_kw_ ? unrolled : serial);
            if (!depthwise && !unroll_kw_) ic_block = w.loop("ic", 1, in_block);
            const index column = w.loop("ow.c", 1, x_[1], unrolled), block = w.loop("oc_block.c", 0, out_block, vectorized);
            const std::int64_t channels = depthwise ? 1 : c_.in_channels, cell = (depthwise ? 1 : in_block) * out_block;
            const index of_kernel =
                oc * (channels * window * out_block) + ic * (window * cell) + kh * (c_.x.k * cell) + kw * cell + ic_block * out_block + block;
            if (depthwise && in_block % out_block == 0) { // the channel oc * out_block + block, in blocks of the image
                ic = oc / (in_block / out_block);
                ic_block = oc % (in_block / out_block) * out_block + block;
            } else if (depthwise) {
                ic = oc * (out_block / in_block) + block / in_block;
                ic_block = block % in_block;
            }
            w.multiply_add(sum(column, block),
                           data_of(n, ic, oh * c_.y.stride + kh * c_.y.dilation, (ow + column) * c_.x.stride + kw * c_.x.dilation, ic_block),
                           of_kernel);
            w.end(depthwise ? 4 : 6);
        }
        const index column = w.loop("ow", 1, x_[1]), block = w.loop("oc_block", 0, out_block, vectorized);
        w.write_back(sum(column, block), output_of(n, oc, oh, ow + column, block));
        w.end(depthwise ? 5 : 4);
    }
};

} // namespace augur::inline v0

#endif
