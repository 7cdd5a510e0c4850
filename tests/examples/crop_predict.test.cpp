// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `crop_predict` from outside: a prediction from IR and again from its features, wrong arguments.
#include <doctest/doctest.h>

#ifdef AUGUR_CROP_PREDICT_PROGRAM // else there is no component llvm

#include <string>
#include <utility>
#include <vector>

#include "child_program.hpp"

namespace crop_predict_test {

namespace {

const std::string ir = std::string(AUGUR_TEST_DIR) + "/llvm/data/tvm.ll";
int run(const scratch& folder, strings arguments) { return wait_for(start(folder, AUGUR_CROP_PREDICT_PROGRAM, std::move(arguments))); }

} // namespace

TEST_CASE("crop_predict: the features of IR give what the IR gives") {
    const scratch folder("crop-predict");
    const auto kept = folder / "features.json";
    REQUIRE(run(folder, {ir, "--machine=epyc-zen4", "--threads=2", "--json", "--features", kept}) == 0);
    const auto said = contents(folder / "out");
    CHECK(contains(said, "\"seconds\""));
    REQUIRE(run(folder, {kept, "--machine", "epyc-zen4", "--threads", "2", "--json"}) == 0);
    CHECK(contents(folder / "out") == said);
    REQUIRE(run(folder, {kept, "--machine", "epyc-zen4", "--clock", "1e-3", "--json"}) == 0);
    CHECK(contents(folder / "out") != said);
}

TEST_CASE("crop_predict: every wrong argument is one sentence and exit code 2") {
    const scratch folder("crop-predict");
    check_refusals(folder, AUGUR_CROP_PREDICT_PROGRAM,
                   {{{}, "expected a file of LLVM IR"},
                    {{"--json"}, "expected a file of LLVM IR"},
                    {{ir, ir}, "unexpected argument"},
                    {{ir, "--threads", "1000"}, "--threads: expected a whole number from 1 to 256, got '1000'"},
                    {{ir, "--clock", "0"}, "--clock: expected a number above 0, got '0'"},
                    {{ir, "--arguments", "4096,x"}, "--arguments: argument 'x'"},
                    {{ir, "--machine", "/no/such"}, "/no/such"},
                    {{ir, "--features", ir}, "--features would replace"},
                    {{"features.json", "--entry", "f"}, "--entry is for IR"}});
    CHECK(run(folder, {folder / "none.ll", "--machine", "epyc-zen4"}) == 1);
    CHECK(run(folder, {"--help"}) == 0);
}

} // namespace crop_predict_test

#endif
