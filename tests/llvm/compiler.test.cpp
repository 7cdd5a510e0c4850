// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/llvm/compiler.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest/run/task_runner.hpp>
#include <augur/crop/cost_model.hpp>
#include <augur/target/machine_presets.hpp>

#include "../may_skip.hpp"
#include "program.hpp"

using namespace augur;

using namespace augur::loopnest;

namespace {

// The C++ blocks of llvm/ read and write files of the folder that a program runs in: compiled, not called.
[[maybe_unused]] double predict_file(const machine& machine) {
    const auto of_header = [&] {
#include <snippets/llvm/features_of_ir.hpp.1.inc>
        return p->seconds;
    };
    const auto of_readme = [&] {
#include <snippets/llvm/README.md.1.inc>
        return p->seconds;
    };
#include <snippets/docs/llvm.md.1.inc>
    return p->seconds + of_header() + of_readme();
}
[[maybe_unused]] std::size_t candidate_features(const kernel_task& task, const step_list& schedule) {
#include <snippets/llvm/compiler.hpp.1.inc>
    return written ? features->functions.size() : 0;
}
[[maybe_unused]] void rank(const machine& machine) {
#include <snippets/docs/nests.md.3.inc>
    (void)model;
}

std::uint64_t multiplications(const program_features& p) {
    std::uint64_t n = 0;
    for (const auto& f : p.functions)
        for (const auto& b : f.flow.values())
            for (const auto& i : b.code.values())
                if (i.op == instruction_class::fmul || i.op == instruction_class::fma) n += b.count * i.lanes;
    return n;
}

} // namespace

TEST_CASE("ir_compiler: Crop ranks candidates by the IR that clang makes of them" MAY_SKIP) {
    auto clang = ir_compiler::find({"clang-" + std::to_string(LLVM_VERSION_MAJOR), {}}); // the text of another version may not be read
    if (!clang) SKIP_CASE(clang.error().detail);
    auto folder = work_folder::create();
    REQUIRE(folder);
    const auto what = kernel::parse("matmul:m=24,n=32,k=16");
    REQUIRE(what);
    const auto task = kernel_task::create(*what, {});
    REQUIRE(task);
    const step_list naive{}, slow{{reorder_step{2, {2, 0, 1}}}}; // each round of the sum goes over the whole result
    std::vector<program_features> seen;
    crop::model model(epyc_zen4(), 1, [&](const kernel_task& t, const step_list& schedule) -> result<program_features> {
        const auto p = compile_schedule(t, schedule);
        if (!p) return p.error();
        const auto file = folder->path() + "/candidate.ll";
        if (auto written = clang->write(*p, file); !written) return written.error();
        auto features = features_of_ir_file(file, ir_compiler::run_of(*p));
        if (features) seen.push_back(*features);
        return features;
    });
    const std::array<step_list, 2> batch{naive, slow};
    std::array<float, 2> scores{};
    REQUIRE(model.score(*task, std::span<const step_list>(batch), scores));
    REQUIRE_MESSAGE(seen.size() == 2, (model.last_failure() ? model.last_failure()->detail : ""));
    CAPTURE(scores[0]);
    CAPTURE(scores[1]);
    CHECK(scores[0] > scores[1]);
    for (const auto& p : seen) {
        CHECK(multiplications(p) == 24 * 32 * 16);
        for (const auto& f : p.functions)
            for (const auto& b : f.flow.values()) CHECK_FALSE(b.name.starts_with("block ")); // they have their names of the IR
    }
    const auto one = compile_schedule(*task, naive), other = compile_schedule(*task, slow);
    REQUIRE(one);
    REQUIRE(other);
    CHECK(clang->key(*one) == clang->key(*compile_schedule(*task, naive)));
    CHECK(clang->key(*one) != clang->key(*other));
    auto torn = *one;
    torn.source += "}";
    const auto refused = clang->write(torn, folder->path() + "/torn.ll");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::invalid_argument);
    CHECK(refused.error().detail.find("error") != std::string::npos);
}

TEST_CASE("ir_compiler: another compiler is refused by name") {
    const auto gcc = ir_compiler::find({"gcc", {}});
    REQUIRE_FALSE(gcc);
    if (gcc.error().code != errc::not_found) CHECK(gcc.error().detail.starts_with("'gcc' is not clang: "));
}
