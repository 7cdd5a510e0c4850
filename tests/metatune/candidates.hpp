// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_METATUNE_CANDIDATES_HPP
#define AUGUR_TESTS_METATUNE_CANDIDATES_HPP

// What the tests of graphs share: candidates of AutoTVM's templates, and made-up ones of any shape.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/record/autotvm_line.hpp>
#include <augur/space/autotvm_convolution.hpp>
#include <augur/space/autotvm_nest.hpp>
#include <augur/workload/iterator_features.hpp>

namespace candidates {

struct candidate {
    std::string role; ///< the name of the template
    augur::iterator_features features;
};

inline augur::result<candidate> of(const augur::autotvm_line& line) {
    const auto convolution = augur::parse_autotvm_convolution(augur::autotvm_workload_key(line.name, line.arguments, line.keywords));
    if (!convolution) return convolution.error();
    const auto nest = augur::autotvm_nest::make(*convolution, line.config);
    if (!nest) return nest.error();
    auto features = augur::iterator_features_of(*nest);
    if (!features) return features.error();
    return candidate{line.name, *std::move(features)};
}
inline augur::result<candidate> of(std::string_view name, std::string_view image, std::string_view kernel, std::string_view padding,
                                   std::string_view knobs) {
    const std::string layouts = name.find("x86") != std::string_view::npos ? R"("NCHW", "NCHW", )" : "";
    std::string text = R"({"input": ["llvm", ")";
    text.append(name).append(R"(", [["TENSOR", )").append(image).append(R"(, "float32"], ["TENSOR", )").append(kernel);
    text.append(R"(, "float32"], [1, 1], )").append(padding).append(", [1, 1], ").append(layouts);
    text.append(R"("float32"], {}], "config": {"index": 0, "code_hash": null, "entity": )").append(knobs);
    const auto line = augur::parse_autotvm_line(text + R"(}, "result": [[1.0], 0, 1, 1], "version": 0.2})");
    if (!line) return line.error();
    return of(*line);
}

/// One candidate of each structure that the three templates have.
inline std::vector<candidate> of_all_templates() {
    const std::string_view gpu = R"([["tile_f", "sp", [-1, 2, 8, 4]], ["tile_y", "sp", [-1, 1, 7, 2]], ["tile_x", "sp", [-1, 2, 14, 1]], )"
                                 R"(["tile_rc", "sp", [-1, 4]], ["tile_ry", "sp", [-1, 3]], ["tile_rx", "sp", [-1, 1]]])";
    const std::string cpu = R"([["tile_ic", "sp", [-1, 16]], ["tile_oc", "sp", [-1, 8]], ["tile_ow", "sp", [-1, 14]], )";
    const std::string_view image = "[1, 64, 56, 56]", kernel = "[64, 64, 3, 3]", all = "[1, 1, 1, 1]", none = "[0, 0, 0, 0]";
    std::vector<candidate> list;
    for (auto made : {of("conv2d_nchw.cuda", image, "[128, 64, 3, 3]", all, gpu),
                      of("conv2d_NCHWc.x86", image, kernel, all, cpu + R"(["unroll_kw", "ot", true]])"),
                      of("conv2d_NCHWc.x86", image, kernel, all, cpu + R"(["unroll_kw", "ot", false]])"),
                      of("conv2d_NCHWc.x86", "[1, 64, 58, 58]", kernel, none, cpu + R"(["unroll_kw", "ot", true]])"),
                      of("conv2d_NCHWc.x86", image, "[64, 64, 1, 1]", none, cpu + R"(["tile_oh", "ot", 2]])"),
                      of("depthwise_conv2d_NCHWc.x86", image, "[64, 1, 3, 3]", all, cpu + R"(["unroll_kw", "ot", true]])"),
                      of("depthwise_conv2d_NCHWc.x86", "[1, 64, 58, 58]", "[64, 1, 3, 3]", none, cpu + R"(["unroll_kw", "ot", true]])")})
        if (made) list.push_back(*std::move(made));
    return list;
}

/// A forest of loops with few names, so that many are equal.
inline augur::iterator_features at_random(augur::random_engine& random) {
    augur::iterator_features f;
    constexpr std::array<const char*, 4> axes{"i", "j", "k", ""}, buffers{"A", "B", "B", ""};
    for (std::size_t n = random.below(5); n-- > 0;) f.buffers.emplace_back(buffers[random.below(4)]);
    std::vector<std::uint32_t> by_name(f.buffers.size());
    for (std::uint32_t b = 0; b < by_name.size(); ++b) by_name[b] = b;
    std::sort(by_name.begin(), by_name.end(), [&](auto a, auto b) { return f.buffers[a] != f.buffers[b] ? f.buffers[a] < f.buffers[b] : a < b; });
    for (std::uint32_t n = static_cast<std::uint32_t>(random.below(12)), i = 0; i < n; ++i) {
        auto& loop = f.loops.emplace_back();
        loop.axis = axes[random.below(4)];
        loop.level = static_cast<std::uint32_t>(random.below(2));
        if (i > 0 && random.below(4) != 0) loop.parent = static_cast<std::uint32_t>(random.below(i));
        loop.length = static_cast<std::int64_t>(1 + random.below(100));
        loop.annotation = static_cast<augur::nest_annotation>(random.below(augur::nest_annotations));
        for (const auto b : by_name)
            for (std::uint32_t access = 0; access < 2; ++access)
                if (random.below(2) == 0) loop.touches.push_back({b, access, static_cast<std::int64_t>(random.below(9)), 5, 3, 0, 0});
    }
    return f;
}

/// The loops in words, by a way of their own: role, then of each loop from the outermost axis, level and which of its equals it is.
inline std::vector<std::string> names_of(const augur::iterator_features& f, std::string_view role) {
    std::vector<std::string> names;
    for (const auto& loop : f.loops) {
        const std::string plain = (loop.parent == augur::loop_features::no_parent ? std::string(role) : names[loop.parent]) + " / " + loop.axis +
                                  " " + std::to_string(loop.level) + " ";
        std::size_t number = 0;
        while (std::find(names.begin(), names.end(), plain + std::to_string(number)) != names.end()) ++number;
        names.push_back(plain + std::to_string(number));
    }
    return names;
}

} // namespace candidates

#endif
