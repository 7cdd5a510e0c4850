// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_LLVM_PROGRAM_HPP
#define AUGUR_TESTS_LLVM_PROGRAM_HPP

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/llvm/features_of_ir.hpp>

#include <doctest/doctest.h>

inline std::string ir_file(const std::string& name) { return std::string(AUGUR_TEST_DIR "/llvm/data/") + name; }

inline augur::program_features features_of(const std::string& name, const augur::ir_options& o) {
    auto made = augur::features_of_ir_file(ir_file(name), o);
    INFO(name << ": " << (made ? "" : made.error().detail));
    REQUIRE(made);
    return *made;
}
inline const augur::function_features& function_named(const augur::program_features& p, std::string_view name) {
    const auto f = std::find_if(p.functions.begin(), p.functions.end(), [&](const auto& g) { return g.name == name; });
    REQUIRE_MESSAGE(f != p.functions.end(), name);
    return *f;
}
inline std::uint32_t block_named(const augur::function_features& f, std::string_view name) {
    std::uint32_t b = 0;
    while (b < f.flow.size() && f.flow[b].name != name) ++b;
    REQUIRE_MESSAGE(b < f.flow.size(), name);
    return b;
}
inline const augur::basic_block& block_of(const augur::function_features& f, std::string_view name) { return f.flow[block_named(f, name)]; }

/// A module of the test's own. LLVM 14 has to be told that pointers have no type.
inline std::unique_ptr<::llvm::Module> parse_ir(const std::string& name, ::llvm::LLVMContext& context) {
#if LLVM_VERSION_MAJOR == 14
    context.enableOpaquePointers();
#endif
    ::llvm::SMDiagnostic why;
    return ::llvm::parseIRFile(ir_file(name), why, context);
}

/// (from, to) of a block's edges, sorted.
using edge_list = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
inline edge_list edges_of(const augur::graphlet& g) {
    edge_list list;
    for (std::uint32_t e = 0; e < g.edge_count(); ++e) list.emplace_back(g.edge(e).source, g.edge(e).target);
    std::sort(list.begin(), list.end());
    return list;
}
inline const augur::control_edge& way(const augur::function_features& f, std::string_view from, std::string_view to) {
    const auto p = block_named(f, from), b = block_named(f, to);
    for (std::uint32_t e = 0; e < f.flow.edge_count(); ++e)
        if (f.flow.edge(e).source == p && f.flow.edge(e).target == b) return f.flow[f.flow.edge(e)];
    FAIL("no way from " << from << " to " << to);
    return f.flow[f.flow.edge(0)];
}
inline edge_list carried_by(const augur::control_edge& e) {
    edge_list list;
    for (const auto& d : e.carried) list.emplace_back(d.from, d.to);
    return list;
}
/// "fadd f32 8 multiply_add"
inline std::string text_of(const augur::instruction& i) {
    std::string text = std::string(to_string(i.op)) + " " + std::string(to_string(i.type)) + " " + std::to_string(i.lanes);
    return i.fold == augur::fold_hint::none ? text : text + " " + std::string(to_string(i.fold));
}
inline std::vector<std::string> code_of(const augur::basic_block& b) {
    std::vector<std::string> list;
    for (const auto& i : b.code.values()) list.push_back(text_of(i));
    return list;
}
/// The profile of a trace by the stream that has its own tests.
inline augur::reuse_profile profile_of(std::span<const std::uint64_t> lines) {
    augur::reuse_stream stream;
    augur::reuse_profile profile(64);
    stream.feed(lines, profile);
    return profile;
}
/// What the second of two equal runs sees.
inline augur::reuse_profile warm_profile_of(std::span<const std::uint64_t> lines) {
    augur::reuse_stream stream;
    augur::reuse_profile first(64), second(64);
    stream.feed(lines, first);
    stream.feed(lines, second);
    return second;
}

#endif
