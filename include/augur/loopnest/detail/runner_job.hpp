// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_RUNNER_JOB_HPP
#define AUGUR_LOOPNEST_DETAIL_RUNNER_JOB_HPP

/// @file
/// Message from the host to the runner process (loopnest/detail/runner_source.hpp): the job of measuring one candidate.

#include <cstdint>
#include <string>

#include <augur/loopnest/codegen/generated_program.hpp>

namespace augur::inline v0::loopnest::detail {

/// Start of a job, in native byte order; one `runner_buffer` per buffer and the names follow. The C source of the runner has the same struct.
struct runner_job {
    std::int32_t magic;
    std::int32_t threads;
    std::int32_t repeats; ///< timed repeats; 0: only the checked first call
    std::int32_t warmups;
    std::int32_t buffers;
    std::int32_t huge; ///< 1: huge pages for large buffers
    std::int32_t dump; ///< 1: the outputs become the reference file
    std::int32_t pad;
    double min_repeat; ///< seconds
    double enough;     ///< seconds
    double atol;
    double rtol;
    double best; ///< seconds; 0: none
    double cutoff;
    std::int64_t flush;      ///< bytes
    std::uint32_t path;      ///< length of the path of the shared object; names end with a zero byte, which counts
    std::uint32_t entry;     ///< length of the name of the entry
    std::uint32_t pack;      ///< length of the name of the packing function
    std::uint32_t reference; ///< length of the path of the reference file
    std::uint32_t contents;  ///< length of the path of the file with the contents of buffers
    std::uint32_t pad2;
};
static_assert(sizeof(runner_job) == 112);

struct runner_buffer {
    std::int32_t role, pad;
    std::int64_t elements;
    std::uint64_t fill;
    double low, high;
    std::int64_t offset; ///< in the file with the contents; -1: filled
};
static_assert(sizeof(runner_buffer) == 48);

/// Bytes of memory that the runner takes for a buffer: whole pages, of more than 256 KiB whole huge pages where they are asked for. The C source of
/// the runner does the same (`make_buffer`).
///
/// @param page  bytes of a page
[[nodiscard]] constexpr std::int64_t bytes_of_buffer(std::int64_t elements, bool huge_pages, std::int64_t page) noexcept {
    constexpr std::int64_t huge = std::int64_t{2} << 20U;
    const std::int64_t needed = (elements * static_cast<std::int64_t>(sizeof(float)) + 63) / 64 * 64;
    const std::int64_t unit = huge_pages && needed > huge / 8 ? huge : page;
    return (needed + unit - 1) / unit * unit;
}

/// The message: its length in 8 bytes, the job, the buffers of `p`, the names. Sets the fields of `j` that describe these.
inline std::string job_message(runner_job j, const generated_program& p, const std::string& object, const std::string& reference) {
    std::string names;
    const auto name = [&](const std::string& text) {
        names.append(text.c_str(), text.size() + 1);
        return static_cast<std::uint32_t>(text.size() + 1);
    };
    j.magic = 0x52475541;
    j.buffers = static_cast<std::int32_t>(p.buffers.size());
    j.path = name(object);
    j.entry = name(p.entry);
    j.pack = name(p.pack_entry);
    j.reference = name(reference);
    j.contents = name(p.contents);
    const std::uint64_t length = sizeof j + p.buffers.size() * sizeof(runner_buffer) + names.size();
    std::string out(reinterpret_cast<const char*>(&length), sizeof length);
    out.append(reinterpret_cast<const char*>(&j), sizeof j);
    for (const auto& b : p.buffers) {
        const runner_buffer w{static_cast<std::int32_t>(b.purpose), 0, b.elements, b.fill, b.low, b.high, b.offset};
        out.append(reinterpret_cast<const char*>(&w), sizeof w);
    }
    return out + names;
}

} // namespace augur::inline v0::loopnest::detail

#endif
