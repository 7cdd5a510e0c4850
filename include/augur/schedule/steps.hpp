// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SCHEDULE_STEPS_HPP
#define AUGUR_SCHEDULE_STEPS_HPP

/// @file
/// The built-in schedule type: a list of Ansor's transform steps (TVM src/auto_scheduler/transform_step.cc), as plain values.
///
/// A step refers to a stage or an iterator by its index at that point of the list: CHW, CHR and RF insert stages; SP, FU, FSP and FFSP change
/// iterators.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/printable.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/schedule/detail/raw_json.hpp>

namespace augur::inline v0 {

/// Loop annotations (TVM's IteratorAnnotation), with the values of the logs.
enum class loop_annotation : std::uint8_t {
    none = 0,
    unroll = 1,
    vectorize = 2,
    parallel = 3,
    vthread = 4,
    block_x = 5,
    thread_x = 6,
    block_y = 7,
    thread_y = 8,
    block_z = 9,
    thread_z = 10,
    tensorize = 11,
};

/// AN: annotate a loop.
struct annotate_step {
    static constexpr std::string_view kind = "AN";
    std::int64_t stage, iter;
    loop_annotation annotation;
    friend bool operator==(const annotate_step&, const annotate_step&) = default;
};
/// FU: fuse consecutive loops into one.
struct fuse_step {
    static constexpr std::string_view kind = "FU";
    std::int64_t stage;
    std::vector<std::int64_t> iters;
    friend bool operator==(const fuse_step&, const fuse_step&) = default;
};
/// PR: a pragma on a loop, `auto_unroll_max_step$N` or `debug_skip_region`.
struct pragma_step {
    static constexpr std::string_view kind = "PR";
    std::int64_t stage, iter;
    std::string text;
    friend bool operator==(const pragma_step&, const pragma_step&) = default;
};
/// RE: reorder all loops of a stage.
struct reorder_step {
    static constexpr std::string_view kind = "RE";
    std::int64_t stage;
    std::vector<std::int64_t> order;
    friend bool operator==(const reorder_step&, const reorder_step&) = default;
};
/// SP: split a loop. `lengths` are the extents of all parts but the outermost (all but the innermost if not inner_to_outer); 0: not chosen yet.
struct split_step {
    static constexpr std::string_view kind = "SP";
    std::int64_t stage, iter;
    std::int64_t extent; ///< extent of the loop when the step was recorded; 0: unknown
    std::vector<std::int64_t> lengths;
    bool inner_to_outer = true;
    friend bool operator==(const split_step&, const split_step&) = default;
};
/// FSP: split with the lengths of an earlier SP, into `parts` + 1 loops: by its first parts-1 lengths, then by the product of the
/// remaining lengths.
struct follow_split_step {
    static constexpr std::string_view kind = "FSP";
    std::int64_t stage, iter, source_step, parts;
    friend bool operator==(const follow_split_step&, const follow_split_step&) = default;
};
/// FFSP: split by the product of the lengths of several earlier SP at one level.
struct follow_fused_split_step {
    static constexpr std::string_view kind = "FFSP";
    std::int64_t stage, iter;
    std::vector<std::int64_t> source_steps; ///< numbers of the earlier SP steps
    std::int64_t level;                     ///< index into their `lengths`, from 0
    bool factor_or_nparts; ///< TVM's name. true: the product is the length of the inner loop (factor); false: of the outer one (nparts)
    friend bool operator==(const follow_fused_split_step&, const follow_fused_split_step&) = default;
};
/// SA: storage alignment.
struct storage_align_step {
    static constexpr std::string_view kind = "SA";
    std::int64_t stage, iter, factor, offset;
    friend bool operator==(const storage_align_step&, const storage_align_step&) = default;
};
/// CA: compute a stage inside a loop of another stage (compute_at).
struct compute_at_step {
    static constexpr std::string_view kind = "CA";
    std::int64_t stage, target_stage, target_iter;
    friend bool operator==(const compute_at_step&, const compute_at_step&) = default;
};
/// CI: inline a stage into its consumers.
struct compute_inline_step {
    static constexpr std::string_view kind = "CI";
    std::int64_t stage;
    friend bool operator==(const compute_inline_step&, const compute_inline_step&) = default;
};
/// CR: compute a stage at the root (compute_root).
struct compute_root_step {
    static constexpr std::string_view kind = "CR";
    std::int64_t stage;
    friend bool operator==(const compute_root_step&, const compute_root_step&) = default;
};
/// CHR: cache read. Inserts a stage after `stage` that copies it into `scope` for the readers.
struct cache_read_step {
    static constexpr std::string_view kind = "CHR";
    std::int64_t stage;
    std::string scope;
    std::vector<std::int64_t> readers;
    friend bool operator==(const cache_read_step&, const cache_read_step&) = default;
};
/// CHW: cache write. Inserts a stage at index `stage` that computes into `scope`; the original stage copies the result and moves to stage+1.
struct cache_write_step {
    static constexpr std::string_view kind = "CHW";
    std::int64_t stage;
    std::string scope;
    friend bool operator==(const cache_write_step&, const cache_write_step&) = default;
};
/// RF: rfactor. Inserts a stage at index `stage` that reduces over all reduction axes but `iter`; `iter` becomes its space axis at `factor_axis`.
struct rfactor_step {
    static constexpr std::string_view kind = "RF";
    std::int64_t stage, iter, factor_axis;
    friend bool operator==(const rfactor_step&, const rfactor_step&) = default;
};
/// A step of an unknown kind, e.g. PPT of TLM: kept as it is, not interpreted.
struct foreign_step {
    std::string kind;
    std::string json; ///< the text of the whole step in the log, brackets included
    friend bool operator==(const foreign_step&, const foreign_step&) = default;
};

using transform_step =
    std::variant<annotate_step, fuse_step, pragma_step, reorder_step, split_step, follow_split_step, follow_fused_split_step, storage_align_step,
                 compute_at_step, compute_inline_step, compute_root_step, cache_read_step, cache_write_step, rfactor_step, foreign_step>;

/// The fields of a step after its kind, in the order of the logs, as a tuple of references. All readers and writers of steps use this function.
template <class S>
constexpr auto step_fields(S& s) noexcept {
    using step = std::remove_const_t<S>;
    if constexpr (std::is_same_v<step, annotate_step>) return std::tie(s.stage, s.iter, s.annotation);
    else if constexpr (std::is_same_v<step, fuse_step>) return std::tie(s.stage, s.iters);
    else if constexpr (std::is_same_v<step, pragma_step>) return std::tie(s.stage, s.iter, s.text);
    else if constexpr (std::is_same_v<step, reorder_step>) return std::tie(s.stage, s.order);
    else if constexpr (std::is_same_v<step, split_step>) return std::tie(s.stage, s.iter, s.extent, s.lengths, s.inner_to_outer);
    else if constexpr (std::is_same_v<step, follow_split_step>) return std::tie(s.stage, s.iter, s.source_step, s.parts);
    else if constexpr (std::is_same_v<step, follow_fused_split_step>) return std::tie(s.stage, s.iter, s.source_steps, s.level, s.factor_or_nparts);
    else if constexpr (std::is_same_v<step, storage_align_step>) return std::tie(s.stage, s.iter, s.factor, s.offset);
    else if constexpr (std::is_same_v<step, compute_at_step>) return std::tie(s.stage, s.target_stage, s.target_iter);
    else if constexpr (std::is_same_v<step, compute_inline_step>) return std::tie(s.stage);
    else if constexpr (std::is_same_v<step, compute_root_step>) return std::tie(s.stage);
    else if constexpr (std::is_same_v<step, cache_read_step>) return std::tie(s.stage, s.scope, s.readers);
    else if constexpr (std::is_same_v<step, cache_write_step>) return std::tie(s.stage, s.scope);
    else {
        static_assert(std::is_same_v<step, rfactor_step>);
        return std::tie(s.stage, s.iter, s.factor_axis);
    }
}

/// Calls `f` with the step as its own type and returns what it returns. std::visit does the same, but costs a compiler more with so many types.
template <class Step, class F>
    requires std::is_same_v<std::remove_const_t<Step>, transform_step>
constexpr decltype(auto) visit_step(Step& step, F&& f) {
    static_assert(std::variant_size_v<transform_step> == 15, "a case for each step type");
    switch (step.index()) {
    case 0: return f(*std::get_if<0>(&step));
    case 1: return f(*std::get_if<1>(&step));
    case 2: return f(*std::get_if<2>(&step));
    case 3: return f(*std::get_if<3>(&step));
    case 4: return f(*std::get_if<4>(&step));
    case 5: return f(*std::get_if<5>(&step));
    case 6: return f(*std::get_if<6>(&step));
    case 7: return f(*std::get_if<7>(&step));
    case 8: return f(*std::get_if<8>(&step));
    case 9: return f(*std::get_if<9>(&step));
    case 10: return f(*std::get_if<10>(&step));
    case 11: return f(*std::get_if<11>(&step));
    case 12: return f(*std::get_if<12>(&step));
    case 13: return f(*std::get_if<13>(&step));
    default: return f(*std::get_if<14>(&step));
    }
}

/// Calls `f(Step{})` with the step type of the given kind. False if there is no such type.
template <class F>
constexpr bool with_step_of_kind(std::string_view kind, F&& f) {
    return [&]<class... Step>(std::type_identity<std::variant<Step...>>) {
        return ([&] {
            if constexpr (std::is_same_v<Step, foreign_step>) return false;
            else return Step::kind == kind && (f(Step{}), true);
        }() || ...);
    }(std::type_identity<transform_step>{});
}

/// Index in `transform_step` of the step type with the given kind; that of `foreign_step` if there is no such type.
[[nodiscard]] constexpr std::size_t step_index(std::string_view kind) noexcept {
    std::size_t index = 0;
    const auto is_next = [&]<class Step>(std::type_identity<Step>) {
        if constexpr (std::is_same_v<Step, foreign_step>) return true;
        else return Step::kind == kind || (++index, false);
    };
    [&]<class... Step>(std::type_identity<std::variant<Step...>>) {
        static_cast<void>((is_next(std::type_identity<Step>{}) || ...));
    }(std::type_identity<transform_step>{});
    return index;
}

namespace detail {

template <class Sink>
struct field_to_sink {
    Sink& sink;
    void operator()(std::int64_t n) const { sink.number(n); }
    void operator()(bool b) const { sink.number(std::int64_t{b}); }
    void operator()(loop_annotation a) const { sink.number(static_cast<std::int64_t>(a)); }
    void operator()(const std::vector<std::int64_t>& list) const {
        for (const auto n : list) sink.number(n);
    }
    void operator()(const std::string& text) const { sink.name(text); }
};

} // namespace detail

/// A schedule as a list of Ansor's transform steps. A value.
///
/// A visit reports each step as `primitive(kind)`, then its fields in the order of the logs: `number` for indices, flags and the items of lists,
/// `name` for a scope or a pragma. For a foreign step it reports the kind and, as one name, the whole step in JSON.
struct step_list {
    std::vector<transform_step> steps;

    template <schedule_sink Sink>
    void visit(Sink& sink) const {
        for (const auto& entry : steps) {
            visit_step(entry, [&sink]<class Step>(const Step& step) {
                if constexpr (std::is_same_v<Step, foreign_step>) {
                    sink.primitive(std::string_view(step.kind));
                    sink.name(std::string_view(step.json));
                } else {
                    sink.primitive(Step::kind);
                    std::apply([&](const auto&... field) { (detail::field_to_sink<Sink>{sink}(field), ...); }, step_fields(step));
                }
            });
        }
    }

    friend bool operator==(const step_list&, const step_list&) = default;
};

namespace detail {

/// Factor and offset of SA may be negative, no other field.
template <class Step>
inline constexpr bool has_signed_fields = std::is_same_v<Step, storage_align_step>;
template <class Step>
constexpr bool names_a_loop(const Step& step) {
    if constexpr (has_signed_fields<Step>) return step.stage >= 0 && step.iter >= 0;
    else return true;
}

/// Reads the fields of one step from the recorded items of a visit.
struct field_from_items {
    std::span<const schedule_item> remaining;
    bool signed_fields = false; ///< numbers may be negative
    bool valid = true;

    /// Reads the next field. `fields_left` is the number of fields after this one; a list takes all items except one for each of them.
    template <class Field>
    void take(Field& out, std::size_t fields_left) {
        std::size_t n = 1;
        if constexpr (std::is_same_v<Field, std::vector<std::int64_t>>) n = remaining.size() >= fields_left ? remaining.size() - fields_left : 0;
        if (!valid || remaining.size() < n) {
            valid = false;
            return;
        }
        constexpr auto wanted_kind = std::is_same_v<Field, std::string> ? schedule_item::kind::name : schedule_item::kind::integer;
        for (const auto& item : remaining.first(n))
            valid = valid && item.type == wanted_kind && (wanted_kind != schedule_item::kind::integer || item.integer >= 0 || signed_fields);
        if (!valid) return;
        if constexpr (std::is_same_v<Field, std::vector<std::int64_t>>) {
            for (const auto& item : remaining.first(n)) out.push_back(item.integer);
        } else if constexpr (std::is_same_v<Field, std::string>) {
            out = remaining.front().text;
        } else if constexpr (std::is_same_v<Field, std::int64_t>) {
            out = remaining.front().integer;
        } else {
            constexpr std::int64_t max_value = std::is_same_v<Field, bool> ? 1 : static_cast<std::int64_t>(loop_annotation::tensorize);
            valid = remaining.front().integer >= 0 && remaining.front().integer <= max_value;
            if (valid) out = static_cast<Field>(remaining.front().integer);
        }
        remaining = remaining.subspan(n);
    }
};

/// Whether `json` is an array on one line that begins with the string `kind`.
inline bool is_step_of_kind(std::string_view json, std::string_view kind) {
    if (!is_json_line(json)) return false;
    json_reader in(json);
    std::string_view name;
    if (!in.begin_array() || !in.next_element() || !in.read(name) || name != kind) return false;
    while (in.next_element() && in.skip()) {}
    return in.finish();
}

} // namespace detail

template <>
struct schedule_traits<step_list> {
    template <schedule_sink Sink>
    static void visit(const step_list& s, Sink& k) {
        s.visit(k);
    }

    /// Rebuilds the steps; the task is not used. Error `parse`: items that form no step; the message names the step.
    template <class Task>
    static result<step_list> rebuild(const Task&, std::span<const schedule_item> items) {
        step_list list;
        while (!items.empty()) {
            const std::string& kind = items.front().text;
            const auto failure = [&kind, at = list.steps.size()](const char* reason) {
                return error{errc::parse, "step " + std::to_string(at) + " (" + printable(kind) + "): " + reason};
            };
            if (items.front().type != schedule_item::kind::primitive) return failure("a step must begin with its kind");
            std::size_t n = 1;
            while (n < items.size() && items[n].type != schedule_item::kind::primitive) ++n;
            detail::field_from_items from{items.subspan(1, n - 1)};
            bool in_range = true;
            const bool known = with_step_of_kind(kind, [&]<class Step>(Step step) {
                from.signed_fields = detail::has_signed_fields<Step>;
                std::apply(
                    [&](auto&... field) {
                        std::size_t fields_left = sizeof...(field);
                        (from.take(field, --fields_left), ...);
                    },
                    step_fields(step));
                in_range = detail::names_a_loop(step);
                list.steps.push_back(transform_step(std::in_place_type<Step>, std::move(step)));
            });
            if (!known) {
                foreign_step foreign{kind, {}};
                from.take(foreign.json, 0);
                if (!from.valid || !detail::is_step_of_kind(foreign.json, kind)) return failure("an unknown kind must come with its step in JSON");
                list.steps.push_back(transform_step(std::in_place_type<foreign_step>, std::move(foreign)));
            }
            if (!from.valid || !in_range || !from.remaining.empty()) return failure("these are not the fields of this kind");
            items = items.subspan(n);
        }
        return list;
    }
};

} // namespace augur::inline v0

#endif
