// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/space/autotvm_nest.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/record/autotvm_line.hpp>
#include <augur/space/autotvm_space.hpp>
#include <augur/workload/iterator_features.hpp>

#include "../may_skip.hpp"
#include "../record/logs.hpp"
#include "../workload/enumerated_touches.hpp"

namespace autotvm_nest_test {

using namespace augur;

static_assert(loop_nest<autotvm_nest>);

namespace {

using numbers = std::vector<std::int64_t>;

std::string list(const numbers& n) {
    std::string text;
    for (const auto x : n) text.append(text.empty() ? "[" : ", ").append(std::to_string(x));
    return text + "]";
}
std::string key(std::string_view name, const numbers& image, const numbers& kernel, const numbers& stride, const numbers& padding,
                const numbers& dilation) {
    return "[\"" + std::string(name) + "\", [\"TENSOR\", " + list(image) + ", \"float32\"], [\"TENSOR\", " + list(kernel) + ", \"float32\"], " +
           list(stride) + ", " + list(padding) + ", " + list(dilation) + ", " + (name == "conv2d_nchw.cuda" ? "" : "\"NCHW\", \"NCHW\", ") +
           "\"float32\"]";
}

/// The space of the template (TVM, topi/cuda/conv2d_direct.py, topi/x86/conv2d.py, topi/x86/depthwise_conv2d.py).
autotvm_space space_of(const autotvm_convolution& c) {
    std::vector<autotvm_knob_space> knobs;
    const auto other = [&](std::string name, std::vector<std::vector<autotvm_value>> options) {
        knobs.push_back({std::move(name), autotvm_knob_kind::other, std::move(options)});
    };
    if (c.form == autotvm_template::conv2d_nchw_cuda) {
        knobs = {autotvm_split_knob("tile_f", c.out_channels, 4), autotvm_split_knob("tile_y", c.y.out, 4), autotvm_split_knob("tile_x", c.x.out, 4),
                 autotvm_split_knob("tile_rc", c.in_channels, 2), autotvm_split_knob("tile_ry", c.y.k, 2),  autotvm_split_knob("tile_rx", c.x.k, 2)};
        other("auto_unroll_max_step", {{std::int64_t{0}}, {std::int64_t{512}}});
    } else {
        autotvm_split_options verbose;
        verbose.policy = autotvm_split_policy::verbose;
        knobs = {autotvm_split_knob("tile_ic", c.in_channels, 2), autotvm_split_knob("tile_oc", c.out_channels, 2),
                 autotvm_split_knob("tile_ow", c.x.out, 2, verbose)};
        if (c.y.k == 1 && c.x.k == 1 && !c.depthwise()) other("tile_oh", {{std::int64_t{1}}, {std::int64_t{2}}});
        else other("unroll_kw", {{std::string("true")}, {std::string("false")}});
    }
    auto space = autotvm_space::make(std::move(knobs));
    REQUIRE(space);
    return std::move(*space);
}
std::int64_t innermost(const autotvm_config& config, std::string_view name) {
    for (const auto& knob : config.knobs)
        if (knob.name == name) return std::get<std::int64_t>(knob.values.back());
    return 1;
}

/// Elements of image (padded) and kernel whose products add up to each element of the output, by the definition of the convolution.
using products = std::map<std::int64_t, std::multiset<std::pair<std::int64_t, std::int64_t>>>;

struct layout { // NCHW, or with blocks of channels
    std::int64_t in_block = 0, out_block = 0, height, width;
    const autotvm_convolution& c;
    layout(const autotvm_convolution& convolution, const autotvm_config& config)
        : height(convolution.y.in + convolution.y.pad_before + convolution.y.pad_behind),
          width(convolution.x.in + convolution.x.pad_before + convolution.x.pad_behind), c(convolution) {
        const bool blocks = c.form != autotvm_template::conv2d_nchw_cuda;
        in_block = blocks ? innermost(config, "tile_ic") : 1;
        out_block = blocks ? innermost(config, "tile_oc") : 1;
    }
    [[nodiscard]] std::int64_t image(std::int64_t n, std::int64_t ch, std::int64_t y, std::int64_t x, bool padded = true) const {
        const std::int64_t rows = padded ? height : c.y.in, columns = padded ? width : c.x.in;
        return (((n * (c.in_channels / in_block) + ch / in_block) * rows + y) * columns + x) * in_block + ch % in_block;
    }
    [[nodiscard]] std::int64_t kernel(std::int64_t f, std::int64_t ch, std::int64_t y, std::int64_t x) const {
        const std::int64_t channels = c.depthwise() ? 1 : c.in_channels, block = c.depthwise() ? 1 : in_block;
        return ((((f / out_block * (channels / block) + ch / block) * c.y.k + y) * c.x.k + x) * block + ch % block) * out_block + f % out_block;
    }
    [[nodiscard]] std::int64_t output(std::int64_t n, std::int64_t f, std::int64_t y, std::int64_t x) const {
        return (((n * (c.out_channels / out_block) + f / out_block) * c.y.out + y) * c.x.out + x) * out_block + f % out_block;
    }
};
products by_definition(const autotvm_convolution& c, const layout& at) {
    products out;
    for (std::int64_t n = 0; n < c.batch; ++n)
        for (std::int64_t f = 0; f < c.out_channels; ++f)
            for (std::int64_t y = 0; y < c.y.out; ++y)
                for (std::int64_t x = 0; x < c.x.out; ++x) {
                    auto& sum = out[at.output(n, f, y, x)];
                    for (std::int64_t ch = 0; ch < (c.depthwise() ? 1 : c.in_channels); ++ch)
                        for (std::int64_t ky = 0; ky < c.y.k; ++ky)
                            for (std::int64_t kx = 0; kx < c.x.k; ++kx)
                                sum.emplace(
                                    at.image(n, c.depthwise() ? f : ch, y * c.y.stride + ky * c.y.dilation, x * c.x.stride + kx * c.x.dilation),
                                    at.kernel(f, ch, ky, kx));
                }
    return out;
}

/// Runs a nest with elements instead of values. Iterations beyond the height or width are skipped, as a guard would.
class run {
public:
    products output;
    std::map<std::int64_t, std::int64_t> padded; ///< of each written element of the padded image, the element that is copied

    run(const loop_nest_builder& nest, const autotvm_convolution& c, const autotvm_config& config)
        : nest_(nest), c_(c), columns_(innermost(config, "tile_ow")), rows_(innermost(config, "tile_oh")) {
        REQUIRE(nest.balanced());
        children(0);
        CHECK(right_);
        for (std::uint32_t i = 0; i < nest.nodes().size(); ++i) { // skipped iterations are those that the share says
            if (nest.nodes()[i].is_loop()) continue;
            double all = 1;
            for (const auto l : enumerated::path_of(nest, i)) all *= static_cast<double>(nest.nodes()[l].extent);
            CHECK(static_cast<double>(count_[i]) == doctest::Approx(all * nest.statements()[nest.nodes()[i].statement].share));
        }
    }

private:
    const loop_nest_builder& nest_;
    const autotvm_convolution& c_;
    std::int64_t columns_, rows_;
    numbers at_;
    std::vector<std::uint32_t> path_;
    std::map<std::uint32_t, std::int64_t> count_;
    products sums_;
    bool right_ = true;

    void children(std::uint32_t node) {
        for (const auto child : nest_.nodes()[node].children) {
            const auto& n = nest_.nodes()[child];
            if (!n.is_loop()) {
                if (inside()) statement(child, nest_.statements()[n.statement]);
                continue;
            }
            path_.push_back(child);
            for (std::int64_t i = 0; i < n.extent; ++i) {
                at_.push_back(i);
                children(child);
                at_.pop_back();
            }
            path_.pop_back();
        }
    }
    [[nodiscard]] bool inside() const {
        std::int64_t oh = 0, ow = 0;
        for (std::size_t l = 0; l < path_.size(); ++l) {
            const auto& node = nest_.nodes()[path_[l]];
            if (node.axis.starts_with("ow")) ow += at_[l] * (node.level == 0 ? columns_ : 1);
            if (node.axis == "n.oc_chunk.oh") oh += at_[l] % ((c_.y.out + rows_ - 1) / rows_) * rows_;
            if (node.axis.starts_with("oh")) oh += at_[l];
        }
        return oh < c_.y.out && ow < c_.x.out;
    }
    void statement(std::uint32_t node, const nest_statement& s) {
        ++count_[node];
        numbers of;
        for (const auto& a : s.accesses) {
            of.push_back(enumerated::address(a, at_));
            const std::int64_t elements = nest_.buffers()[a.buffer] / bytes_of(a.type);
            must((of.back() >= 0 && of.back() < elements) || nest_.buffer_names()[a.buffer] == "image");
        }
        const auto role = [&](std::size_t i) -> const std::string& { return nest_.buffer_names()[s.accesses[i].buffer]; };
        if (s.accesses.size() == 4) {
            must(role(0) == "accumulator" && role(1) == "data" && role(2) == "kernel" && role(3) == "accumulator" && of[0] == of[3]);
            must(s.accesses[0].begins && !s.accesses[3].begins);
            sums_[of[0]].emplace(of[1], of[2]);
        } else if (role(1) == "output") {
            must(role(0) == "accumulator" && output.count(of[1]) == 0); // written once
            output[of[1]] = std::exchange(sums_[of[0]], {});
        } else {
            must(role(0) == "image" && role(1) == "data" && padded.emplace(of[1], of[0]).second);
        }
    }
    void must(bool so) { right_ = right_ && so; } // millions of times, so no CHECK
};

/// All configurations of a convolution; how many there are.
std::size_t check_all(const std::string& workload) {
    CAPTURE(workload);
    const auto c = parse_autotvm_convolution(workload);
    REQUIRE(c);
    const auto space = space_of(*c);
    std::map<std::pair<std::int64_t, std::int64_t>, products> expected;
    for (std::uint64_t i = 0; i < space.size(); ++i) {
        CAPTURE(i);
        const auto config = space.realise(space.decisions_of(i));
        REQUIRE(config);
        const auto nest = autotvm_nest::make(*c, *config);
        REQUIRE(nest);
        loop_nest_builder kept;
        nest->visit(kept);
        const run ran(kept, *c, *config);
        const layout at(*c, *config);
        auto& sums = expected[{at.in_block, at.out_block}];
        if (sums.empty()) sums = by_definition(*c, at);
        CHECK(ran.output == sums);
        const bool pads = c->form != autotvm_template::conv2d_nchw_cuda && (at.height > c->y.in || at.width > c->x.in);
        CHECK(static_cast<std::int64_t>(ran.padded.size()) == (pads ? c->batch * c->in_channels * at.height * at.width : 0));
        bool copied = true;
        for (std::int64_t n = 0; pads && n < c->batch; ++n)
            for (std::int64_t ch = 0; ch < c->in_channels; ++ch)
                for (std::int64_t y = 0; y < c->y.in; ++y)
                    for (std::int64_t x = 0; x < c->x.in; ++x)
                        copied = copied && (ran.padded.at(at.image(n, ch, y + c->y.pad_before, x + c->x.pad_before)) == at.image(n, ch, y, x, false));
        CHECK(copied);

        const auto features = iterator_features_of(*nest);
        REQUIRE(features);
        std::set<std::pair<std::string, std::uint32_t>> names;
        for (const auto& loop : features->loops) CHECK((!loop.axis.empty() && names.emplace(loop.axis, loop.level).second));
    }
    return static_cast<std::size_t>(space.size());
}

autotvm_config config_of(const std::string& knobs) {
    const auto line = parse_autotvm_line(R"({"input": ["llvm", "t", [], {}], "config": {"index": 0, "code_hash": null, "entity": )" + knobs +
                                         R"(}, "result": [[1.0], 0, 1, 1], "version": 0.2})");
    REQUIRE(line);
    return line->config;
}

const std::string gpu_key = key("conv2d_nchw.cuda", {1, 64, 56, 56}, {128, 64, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1});
const std::string gpu_knobs = R"([["tile_f", "sp", [-1, 2, 8, 4]], ["tile_y", "sp", [-1, 1, 7, 2]], ["tile_x", "sp", [-1, 2, 14, 1]], )"
                              R"(["tile_rc", "sp", [-1, 4]], ["tile_ry", "sp", [-1, 3]], ["tile_rx", "sp", [-1, 1]], )"
                              R"(["auto_unroll_max_step", "ot", 1500], ["unroll_explicit", "ot", 1]])";
const std::string cpu_key = key("conv2d_NCHWc.x86", {1, 64, 56, 56}, {64, 64, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1});
const std::string cpu_knobs = R"([["tile_ic", "sp", [-1, 16]], ["tile_oc", "sp", [-1, 8]], ["tile_ow", "sp", [-1, 14]], ["unroll_kw", "ot", true]])";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE("autotvm_nest: every configuration makes the products of the convolution, once") {
    CHECK(check_all(key("conv2d_nchw.cuda", {2, 2, 4, 5}, {4, 2, 3, 2}, {1, 2}, {0, 1, 1, 0}, {1, 1})));
    check_all(key("conv2d_nchw.cuda", {1, 3, 7, 3}, {2, 3, 2, 1}, {2, 1}, {1, 0}, {3, 1}));
    check_all(key("conv2d_NCHWc.x86", {2, 4, 5, 6}, {6, 4, 3, 2}, {2, 1}, {1, 0, 0, 0}, {1, 1}));
    check_all(key("conv2d_NCHWc.x86", {1, 2, 6, 7}, {4, 2, 2, 3}, {1, 1}, {0, 0}, {2, 1}));
    check_all(key("conv2d_NCHWc.x86", {2, 4, 5, 5}, {4, 4, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}));
    check_all(key("conv2d_NCHWc.x86", {1, 2, 5, 9}, {3, 2, 1, 1}, {2, 2}, {1, 0, 0, 1}, {1, 1}));
    check_all(key("depthwise_conv2d_NCHWc.x86", {2, 8, 4, 6}, {8, 1, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}));
    check_all(key("depthwise_conv2d_NCHWc.x86", {1, 4, 7, 7}, {4, 1, 3, 2}, {2, 2}, {0, 0, 0, 0}, {1, 2}));
    check_all(key("depthwise_conv2d_NCHWc.x86", {1, 2, 3, 4}, {2, 1, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}));
}

TEST_CASE("autotvm_nest: features beside all iterations") {
    // windows that do not overlap and lengths that divide: each element is reached by one combination of the loops that move the access
    for (const auto& workload : {key("conv2d_nchw.cuda", {2, 2, 4, 4}, {4, 2, 2, 2}, {2, 2}, {0, 0}, {1, 1}),
                                 key("conv2d_NCHWc.x86", {2, 2, 4, 4}, {4, 2, 2, 2}, {2, 2}, {0, 0}, {1, 1}),
                                 key("conv2d_NCHWc.x86", {2, 2, 2, 4}, {4, 2, 1, 1}, {1, 1}, {0, 0}, {1, 1}),
                                 key("depthwise_conv2d_NCHWc.x86", {1, 4, 4, 8}, {4, 1, 2, 2}, {2, 2}, {0, 0}, {1, 1})}) {
        CAPTURE(workload);
        const auto c = parse_autotvm_convolution(workload);
        REQUIRE(c);
        const auto space = space_of(*c);
        for (std::uint64_t i = 0; i < space.size(); i += space.size() > 200 ? 7 : 1) {
            CAPTURE(i);
            const auto nest = autotvm_nest::make(*c, *space.realise(space.decisions_of(i)));
            REQUIRE(nest);
            loop_nest_builder kept;
            nest->visit(kept);
            const auto features = iterator_features_of(*nest);
            REQUIRE(features);
            std::vector<std::uint32_t> loop_of_node(kept.nodes().size()), accesses(kept.buffers().size());
            std::uint32_t loops = 0;
            for (std::uint32_t node = 1; node < kept.nodes().size(); ++node) {
                if (kept.nodes()[node].is_loop()) {
                    loop_of_node[node] = loops++;
                    continue;
                }
                const auto path = enumerated::path_of(kept, node);
                for (const auto& a : kept.statements()[kept.nodes()[node].statement].accesses) {
                    const auto number = accesses[a.buffer]++;
                    for (std::size_t l = 0; l < path.size(); ++l) {
                        auto expected = enumerated::touch_of(kept, path, a, l);
                        expected.buffer = a.buffer;
                        expected.access = number;
                        // the quotient alone and the remainder alone are moved by the whole loop, in TVM
                        if (std::any_of(a.digits.begin(), a.digits.end(), [](const auto& d) { return d.divide > 1 || d.modulo > 0; })) continue;
                        const auto& loop = features->loops[loop_of_node[path[l]]];
                        CHECK(loop.axis == kept.nodes()[path[l]].axis);
                        CHECK(std::count(loop.touches.begin(), loop.touches.end(), expected) == 1);
                    }
                }
            }
            CHECK(features->loops.size() == loops);
        }
    }
}

TEST_CASE("autotvm_nest: a convolution on a GPU, loop by loop") {
    const auto& workload_key = gpu_key;
    const auto config = config_of(gpu_knobs);
#include <snippets/space/autotvm_nest.hpp.1.inc>
    REQUIRE(features);
    using enum nest_annotation;
    using row = std::tuple<std::string, std::uint32_t, std::int64_t, nest_annotation, std::uint32_t>;
    const std::vector<row> expected{{"nn.ff", 0, 2, block_z, 1},     {"yy", 0, 4, block_y, 2},        {"xx", 0, 2, block_x, 3},
                                    {"ff", 1, 2, virtual_thread, 4}, {"yy", 1, 1, virtual_thread, 5}, {"xx", 1, 2, virtual_thread, 6},
                                    {"ff", 2, 8, thread_z, 7},       {"yy", 2, 7, thread_y, 8},       {"xx", 2, 14, thread_x, 9},
                                    {"rc", 0, 16, serial, 10},       {"ry", 0, 1, serial, 11},        {"rx", 0, 3, serial, 12},
                                    {"rc", 1, 4, serial, 13},        {"ry", 1, 3, serial, 14},        {"rx", 1, 1, serial, 15},
                                    {"ff.c", 0, 4, serial, 16},      {"yy.c", 0, 2, serial, 17},      {"xx.c", 0, 1, serial, 18},
                                    {"ff", 3, 4, serial, 10},        {"yy", 3, 2, serial, 11},        {"xx", 3, 1, serial, 12}};
    std::vector<row> loops;
    for (const auto& l : features->loops) loops.emplace_back(l.axis, l.level, l.length, l.annotation, l.nest_level);
    CHECK(loops == expected);
    CHECK(features->buffers == std::vector<std::string>{"data", "kernel", "accumulator", "output"});
    CHECK(features->loops[0].bottomup == std::int64_t{128} * 56 * 56 * 64 * 9);
    CHECK(features->loops[17].topdown == std::int64_t{128} * 56 * 56 * 64 * 9);
    CHECK((features->loops[17].additions == 1 && features->loops[17].multiplications == 1));
    const auto& x = features->loops[8]; // threadIdx.x: accumulator twice in the sum, once when it is written back; data, kernel, output
    REQUIRE(x.touches.size() == 6);
    const auto& data = x.touches[3];
    CHECK(data.buffer == 0);
    CHECK(data.stride == 1);              // padded width 58, tile of 1 column a thread
    CHECK(data.count == 14 * 64 * 9 * 2); // 14 threads, 64 channels, 3 x 3 window, 2 rows
    CHECK(data.reuse == 4);               // by the output channels of a thread
    CHECK((data.thread_count == 14 && data.thread_reuse == 1));
    const auto& channels = features->loops[6].touches[4]; // threadIdx.z, the kernel
    CHECK(channels.buffer == 1);
    CHECK(channels.stride == 4 * 64 * 9);
    CHECK((channels.count == 8 * 4 * 64 * 9 && channels.reuse == 7 * 14 * 2));
    CHECK((channels.thread_count == 8 && channels.thread_reuse == 7 * 14));
}

TEST_CASE("autotvm_nest: what the fields of a workload mean") {
    const auto window = [](const std::string& workload) {
        const auto c = parse_autotvm_convolution(workload);
        REQUIRE(c);
        return numbers{c->y.stride,     c->x.stride,   c->y.pad_before, c->x.pad_before, c->y.pad_behind,
                       c->x.pad_behind, c->y.dilation, c->x.dilation,   c->y.out,        c->x.out};
    };
    const auto with = [](std::string_view arguments, std::string_view kernel = "3, 3") {
        return R"(["conv2d_nchw.cuda", ["TENSOR", [1, 8, 10, 11], "float16"], ["TENSOR", [4, 8, )" + std::string(kernel) + R"(], "float16"], )" +
               std::string(arguments) + "]";
    };
    CHECK(window(with(R"(1, "SAME", 1, "float32")")) == numbers{1, 1, 1, 1, 1, 1, 1, 1, 10, 11});
    CHECK(window(with(R"(1, "SAME", 1)", "2, 4")) == numbers{1, 1, 1, 2, 0, 1, 1, 1, 10, 11});
    CHECK(window(with(R"(2, "VALID", 1, "float32")")) == numbers{2, 2, 0, 0, 0, 0, 1, 1, 4, 5});
    CHECK(window(with(R"([1, 2], 1, [2, 1], "float32")")) == numbers{1, 2, 1, 1, 1, 1, 2, 1, 8, 6});
    CHECK(window(with(R"(1, [1, 2], 1, "float32")")) == numbers{1, 1, 1, 2, 1, 2, 1, 1, 10, 13});
    CHECK(window(with(R"(1, [0, 1, 2, 3], 1, "float32")")) == numbers{1, 1, 0, 1, 2, 3, 1, 1, 10, 13});
}

TEST_CASE("autotvm_nest: malformed workloads are errors") {
    const auto fails = [](errc code, const std::string& text) {
        CAPTURE(text);
        const auto c = parse_autotvm_convolution(text);
        REQUIRE(!c);
        CHECK(to_string(c.error().code) == to_string(code));
        CHECK(!c.error().detail.empty());
    };
    for (const char* text :
         {"", "[", "[]", "{}", "3", "[3]", "null", R"(["conv2d_nchw.cuda"])", R"(["conv2d_nchw.cuda", 1])", R"(["conv2d_nchw.cuda", []])"})
        fails(errc::parse, text);
    fails(errc::not_found, R"(["dense_pack.x86", 1])");
    for (std::size_t n = 1; n < gpu_key.size(); ++n) CHECK(!parse_autotvm_convolution(gpu_key.substr(0, n)));
    fails(errc::parse, gpu_key + "]");
    fails(errc::parse, replaced(gpu_key, "TENSOR", "SCALAR"));
    fails(errc::parse, replaced(gpu_key, "64, 56, 56", "64, 56"));
    fails(errc::unsupported, replaced(gpu_key, "64, 56, 56", "64, 56, 56, 8"));
    fails(errc::parse, replaced(gpu_key, "64, 56, 56", "64, 56, 5.5"));
    fails(errc::parse, replaced(gpu_key, "[1, 1, 1, 1]", "[1, 1, 1]"));
    fails(errc::parse, replaced(gpu_key, "[1, 1, 1, 1]", "[]"));
    fails(errc::parse, replaced(gpu_key, "[1, 1], [1, 1, 1, 1]", "[1, 1, 1], [1, 1, 1, 1]"));
    fails(errc::parse, replaced(gpu_key, R"("float32"])", R"("float32", {"a": 1}])"));
    fails(errc::invalid_argument, replaced(gpu_key, "[1, 1, 1, 1]", R"("same")"));
    fails(errc::invalid_argument, replaced(gpu_key, "[1, 1, 1, 1]", "[1, 1, -1, 1]"));
    fails(errc::invalid_argument, replaced(gpu_key, "[1, 1], [1, 1, 1, 1]", "[0, 1], [1, 1, 1, 1]"));
    fails(errc::invalid_argument, replaced(gpu_key, "64, 56, 56", "64, 0, 56"));
    fails(errc::invalid_argument, replaced(gpu_key, "64, 56, 56", "64, 9223372036854775807, 56"));
    fails(errc::shape_mismatch, replaced(gpu_key, "64, 56, 56", "32, 56, 56"));
    fails(errc::shape_mismatch, replaced(gpu_key, "64, 3, 3", "64, 3, 99"));
    fails(errc::shape_mismatch, replaced(cpu_key, "conv2d_NCHWc", "depthwise_conv2d_NCHWc"));
    fails(errc::unsupported, replaced(gpu_key, "float32", "int8"));
    fails(errc::limit, replaced(gpu_key, "[1, 64, 56, 56]", "[16777216, 64, 16777216, 56]"));
}

TEST_CASE("autotvm_nest: configurations of another template or shape are errors") {
    const auto fails = [](errc code, const std::string& workload, const std::string& knobs) {
        CAPTURE(knobs);
        const auto c = parse_autotvm_convolution(workload);
        REQUIRE(c);
        const auto nest = autotvm_nest::make(*c, config_of(knobs));
        REQUIRE(!nest);
        CHECK(to_string(nest.error().code) == to_string(code));
        CHECK(nest.error().detail.find("expected") != std::string::npos);
    };
    fails(errc::not_found, gpu_key, "[]");
    fails(errc::not_found, gpu_key, cpu_knobs);
    fails(errc::not_found, cpu_key, gpu_knobs);
    for (const char* name : {"tile_f", "tile_y", "tile_x", "tile_rc", "tile_ry", "tile_rx"})
        fails(errc::not_found, gpu_key, replaced(gpu_knobs, name, "t"));
    for (const char* name : {"tile_ic", "tile_oc", "tile_ow", "unroll_kw"}) fails(errc::not_found, cpu_key, replaced(cpu_knobs, name, "t"));
    const auto with = [](std::string_view split) { return replaced(gpu_knobs, "[-1, 2, 8, 4]", split); };
    fails(errc::invalid_argument, gpu_key, with("[-1, 2, 8]"));
    fails(errc::invalid_argument, gpu_key, with("[]"));
    fails(errc::invalid_argument, gpu_key, with("[-1, 0, 8, 4]"));
    fails(errc::invalid_argument, gpu_key, with("[-1, -2, -8, 4]"));
    fails(errc::invalid_argument, gpu_key, with("[-1, 2, 8, 256]"));
    fails(errc::invalid_argument, gpu_key, with("[-1, 4611686018427387904, 4611686018427387904, 1]"));
    fails(errc::invalid_argument, gpu_key, with("[-1, 2, 8, -9223372036854775808]"));
    fails(errc::shape_mismatch, gpu_key, with("[-1, 3, 8, 4]"));
    fails(errc::shape_mismatch, gpu_key, with("[4, 2, 8, 4]"));
    fails(errc::shape_mismatch, gpu_key, with("[0, 2, 8, 4]"));
    fails(errc::invalid_argument, gpu_key, replaced(gpu_knobs, R"("sp", [-1, 2, 8, 4])", R"("ot", 4)"));
    fails(errc::shape_mismatch, cpu_key, replaced(cpu_knobs, "[-1, 8]", "[-1, 7]"));
    fails(errc::invalid_argument, cpu_key, replaced(cpu_knobs, "true", "1"));
    fails(errc::invalid_argument, cpu_key, replaced(cpu_knobs, "true", "null"));
    const auto narrow = key("conv2d_NCHWc.x86", {1, 64, 56, 56}, {64, 64, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1});
    for (const char* rows : {"0", "-1", "57", "true", "1.5"})
        fails(errc::invalid_argument, narrow, replaced(cpu_knobs, R"("unroll_kw", "ot", true)", R"("tile_oh", "ot", )" + std::string(rows)));
    fails(errc::unsupported, key("depthwise_conv2d_NCHWc.x86", {1, 48, 9, 28}, {48, 1, 3, 3}, {1, 1}, {0, 0}, {1, 1}),
          replaced(cpu_knobs, "[-1, 8]", "[-1, 12]"));

    const auto c = parse_autotvm_convolution(gpu_key);
    REQUIRE(c);
    CHECK(autotvm_nest::make(*c, config_of(with("[2, 2, 8, 4]")))); // the outermost length, as it follows
    const auto cut = parse_autotvm_convolution(cpu_key);
    REQUIRE(cut);
    CHECK(autotvm_nest::make(*cut, config_of(replaced(cpu_knobs, "[-1, 14]", "[-1, 32]")))); // 56 columns in two tiles
}

TEST_CASE("autotvm_nest: no text and no configuration crashes it") {
    random_engine random(3);
    const std::array<std::int64_t, 12> odd{
        0,  1, -1, 2, 3, 7, 64, 128, std::int64_t{1} << 40U, (std::numeric_limits<std::int64_t>::max)(), (std::numeric_limits<std::int64_t>::min)(),
        -64};
    std::size_t good = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string text = round % 2 == 0 ? gpu_key : cpu_key;
        for (std::size_t n = random.below(3); n-- > 0;) {
            const char* const letters = "0123456789[],\"-.e x";
            text[random.below(text.size())] = letters[random.below(19)];
        }
        const auto c = parse_autotvm_convolution(text);
        if (!c) continue;
        auto config = config_of(round % 2 == 0 ? gpu_knobs : cpu_knobs);
        for (std::size_t n = random.below(3); n-- > 0;) {
            auto& knob = config.knobs[random.below(config.knobs.size())];
            if (random.below(4) == 0) knob.values.resize(random.below(5), std::int64_t{1});
            else if (!knob.values.empty()) knob.values[random.below(knob.values.size())] = odd[random.below(odd.size())];
        }
        const auto nest = autotvm_nest::make(*c, config);
        if (nest && iterator_features_of(*nest)) ++good;
    }
    CHECK(good > 1000);
}

TEST_CASE("autotvm_nest: records of AutoTVM" MAY_SKIP) {
    const auto folder = logs::data() / "autotvm";
    if (logs::data().empty() || !std::filesystem::is_directory(folder)) SKIP_CASE("no data (AUGUR_DATA)");
#ifdef AUGUR_TEST_SLOW
    const std::size_t every = 1;
#else
    const std::size_t every = 40;
#endif
    std::map<std::string, std::size_t> seen;
    std::map<std::string, autotvm_convolution> tasks;
    std::size_t contradictory = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (!entry.path().string().ends_with(".jsonl.gz")) continue;
        const logs::unpacked file(entry.path());
        std::string line(std::size_t{1} << 16U, '\0');
        for (std::size_t number = 0; std::fgets(line.data(), static_cast<int>(line.size()), file.pipe) != nullptr; ++number) {
            if (number % every != 0) continue;
            const auto record = parse_autotvm_line(std::string_view(line.c_str()));
            REQUIRE(record);
            if (std::find(autotvm_template_names.begin(), autotvm_template_names.end(), record->name) == autotvm_template_names.end()) continue;
            if (record->error != 0) continue;
            const std::string workload = autotvm_workload_key(record->name, record->arguments, record->keywords);
            auto at = tasks.find(workload);
            if (at == tasks.end()) {
                const auto c = parse_autotvm_convolution(workload);
                REQUIRE(c);
                at = tasks.emplace(workload, *c).first;
            }
            const auto nest = autotvm_nest::make(at->second, record->config);
            if (!nest && workload.find("SAME") != std::string::npos) {
                // two tasks of V100 name SAME, with lengths of the image without padding
                const auto unpadded = parse_autotvm_convolution(replaced(workload, "SAME", "VALID"));
                REQUIRE(unpadded);
                CHECK(autotvm_nest::make(*unpadded, record->config));
                CHECK(nest.error().code == errc::shape_mismatch);
                ++contradictory;
                continue;
            }
            if (!nest) FAIL(workload << " " << to_string(nest.error()));
            const auto features = iterator_features_of(*nest);
            REQUIRE(features);
            CHECK(features->loops.front().bottomup > 0);
            ++seen[record->name];
        }
    }
    for (const auto name : autotvm_template_names) {
        MESSAGE(name << ": " << seen[std::string(name)] << " records without an error");
        CHECK(seen[std::string(name)] > 20000 / every);
    }
    MESSAGE(tasks.size() << " tasks; " << contradictory << " records whose lengths are those of another padding");
    CHECK(contradictory <= 2000 / every);
}

} // namespace autotvm_nest_test
