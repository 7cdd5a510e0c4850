// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_FEATURES_JSON_HPP
#define AUGUR_PROGRAM_FEATURES_JSON_HPP

/// @file
/// JSON reader and writer of program features, to move them from the machine that ran a program to the machine that predicts its time. The format is
/// described in docs/program.md.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/json.hpp>
#include <augur/core/json_object.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/program/features.hpp>
#include <augur/program/reuse/profile_json.hpp>

namespace augur::inline v0 {

inline constexpr std::int64_t features_file_version = 1;

namespace detail {

inline constexpr std::array<std::string_view, 6> program_members{"format", "version", "name", "source", "memory", "functions"};
inline constexpr std::array<std::string_view, 7> function_members{"name", "parallel", "count", "launches", "memory", "blocks", "flow"};
inline constexpr std::array<std::string_view, 4> block_members{"name", "count", "code", "edges"};
inline constexpr std::array<std::string_view, 4> flow_members{"from", "to", "count", "carried"};
inline constexpr std::array<std::string_view, 4> memory_features_members{"threads", "own", "shared", "sets"};

/// Reads features and enforces the size limits.
class features_reader {
public:
    features_reader(json_reader& in, const features_limits& limits) : in_(in), limits_(limits) {}

    void program(program_features& p) {
        json_members members(in_, program_members);
        if (!members.header("augur-features", features_file_version)) return;
        for (std::size_t i = 0; members.next(i);) {
            switch (i) {
            case 2: in_.read(p.name); break;
            case 3: in_.read(p.source); break;
            case 4: memory(p.memory); break;
            default:
                in_.begin_array();
                while (in_.next_element() && room(functions_, limits_.functions, "functions")) function(p.functions.emplace_back());
                break;
            }
        }
        members.need(0b100011);
    }

private:
    void function(function_features& f) {
        json_members members(in_, function_members);
        std::vector<basic_block> blocks;
        std::vector<control_flow_graph::new_edge> flow;
        for (std::size_t i = 0; members.next(i);) {
            switch (i) {
            case 0: in_.read(f.name); break;
            case 1: in_.read(f.parallel); break;
            case 2: count(f.count); break;
            case 3: count(f.launches); break;
            case 4: memory(f.memory); break;
            case 5:
                in_.begin_array();
                while (in_.next_element()) {
                    if (blocks.size() == limits_.blocks)
                        in_.fail(errc::limit, "more than " + std::to_string(limits_.blocks) + " blocks in a function");
                    else block(blocks.emplace_back());
                }
                break;
            default:
                in_.begin_array();
                while (in_.next_element() && room(edges_, limits_.edges, "edges")) flow_edge(flow.emplace_back());
                break;
            }
        }
        if (!members.need(0b1100101)) return;
        for (const auto& e : flow)
            if (e.source >= blocks.size() || e.target >= blocks.size()) in_.fail(errc::invalid_argument, "an edge without its block");
        if (in_.ok()) f.flow = control_flow_graph(std::move(blocks), std::move(flow));
    }
    void block(basic_block& b) {
        json_members members(in_, block_members);
        std::vector<instruction> code;
        std::vector<graphlet::new_edge> list;
        for (std::size_t i = 0; members.next(i);) {
            switch (i) {
            case 0: in_.read(b.name); break;
            case 1: count(b.count); break;
            case 2:
                in_.begin_array();
                while (in_.next_element() && room(instructions_, limits_.instructions, "instructions")) one_instruction(code.emplace_back());
                break;
            default:
                in_.begin_array();
                while (in_.next_element() && room(edges_, limits_.edges, "edges")) {
                    auto& e = list.emplace_back();
                    pair(e.source, e.target);
                }
                break;
            }
        }
        if (!members.need(0b0110)) return;
        for (const auto& e : list)
            if (e.source >= e.target || e.target >= code.size())
                in_.fail(errc::invalid_argument, "an edge from " + std::to_string(e.source) + " to " + std::to_string(e.target) +
                                                     ", expected one to a later instruction of " + std::to_string(code.size()));
        if (in_.ok()) b.code = graphlet(std::move(code), std::move(list));
    }
    /// ["fma", "f32", 16] or ["load", "f32", 16, "operand"]
    void one_instruction(instruction& i) {
        in_.begin_array();
        need_element(in_) && read_name(in_, instruction_class_names, i.op, "instruction class") && need_element(in_) &&
            read_name(in_, element_type_names, i.type, "element type") && need_element(in_) && read_integer(in_, i.lanes, 1, 65536);
        if (in_.next_element() && read_name(in_, fold_hint_names, i.fold, "fold hint")) end_elements(in_);
    }
    void flow_edge(control_flow_graph::new_edge& e) {
        json_members members(in_, flow_members);
        for (std::size_t i = 0; members.next(i);) {
            switch (i) {
            case 0: read_integer(in_, e.source, 0, 0x7FFFFFFF); break;
            case 1: read_integer(in_, e.target, 0, 0x7FFFFFFF); break;
            case 2: count(e.label.count); break;
            default:
                in_.begin_array();
                while (in_.next_element() && room(edges_, limits_.edges, "edges")) {
                    auto& d = e.label.carried.emplace_back();
                    pair(d.from, d.to);
                }
                break;
            }
        }
        members.need(0b0111);
    }
    void memory(std::vector<memory_features>& list) {
        in_.begin_array();
        while (in_.next_element()) {
            if (list.size() == 64) {
                in_.fail(errc::limit, "more than 64 profiles of memory");
                return;
            }
            if (!room(profiles_, limits_.profiles / 2, "pairs of profiles of reuse")) return;
            auto& m = list.emplace_back();
            bool has_shared = false;
            json_members members(in_, memory_features_members);
            for (std::size_t i = 0; members.next(i);) {
                switch (i) {
                case 0: read_integer(in_, m.threads, 1, 1 << 20); break;
                case 1: read_json(in_, m.own); break;
                case 2: has_shared = read_json(in_, m.shared); break;
                default:
                    in_.begin_array();
                    while (in_.next_element()) {
                        if (m.sets.size() == 16) in_.fail(errc::limit, "more than 16 set profiles");
                        else if (room(sets_, limits_.profiles, "set profiles")) read_json(in_, m.sets.emplace_back());
                    }
                    break;
                }
            }
            members.need(0b0011);
            if (!has_shared) m.shared = m.own;
        }
    }

    bool count(std::uint64_t& out) { return read_integer(in_, out, 0, static_cast<std::int64_t>(limits_.count)); }
    void pair(std::uint32_t& first, std::uint32_t& second) {
        in_.begin_array();
        need_element(in_) && read_integer(in_, first, 0, 0x7FFFFFFF) && need_element(in_) && read_integer(in_, second, 0, 0x7FFFFFFF) &&
            end_elements(in_);
    }
    bool room(std::size_t& used, std::size_t most, const char* items) {
        if (used++ < most) return true;
        return in_.fail(errc::limit, "more than " + std::to_string(most) + " " + items);
    }

    json_reader& in_;
    const features_limits& limits_;
    std::size_t functions_ = 0, instructions_ = 0, edges_ = 0, profiles_ = 0, sets_ = 0;
};

inline void write_memory(json_writer& w, const std::vector<memory_features>& list) {
    w.key("memory").begin_array();
    for (const auto& m : list) {
        w.begin_object().key("threads").value(m.threads).key("own");
        write_json(w, m.own);
        if (!(m.shared == m.own)) write_json(w.key("shared"), m.shared);
        if (!m.sets.empty()) {
            w.key("sets").begin_array();
            for (const auto& s : m.sets) write_json(w, s);
            w.end_array();
        }
        w.end_object();
    }
    w.end_array();
}

inline void write_block(json_writer& w, const basic_block& b) {
    w.begin_object().key("name").value(b.name).key("count").value(b.count).key("code").begin_array();
    for (const auto& i : b.code.values()) {
        w.begin_array().value(to_string(i.op)).value(to_string(i.type)).value(i.lanes);
        if (i.fold != fold_hint::none) w.value(to_string(i.fold));
        w.end_array();
    }
    w.end_array().key("edges").begin_array();
    for (std::uint32_t i = 0; i < b.code.edge_count(); ++i) w.begin_array().value(b.code.edge(i).source).value(b.code.edge(i).target).end_array();
    w.end_array().end_object();
}

inline void write_function(json_writer& w, const function_features& f) {
    w.begin_object().key("name").value(f.name).key("parallel").value(f.parallel).key("count").value(f.count).key("launches").value(f.launches);
    write_memory(w, f.memory);
    w.key("blocks").begin_array();
    for (const auto& b : f.flow.values()) write_block(w, b);
    w.end_array().key("flow").begin_array();
    for (std::uint32_t i = 0; i < f.flow.edge_count(); ++i) {
        const auto e = f.flow.edge(i);
        w.begin_object().key("from").value(e.source).key("to").value(e.target).key("count").value(f.flow[e].count).key("carried").begin_array();
        for (const auto& d : f.flow[e].carried) w.begin_array().value(d.from).value(d.to).end_array();
        w.end_array().end_object();
    }
    w.end_array().end_object();
}

} // namespace detail

/// The JSON text of features; `features_from_json` restores equal features. pre: check_features(p)
[[nodiscard]] inline std::string features_to_json(const program_features& p) {
    std::string out;
    json_writer w(out);
    w.begin_object().key("format").value("augur-features").key("version").value(features_file_version);
    w.key("name").value(p.name).key("source").value(p.source);
    detail::write_memory(w, p.memory);
    w.key("functions").begin_array();
    for (const auto& f : p.functions) detail::write_function(w, f);
    w.end_array().end_object();
    out += '\n';
    return out;
}

/// Reads features, strictly: unknown, missing or repeated members, exceeded limits and inconsistent values are errors that name the place in the
/// text.
/// @note errors: parse, version_mismatch, invalid_argument, limit, unsupported (a line size other than 64 or 128 bytes)
[[nodiscard]] inline result<program_features> features_from_json(std::string_view text, const features_limits& limits = {}) {
    json_reader in(text, {std::size_t{256} << 20U, 65536, 12});
    program_features p;
    detail::features_reader(in, limits).program(p);
    if (!in.finish()) return error{in.error().code, "features: " + in.error().detail};
    if (auto fits = check_features(p); !fits) return error{fits.error().code, "features: " + fits.error().detail};
    return p;
}

} // namespace augur::inline v0

#endif
