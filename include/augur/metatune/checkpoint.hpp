// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_CHECKPOINT_HPP
#define AUGUR_METATUNE_CHECKPOINT_HPP

/// @file
/// Checkpoints of MetaTune's trainings: one that goes on from its checkpoint ends with the bits of one that was not interrupted.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/number.hpp>
#include <augur/metatune/network.hpp>
#include <augur/metatune/training.hpp>
#include <augur/nn/safetensors.hpp>
#include <augur/nn/train/checkpoint_file.hpp>
#include <augur/record/replace_file.hpp>

namespace augur::inline v0 {
namespace metatune {

/// A training between two steps. It holds no random-number state: each step draws from the seed and its number.
struct checkpoint {
    std::uint64_t run = 0; ///< hash of what determines the result: samples, options, the weights of the beginning
    std::string stage;     ///< which of the trainings of the run, a name of the caller's
    training_state state;
};

namespace detail {

/// Calls f(name, parameter) for each tensor of a state.
template <class State, class F>
void visit_state(State& s, const F& f) {
    for (const auto& part : {std::pair{"network.", &s.net}, std::pair{"first.", &s.first}, std::pair{"second.", &s.second}})
        network<float>::visit([&](const std::string& name, auto& p) { f(part.first + name, p); }, *part.second);
}

inline std::string checkpoint_checksum(const checkpoint& c) {
    std::uint32_t sum = crc32(std::to_string(c.run) + ' ' + c.stage + ' ' + std::to_string(c.state.steps));
    visit_state(c.state, [&](const std::string&, const auto& p) {
        sum = crc32({reinterpret_cast<const char*>(p.data()), static_cast<std::size_t>(p.size()) * sizeof(float)}, sum);
    });
    return std::to_string(sum);
}

template <class P>
std::array<std::uint64_t, 2> shape_of(const P& p) {
    return {static_cast<std::uint64_t>(p.rows()), static_cast<std::uint64_t>(p.cols())};
}

} // namespace detail

/// Saves a checkpoint. Replaces the file atomically (`replace_file`); the data are durable on return. Errors: io, not_found (the folder).
[[nodiscard]] inline result<void> save_checkpoint(const checkpoint& c, const std::string& path) {
    nn::safetensors_writer out;
    out.metadata("format", "augur-metatune-checkpoint");
    out.metadata("version", "1");
    out.metadata("run", std::to_string(c.run));
    out.metadata("stage", c.stage);
    out.metadata("steps", std::to_string(c.state.steps));
    out.metadata("checksum", detail::checkpoint_checksum(c));
    detail::visit_state(c.state, [&](const std::string& name, const auto& p) {
        out.tensor(name, detail::shape_of(p), {p.data(), static_cast<std::size_t>(p.size())});
    });
    return replace_file(path, out.file());
}

/// Loads the checkpoint of run `run` with networks of `shape`.
/// Errors: io (also for a missing file); version_mismatch (no such checkpoint, another run, a damaged file); those of `nn::load_bytes` and `nn::read_tensor`.
/// pre: shape.check()
[[nodiscard]] inline result<checkpoint> load_checkpoint(const std::string& path, const config& shape, std::uint64_t run) {
    const auto file = nn::load_checkpoint_file(path, "augur-metatune-checkpoint");
    if (!file) return file.error();
    if (file->header.metadata_text("run") != std::to_string(run))
        return file->wrong(errc::version_mismatch, "a checkpoint of other samples or options: remove it, or name another file");
    const auto written = file->header.metadata_text("steps");
    const auto steps = parse_int(written);
    if (!steps || *steps < 0) return file->wrong(errc::parse, "expected a number of steps, got '" + std::string(written.substr(0, 40)) + "'");
    checkpoint c{run, std::string(file->header.metadata_text("stage")), training_state(network<float>::zeros(shape))};
    c.state.steps = static_cast<std::size_t>(*steps);
    result<void> outcome;
    detail::visit_state(c.state, [&](const std::string& name, auto& p) {
        if (outcome) outcome = nn::read_tensor(file->bytes, file->header, name, detail::shape_of(p), {p.data(), static_cast<std::size_t>(p.size())});
    });
    if (!outcome) return file->wrong(outcome.error().code, outcome.error().detail);
    if (detail::checkpoint_checksum(c) != file->header.metadata_text("checksum"))
        return file->wrong(errc::version_mismatch, "the checksum does not fit: the file is damaged");
    return c;
}

} // namespace metatune
} // namespace augur::inline v0

#endif
