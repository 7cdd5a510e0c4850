// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The readers of AutoTVM logs and MetaSchedule databases beside the parsers of one line, on inputs that libFuzzer makes; tests/io/fuzz.sh builds and runs
// it. The first four bytes choose the format and its options, the rest is a log.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <augur/core/random_engine.hpp>

#include "../record/autotvm_lines.hpp"
#include "../record/meta_schedule_lines.hpp"
#include "accounts.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    static const auto lines = [] {
        std::vector<std::vector<std::string>> all{autotvm_lines::usual(), meta_schedule_lines::usual()};
        for (const auto& line : autotvm_lines::odd()) all[0].push_back(line);
        for (const auto& line : meta_schedule_lines::odd()) all[1].push_back(line);
        return all;
    }();
    auto rng = augur::random_engine(seed);
    if (rng.below(8) > 0 || most < 4) return LLVMFuzzerMutate(data, size, most);
    for (int i = 0; i < 4; ++i) data[i] = static_cast<std::uint8_t>(rng.below(256));
    std::string text; // a fresh one: bytes alone hardly ever make a line
    for (auto n = 1 + rng.below(3); n > 0; --n) {
        const auto& some = lines[data[0] % 2];
        text += some[rng.below(some.size())] + (rng.below(8) == 0 ? "\r\n" : "\n");
    }
    return 4 + text.copy(reinterpret_cast<char*>(data) + 4, most - 4);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 4) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 4, size - 4);
    const std::size_t block = 1 + std::size_t{data[3]} * 8;
    std::string difference;
    if (data[0] % 2 == 0) {
        difference = accounts::difference(accounts::autotvm_by_reader(text, {}, block), accounts::autotvm_by_lines(text));
    } else {
        const accounts::hashes workloads = data[1] % 2 == 0 ? accounts::hashes() : accounts::hashes({"6909843517902726160", "15095101507213612640"});
        difference =
            accounts::difference(accounts::meta_schedule_by_reader(text, workloads, {}, block), accounts::meta_schedule_by_lines(text, workloads));
    }
    if (difference.empty()) return 0;
    std::fprintf(stderr, "%s\n", difference.c_str());
    std::abort();
}
