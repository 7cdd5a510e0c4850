// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `tlm`: a corpus, a model that learns from it, points that it writes; wrong arguments.
#include <doctest/doctest.h>

#ifdef AUGUR_TLM_PROGRAM // else there is no Eigen

#include <filesystem>
#include <string>

#include "child_program.hpp"

namespace {

int run_tlm(const scratch& folder, const strings& arguments) { return wait_for(start(folder, AUGUR_TLM_PROGRAM, arguments)); }

} // namespace

TEST_CASE("tlm: a corpus, a model, points of a kernel that it never saw") {
    const scratch folder("tlm");
    const auto corpus = folder / "corpus.bin", model = folder / "model";
    REQUIRE(run_tlm(folder, {"corpus", "--out", corpus, "--kernels", "12", "--sentences", "20", "--threads", "1"}) == 0);
    CHECK(contains(contents(folder / "out"), "kernels              12"));
    const strings train{"train", "--corpus", corpus, "--model",  model, "--layers",  "1",       "--width",   "16", "--heads",
                        "2",     "--hidden", "32",   "--epochs", "1",   "--numbers", "factors", "--threads", "1"};
    REQUIRE(run_tlm(folder, train) == 0);
    CHECK(contains(contents(folder / "out"), "nats a token"));
    for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"}) CHECK(std::filesystem::exists(model + "/" + file));
    REQUIRE(run_tlm(folder,
                    {"generate", "--model", model, "--kernel", "dense:m=24,n=40,k=56,bias,relu", "--count", "10", "--show", "--threads", "1"}) == 0);
    const auto out = contents(folder / "out");
    CHECK(contains(out, "sketch ="));
    CHECK(contains(out, "points 10, of which 10 can be lowered"));
    REQUIRE(run_tlm(folder, {"generate", "--model", model, "--kernel", "dense:m=24,n=40,k=56,bias,relu", "--count", "10", "--precision", "bf16",
                             "--unconstrained"}) == 0);
    CHECK(contains(contents(folder / "out"), "sentences a legal one"));
    REQUIRE(run_tlm(folder, {"train", "--corpus", corpus, "--base", model, "--model", folder / "tuned", "--epochs", "1", "--threads", "1"}) == 0);
}

TEST_CASE("tlm: the fastest schedules of a log become sentences") {
    const scratch folder("tlm");
    const auto log = folder / "log.jsonl", corpus = folder / "corpus.bin";
    REQUIRE(wait_for(
                start(folder, AUGUR_TUNE_PROGRAM, {"--kernel", "dense:m=16,n=64,k=32,bias", "--collect", "4", "--log", log, "--threads", "1"})) == 0);
    REQUIRE(run_tlm(folder, {"sentences", "--out", corpus, "--log", log, "--best", "3"}) == 0);
    CHECK(contains(contents(folder / "out"), "records     4, 0 of other compilers, 0 no points"));
    CHECK(contains(contents(folder / "out"), "sentences   3 of 1 kernels"));
    CHECK(run_tlm(folder, {"sentences", "--out", corpus}) == 2);
    CHECK(run_tlm(folder, {"sentences", "--out", log, "--log", log}) == 2); // nothing is written over a log that is read
    CHECK(run_tlm(folder, {"train", "--corpus", corpus, "--checkpoint", corpus, "--model", folder / "m"}) == 2);
    CHECK(run_tlm(folder, {"sentences", "--out", corpus, "--log", folder / "none"}) == 1);
}

TEST_CASE("tlm: what is missing or wrong is told") {
    const scratch folder("tlm");
    CHECK(run_tlm(folder, {}) == 2);
    CHECK(run_tlm(folder, {"--help"}) == 0);
    CHECK(run_tlm(folder, {"write"}) == 2);
    CHECK(run_tlm(folder, {"corpus"}) == 2);
    CHECK(contains(contents(folder / "err"), "expected --out FILE"));
    CHECK(run_tlm(folder, {"corpus", "--out", folder / "c", "--networks", "no_such"}) == 1);
    CHECK(run_tlm(folder, {"train", "--corpus", folder / "none", "--model", folder / "m"}) == 1);
    CHECK(run_tlm(folder, {"train", "--corpus", folder / "none", "--model", folder / "m", "--rate", "-1"}) == 2);
    CHECK(run_tlm(folder, {"generate", "--model", folder / "none", "--kernel", "dense:m=24,n=40,k=56"}) == 1);
    CHECK(contains(contents(folder / "err"), "config.json"));
}

#endif
