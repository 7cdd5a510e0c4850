// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_PROGRAM_BATCH_HPP
#define AUGUR_LOOPNEST_DETAIL_PROGRAM_BATCH_HPP

/// @file
/// Programs on their way to one translation unit: which can be compiled, in which batches, and at what cost.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/run/compile.hpp>
#include <augur/loopnest/run/expected_outputs.hpp>
#include <augur/record/measurement.hpp>

namespace augur::inline v0::loopnest::detail {

struct program_batch {
    std::vector<const generated_program*> programs;
    std::vector<std::size_t> index; ///< of each program in the list that was given
};

/// A name that C takes, of fewer than 200 characters.
inline bool identifier(std::string_view name) noexcept {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !name.empty() && name.size() < 200 && letter(name.front()) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

/// Can a program be run, and be compared with these outputs?   Errors: invalid_argument
inline result<void> well_formed(const generated_program& p, const expected_outputs& expected) {
    const auto malformed = [](const std::string& problem) { return error{errc::invalid_argument, "malformed program: " + problem}; };
    constexpr std::int64_t most = std::int64_t{1} << 36U;
    if (!identifier(p.entry) || (!p.pack_entry.empty() && !identifier(p.pack_entry))) return malformed("entry is not a C identifier");
    if (p.buffers.size() > 4096) return malformed("more than 4096 buffers");
    std::vector<std::int64_t> outputs;
    for (const auto& b : p.buffers) {
        if (b.elements < 0 || b.elements > most) return malformed("buffer of " + std::to_string(b.elements) + " elements");
        if (b.purpose == program_buffer::role::output) outputs.push_back(b.elements);
    }
    if (!expected.path.empty() && outputs != expected.elements) return malformed("its outputs have other sizes than the reference");
    return {};
}

/// Groups programs with distinct names into batches, so that all processors have compilations.
///
/// @param done  a program with a reason has failed already and is left out
/// @param jobs  concurrent compilations   @param batch  largest number of programs in one batch
inline std::vector<program_batch> group_programs(std::span<const generated_program> programs, const std::vector<measurement>& done, std::size_t jobs,
                                                 std::size_t batch) {
    std::vector<program_batch> pieces;
    const std::size_t size = (std::min)(batch, (programs.size() + jobs - 1) / jobs);
    for (std::size_t i = 0; i < programs.size(); ++i) {
        if (!done[i].reason.empty()) continue;
        const auto fits = [&](const program_batch& b) {
            return b.programs.size() < size && std::none_of(
                                                   b.programs.begin(), b.programs.end(),
                                                   [&](const generated_program* p) {
                                                       return p->entry == programs[i].entry ||
                                                              (!p->pack_entry.empty() && p->pack_entry == programs[i].pack_entry);
                                                   });
        };
        auto at = std::find_if(pieces.begin(), pieces.end(), fits);
        if (at == pieces.end()) at = pieces.insert(at, program_batch{});
        at->programs.push_back(&programs[i]);
        at->index.push_back(i);
    }
    return pieces;
}

/// Divides the time of a compilation among the programs of its batch.
inline void charge(const program_batch& p, const compile_outcome& c, std::vector<measurement>& done) {
    for (const auto i : p.index) {
        done[i].compile_cpu_seconds += c.cpu_seconds / static_cast<double>(p.index.size());
        done[i].total_seconds += c.wall_seconds / static_cast<double>(p.index.size());
    }
}

} // namespace augur::inline v0::loopnest::detail

#endif
