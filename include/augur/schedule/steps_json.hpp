// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SCHEDULE_STEPS_JSON_HPP
#define AUGUR_SCHEDULE_STEPS_JSON_HPP

/// @file
/// Reads and writes Ansor's transform steps as JSON, byte for byte as TVM's auto_scheduler: `[["SP", 2, 0, 512, [8, 4], 1], ["CI", 1]]`.
///
/// The reader checks the form: that every field is present, has its type and lies in its range. Whether a step is legal for a workload is checked
/// where the step is applied. A step of an unknown kind is kept unchanged (`foreign_step`) and is written back as it was.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/schedule/detail/raw_json.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0 {

/// Default limit of the number of steps in a list.
inline constexpr std::size_t max_steps = 4096;

namespace detail {

/// Reads the fields of a step. `signed_fields`: numbers may be negative.
struct step_reader {
    json_reader& in;
    std::vector<std::int64_t>& scratch; ///< collects the items of a list, so that the list itself is allocated once
    bool signed_fields;

    bool number(std::int64_t& n) { return in.read(n) && (n >= 0 || signed_fields || in.fail(errc::parse, "expected a number of at least 0")); }

    bool value(std::int64_t& n) { return number(n); }
    bool value(bool& b) {
        std::int64_t n = 0;
        if (!number(n)) return false;
        b = n == 1;
        return n <= 1 || in.fail(errc::parse, "expected 0 or 1");
    }
    bool value(loop_annotation& a) {
        std::int64_t n = 0;
        if (!number(n)) return false;
        if (n > static_cast<std::int64_t>(loop_annotation::tensorize)) return in.fail(errc::parse, "expected an annotation from 0 to 11");
        a = static_cast<loop_annotation>(n);
        return true;
    }
    bool value(std::string& text) { return in.read(text); }
    bool value(std::vector<std::int64_t>& list) {
        scratch.clear();
        if (!in.begin_array()) return false;
        while (in.next_element())
            if (!number(scratch.emplace_back())) return false;
        list.assign(scratch.begin(), scratch.end());
        return in.ok();
    }

    template <class Field>
    bool field(Field& out) {
        return next_element(in) && value(out);
    }
    static bool next_element(json_reader& in) { return in.next_element() || in.fail(errc::parse, "a step ends before its last field"); }
};

inline bool read_step(json_reader& in, transform_step& out, std::vector<std::int64_t>& scratch) {
    std::string_view kind;
    if (!in.begin_array()) return false;
    const std::size_t start = in.offset() - 1; // includes the bracket
    if (!in.next_element()) return in.fail(errc::parse, "expected a step, got an empty array");
    if (!in.read(kind)) return false;
    const bool known = with_step_of_kind(kind, [&]<class Step>(Step step) {
        step_reader reader{in, scratch, has_signed_fields<Step>};
        const bool complete = std::apply([&](auto&... field) { return (reader.field(field) && ...); }, step_fields(step));
        if (complete && !names_a_loop(step)) in.fail(errc::parse, "expected a stage and a loop of at least 0");
        if (complete && in.next_element()) in.fail(errc::parse, "a step has more fields than " + std::string(Step::kind) + " takes");
        if (in.ok()) out.emplace<Step>(std::move(step));
    });
    if (known) return in.ok();
    foreign_step foreign;
    foreign.kind = kind;
    while (in.next_element() && in.skip()) {}
    if (!in.ok()) return false;
    foreign.json = in.since(start);
    to_one_line(foreign.json);
    out.emplace<foreign_step>(std::move(foreign));
    return true;
}

struct step_field_writer {
    json_writer& out;
    void operator()(std::int64_t n) const { out.value(n); }
    void operator()(bool b) const { out.value(b ? 1 : 0); }
    void operator()(loop_annotation a) const { out.value(static_cast<int>(a)); }
    void operator()(const std::string& text) const { out.value(text); }
    void operator()(const std::vector<std::int64_t>& list) const {
        out.begin_array();
        for (const auto n : list) out.value(n);
        out.end_array();
    }
};

} // namespace detail

/// Reads an array of steps from `in`. False on an error, which `in` then holds.
inline bool read_steps(json_reader& in, step_list& out, std::size_t max_count = max_steps) {
    out.steps.clear();
    std::vector<std::int64_t> scratch;
    if (!in.begin_array()) return false;
    while (in.next_element()) {
        if (out.steps.size() == max_count) return in.fail(errc::limit, "more steps than the limit of " + std::to_string(max_count));
        if (!detail::read_step(in, out.steps.emplace_back(), scratch)) return false;
    }
    return in.ok();
}

/// Parses a JSON text as an array of steps. Errors: parse, limit; the message begins with line:column.
[[nodiscard]] inline result<step_list> parse_steps(std::string_view json, json_limits limits = {}, std::size_t max_count = max_steps) {
    json_reader in(json, limits);
    step_list list;
    if (!read_steps(in, list, max_count) || !in.finish()) return in.error();
    return list;
}

/// Writes the array of steps in TVM's format.
inline void write_steps(json_writer& out, const step_list& list) {
    out.begin_array();
    for (const auto& entry : list.steps) {
        visit_step(entry, [&out]<class Step>(const Step& step) {
            if constexpr (std::is_same_v<Step, foreign_step>) {
                out.raw(step.json);
            } else {
                out.begin_array().value(Step::kind);
                std::apply([&](const auto&... field) { (detail::step_field_writer{out}(field), ...); }, step_fields(step));
                out.end_array();
            }
        });
    }
    out.end_array();
}

/// Returns the steps as a JSON text. Two lists are equal if and only if their texts are equal.
[[nodiscard]] inline std::string to_json(const step_list& list) {
    std::string text;
    json_writer out(text);
    write_steps(out, list);
    return text;
}

} // namespace augur::inline v0

#endif
