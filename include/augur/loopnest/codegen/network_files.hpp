// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_CODEGEN_NETWORK_FILES_HPP
#define AUGUR_LOOPNEST_CODEGEN_NETWORK_FILES_HPP

/// @file
/// A network as C that a user takes away: a header, a source file, and a program that times itself. They need a C compiler and nothing of this library.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/hash.hpp>
#include <augur/core/printable.hpp>
#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/codegen/network_program.hpp>
#include <augur/loopnest/detail/network_files_source.hpp>
#include <augur/loopnest/detail/runner_threads_source.hpp>
#include <augur/workload/network_graph.hpp>

namespace augur::inline v0::loopnest {

/// The texts of `net.h`, `net.c` and `main.c`. The C needs POSIX threads; its API is described in the header. It reads the file that `packed_weights`
/// returns, by convention `net.weights`.
struct network_files {
    std::string header, source, main;
};

namespace detail {

/// In the file of weights each constant begins at a multiple of 64 bytes.
inline std::int64_t padded_floats(std::int64_t n) { return (n + 15) / 16 * 16; }
/// How a file of weights begins, in 64 bytes: it is of this program, since another schedule packs in another order.
inline std::string weights_key(const network_program& p) {
    constexpr char digits[] = "0123456789abcdef";
    std::string out = "augur network ";
    auto hash = fnv1a64(p.program.source);
    for (int i = 0; i < 16; ++i, hash >>= 4U) out += digits[hash & 15U];
    return out;
}

} // namespace detail

/// Writes the C of a network.
///
/// @param p      of `write_network`, without timed runs
/// @param build  the compiler's command for the comment in the source, which should name the flags that `p` was measured with
[[nodiscard]] inline network_files write_network_files(const network_graph& g, const network_program& p, std::string_view build) {
    using role = program_buffer::role;
    const auto& buffers = p.program.buffers;
    std::vector<std::int64_t> inputs, outputs;
    std::string places, comment;
    std::int64_t weights = 0, rest = 0; // floats
    std::vector<std::string> at(buffers.size());
    for (const auto c : p.constants) {
        at[c] = std::to_string(weights);
        weights += detail::padded_floats(buffers[c].elements);
    }
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const auto purpose = buffers[i].purpose;
        if (purpose != role::input && purpose != role::output && purpose != role::scratch) continue;
        at[i] = std::to_string(weights + rest);
        rest += detail::padded_floats(buffers[i].elements);
    }
    const auto list = [&](role purpose, auto value) {
        std::string out;
        for (std::size_t i = 0; i < buffers.size(); ++i)
            if (buffers[i].purpose == purpose) out += (out.empty() ? "" : ", ") + value(i);
        return "{" + out + "}";
    };
    const auto floats = [&](std::size_t i) { return std::to_string(buffers[i].elements); };
    const auto number = [](std::size_t i) { return std::to_string(i); };
    for (std::size_t i = 0; i < buffers.size(); ++i)
        if (!at[i].empty()) places += "    n->b[" + number(i) + "] = memory + " + at[i] + ";\n";
    const auto count = [&](role purpose) {
        return std::to_string(std::count_if(buffers.begin(), buffers.end(), [&](const program_buffer& b) { return b.purpose == purpose; }));
    };
    for (std::size_t i = 0; i < g.nodes().size(); ++i)
        if (std::holds_alternative<network_input>(g.nodes()[i].action)) comment += "   input  " + g.describe(i) + "\n";
    for (const auto o : g.outputs()) comment += "   output " + g.describe(o) + "\n";

    network_files out;
    std::string functions;
    for (const auto& f : p.functions) functions += "static " + f + " __attribute__((unused));\n";
    const auto harmless = [](std::string text) { // inside a comment
        std::replace(text.begin(), text.end(), '*', '?');
        return text;
    };
    const auto fill = [&](std::string_view text) {
        std::string filled(text);
        const std::pair<std::string_view, std::string> words[] = {
            {"@name@", harmless(printable(g.name()))},
            {"@tensors@", harmless(comment)},
            {"@build@", harmless(std::string(build))},
            {"@inputs@", count(role::input)},
            {"@outputs@", count(role::output)},
            {"@input_floats@", list(role::input, floats)},
            {"@output_floats@", list(role::output, floats)},
            {"@input_buffers@", list(role::input, number)},
            {"@output_buffers@", list(role::output, number)},
            {"@buffers@", std::to_string(buffers.size())},
            {"@weight_floats@", std::to_string(weights)},
            {"@all_floats@", std::to_string(weights + rest)},
            {"@places@", places},
            {"@entry@", p.program.entry},
            {"@key@", detail::weights_key(p)},
        };
        for (const auto& [word, text_of] : words)
            for (std::size_t place = 0; (place = filled.find(word, place)) != std::string::npos; place += text_of.size())
                filled.replace(place, word.size(), text_of);
        return filled;
    };
    out.header = fill(detail::network_header_source);
    out.main = fill(detail::network_main_source);
    out.source = fill(detail::network_includes_source) + std::string(program_prelude) + detail::runner_threads_source + functions + p.program.source +
                 fill(detail::network_api_source);
    return out;
}

/// The file of weights: 64 bytes that name the program, then the constants as float32 in the machine's byte order, each padded with zeros to a multiple of
/// 64 bytes.
/// @param constants  in the order of `p.constants`
[[nodiscard]] inline std::string packed_weights(const network_program& p, std::span<const std::vector<float>> constants) {
    std::string out = detail::weights_key(p);
    out.resize(64, '\0');
    for (const auto& c : constants) {
        out.append(reinterpret_cast<const char*>(c.data()), c.size() * sizeof(float));
        out.resize((out.size() + 63) / 64 * 64, '\0');
    }
    return out;
}

} // namespace augur::inline v0::loopnest

#endif
