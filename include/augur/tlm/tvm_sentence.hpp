// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_TVM_SENTENCE_HPP
#define AUGUR_TLM_TVM_SENTENCE_HPP

/// @file
/// The sentences of the authors' programs for TVM (Zhai et al. 2024, figure 6), from records and back: Ansor's with their steps PPT, SPC, CLS, PRS and
/// VECS (tlm/ansor_marks.hpp inserts them where a record has none), and MetaSchedule's. For their data and their models; sentences of search spaces are
/// in tlm/sentence.hpp.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/core/number.hpp>
#include <augur/core/printable.hpp>
#include <augur/record/ansor_line.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

namespace detail {

/// Calls `f(text)` for each scalar of a JSON value, in order; brackets and keys are dropped. False on an error, which `in` holds.
template <class F>
bool each_scalar(json_reader& in, F& f) {
    std::string_view text;
    switch (in.peek()) {
    case json_kind::array:
        in.begin_array();
        while (in.next_element())
            if (!each_scalar(in, f)) return false;
        return in.ok();
    case json_kind::object:
        in.begin_object();
        while (in.next_member(text))
            if (!each_scalar(in, f)) return false;
        return in.ok();
    case json_kind::string:
        if (!in.read(text)) return false;
        f(text);
        return true;
    default:
        if (!in.raw(text)) return false;
        f(text == "true" ? "True" : text == "false" ? "False" : text == "null" ? "None" : text); // as Python prints them
        return true;
    }
}

inline result<std::vector<std::string>> scalars_of(std::string_view json) {
    std::vector<std::string> out;
    const auto add = [&](std::string_view text) { out.emplace_back(text); };
    json_reader in(json);
    if (!each_scalar(in, add) || !in.finish()) return error{in.error().code, "tlm: " + in.error().detail};
    return out;
}

inline std::string joined(std::span<const std::string> words) {
    std::string out;
    for (const auto& w : words) out.append(out.empty() ? "" : " ").append(w);
    return out;
}

inline constexpr std::array<std::string_view, 21> tlm_step_kinds{"AN",  "FU",  "PR", "RE",  "SP",  "FSP", "FFSP", "SA",  "CA",   "CI", "CR",
                                                                 "CHR", "CHW", "RF", "PPT", "SPC", "SPS", "CLS",  "PRS", "VECS", "TBS"};
inline bool is_step_kind(std::string_view word) { return std::find(tlm_step_kinds.begin(), tlm_step_kinds.end(), word) != tlm_step_kinds.end(); }

/// The SP that an SPC means: the first one of that stage and loop; null if there is none.
template <class Steps>
auto split_of(Steps& steps, std::int64_t stage, std::int64_t iter) -> decltype(std::get_if<split_step>(&steps.front())) {
    for (auto& step : steps)
        if (auto* split = std::get_if<split_step>(&step); split != nullptr && split->stage == stage && split->iter == iter) return split;
    return nullptr;
}

} // namespace detail

/// The steps as the words of a sentence: the kind, then its fields, brackets dropped.
///
/// @param hide_lengths  lengths of SP are written 1, as the authors do: those of SPC count
[[nodiscard]] inline std::string ansor_steps_text(const step_list& steps, bool hide_lengths = true) {
    auto shown = steps;
    for (auto& s : shown.steps)
        if (auto* split = std::get_if<split_step>(&s); split != nullptr && hide_lengths) std::fill(split->lengths.begin(), split->lengths.end(), 1);
    const auto words = detail::scalars_of(to_json(shown));
    return words ? detail::joined(*words) : std::string(); // what the library writes it can read
}

/// The sentence of a record.
///
/// @param dag  names of the operations in order, as TVM's `ComputeDAG.print_min`
/// Errors      parse: the workload key is no JSON
[[nodiscard]] inline result<std::string> ansor_sentence(std::string_view dag, const logged_task& task, const step_list& steps,
                                                        bool hide_lengths = true) {
    std::string out(dag);
    const auto key = detail::scalars_of(task.workload_key);
    if (!key) return error{errc::parse, "tlm: workload key: " + key.error().detail};
    for (const auto& w : *key) (out += ' ') += w;
    (out += ' ') += task.target;
    for (const auto n : task.hardware) (out += ' ') += std::to_string(n);
    ((out += ' ') += task.target_host) += ' ';
    out += std::to_string(task.layout_rewrite);
    for (const auto& name : task.inputs) (out += ' ') += name;
    return (out += ' ') += ansor_steps_text(steps, hide_lengths);
}

/// The steps of a sentence: all words from the first one on that is a kind of step, so no word of the prompt may be one. Without such a word the list is
/// empty, which is no error: check it for text that a model wrote.
/// Errors: parse: too few fields, with the number of the word; a field of another type, with line:column of the steps written as JSON; limit
[[nodiscard]] inline result<step_list> read_ansor_steps(std::string_view sentence) {
    std::vector<std::string_view> words;
    vocabulary::each_word(sentence, [&](std::string_view w) { words.push_back(w); });
    std::size_t at = 0;
    while (at < words.size() && !detail::is_step_kind(words[at])) ++at;
    std::string json;
    json_writer out(json);
    out.begin_array();
    while (at < words.size()) {
        const auto begin = at;
        const std::string_view kind = words[at++];
        const auto wrong = [&](std::string_view expected) {
            return error{errc::parse, "tlm sentence: word " + std::to_string(begin + 1) + ": expected " + std::string(expected) + ", '" +
                                          printable(kind) + "' came"};
        };
        if (!detail::is_step_kind(kind)) return wrong("a kind of step");
        while (at < words.size() && !detail::is_step_kind(words[at])) ++at;
        const auto fields = std::span(words).subspan(begin + 1, at - begin - 1);
        const auto is = [&](auto... names) { return ((kind == std::string_view(names)) || ...); };
        // fields before a list, and behind it; without a list all are before
        const bool has_list = is("SP", "SPC", "SPS", "FU", "RE", "FFSP", "CHR", "CLS", "PRS", "VECS");
        const std::size_t front = is("SP", "SPC", "SPS")     ? 3
                                  : is("FFSP", "CHR")        ? 2
                                  : is("FU", "RE")           ? 1
                                  : is("CLS", "PRS", "VECS") ? 0
                                                             : fields.size();
        const std::size_t back = is("SP", "SPC", "SPS") ? 1 : is("FFSP") ? 2 : 0;
        if (fields.size() < front + back) return wrong("a step with at least " + std::to_string(front + back) + " fields");
        out.begin_array().value(kind);
        const auto put = [&](std::size_t from, std::size_t count) {
            for (const auto w : fields.subspan(from, count)) {
                if (const auto n = detail::integer_of(w)) out.value(*n);
                else out.value(w);
            }
        };
        put(0, front);
        if (has_list) {
            out.begin_array();
            put(front, fields.size() - front - back);
            out.end_array();
            put(fields.size() - back, back);
        }
        out.end_array();
    }
    out.end_array();
    auto steps = parse_steps(json);
    if (!steps) return error{steps.error().code, "tlm sentence: " + steps.error().detail};
    return steps;
}

namespace detail {
/// A mark that says where a phase of Ansor's sketch ends, and is no step.
inline bool is_phase_mark(std::string_view kind) { return kind == "PPT" || kind == "CLS" || kind == "PRS" || kind == "VECS" || kind == "TBS"; }
} // namespace detail

/// The schedule that steps of a sentence mean: the lengths of each SPC go to the first SP of that stage and loop, and the marks of phases are left out.
/// Errors: illegal_schedule: an SPC without such an SP, or with another number of lengths; unsupported: a step that is neither Ansor's nor a mark
[[nodiscard]] inline result<step_list> ansor_schedule(const step_list& sentence) {
    step_list out;
    for (const auto& s : sentence.steps) {
        const auto* mark = std::get_if<foreign_step>(&s);
        if (mark == nullptr) {
            out.steps.push_back(s);
            continue;
        }
        if (mark->kind != "SPC") {
            if (detail::is_phase_mark(mark->kind)) continue;
            return error{errc::unsupported, "tlm sentence: a step of the kind '" + printable(mark->kind) + "'"};
        }
        json_reader in(mark->json);
        std::string_view kind;
        std::int64_t stage = 0, iter = 0, extent = 0;
        std::vector<std::int64_t> lengths;
        const auto number = [&](std::int64_t& to) { return in.next_element() && in.read(to); };
        if (in.begin_array() && in.next_element() && in.read(kind) && number(stage) && number(iter) && number(extent) && in.next_element() &&
            in.begin_array())
            while (in.next_element() && in.read(lengths.emplace_back())) {}
        auto* split = detail::split_of(out.steps, stage, iter);
        if (!in.ok() || split == nullptr || split->lengths.size() != lengths.size())
            return error{errc::illegal_schedule, "tlm sentence: no SP for " + printable(mark->json)};
        split->lengths = std::move(lengths);
    }
    return out;
}

/// The sentence of a line of MetaSchedule's database, `[workload, [[instructions, decisions], run seconds, target, arguments]]`.
///
/// @param name    of the task, without its number
/// @param shapes  of its arguments, as JSON
/// Errors         parse: the line has another form
[[nodiscard]] inline result<std::string> meta_schedule_sentence(std::string_view name, std::string_view shapes, std::string_view target,
                                                                std::string_view record_line) {
    std::string out(name);
    std::replace(out.begin(), out.end(), '_', ' ');
    const auto of_shapes = detail::scalars_of(shapes);
    if (!of_shapes) return of_shapes.error();
    ((out += ' ') += detail::joined(*of_shapes)).append(" ").append(target);
    json_reader in(record_line);
    std::vector<std::string> words, labels;
    const auto collect = [&](std::string_view text) { words.emplace_back(text); };
    const auto say = [&] {
        for (const auto& w : words) (out += ' ') += w;
    };
    std::string decisions; // the real ones
    bool more = in.begin_array() && in.next_element() && in.skip() && in.next_element() && in.begin_array() && in.next_element() &&
                in.begin_array() && in.next_element() && in.begin_array();
    for (bool open = true; more && in.next_element();) {
        words.clear();
        if (!detail::each_scalar(in, collect)) break;
        if (!open) continue; // what stands behind EnterPostproc is not said
        if (words.size() == 4 && words[0] == "Annotate" && words[3] == "meta_schedule.parallel") {
            labels.push_back(detail::joined(words));
            words[2] = "1";
        }
        say();
        open = words.empty() || words[0] != "EnterPostproc";
    }
    more = in.next_element() && in.begin_array();
    while (more && in.next_element()) {
        words.clear();
        if (!detail::each_scalar(in, collect)) break;
        for (const auto& w : words) (decisions += ' ') += w;
        for (std::size_t i = 1; i < words.size(); ++i) words[i] = "1";
        say();
    }
    if (!in.ok()) return error{in.error().code, "tlm: record of MetaSchedule: " + in.error().detail};
    out.append(" PPT").append(decisions);
    for (const auto& l : labels) (out += ' ') += l;
    return out;
}

/// A line of MetaSchedule's database with the decisions and the parallel annotations of a sentence in place of its own.
/// Errors: parse: the line has another form; illegal_schedule: the words behind PPT are not those decisions, with the number of the word
[[nodiscard]] inline result<std::string> with_meta_schedule_decisions(std::string_view record_line, std::string_view sentence) {
    std::vector<std::string_view> words;
    vocabulary::each_word(sentence, [&](std::string_view w) { words.push_back(w); });
    std::size_t at = static_cast<std::size_t>(std::find(words.begin(), words.end(), "PPT") - words.begin()) + 1;
    std::optional<error> failed;
    const auto take = [&](std::string_view expected) -> std::string_view {
        if (failed) return {};
        if (at >= words.size() || (!expected.empty() && words[at] != expected) || (expected.empty() && !detail::integer_of(words[at]))) {
            failed = error{errc::illegal_schedule, "tlm sentence: word " + std::to_string(at + 1) + ": expected " +
                                                       (expected.empty() ? std::string("a number") : "'" + std::string(expected) + "'") + ", " +
                                                       (at < words.size() ? "'" + printable(words[at]) + "' came" : "the sentence ends")};
            return {};
        }
        return words[at++];
    };
    json_reader in(record_line);
    std::vector<std::string> instructions; // as text
    std::vector<std::size_t> parallel;     // among them
    std::string text, front;
    std::string_view raw;
    bool more = in.begin_array() && in.next_element() && in.raw(raw) && in.next_element() && in.begin_array() && in.next_element() &&
                in.begin_array() && in.next_element() && in.begin_array();
    front = std::string(raw);
    for (bool open = true; more && in.next_element() && in.raw(raw);) {
        instructions.emplace_back(raw);
        const auto of = detail::scalars_of(raw);
        if (of && !of->empty() && (*of)[0] == "EnterPostproc") open = false; // a sentence does not say what stands behind it
        if (open && of && of->size() == 4 && (*of)[0] == "Annotate" && (*of)[3] == "meta_schedule.parallel")
            parallel.push_back(instructions.size() - 1);
    }
    more = in.next_element() && in.begin_array();
    std::string decisions;
    json_writer out(decisions);
    out.begin_array();
    while (more && in.next_element()) {
        std::int64_t index = 0;
        if (!in.begin_array() || !in.next_element() || !in.read(index) || !in.next_element()) break;
        out.begin_array().value(index);
        take(std::to_string(index));
        const auto one = [&] { out.value(detail::integer_of(take({})).value_or(0)); };
        if (in.peek() == json_kind::array) {
            in.begin_array();
            out.begin_array();
            while (in.next_element() && in.skip()) one();
            out.end_array();
        } else if (in.skip()) {
            one();
        }
        out.end_array();
        if (in.next_element()) in.fail(errc::parse, "expected an index and its decision");
    }
    out.end_array();
    for (const auto p : parallel) {
        const auto of = detail::scalars_of(instructions[p]);
        take("Annotate");
        take((*of)[1]);
        const auto n = take({});
        take("meta_schedule.parallel");
        instructions[p].clear();
        json_writer annotate(instructions[p]);
        annotate.begin_array().value("Annotate").begin_array().value((*of)[1]).value(detail::integer_of(n).value_or(0)).end_array();
        annotate.begin_array().value("meta_schedule.parallel").end_array().begin_array().end_array().end_array();
    }
    if (at < words.size() && !failed)
        failed =
            error{errc::illegal_schedule, "tlm sentence: word " + std::to_string(at + 1) + ": expected the end, '" + printable(words[at]) + "' came"};
    // the rest of the line, from behind the trace on
    std::string rest;
    if (in.ok() && in.next_element()) in.fail(errc::parse, "expected instructions and decisions alone");
    while (in.ok() && in.next_element() && in.raw(raw)) rest.append(", ").append(raw);
    if (in.ok() && in.next_element()) in.fail(errc::parse, "expected a workload and its record alone");
    if (!in.finish()) return error{in.error().code, "tlm: record of MetaSchedule: " + in.error().detail};
    if (failed) return *failed;
    text = "[" + front + ", [[[";
    for (std::size_t i = 0; i < instructions.size(); ++i) text.append(i == 0 ? "" : ", ").append(instructions[i]);
    return text + "], " + decisions + "]" + rest + "]]";
}

} // namespace augur::inline v0::tlm

#endif
