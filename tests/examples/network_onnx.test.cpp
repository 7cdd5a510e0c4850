// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `network_onnx`: its models are read by another reader of Protocol Buffers and computed in double by another implementation of the operators,
// and the results compared with those that the naive nests gave. ONNX Runtime does the same where it is installed.
#include <doctest/doctest.h>

#ifdef AUGUR_NETWORK_ONNX_PROGRAM // else there is no Eigen

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../examples/tools/network_onnx/onnx_model.hpp"
#include "../may_skip.hpp"
#include "child_program.hpp"

namespace network_onnx_test {

namespace {

using onnx_dims = std::vector<std::int64_t>;

struct protobuf_field {
    std::uint64_t number = 0, value = 0;
    std::string_view bytes;
};
std::vector<protobuf_field> fields_of(std::string_view text) {
    std::vector<protobuf_field> out;
    const auto varint = [&] {
        std::uint64_t n = 0;
        for (unsigned shift = 0;; shift += 7) {
            if (text.empty() || shift > 63) FAIL("a number ends early");
            const auto byte = static_cast<unsigned char>(text.front());
            text.remove_prefix(1);
            n |= static_cast<std::uint64_t>(byte & 127U) << shift;
            if (byte < 128) return n;
        }
    };
    while (!text.empty()) {
        const auto tag = varint();
        protobuf_field f{tag >> 3U, varint(), {}};
        if ((tag & 7U) == 2) {
            if (f.value > text.size()) FAIL("a field ends early");
            f.bytes = text.substr(0, f.value);
            text.remove_prefix(f.value);
        } else if ((tag & 7U) != 0) {
            FAIL("wire type " << (tag & 7U));
        }
        out.push_back(f);
    }
    return out;
}

struct onnx_array {
    onnx_dims dims;
    std::vector<double> v;
};
struct onnx_node {
    std::string op;
    std::vector<std::string> inputs, outputs;
    std::map<std::string, onnx_dims> attributes;
};
struct onnx_graph {
    std::vector<onnx_node> nodes;
    std::map<std::string, onnx_array> constants;
    std::vector<std::pair<std::string, onnx_dims>> inputs, outputs;
};

onnx_array array_of(std::span<const protobuf_field> fields, std::string& name) {
    onnx_array out;
    std::uint64_t type = 0;
    std::string_view raw;
    for (const auto& f : fields) {
        if (f.number == 1) out.dims.push_back(static_cast<std::int64_t>(f.value));
        if (f.number == 2) type = f.value;
        if (f.number == 8) name = f.bytes;
        if (f.number == 9) raw = f.bytes;
    }
    const auto take = [&](auto element) {
        for (; raw.size() >= sizeof element; raw.remove_prefix(sizeof element)) {
            std::memcpy(&element, raw.data(), sizeof element);
            out.v.push_back(static_cast<double>(element));
        }
    };
    if (type == 1) take(float{});
    else take(std::int64_t{});
    return out;
}
std::pair<std::string, onnx_dims> value_of(std::string_view info) {
    std::pair<std::string, onnx_dims> out;
    for (const auto& f : fields_of(info)) {
        if (f.number == 1) out.first = f.bytes;
        if (f.number != 2) continue;
        const auto tensor = fields_of(f.bytes).at(0);
        for (const auto& t : fields_of(tensor.bytes))
            if (t.number == 2)
                for (const auto& d : fields_of(t.bytes)) out.second.push_back(static_cast<std::int64_t>(fields_of(d.bytes).at(0).value));
    }
    return out;
}
onnx_graph onnx_graph_of(std::string_view model) {
    onnx_graph out;
    for (const auto& m : fields_of(model)) {
        if (m.number != 7) continue;
        for (const auto& g : fields_of(m.bytes)) {
            if (g.number == 11) out.inputs.push_back(value_of(g.bytes));
            if (g.number == 12) out.outputs.push_back(value_of(g.bytes));
            if (g.number == 5) {
                std::string name;
                auto values = array_of(fields_of(g.bytes), name);
                out.constants[name] = std::move(values);
            }
            if (g.number != 1) continue;
            auto& node = out.nodes.emplace_back();
            for (const auto& f : fields_of(g.bytes)) {
                if (f.number == 1) node.inputs.emplace_back(f.bytes);
                if (f.number == 2) node.outputs.emplace_back(f.bytes);
                if (f.number == 4) node.op = f.bytes;
                if (f.number != 5) continue;
                std::string name;
                onnx_dims values;
                for (const auto& a : fields_of(f.bytes)) {
                    if (a.number == 1) name = a.bytes;
                    if (a.number == 3 || a.number == 8) values.push_back(static_cast<std::int64_t>(a.value));
                }
                node.attributes[name] = values;
            }
        }
    }
    return out;
}

std::int64_t product(const onnx_dims& dims) { return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>()); }
onnx_dims strides_of(const onnx_dims& dims) {
    onnx_dims out(dims.size(), 1);
    for (std::size_t a = dims.size(); a-- > 1;) out[a - 1] = out[a] * dims[a];
    return out;
}
/// Calls f with each index.
template <class F>
void each(const onnx_dims& dims, F f) {
    onnx_dims at(dims.size(), 0);
    for (auto left = product(dims); left > 0; --left) {
        f(at);
        for (auto a = dims.size(); a-- > 0 && ++at[a] == dims[a];) at[a] = 0;
    }
}
/// The element at an index, of which the array has the last axes, repeated where its extent is 1.
double element(const onnx_array& x, const onnx_dims& at) {
    std::int64_t n = 0;
    for (std::size_t a = 0; a < x.dims.size(); ++a) n = n * x.dims[a] + (x.dims[a] == 1 ? 0 : at[at.size() - x.dims.size() + a]);
    return x.v[static_cast<std::size_t>(n)];
}
onnx_array combined(const onnx_array& a, const onnx_array& b, double (*f)(double, double)) {
    const auto& large = a.dims.size() < b.dims.size() ? b.dims : a.dims;
    onnx_array out{large, {}};
    for (std::size_t k = 1; k <= std::min(a.dims.size(), b.dims.size()); ++k)
        out.dims[large.size() - k] = std::max(a.dims[a.dims.size() - k], b.dims[b.dims.size() - k]);
    each(out.dims, [&](const onnx_dims& at) { out.v.push_back(f(element(a, at), element(b, at))); });
    return out;
}
onnx_array mapped(onnx_array x, double (*f)(double)) {
    for (auto& v : x.v) v = f(v);
    return x;
}
/// A convolution, or the largest element of each window if there are no weights.
onnx_array windows(const onnx_node& n, const onnx_array& x, const onnx_array* w, const onnx_array* bias) {
    const auto attribute = [&](const char* name, std::size_t a) { return n.attributes.at(name)[a]; };
    const auto groups = w != nullptr ? attribute("group", 0) : x.dims[1], channels = x.dims[1] / groups,
               filters = w != nullptr ? w->dims[0] : x.dims[1];
    onnx_array out{{x.dims[0], filters}, {}};
    for (std::size_t a = 0; a < 2; ++a)
        out.dims.push_back(
            (x.dims[2 + a] + attribute("pads", a) + attribute("pads", 2 + a) - attribute("dilations", a) * (attribute("kernel_shape", a) - 1) - 1) /
                attribute("strides", a) +
            1);
    const auto kh = attribute("kernel_shape", 0), kw = attribute("kernel_shape", 1), sh = attribute("strides", 0), sw = attribute("strides", 1),
               dh = attribute("dilations", 0), dw = attribute("dilations", 1), ph = attribute("pads", 0), pw = attribute("pads", 1);
    each(out.dims, [&](const onnx_dims& at) {
        double sum = bias != nullptr ? bias->v[static_cast<std::size_t>(at[1])] : 0, most = -HUGE_VAL;
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t i = 0; i < kh; ++i)
                for (std::int64_t j = 0; j < kw; ++j) {
                    const auto h = at[2] * sh - ph + i * dh, v = at[3] * sw - pw + j * dw;
                    if (h < 0 || v < 0 || h >= x.dims[2] || v >= x.dims[3]) continue;
                    const auto from = at[1] / (filters / groups) * channels + c;
                    const auto value = x.v[static_cast<std::size_t>(((at[0] * x.dims[1] + from) * x.dims[2] + h) * x.dims[3] + v)];
                    if (w != nullptr) sum += value * w->v[static_cast<std::size_t>(((at[1] * channels + c) * kh + i) * kw + j)];
                    most = std::max(most, value);
                }
        out.v.push_back(w != nullptr ? sum : most);
    });
    return out;
}
onnx_array product_of(const onnx_array& a, const onnx_array& b) {
    const auto rank = a.dims.size();
    const auto m = a.dims[rank - 2], k = a.dims[rank - 1], n = b.dims[rank - 1];
    onnx_array out{a.dims, {}};
    out.dims.back() = n;
    for (std::int64_t i = 0; i < product(a.dims) / k; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (std::int64_t p = 0; p < k; ++p)
                sum += a.v[static_cast<std::size_t>(i * k + p)] * b.v[static_cast<std::size_t>((i / m * k + p) * n + j)];
            out.v.push_back(sum);
        }
    return out;
}
onnx_array transposed(const onnx_array& x, const onnx_dims& perm) {
    onnx_array out;
    onnx_dims step;
    const auto strides = strides_of(x.dims);
    for (const auto p : perm) {
        out.dims.push_back(x.dims[static_cast<std::size_t>(p)]);
        step.push_back(strides[static_cast<std::size_t>(p)]);
    }
    each(out.dims, [&](const onnx_dims& at) {
        out.v.push_back(x.v[static_cast<std::size_t>(std::inner_product(at.begin(), at.end(), step.begin(), std::int64_t{0}))]);
    });
    return out;
}

onnx_array computed(const onnx_node& n, const std::vector<const onnx_array*>& in) {
    const auto& x = *in[0];
    const auto integer = [&](std::size_t i, std::size_t a) { return static_cast<std::int64_t>(in[i]->v[a]); };
    if (n.op == "Conv") return windows(n, x, in[1], in.size() > 2 ? in[2] : nullptr);
    if (n.op == "MaxPool") return windows(n, x, nullptr, nullptr);
    if (n.op == "Add") return combined(x, *in[1], [](double a, double b) { return a + b; });
    if (n.op == "Mul") return combined(x, *in[1], [](double a, double b) { return a * b; });
    if (n.op == "Div") return combined(x, *in[1], [](double a, double b) { return a / b; });
    if (n.op == "Relu") return mapped(x, [](double a) { return std::max(a, 0.0); });
    if (n.op == "Erf") return mapped(x, [](double a) { return std::erf(a); });
    if (n.op == "Tanh") return mapped(x, [](double a) { return std::tanh(a); });
    if (n.op == "Clip") {
        auto out = x;
        for (auto& v : out.v) v = std::clamp(v, in[1]->v[0], in[2]->v[0]);
        return out;
    }
    if (n.op == "MatMul") return product_of(x, *in[1]);
    if (n.op == "Gemm") {
        REQUIRE(n.attributes.at("transB") == onnx_dims{1});
        const auto out = product_of(x, transposed(*in[1], {1, 0}));
        return in.size() < 3 ? out : combined(out, *in[2], [](double a, double b) { return a + b; });
    }
    if (n.op == "Transpose") return transposed(x, n.attributes.at("perm"));
    if (n.op == "GlobalAveragePool") {
        onnx_array out{{x.dims[0], x.dims[1], 1, 1}, {}};
        const auto pixels = x.dims[2] * x.dims[3];
        for (auto at = x.v.begin(); at != x.v.end(); at += pixels)
            out.v.push_back(std::accumulate(at, at + pixels, 0.0) / static_cast<double>(pixels));
        return out;
    }
    if (n.op == "Reshape") {
        onnx_array out{{}, x.v};
        for (const auto d : in[1]->v) out.dims.push_back(static_cast<std::int64_t>(d));
        REQUIRE(product(out.dims) == static_cast<std::int64_t>(x.v.size()));
        return out;
    }
    if (n.op == "Concat") { // blocks of one index of the axes before
        const auto axis = static_cast<std::size_t>(n.attributes.at("axis")[0]);
        onnx_array out{x.dims, {}};
        out.dims[axis] = 0;
        for (const auto* i : in) out.dims[axis] += i->dims[axis];
        const auto blocks = product({x.dims.begin(), x.dims.begin() + static_cast<std::ptrdiff_t>(axis)});
        for (std::int64_t b = 0; b < blocks; ++b)
            for (const auto* i : in) {
                const auto size = static_cast<std::int64_t>(i->v.size()) / blocks;
                out.v.insert(out.v.end(), i->v.begin() + b * size, i->v.begin() + (b + 1) * size);
            }
        return out;
    }
    if (n.op == "Slice") {
        onnx_array out{x.dims, {}};
        for (std::size_t a = 0; a < x.dims.size(); ++a) {
            REQUIRE(integer(3, a) == static_cast<std::int64_t>(a));
            const auto begin = integer(1, a), step = integer(4, a), end = std::clamp<std::int64_t>(integer(2, a), -1, x.dims[a]);
            out.dims[a] = (end - begin) / step;
        }
        each(out.dims, [&](onnx_dims at) {
            for (std::size_t a = 0; a < at.size(); ++a) at[a] = integer(1, a) + at[a] * integer(4, a);
            out.v.push_back(element(x, at));
        });
        return out;
    }
    auto out = x; // rows
    const auto width = x.dims.back();
    for (auto at = out.v.begin(); at != out.v.end(); at += width) {
        double sum = 0, squares = 0;
        const auto mean = std::accumulate(at, at + width, 0.0) / static_cast<double>(width), most = *std::max_element(at, at + width);
        for (auto e = at; e != at + width; ++e) {
            sum += std::exp(*e - most);
            squares += (*e - mean) * (*e - mean);
        }
        for (std::int64_t e = 0; e < width; ++e) {
            auto& v = at[e];
            if (n.op == "Softmax") v = std::exp(v - most) / sum;
            else if (n.op == "LayerNormalization")
                v = (v - mean) / std::sqrt(squares / static_cast<double>(width) + 1e-5) * in[1]->v[static_cast<std::size_t>(e)] +
                    in[2]->v[static_cast<std::size_t>(e)];
            else FAIL("operator " << n.op);
        }
    }
    return out;
}

std::vector<double> floats_of(std::string_view bytes) {
    std::vector<double> out;
    for (float f = 0; bytes.size() >= sizeof f; bytes.remove_prefix(sizeof f)) {
        std::memcpy(&f, bytes.data(), sizeof f);
        out.push_back(static_cast<double>(f));
    }
    return out;
}
/// The outputs, one behind the other.
std::vector<double> outputs_of(const onnx_graph& g, std::span<const double> inputs) {
    auto values = g.constants;
    for (const auto& [name, dims] : g.inputs) {
        const auto n = static_cast<std::size_t>(product(dims));
        REQUIRE(n <= inputs.size());
        values[name] = {dims, {inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(n)}};
        inputs = inputs.subspan(n);
    }
    for (const auto& n : g.nodes) {
        std::vector<const onnx_array*> in;
        for (const auto& i : n.inputs) in.push_back(&values.at(i));
        REQUIRE(values.count(n.outputs.at(0)) == 0);
        auto made = computed(n, in);
        REQUIRE(product(made.dims) == static_cast<std::int64_t>(made.v.size()));
        values[n.outputs.at(0)] = std::move(made);
    }
    std::vector<double> out;
    for (const auto& [name, dims] : g.outputs) {
        REQUIRE(values.at(name).dims == dims);
        out.insert(out.end(), values.at(name).v.begin(), values.at(name).v.end());
    }
    return out;
}

augur::network_graph onnx_test_graph(std::vector<augur::network_node> nodes, std::vector<std::size_t> outputs) {
    auto g = augur::network_graph::create("test", std::move(nodes), std::move(outputs));
    if (!g) FAIL(g.error().detail);
    return *g;
}
augur::network_node onnx_test_call(std::string name, std::string_view text, std::vector<std::size_t> inputs) {
    const auto k = augur::kernel::parse(text);
    if (!k) FAIL(k.error().detail);
    return {std::move(name), augur::kernel_call{*k}, std::move(inputs)};
}

} // namespace

TEST_CASE("network_onnx: a convolution's weights and window, in the order of ONNX") {
    const auto g = onnx_test_graph({{"image", augur::network_input{{1, 5, 4, 2}}, {}},
                                    onnx_test_call("conv", "conv2d:h=5,w=4,c=2,f=3,k=1x2,stride=2x1,pad=0x1x0x0,bias,relu6", {0}),
                                    onnx_test_call("pool", "max_pool2d:h=3,w=4,c=3,k=3,pad=1", {1})},
                                   {2});
    std::vector<float> weight(12); // (1, 2, 2, 3): element (0, j, c, f) is 100 f + 10 c + j
    for (int i = 0; i < 12; ++i) weight[static_cast<std::size_t>(i)] = static_cast<float>(100 * (i % 3) + 10 * (i / 3 % 2) + i / 6);
    const std::vector<std::vector<float>> constants{weight, {0.5F, -1, 2}};
    const auto model = examples::write_onnx(g, constants);
    REQUIRE(model);
    const auto read = onnx_graph_of(model->bytes);
    CHECK(read.inputs == std::vector{std::pair{std::string("image"), onnx_dims{1, 2, 5, 4}}});
    CHECK(model->inputs.at(0).channels_first);
    CHECK(read.outputs.at(0).second == onnx_dims{1, 3, 4, 3});
    std::vector<std::string> ops;
    for (const auto& n : read.nodes) ops.push_back(n.op);
    CHECK(ops == std::vector<std::string>{"Conv", "Clip", "MaxPool", "Transpose"});
    const auto& conv = read.nodes.at(0);
    CHECK(conv.attributes == std::map<std::string, onnx_dims>{
                                 {"kernel_shape", {1, 2}}, {"strides", {2, 1}}, {"pads", {0, 1, 0, 0}}, {"dilations", {1, 1}}, {"group", {1}}});
    CHECK(read.constants.at(conv.inputs.at(1)).dims == onnx_dims{3, 2, 1, 2});
    CHECK(read.constants.at(conv.inputs.at(1)).v == std::vector<double>{0, 1, 10, 11, 100, 101, 110, 111, 200, 201, 210, 211});
    CHECK(read.constants.at(conv.inputs.at(2)).v == std::vector<double>{0.5, -1, 2});
    const auto out = outputs_of(read, std::vector<double>(40, 0.0));
    CHECK(std::vector<double>(out.begin(), out.begin() + 3) == std::vector<double>{0.5, 0, 2}); // bias, clipped
}

TEST_CASE("network_onnx: strided copies as slices") {
    const auto run = [](augur::strided_copy c) {
        const auto g = onnx_test_graph({{"x", augur::network_input{{4, 6}}, {}},
                                        {"copy", c, {0}},
                                        {"row", augur::reshape{{1, augur::elements_of(c.shape)}}, {1}},
                                        onnx_test_call("soft", "softmax:m=1,n=" + std::to_string(augur::elements_of(c.shape)), {2})},
                                       {3});
        const auto model = examples::write_onnx(g, {});
        std::vector<double> want, got, input(24);
        std::iota(input.begin(), input.end(), 0.0);
        if (!model) return model.error().code == augur::errc::unsupported;
        each(c.shape, [&](const onnx_dims& at) {
            want.push_back(static_cast<double>(std::inner_product(at.begin(), at.end(), c.strides.begin(), c.offset)));
        });
        got = outputs_of(onnx_graph_of(model->bytes), input);
        double sum = 0;
        for (auto& w : want) sum += std::exp(w);
        REQUIRE(got.size() == want.size());
        for (std::size_t i = 0; i < want.size(); ++i) CHECK(got[i] == doctest::Approx(std::exp(want[i]) / sum));
        return false;
    };
    CHECK_FALSE(run({{2, 4, 3}, {3, 6, 1}, 0}));   // heads
    CHECK_FALSE(run({{6, 4}, {1, 6}, 0}));         // a transposition
    CHECK_FALSE(run({{1, 6}, {6, 1}, 12}));        // a row
    CHECK_FALSE(run({{4, 2}, {6, 1}, 3}));         // columns
    CHECK_FALSE(run({{24, 1}, {-1, 1}, 23}));      // backwards
    CHECK_FALSE(run({{2, 2, 1}, {12, -6, 7}, 8})); // every second pair of rows from behind, one column
    CHECK_FALSE(run({{1, 1}, {5, 5}, 17}));
    CHECK(run({{3, 4}, {0, 1}, 0})); // a repetition
    CHECK(run({{5, 4}, {4, 1}, 3})); // windows over the ends of rows
    CHECK(run({{3, 3}, {2, 1}, 0})); // overlapping
}

TEST_CASE("network_onnx: what has no counterpart, and wrong constants") {
    const auto image = augur::network_node{"image", augur::network_input{{1, 8, 8, 4}}, {}};
    const auto refusal = [&](std::string_view kernel, std::vector<std::vector<float>> constants) {
        const auto model = examples::write_onnx(onnx_test_graph({image, onnx_test_call("layer", kernel, {0})}, {1}), constants);
        REQUIRE_FALSE(model);
        CHECK(contains(model.error().detail, "node 'layer'"));
        return model.error().code;
    };
    CHECK(refusal("conv2d_winograd:h=8,w=8,c=4,f=4,pad=1", {std::vector<float>(36 * 16)}) == augur::errc::unsupported);
    CHECK(refusal("conv2d_transpose:h=8,w=8,c=4,f=4,k=3", {std::vector<float>(9 * 16)}) == augur::errc::unsupported);
    CHECK(refusal("avg_pool2d:h=8,w=8,c=4,k=3,dilation=2", {}) == augur::errc::unsupported);
    CHECK(refusal("conv2d:h=8,w=8,c=4,f=4,k=3", {}) == augur::errc::invalid_argument);
    CHECK(refusal("conv2d:h=8,w=8,c=4,f=4,k=3", {std::vector<float>(9 * 16 - 1)}) == augur::errc::invalid_argument);
    const std::vector<std::vector<float>> more{std::vector<float>(1)};
    CHECK_FALSE(examples::write_onnx(onnx_test_graph({image, onnx_test_call("layer", "max_pool2d:h=8,w=8,c=4,k=2", {0})}, {1}), more));
}

TEST_CASE("network_onnx: another implementation gets what the naive nests gave") {
    const scratch folder("onnx-test");
    for (const std::string network : {"gpt2:tokens=2,past=3", "mobilenet_v2"}) {
        CAPTURE(network);
        const int code = wait_for(start(folder, AUGUR_NETWORK_ONNX_PROGRAM, {"--network", network, "--out", folder / "model"}));
        CAPTURE(contents(folder / "err"));
        REQUIRE(code == 0);
        const auto model = contents(folder / "model/model.onnx");
        const auto got = outputs_of(onnx_graph_of(model), floats_of(contents(folder / "model/inputs.f32")));
        const auto want = floats_of(contents(folder / "model/outputs.f32"));
        REQUIRE(got.size() == want.size());
        double error = 0, largest = 0;
        for (std::size_t i = 0; i < want.size(); ++i) {
            error = std::max(error, std::abs(got[i] - want[i]));
            largest = std::max(largest, std::abs(want[i]));
        }
        CHECK(largest > 0.1);
        CHECK(error < 2e-5 * largest);
    }
    check_refusals(folder, AUGUR_NETWORK_ONNX_PROGRAM,
                   {{{}, "give --network and --out"}, {{"--network", "resnet_19", "--out", folder / "none"}, "network 'resnet_19' is unknown"}});
}

TEST_CASE("network_onnx: ONNX Runtime gets what the naive nests gave" MAY_SKIP) {
    const scratch folder("onnx-runtime-test");
    const auto script = std::string(AUGUR_TEST_DIR) + "/../examples/tools/network_onnx/time_onnx.js";
    for (const std::string network : {"gpt2:tokens=2,past=3", "mobilenet_v2"}) {
        CAPTURE(network);
        REQUIRE(wait_for(start(folder, AUGUR_NETWORK_ONNX_PROGRAM, {"--network", network, "--out", folder / "model"})) == 0);
        const int code = wait_for(start(folder, "node", {script, folder / "model", "1", "1", "1"}));
        if (code == 127) SKIP_CASE("no node");
        const auto said = contents(folder / "err");
        if (code == 77) SKIP_CASE(said);
        CAPTURE(said);
        CHECK(code == 0);
        CHECK(contains(contents(folder / "out"), "largest relative error"));
    }
    check_refusals(folder, "node", {{{script}, "usage:"}, {{script, folder / "model", "0"}, "usage:"}});
}

} // namespace network_onnx_test

#endif
