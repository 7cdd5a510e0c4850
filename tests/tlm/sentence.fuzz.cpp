// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The readers of sentences on inputs that libFuzzer makes; tests/io/fuzz.sh builds and runs it. The first byte chooses the reader: a space, the authors'
// sentences for Ansor, or a line of MetaSchedule's database and, behind a newline, a sentence for it. What is read says what was written.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <augur/core/random_engine.hpp>
#include <augur/loopnest/ir/operators.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/space/walk.hpp>
#include <augur/workload/kernel.hpp>

#include "../space/toy.hpp"
#include "read_back.hpp"

namespace {

constexpr std::uint64_t spaces = 4, readers = 6;

/// Calls `f(space)`.
template <class F>
std::string with_space(std::uint64_t which, const F& f) {
    static const toy::described_space described;
    static const toy::space plain;
    static const toy::grid many{2, 5000}; // options of two digits
    static const auto kernel = *augur::loopnest::ansor_space::create(
        std::make_shared<const augur::loopnest::compute_dag>(*augur::loopnest::build_dag(*augur::kernel::parse("dense:m=16,n=32,k=8,bias"))), {});
    switch (which) {
    case 0: return f(described);
    case 1: return f(plain);
    case 2: return f(many);
    default: return f(kernel);
    }
}

constexpr std::string_view of_authors[] = {
    "p0 p1 T_matmul_NT 1024 512 llvm -keys=cpu 4 64 0  2 SP 2 0 1024 1 1 1 1 SP 2 8 1024 1 1 RE 2 0 4 1 5 FSP 4 0 0 2 CA 2 4 3 PPT SPC 2 0 1024 32 1 "
    "4 1 "
    "SPC 2 8 1024 1024 1 CLS FU 4 0 1 2 3 AN 4 0 3 PRS 2 PR 2 0 auto_unroll_max_step$0 CHR 1 shared 2 3 SA 1 0 4 2 FFSP 1 0 4 4 1 1 VECS",
    R"([0, [[[["GetBlock", [], ["T_add", "main"], ["b0"]], ["GetBlock", [], ["root", "main"], ["b4"]], ["SamplePerfectTile", ["l5"], [4, 64], ["v8"]], )"
    R"(["Annotate", ["b4", 2], ["meta_schedule.parallel"], []], ["EnterPostproc", [], [], []]], [[2, [1, 1, 4, 1]], [14, 0]]], [0.0001], {"kind": "llvm"}, )"
    "[]]]\nadd float32 4 512 llvm GetBlock T_add main b0 PPT 2 1 1 4 1 14 3 Annotate b4 8 meta_schedule.parallel"};

} // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    auto rng = augur::random_engine(seed);
    if (rng.below(8) > 0 || most < 1) return LLVMFuzzerMutate(data, size, most);
    const auto reader = rng.below(readers);
    std::string text; // a fresh one, with other words: bytes alone hardly ever make a sentence
    if (reader < spaces) {
        text = with_space(reader, [&](const auto& space) {
            const auto point = augur::sample_path(space, rng).values;
            return *augur::tlm::sentence_text("", space, point);
        });
        text = read_back::damaged_words(text, rng);
    } else {
        text = of_authors[reader - spaces];
    }
    data[0] = static_cast<std::uint8_t>(reader);
    return 1 + text.copy(reinterpret_cast<char*>(data) + 1, most - 1);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::uint64_t reader = data[0] % readers;
    std::string fault;
    if (reader < spaces) {
        fault = with_space(reader, [&](const auto& space) { return read_back::sentence(space, text); });
    } else if (reader == spaces) {
        fault = read_back::ansor(text);
    } else {
        const auto line = std::min(text.find('\n'), text.size());
        fault = read_back::meta_schedule(text.substr(0, line), text.substr(line));
    }
    if (fault.empty()) return 0;
    std::fprintf(stderr, "%s\n", fault.c_str());
    std::abort();
}
