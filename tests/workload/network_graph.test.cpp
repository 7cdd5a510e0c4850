// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/workload/network_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <augur/workload/networks.hpp>

#include <doctest/doctest.h>

using namespace augur;

namespace {

using nodes = std::vector<network_node>;
using sizes = std::vector<std::size_t>;

network_node call(std::string name, std::string_view text, sizes inputs) {
    const auto k = kernel::parse(text);
    REQUIRE(k);
    return {std::move(name), kernel_call{*k}, std::move(inputs)};
}
network_node input(std::string name, std::vector<std::int64_t> shape) { return {std::move(name), network_input{std::move(shape)}, {}}; }

void refused(nodes n, sizes outputs, errc code, std::string_view part) {
    const auto g = network_graph::create("net", std::move(n), std::move(outputs));
    REQUIRE_FALSE(g);
    CAPTURE(g.error().detail);
    CAPTURE(part);
    CHECK(g.error().code == code);
    CHECK(g.error().detail.starts_with("network 'net': "));
    CHECK(g.error().detail.find(part) != std::string::npos);
}

} // namespace

TEST_CASE("network graph: nodes are sorted, shapes follow, uses are known") {
    // Given in the wrong order: the output of the block first.
    const auto g = network_graph::create("net",
                                         {call("second", "conv2d:h=4,w=4,c=2,f=2,k=3,pad=1,add", {2, 1}),
                                          input("x", {1, 4, 4, 2}),
                                          call("first", "conv2d:h=4,w=4,c=2,f=2,k=3,pad=1,relu", {1}),
                                          {"flat", reshape{{1, 32}}, {0}},
                                          call("fc", "dense:m=1,n=3,k=32,bias", {3})},
                                         {4});
    REQUIRE(g);
    const auto at = [&](std::string_view name) {
        std::size_t i = 0;
        while (i < g->nodes().size() && g->nodes()[i].name != name) ++i;
        return i;
    };
    CHECK(at("x") == 0);
    CHECK(at("first") == 1);
    CHECK(at("second") == 2);
    CHECK(g->nodes()[2].inputs == sizes{1, 0});
    CHECK(g->shape_of(at("flat")) == std::vector<std::int64_t>{1, 32});
    CHECK(g->shape_of(at("fc")) == std::vector<std::int64_t>{1, 3});
    CHECK(g->buffer_of(at("flat")) == at("second"));
    CHECK(g->last_use(at("x")) == at("second")); // the residual edge
    CHECK(g->last_use(at("second")) == at("fc"));
    CHECK(g->last_use(at("fc")) == at("fc"));
    CHECK(g->is_output(at("fc")));
    CHECK_FALSE(g->is_output(at("first")));
    CHECK(g->kernels().kernels.size() == 3);
    CHECK(g->dot().find("n0 -> n2;") != std::string::npos);
    CHECK(g->dot().find("first conv2d_nhwc_relu 1x4x4x2\", shape=box]") != std::string::npos);
}

TEST_CASE("network graph: slices, permutations and concatenations") {
    const auto g = network_graph::create("net",
                                         {input("x", {2, 3}),
                                          {"turned", strided_copy{{3, 2}, {1, 3}, 0}, {0}},
                                          {"last", strided_copy{{1, 2}, {2, 1}, 4}, {1}},
                                          {"joined", concatenation{0}, {1, 2, 1}},
                                          call("m", "softmax:m=7,n=2", {3})},
                                         {4});
    REQUIRE(g);
    CHECK(g->shape_of(3) == std::vector<std::int64_t>{7, 2});
    refused({input("x", {2, 3}), {"c", strided_copy{{3, 2}, {1, 3}, 1}, {0}}, call("m", "softmax:m=3,n=2", {1})}, {2}, errc::shape_mismatch,
            "node 'c': reads elements 1 to 6 of 2x3");
    refused({input("x", {2, 3}), {"c", strided_copy{{3}, {-1}, 1}, {0}}, call("m", "softmax:m=1,n=3", {1})}, {2}, errc::shape_mismatch,
            "elements -1 to 1");
    refused({input("x", {2, 3}), {"c", strided_copy{{3, 2}, {1}, 0}, {0}}, call("m", "softmax:m=3,n=2", {1})}, {2}, errc::shape_mismatch,
            "one stride");
    refused({input("x", {2, 3}), input("y", {2, 4}), {"c", concatenation{0}, {0, 1}}, call("m", "softmax:m=4,n=3", {2})}, {3}, errc::shape_mismatch,
            "a concatenation of 2x3 and 2x4 along axis 0");
    refused({input("x", {2, 3}), {"c", concatenation{2}, {0}}, call("m", "softmax:m=4,n=3", {1})}, {2}, errc::shape_mismatch, "axis 2 of 2x3");
    refused({input("x", {2, 3}), {"c", concatenation{0}, {}}, call("m", "softmax:m=2,n=3", {0})}, {2}, errc::invalid_argument,
            "expected inputs, got none");
}

TEST_CASE("network graph: what is wrong is named") {
    const auto x = input("x", {2, 3});
    const auto soft = [](std::string name, std::size_t from) { return call(std::move(name), "softmax:m=2,n=3", {from}); };
    refused({}, {0}, errc::invalid_argument, "expected at least one kernel, got none");
    refused({x}, {0}, errc::invalid_argument, "expected at least one kernel, got none");
    refused({x, soft("a", 0)}, {}, errc::invalid_argument, "expected at least one output, got none");
    refused({x, soft("a", 5)}, {1}, errc::invalid_argument, "node 'a': its producer 5 is missing");
    refused({x, soft("a", 2), soft("b", 1)}, {2}, errc::invalid_argument, "node 'a' is part of a cycle, or behind one");
    refused({x, soft("a", 1)}, {1}, errc::invalid_argument, "cycle");
    refused({x, soft("x", 0)}, {1}, errc::invalid_argument, "got 'x'");
    refused({x, soft("", 0)}, {1}, errc::invalid_argument, "got ''");
    refused({x, soft("a", 0)}, {3}, errc::invalid_argument, "output 3 is missing");
    refused({x, soft("a", 0), soft("b", 0)}, {1}, errc::invalid_argument, "nobody reads node 'b', and it is no output");
    refused({x, input("y", {1}), soft("a", 0)}, {2}, errc::invalid_argument, "nobody reads node 'y'");
    refused({x, soft("a", 0), {"r", reshape{{6}}, {1}}}, {1, 2}, errc::invalid_argument, "output 'r' is given twice");
    refused({x, soft("a", 0)}, {1, 0}, errc::invalid_argument, "output 'x' is an input");
    refused({x, call("a", "softmax:m=2,n=3", {})}, {1}, errc::invalid_argument, "node 'a': expected 1 input, got 0");
    refused({x, call("a", "matmul:m=2,n=2,k=3", {0})}, {1}, errc::invalid_argument, "expected 2 inputs, got 1");
    refused({x, call("a", "softmax:m=3,n=2", {0})}, {1}, errc::shape_mismatch, "softmax:m=3,n=2 reads 'data' of 3x2, 'x' is of 2x3");
    refused({x, {"r", reshape{{7}}, {0}}, call("a", "softmax:m=7,n=1", {1})}, {2}, errc::shape_mismatch, "a reshape of 2x3 to 7");
    refused({input("x", {0, 3}), soft("a", 0)}, {1}, errc::shape_mismatch, "extents of at least 1");
    // Products that 64 bits do not hold.
    constexpr auto most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
    refused({input("x", {most, most}), soft("a", 0)}, {1}, errc::limit, "node 'x': expected tensors of at most 2^31 elements");
    refused({x, {"r", reshape{{std::int64_t{1} << 32, std::int64_t{1} << 32, 6}}, {0}}, soft("a", 1)}, {2}, errc::limit, "node 'r'");
    refused({x, {"c", strided_copy{{2, 3}, {most, most}, 0}, {0}}, soft("a", 1)}, {2}, errc::shape_mismatch,
            "strides of at most, the 6 elements of 2x3");
    refused({x, {"c", strided_copy{{2, 3}, {3, least}, 5}, {0}}, soft("a", 1)}, {2}, errc::shape_mismatch, "the 6 elements of 2x3");
    refused({x, {"c", strided_copy{{2, 3}, {3, 1}, most}, {0}}, soft("a", 1)}, {2}, errc::shape_mismatch, "an offset below");
    refused({input("x", {1, std::int64_t{1} << 31}), {"c", concatenation{0}, {0, 0}}, soft("a", 1)}, {2}, errc::limit, "node 'c'");
    CHECK(network_graph::create("one", {x, {"c", strided_copy{{1, 2, 3}, {least, 3, 1}, 0}, {0}}, {"r", reshape{{2, 3}}, {1}}, soft("a", 2)}, {3}));
    const auto one = network_graph::create("one", {x, soft("a", 0)}, {1});
    REQUIRE(one); // a network of one kernel
    CHECK(one->kernels().kernels.size() == 1);
}
