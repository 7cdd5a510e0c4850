// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_ANSOR_MARKS_HPP
#define AUGUR_TLM_ANSOR_MARKS_HPP

/// @file
/// The steps PPT, SPC, CLS, PRS and VECS that the authors' TVM writes between the phases of a schedule, for records of upstream TVM and of the embedded
/// compiler, which have none. `ansor_sentence` of tlm/tvm_sentence.hpp writes the result as words.
///
/// Source: src/auto_scheduler/search_policy/sketch_policy_rules.cc of the authors' TVM (github.com/zhaiyi000/tlm), the rules that sample the initial
/// population for CPUs.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/core/printable.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/space/concepts.hpp>
#include <augur/tlm/tvm_sentence.hpp>

namespace augur::inline v0::tlm {

namespace detail {

inline transform_step split_copy(const split_step& split) {
    std::string json;
    json_writer out(json);
    out.begin_array().value("SPC").value(split.stage).value(split.iter).value(split.extent).begin_array();
    for (const auto length : split.lengths) out.value(length);
    out.end_array().value(split.inner_to_outer ? 1 : 0).end_array();
    return foreign_step{"SPC", std::move(json)};
}

inline transform_step mark_of_stages(std::string_view kind, const std::vector<std::int64_t>& stages) {
    std::string json;
    json_writer out(json);
    out.begin_array().value(kind).begin_array();
    for (const auto stage : stages) out.value(stage);
    out.end_array().end_array();
    return foreign_step{std::string(kind), std::move(json)};
}

/// Errors: illegal_schedule: a mark; unsupported: a loop that is bound to threads of a GPU, two SP of the same stage and loop
inline result<void> check_markable(const std::vector<transform_step>& steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const auto refused = [i](errc code, std::string_view kind, const char* reason) {
            return error{code, "tlm: step " + std::to_string(i) + " (" + printable(kind) + "): " + reason};
        };
        if (const auto* mark = std::get_if<foreign_step>(&steps[i]))
            return refused(errc::illegal_schedule, mark->kind, "expected a schedule without marks");
        const auto* loop = std::get_if<annotate_step>(&steps[i]);
        if (loop != nullptr && loop->annotation >= loop_annotation::vthread && loop->annotation <= loop_annotation::thread_z)
            return refused(errc::unsupported, loop->kind, "binds a loop to threads of a GPU, and marks are inserted into schedules for CPUs only");
        const auto* split = std::get_if<split_step>(&steps[i]);
        if (split != nullptr && split_of(steps, split->stage, split->iter) != split)
            return refused(errc::unsupported, split->kind, "an earlier SP has the same stage and loop, so no SPC can mean this one");
    }
    return {};
}

} // namespace detail

/// A schedule of upstream TVM or of the embedded compiler with the marks of the authors' TVM; `ansor_schedule` is the inverse.
///
///     PPT      behind the sketch
///     SPC      for each SP of the sketch, in their order, with its lengths
///     CLS      before the compute locations: the stages that may be placed, the last one first
///     PRS      before the pragmas: the stages with a reduce loop
///     VECS     before the vectors: the stages that have one
///
/// @param space  the schedules of the kernel, with decisions of Ansor's kinds: `loopnest::ansor_space`. Its cursor has the stage of a decision
///               (`stage_index`) and the steps of an option (`emits`)
/// Errors        not_found: the schedule is not in the space; illegal_schedule: it has marks; unsupported: it is for a GPU, or an SPC would be ambiguous
template <decision_space<step_list> Space>
    requires requires(const Space& space, const step_list& schedule, std::uint64_t value) {
        { space.decide(schedule) } -> std::same_as<result<decision_vector>>;
        { space.cursor().stage_index() } -> std::same_as<std::size_t>;
        { space.cursor().emits(value) } -> std::same_as<std::vector<transform_step>>;
    }
[[nodiscard]] result<step_list> with_ansor_marks(const Space& space, const step_list& schedule) {
    if (auto markable = detail::check_markable(schedule.steps); !markable) return markable.error();
    const auto point = space.decide(schedule);
    if (!point) return error{point.error().code, "tlm: " + point.error().detail};

    struct phase {
        std::vector<std::int64_t> stages;
        std::vector<transform_step> steps;
    };
    std::array<phase, decision_kinds> phases;
    std::size_t sketch = schedule.steps.size(); // its number of steps: those that no later decision adds
    auto cursor = space.cursor();
    for (const auto value : *point) {
        const auto kind = cursor.next()->kind;
        if (kind != decision_kind::sketch && kind != decision_kind::tile_size) {
            auto& p = phases[static_cast<std::size_t>(kind)];
            const auto steps = cursor.emits(value);
            // a stage of CLS may stay where it is, but the authors' TVM leaves no stage of VECS without a vector
            if (kind != decision_kind::vectorize || !steps.empty()) p.stages.push_back(static_cast<std::int64_t>(cursor.stage_index()));
            p.steps.insert(p.steps.end(), steps.begin(), steps.end());
            sketch -= steps.size();
        }
        cursor.choose(value);
    }

    step_list out;
    out.steps.assign(schedule.steps.begin(), schedule.steps.begin() + static_cast<std::ptrdiff_t>(sketch));
    out.steps.emplace_back(foreign_step{"PPT", R"(["PPT"])"});
    for (const auto& step : schedule.steps)
        if (const auto* split = std::get_if<split_step>(&step)) out.steps.push_back(detail::split_copy(*split));
    const auto add = [&](decision_kind kind, std::string_view mark) {
        const auto& p = phases[static_cast<std::size_t>(kind)];
        if (!mark.empty()) out.steps.push_back(detail::mark_of_stages(mark, p.stages));
        out.steps.insert(out.steps.end(), p.steps.begin(), p.steps.end());
    };
    add(decision_kind::compute_location, "CLS");
    add(decision_kind::parallel, {}); // the authors' model does not choose these steps
    add(decision_kind::unroll, "PRS");
    add(decision_kind::vectorize, "VECS");
    return out;
}

} // namespace augur::inline v0::tlm

#endif
