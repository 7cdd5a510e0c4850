// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlm/ansor_marks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/record/ansor_line.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/space/walk.hpp>
#include <augur/target/machine.hpp>
#include <augur/tlm/tvm_sentence.hpp>
#include <augur/workload/kernel.hpp>

#include "../loopnest/dags.hpp"
#include "../nn/vectors.hpp"

namespace tlm = augur::tlm;

namespace ansor_marks_test {

using augur::loopnest::ansor_options;
using augur::loopnest::ansor_space;
using augur::loopnest::testing_dags::dag_ptr;

/// The C++ block of tlm/README.md: the sentence of a record, and the record that the sentence means.
inline augur::result<std::pair<std::string, std::string>> sentence_and_record(const std::string& record, const dag_ptr& dag) {
#include <snippets/tlm/README.md.2.inc>
    return std::pair(*sentence, to_json(*line));
}

inline ansor_space space_of(const dag_ptr& dag, const ansor_options& options) {
    auto out = ansor_space::create(dag, options);
    REQUIRE_MESSAGE(out, out.error().detail);
    return *std::move(out);
}

/// Whether two SP have the same stage and loop.
inline bool splits_twice(const augur::step_list& schedule) {
    std::set<std::pair<std::int64_t, std::int64_t>> seen;
    return std::any_of(schedule.steps.begin(), schedule.steps.end(), [&](const augur::transform_step& step) {
        const auto* split = std::get_if<augur::split_step>(&step);
        return split != nullptr && !seen.emplace(split->stage, split->iter).second;
    });
}

/// The kinds of the marks, and the number of SP.
inline std::pair<std::vector<std::string>, std::size_t> marks_of(const augur::step_list& marked) {
    std::pair<std::vector<std::string>, std::size_t> out;
    for (const auto& step : marked.steps) {
        if (const auto* mark = std::get_if<augur::foreign_step>(&step)) out.first.push_back(mark->kind);
        if (std::holds_alternative<augur::split_step>(step)) ++out.second;
    }
    return out;
}

TEST_CASE("ansor marks: the authors' record without its marks is given them again, word for word") {
    const auto v = vectors::load("tlm_ansor_sentence.json");
    auto line = augur::parse_ansor_line(v["record_line"].get<std::string>());
    REQUIRE(line);
    const auto plain = tlm::ansor_schedule(line->schedule);
    REQUIRE(plain);
    const auto task = augur::loopnest::kernel_task::create(*augur::kernel::parse("dense:m=1024,n=512,k=1024,add"), {});
    REQUIRE(task);
    auto options = ansor_options::as_tvm(line->task.hardware[0]);
    options.max_innermost = 1024; // as the authors have it
    options.evolved = true;       // the record has no vector, though it would be short: sampling always makes one then
    const auto space = space_of(task->dag(), options);
    const auto marked = tlm::with_ansor_marks(space, *plain);
    REQUIRE_MESSAGE(marked, marked.error().detail);
    line->schedule = *marked;
    CHECK(augur::to_json(*line) == v["record_line"].get<std::string>());
    std::string names;
    for (const auto& op : space.dag().ops) names += (names.empty() ? "" : " ") + op.name;
    CHECK(names == v["dag"].get<std::string>());
    CHECK(*tlm::ansor_sentence(names, line->task, line->schedule) == v["text"].get<std::string>());
}

TEST_CASE("ansor marks: marks of schedules that TVM sampled, by hand") {
    // Softmax: each of the two reductions is factored into two stages, and no stage is tiled. Convolution: the addition is inlined, the padding and the
    // output may be placed. Pooling: its sketch has no step.
    namespace dags = augur::loopnest::testing_dags;
    const std::pair<dag_ptr, std::string> examples[] = {
        {dags::softmax({128}, 768),
         R"([["SP", 3, 1, 768, [8], 1], ["RF", 3, 2, 1], ["RE", 3, [0, 2, 1]], ["SP", 1, 1, 768, [2], 1], ["RF", 1, 2, 1], ["RE", 1, [0, 2, 1]], )"
         R"(["PPT"], ["SPC", 3, 1, 768, [8], 1], ["SPC", 1, 1, 768, [2], 1], ["CLS", [6, 5, 4, 3, 2, 1]], ["CA", 5, 6, 0], ["CA", 4, 5, 0], )"
         R"(["CA", 1, 2, 0], ["AN", 2, 0, 3], ["AN", 3, 0, 3], ["AN", 6, 0, 3], ["PRS", [1, 2, 4, 5]], ["PR", 1, 0, "auto_unroll_max_step$16"], )"
         R"(["PR", 2, 0, "auto_unroll_max_step$16"], ["PR", 4, 0, "auto_unroll_max_step$16"], ["PR", 5, 0, "auto_unroll_max_step$0"], )"
         R"(["VECS", [1, 4]], ["AN", 1, 2, 2], ["AN", 4, 2, 2]])"},
        {dags::conv2d_nhwc_bias_relu(56, 56, 64, 64, 3, 1, 1),
         R"([["CI", 5], ["SP", 3, 0, 1, [1, 1, 1], 1], ["SP", 3, 4, 56, [7, 2, 2], 1], ["SP", 3, 8, 56, [2, 7, 4], 1], )"
         R"(["SP", 3, 12, 64, [1, 4, 8], 1], ["SP", 3, 16, 3, [3], 1], ["SP", 3, 18, 3, [3], 1], ["SP", 3, 20, 64, [4], 1], )"
         R"(["RE", 3, [0, 4, 8, 12, 1, 5, 9, 13, 16, 18, 20, 2, 6, 10, 14, 17, 19, 21, 3, 7, 11, 15]], ["PPT"], )"
         R"(["SPC", 3, 0, 1, [1, 1, 1], 1], ["SPC", 3, 4, 56, [7, 2, 2], 1], ["SPC", 3, 8, 56, [2, 7, 4], 1], ["SPC", 3, 12, 64, [1, 4, 8], 1], )"
         R"(["SPC", 3, 16, 3, [3], 1], ["SPC", 3, 18, 3, [3], 1], ["SPC", 3, 20, 64, [4], 1], ["CLS", [6, 1]], ["CR", 6], ["CA", 1, 3, 9], )"
         R"(["FU", 3, [0, 1, 2, 3, 4, 5, 6]], ["AN", 3, 0, 3], ["FU", 6, [0, 1]], ["AN", 6, 0, 3], ["PRS", [3]], )"
         R"(["PR", 3, 0, "auto_unroll_max_step$64"], ["VECS", [3]], ["AN", 3, 15, 2]])"},
        {dags::max_pool2d_nchw(1, 112, 112, 64, 3, 2, 1),
         R"([["PPT"], ["CLS", [2, 1]], ["CA", 1, 2, 1], ["FU", 2, [0, 1]], ["AN", 2, 0, 3], ["PRS", [2]], ["PR", 2, 0, "auto_unroll_max_step$64"], )"
         R"(["VECS", []]])"}};
    for (const auto& example : examples) {
        const auto expected = augur::parse_steps(example.second);
        REQUIRE(expected);
        const auto plain = tlm::ansor_schedule(*expected);
        REQUIRE(plain);
        const auto marked = tlm::with_ansor_marks(space_of(example.first, ansor_options::as_tvm(2)), *plain);
        REQUIRE_MESSAGE(marked, marked.error().detail);
        CHECK(augur::to_json(*marked) == example.second);
    }
}

TEST_CASE("ansor marks: records of sampled schedules become sentences and come back byte for byte") {
    augur::hardware_params hardware;
    hardware.num_cores = 4;
    ansor_options usual;
    usual.num_cores = hardware.num_cores;
    for (const char* text : {"conv2d:n=1,h=14,w=14,c=16,f=32,k=3,stride=1,pad=1,layout=nhwc,bias,relu", "dense:m=64,n=48,k=32,bias,relu",
                             "depthwise_conv2d:n=1,h=14,w=14,c=32,k=3,stride=1,pad=1,layout=nhwc,bias,relu6", "softmax:m=32,n=256",
                             "batch_matmul:b=3,m=16,n=24,k=32,transb=1"}) {
        const auto task = augur::loopnest::kernel_task::create(*augur::kernel::parse(text), hardware);
        REQUIRE(task);
        for (const bool of_tvm : {true, false}) {
            const auto space = space_of(task->dag(), of_tvm ? ansor_options::as_tvm(hardware.num_cores) : usual);
            augur::random_engine rng(5);
            for (int i = 0; i < 12; ++i) {
                augur::ansor_line line;
                line.task = task->logged();
                line.schedule = *space.realise(augur::sample_path(space, rng).values);
                line.costs = {0.001};
                const auto record = augur::to_json(line);
                CAPTURE(record);
                const auto marked = tlm::with_ansor_marks(space, line.schedule);
                REQUIRE_MESSAGE(marked, marked.error().detail);
                const auto marks = marks_of(*marked);
                std::vector<std::string> expected{"PPT"};
                expected.insert(expected.end(), marks.second, "SPC");
                expected.insert(expected.end(), {"CLS", "PRS", "VECS"});
                CHECK(marks.first == expected);
                const auto steps = tlm::read_ansor_steps(tlm::ansor_steps_text(*marked));
                REQUIRE_MESSAGE(steps, steps.error().detail);
                const auto schedule = tlm::ansor_schedule(*steps);
                REQUIRE_MESSAGE(schedule, schedule.error().detail);
                CHECK(augur::to_json(*schedule) == augur::to_json(line.schedule));
                if (!of_tvm || i > 2) continue;
                const auto both = sentence_and_record(record, task->dag());
                REQUIRE_MESSAGE(both, both.error().detail);
                CHECK(both->first.ends_with(tlm::ansor_steps_text(*marked)));
                CHECK(both->second == record);
            }
        }
    }
}

TEST_CASE("ansor marks: a schedule that cannot have marks is refused with the reason") {
    const auto space = space_of(augur::loopnest::testing_dags::softmax({128}, 768), ansor_options::as_tvm(2));
    const auto refusal = [&](const char* steps) {
        const auto marked = tlm::with_ansor_marks(space, *augur::parse_steps(steps));
        return marked ? std::string("none") : to_string(marked.error());
    };
    CHECK(refusal(R"([["SP", 2, 0, 512, [1, 1, 8], 1]])") == "not_found: tlm: these 1 steps are not in the space");
    CHECK(refusal(R"([["CR", 1], ["PPT"]])") == "illegal_schedule: tlm: step 1 (PPT): expected a schedule without marks");
    CHECK(refusal(R"([["FU", 4, [0, 1]], ["AN", 4, 0, 5]])") ==
          "unsupported: tlm: step 1 (AN): binds a loop to threads of a GPU, and marks are inserted into schedules for CPUs only");

    // E = (A B) C^T: the copy of C in the sketch moves the stage of A B to the number that the product with C^T had when its loops were split
    using namespace augur::loopnest::testing_dags;
    augur::loopnest::compute_dag d;
    const std::vector<augur::loopnest::loop_axis> axes{{"i", 16}, {"j", 16}}, k{{"k", 16}};
    const int a = d.input("A", {16, 16});
    const int c = d.input("C", {16, 16});
    const int b = d.input("B", {16, 16});
    namespace ex = augur::loopnest::ex;
    const int product = d.compute("D", axes, ex::read(a, {ax(0), ax(2)}) * ex::read(b, {ax(2), ax(1)}), k, augur::loopnest::reducer::sum);
    d.compute("E", axes, ex::read(product, {ax(0), ax(2)}) * ex::read(c, {ax(1), ax(2)}), k, augur::loopnest::reducer::sum);
    const auto products = space_of(share(std::move(d)), {});
    augur::random_engine rng(6);
    int twice = 0;
    for (int i = 0; i < 40; ++i) {
        const auto schedule = *products.realise(augur::sample_path(products, rng).values);
        const auto marked = tlm::with_ansor_marks(products, schedule);
        const bool ambiguous = splits_twice(schedule);
        twice += ambiguous ? 1 : 0;
        CHECK(static_cast<bool>(marked) != ambiguous);
        if (!marked) CHECK(marked.error().code == augur::errc::unsupported);
        if (!marked) CHECK(marked.error().detail.find("(SP): an earlier SP has the same stage and loop") != std::string::npos);
    }
    CHECK(twice > 0);
}

} // namespace ansor_marks_test
