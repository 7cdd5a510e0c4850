// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figure 2 of MetaTune (Ryu and Sung 2021) for a configuration of an AutoTVM template: its graph, and the same in the super-graph of three templates,
// in the dot language: `metatune_graph > graphs.dot && dot -Tsvg -O graphs.dot`. Ends with 1 where a graph has other nodes and edges than its loops
// ask for.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/metatune.hpp>
#include <augur/record/autotvm_line.hpp>
#include <augur/space/autotvm_convolution.hpp>
#include <augur/space/autotvm_nest.hpp>
#include <augur/workload/iterator_features.hpp>

#include "flags.hpp"

namespace {

namespace metatune = augur::metatune;

struct candidate {
    std::string key; ///< of the workload, as in AutoTVM's logs
    augur::autotvm_config config;
};

augur::autotvm_knob split(std::string name, std::vector<std::int64_t> lengths) {
    return {std::move(name), augur::autotvm_knob_kind::split, {lengths.begin(), lengths.end()}};
}
augur::autotvm_knob option(std::string name, augur::autotvm_value value) {
    return {std::move(name), augur::autotvm_knob_kind::other, {std::move(value)}};
}

/// A configuration of each structure: on x86 the window is unrolled or not, has one element, and the image is padded or not.
std::vector<candidate> of_all_templates() {
    const augur::autotvm_config gpu{{split("tile_f", {-1, 2, 8, 4}), split("tile_y", {-1, 1, 7, 2}), split("tile_x", {-1, 2, 14, 1}),
                                     split("tile_rc", {-1, 4}), split("tile_ry", {-1, 3}), split("tile_rx", {-1, 1})}};
    const auto cpu = [](augur::autotvm_knob last) {
        return augur::autotvm_config{{split("tile_ic", {-1, 16}), split("tile_oc", {-1, 8}), split("tile_ow", {-1, 14}), std::move(last)}};
    };
    const auto key = [](const std::string& name, const std::string& kernel, const std::string& padding) {
        return "[\"" + name + R"(", ["TENSOR", [1, 64, 56, 56], "float32"], ["TENSOR", )" + kernel + R"(, "float32"], [1, 1], )" + padding +
               ", [1, 1]]";
    };
    const std::string conv = "conv2d_NCHWc.x86", pads = "[1, 1, 1, 1]";
    return {{key("conv2d_nchw.cuda", "[128, 64, 3, 3]", pads), gpu},
            {key(conv, "[64, 64, 3, 3]", pads), cpu(option("unroll_kw", "true"))},
            {key(conv, "[64, 64, 3, 3]", pads), cpu(option("unroll_kw", "false"))},
            {key(conv, "[64, 64, 1, 1]", "[0, 0, 0, 0]"), cpu(option("tile_oh", std::int64_t{2}))},
            {key("depthwise_" + conv, "[64, 1, 3, 3]", pads), cpu(option("unroll_kw", "true"))}};
}

struct loops_of_template {
    std::string role;
    augur::iterator_features features;
};
augur::result<loops_of_template> loops_of(const candidate& c) {
    const auto convolution = augur::parse_autotvm_convolution(c.key);
    if (!convolution) return convolution.error();
    const auto nest = augur::autotvm_nest::make(*convolution, c.config);
    if (!nest) return nest.error();
    auto features = augur::iterator_features_of(*nest);
    if (!features) return features.error();
    return loops_of_template{std::string(augur::autotvm_template_names[static_cast<std::size_t>(convolution->form)]), *std::move(features)};
}

std::size_t count(std::string_view text, std::string_view word) {
    std::size_t n = 0;
    for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size())) ++n;
    return n;
}

std::size_t loops_within(const metatune::loop_rows& rows) {
    const auto outermost = std::count(rows.parents.begin(), rows.parents.end(), metatune::loop_rows::no_parent);
    return rows.parents.size() - static_cast<std::size_t>(outermost);
}

/// Prints a graph and counts what it has.   @return  whether those are the nodes and edges of its loops
augur::result<bool> print(const char* what, const metatune::loop_rows& rows, std::span<const std::string> names, bool nested) {
    const auto dot = metatune::to_dot(rows, names, {nested});
    if (!dot) return dot.error();
    std::printf("%s", dot->c_str());
    const std::size_t inner = loops_within(rows);
    const auto absent = static_cast<std::size_t>(std::count(rows.present.begin(), rows.present.end(), 0));
    const std::size_t loops = names.size(), nodes = 1 + count(*dot, "[label=") + count(*dot, "[shape="), edges = count(*dot, " -> ");
    std::fprintf(stderr, "%s: %zu loops, %zu of them null, %ld features each; %zu nodes, %zu edges\n", what, loops, absent,
                 static_cast<long>(rows.features.cols()), nodes, edges);
    return nodes == 1 + 2 * loops && edges == 2 * loops + (nested ? inner : 0) && count(*dot, "dashed") == 2 * absent;
}

augur::result<bool> print_both(const std::string& line, bool nested) {
    const auto made = of_all_templates();
    candidate shown = made.front();
    if (!line.empty()) {
        const auto record = augur::parse_autotvm_line(line);
        if (!record) return record.error();
        shown = {augur::autotvm_workload_key(record->name, record->arguments, record->keywords), record->config};
    }
    const auto loops = loops_of(shown);
    if (!loops) return loops.error();
    metatune::super_graph graph;
    for (const candidate& c : made) {
        const auto other = loops_of(c);
        if (!other) return other.error();
        if (auto added = graph.add(other->features, other->role); !added) return added.error();
    }
    const auto plain = print("graph", metatune::rows_of(loops->features), metatune::loop_names(loops->features), nested);
    if (!plain) return plain;
    const auto placed = graph.place(loops->features, loops->role);
    if (!placed) return placed.error();
    const auto super = print("super-graph", *placed, graph.names(), nested);
    if (!super) return super;
    return *plain && *super && std::count(placed->present.begin(), placed->present.end(), 1) == std::ssize(loops->features.loops);
}

} // namespace

int main(int argc, char** argv) {
    std::string line;
    bool nested = false, help = false;
    examples::flag_set flags;
    flags.add_text("line", "LINE", "a line of an AutoTVM log: the configuration to draw; default: a convolution on a GPU", line);
    flags.add_switch("nested", "also edges between the loops of a nest", nested);
    flags.add_switch("help", "print this", help);
    if (const auto read = flags.parse(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0))); !read) {
        std::fprintf(stderr, "%s\n", read.error().detail.c_str());
        return 2;
    }
    if (help) {
        std::printf("metatune_graph: the graph of a configuration of an AutoTVM template, in the dot language\n\n%s", flags.help().c_str());
        return 0;
    }
    const auto good = print_both(line, nested);
    if (!good) {
        std::fprintf(stderr, "%s\n", to_string(good.error()).c_str());
        return 1;
    }
    return *good ? 0 : 1;
}
