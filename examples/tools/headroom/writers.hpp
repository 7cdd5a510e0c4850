// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_HEADROOM_WRITERS_HPP
#define AUGUR_EXAMPLES_TOOLS_HEADROOM_WRITERS_HPP

/// @file
/// Models that write the schedules of a kernel once, without learning from what is measured.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/session/session.hpp>
#include <augur/space/concepts.hpp>
#include <augur/workload/kernel.hpp>

/// What writes: the language model, its most likely schedules first (beam search); the same without a mask, anew where it is not legal;
/// the model that it was fine-tuned from, sampled; trigrams of the fastest known schedules, sampled.
inline constexpr std::array<std::string_view, 4> writers{"likely", "unmasked", "base", "trigram"};

class schedule_writers {
public:
    /// @param language, base  folders of `tlm train`; empty: there is none, and its writers are not to be asked
    /// @param known           logs whose four fastest schedules of each kernel the trigrams learn; empty: there are none
    /// @param left_out        kernels whose records are passed over
    /// Errors: those of the files; unsupported without the component tlm
    [[nodiscard]] static augur::result<schedule_writers> load(const std::string& language, const std::string& base,
                                                              std::span<const std::string> known, std::span<const augur::kernel> left_out);

    schedule_writers(schedule_writers&&) noexcept;
    schedule_writers& operator=(schedule_writers&&) noexcept;
    ~schedule_writers();

    /// Distinct legal schedules of a kernel of the session, at most `count`.
    /// @param who  one of `writers`
    /// Errors: those of generation
    [[nodiscard]] augur::result<std::vector<augur::decision_vector>> write(std::string_view who, const augur::session& session, std::size_t kernel,
                                                                           std::size_t count, std::uint64_t seed) const;

private:
    struct models;
    explicit schedule_writers(std::unique_ptr<models> m);
    std::unique_ptr<models> models_;
};

#endif
