// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TARGET_MACHINE_FILE_HPP
#define AUGUR_TARGET_MACHINE_FILE_HPP

/// @file
/// Reads and writes machine descriptions as JSON files. docs/program.md documents the fields.

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
#include <augur/core/whole_file.hpp>
#include <augur/target/machine_check.hpp>

namespace augur::inline v0 {

inline constexpr std::int64_t machine_file_version = 1;

/// What a machine file must have.
enum class machine_file_form : std::uint8_t {
    whole, ///< every member that a prediction needs, and where its numbers are from
    /// The members that no default can replace: `architecture`, `processors`, `vector_bytes`; of each cache `level`, `bytes`, `line_bytes` and
    /// `sharers`; of units and costs all. `complete_machine` fills what else a prediction needs; of that, 0 or an empty list counts as absent. A
    /// core, cache or memory with a number from there is `default`, whatever its `from` says.
    partial,
};

namespace detail {

inline constexpr std::array<std::string_view, 16> machine_members{"format",       "version",  "name",   "architecture", "features", "processors",
                                                                  "vector_bytes", "clock_hz", "core",   "caches",       "memory",   "units",
                                                                  "costs",        "vendor",   "family", "model"};
inline constexpr std::array<std::string_view, 8> core_members{"issue_width",     "window",          "mispredict", "store_forward",
                                                              "predicted_trips", "parallel_launch", "folds",      "from"};
inline constexpr std::array<std::string_view, 9> cache_members{"level",   "bytes",           "line_bytes", "sharers", "ways",
                                                               "latency", "bytes_per_cycle", "set_cycles", "from"};
inline constexpr std::array<std::string_view, 5> memory_members{"bytes", "latency", "bytes_per_second", "core_bytes_per_second", "from"};
inline constexpr std::array<std::string_view, 2> unit_members{"name", "count"};
inline constexpr std::array<std::string_view, 7> cost_members{"op", "type", "lanes", "latency", "throughput", "unit", "from"};

/// Reads a size in bytes or a count, at most 2^60. check_machine has tighter limits for some fields.
inline bool read_size(json_reader& in, std::int64_t& out) { return read_integer(in, out, 0, std::int64_t{1} << 60U); }

inline void read_core(json_reader& in, machine_file_form form, core_front& core) {
    json_members members(in, core_members);
    for (std::size_t i = 0; members.next(i);) {
        switch (i) {
        case 0: in.read(core.issue_width); break;
        case 1: in.read(core.window); break;
        case 2: in.read(core.mispredict); break;
        case 3: in.read(core.store_forward); break;
        case 4: in.read(core.predicted_trips); break;
        case 5: in.read(core.parallel_launch); break;
        case 6:
            in.begin_array();
            while (in.next_element()) {
                fold_hint f{};
                if (!read_name(in, fold_hint_names, f, "fold hint")) break;
                if (f == fold_hint::none) in.fail(errc::parse, "'none' is not to be listed");
                core.folds |= 1U << static_cast<unsigned>(f);
            }
            break;
        default: read_name(in, provenance_names, core.from, "provenance"); break;
        }
    }
    if (form == machine_file_form::whole) members.need(0b11001111);
}

inline void read_cache(json_reader& in, machine_file_form form, cache_level& c) {
    json_members members(in, cache_members);
    for (std::size_t i = 0; members.next(i);) {
        switch (i) {
        case 0: read_integer(in, c.level, 1, 8); break;
        case 1: read_size(in, c.bytes); break;
        case 2: read_size(in, c.line_bytes); break;
        case 3: read_integer(in, c.sharers, 0, 65536); break;
        case 4: read_size(in, c.ways); break;
        case 5: in.read(c.latency); break;
        case 6: in.read(c.bytes_per_cycle); break;
        case 7: in.read(c.set_cycles); break;
        default: read_name(in, provenance_names, c.from, "provenance"); break;
        }
    }
    members.need(form == machine_file_form::whole ? 0b100111111 : 0b1111);
}

inline void read_memory(json_reader& in, machine_file_form form, main_memory& m) {
    json_members members(in, memory_members);
    for (std::size_t i = 0; members.next(i);) {
        switch (i) {
        case 0: read_size(in, m.bytes); break;
        case 1: in.read(m.latency); break;
        case 2: in.read(m.bytes_per_second); break;
        case 3: in.read(m.core_bytes_per_second); break;
        default: read_name(in, provenance_names, m.from, "provenance"); break;
        }
    }
    if (form == machine_file_form::whole) members.need(0b10010);
}

inline void read_unit(json_reader& in, execution_unit& u) {
    json_members members(in, unit_members);
    for (std::size_t i = 0; members.next(i);) {
        if (i == 0) in.read(u.name);
        else read_integer(in, u.count, 0, 1000);
    }
    members.need(0b11);
}

inline void read_cost(json_reader& in, const std::vector<execution_unit>& units, instruction_cost& c) {
    json_members members(in, cost_members);
    for (std::size_t i = 0; members.next(i);) {
        std::string_view text;
        switch (i) {
        case 0: read_name(in, instruction_class_names, c.op, "instruction class"); break;
        case 1: read_name(in, element_type_names, c.type, "element type"); break;
        case 2: read_size(in, c.lanes); break;
        case 3: in.read(c.latency); break;
        case 4: in.read(c.throughput); break;
        case 5:
            if (!in.read(text)) break;
            for (c.unit = 0; c.unit < units.size() && units[c.unit].name != text;) ++c.unit;
            if (c.unit == units.size())
                in.fail(errc::parse, "'" + std::string(text.substr(0, 40)) + "' is none of \"units\", which must stand before \"costs\"");
            break;
        default: read_name(in, provenance_names, c.from, "provenance"); break;
        }
    }
    members.need(0b1111111);
}

/// Reads a list of at most 4096 objects.
template <class T, class Read>
void read_objects(json_reader& in, std::vector<T>& out, Read read) {
    in.begin_array();
    while (in.next_element()) {
        if (out.size() == 4096) in.fail(errc::limit, "expected a list of at most 4096 objects");
        read(out.emplace_back());
    }
}

/// `complete_machine`, where a core, cache or memory with a number from there is `default`.
inline machine completed(const machine& m) {
    auto out = complete_machine(m);
    const auto mark = [](auto& part, const auto& given) {
        if (part != given) part.from = provenance::defaulted;
    };
    mark(out.core, m.core);
    mark(out.memory, m.memory);
    for (std::size_t i = 0; i < m.caches.size(); ++i) mark(out.caches[i], m.caches[i]);
    return out;
}

} // namespace detail

/// Parses the text of a machine file strictly: an unknown, missing or duplicate field, or a value that check_machine rejects, is an error that names
/// the field; a value of another type is an error as well.
/// @param form  what may be missing; `partial` fills it with textbook values
/// @note errors: parse, version_mismatch, invalid_argument, limit
[[nodiscard]] inline result<machine> machine_from_json(std::string_view text, machine_file_form form = machine_file_form::whole) {
    json_reader in(text, {std::size_t{4} << 20U, 4096, 8});
    machine m;
    detail::json_members members(in, detail::machine_members);
    if (members.header("augur-machine", machine_file_version)) {
        for (std::size_t i = 0; members.next(i);) {
            switch (i) {
            case 2: in.read(m.cpu_name); break;
            case 3: in.read(m.architecture); break;
            case 4:
                in.begin_array();
                while (in.next_element()) in.read(m.features.emplace_back());
                std::sort(m.features.begin(), m.features.end());
                break;
            case 5: detail::read_integer(in, m.processors, 0, 1 << 20); break;
            case 6: detail::read_size(in, m.vector_bytes); break;
            case 7: in.read(m.clock_hz); break;
            case 8: detail::read_core(in, form, m.core); break;
            case 9: detail::read_objects(in, m.caches, [&](cache_level& c) { detail::read_cache(in, form, c); }); break;
            case 10: detail::read_memory(in, form, m.memory); break;
            case 11: detail::read_objects(in, m.units, [&](execution_unit& u) { detail::read_unit(in, u); }); break;
            case 12: detail::read_objects(in, m.costs, [&](instruction_cost& c) { detail::read_cost(in, m.units, c); }); break;
            case 13: in.read(m.vendor); break;
            case 14: in.read(m.family); break;
            default: in.read(m.model); break;
            }
        }
        members.need(form == machine_file_form::whole ? 0b0011111101111 : 0b1101011);
    }
    if (!in.finish()) return error{in.error().code, "machine file: " + in.error().detail};
    if (form == machine_file_form::partial) m = detail::completed(m);
    if (auto fits = check_machine(m); !fits) return fits.error();
    return m;
}

/// Returns the text of a machine file, with one line for each cache level and each cost. `machine_from_json` returns the same machine if it passes
/// `check_machine`; one of `detect_machine` does not before `complete_machine` has filled it.   pre: each cost has a unit of the machine
[[nodiscard]] inline std::string machine_to_json(const machine& m) {
    std::string out = "{";
    const auto line = [&](const char* indent, auto&& write) { // json_writer writes no line breaks
        out += indent;
        json_writer w(out);
        write(w);
    };
    const auto list = [&](const char* key, const auto& rows, auto&& write) {
        line(",\n ", [&](json_writer& w) { w.key(key).begin_array(); });
        for (std::size_t i = 0; i < rows.size(); ++i)
            line(i == 0 ? "\n  " : ",\n  ", [&](json_writer& w) {
                w.begin_object();
                write(w, rows[i]);
                w.end_object();
            });
        out += "]";
    };
    line("", [&](json_writer& w) { w.key("format").value("augur-machine").key("version").value(machine_file_version); });
    line(",\n ", [&](json_writer& w) { w.key("name").value(m.cpu_name).key("architecture").value(m.architecture); });
    const auto optional = [&](const char* key, const std::string& value) {
        if (!value.empty()) line(",\n ", [&](json_writer& w) { w.key(key).value(value); });
    };
    optional("vendor", m.vendor);
    optional("family", m.family);
    optional("model", m.model);
    line(",\n ", [&](json_writer& w) {
        w.key("features").begin_array();
        for (const auto& f : m.features) w.value(f);
        w.end_array();
    });
    line(",\n ", [&](json_writer& w) {
        w.key("processors").value(m.processors).key("vector_bytes").value(m.vector_bytes).key("clock_hz").value(m.clock_hz);
    });
    line(",\n ", [&](json_writer& w) {
        const auto& c = m.core;
        w.key("core").begin_object().key("issue_width").value(c.issue_width).key("window").value(c.window).key("mispredict").value(c.mispredict);
        w.key("store_forward").value(c.store_forward).key("predicted_trips").value(c.predicted_trips).key("parallel_launch").value(c.parallel_launch);
        w.key("folds").begin_array();
        for (std::size_t i = 1; i < fold_hints; ++i)
            if (m.folds(static_cast<fold_hint>(i))) w.value(detail::fold_hint_names[i]);
        w.end_array().key("from").value(to_string(c.from)).end_object();
    });
    list("caches", m.caches, [](json_writer& w, const cache_level& c) {
        w.key("level").value(c.level).key("bytes").value(c.bytes).key("line_bytes").value(c.line_bytes).key("sharers").value(c.sharers);
        w.key("ways")
            .value(c.ways)
            .key("latency")
            .value(c.latency)
            .key("bytes_per_cycle")
            .value(c.bytes_per_cycle)
            .key("set_cycles")
            .value(c.set_cycles)
            .key("from")
            .value(to_string(c.from));
    });
    line(",\n ", [&](json_writer& w) {
        const auto& k = m.memory;
        w.key("memory").begin_object().key("bytes").value(k.bytes).key("latency").value(k.latency).key("bytes_per_second").value(k.bytes_per_second);
        w.key("core_bytes_per_second").value(k.core_bytes_per_second).key("from").value(to_string(k.from)).end_object();
    });
    list("units", m.units, [](json_writer& w, const execution_unit& u) { w.key("name").value(u.name).key("count").value(u.count); });
    list("costs", m.costs, [&](json_writer& w, const instruction_cost& c) {
        AUGUR_ASSERT(c.unit < m.units.size(), "machine_to_json: unit");
        w.key("op").value(to_string(c.op)).key("type").value(to_string(c.type)).key("lanes").value(c.lanes).key("latency").value(c.latency);
        w.key("throughput").value(c.throughput).key("unit").value(m.units[c.unit].name).key("from").value(to_string(c.from));
    });
    out += "}\n";
    return out;
}

/// Reads a machine file of at most 4 MiB.
/// @note errors: io (no regular file, ...), limit, and those of machine_from_json, each with the path in front
[[nodiscard]] inline result<machine> read_machine(const std::string& path, machine_file_form form = machine_file_form::whole) {
    const auto text = read_whole_file(path, std::size_t{4} << 20U);
    if (!text) return text.error();
    auto m = machine_from_json(*text, form);
    if (!m) return error{m.error().code, path + ": " + m.error().detail};
    return m;
}

} // namespace augur::inline v0

#endif
