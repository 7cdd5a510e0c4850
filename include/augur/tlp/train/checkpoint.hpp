// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_TRAIN_CHECKPOINT_HPP
#define AUGUR_TLP_TRAIN_CHECKPOINT_HPP

/// @file
/// Training checkpoints: a run resumed from a checkpoint ends with bit-identical weights.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/nn/safetensors.hpp>
#include <augur/nn/train/checkpoint_file.hpp>
#include <augur/nn/train/optimiser.hpp>
#include <augur/record/replace_file.hpp>
#include <augur/tlp/model.hpp>

namespace augur::inline v0::tlp {

/// Loss and validation scores of one epoch.
struct epoch_report {
    double loss = 0;  ///< mean over the ranking groups; without ranking groups (by_task = false) the sum over the batches, as the authors print it
    double top_1 = 0; ///< top-1 score on the validation samples; 0 without validation samples
    double top_5 = 0; ///< top-5 score, likewise
    friend bool operator==(const epoch_report&, const epoch_report&) = default;
};

/// Training state between two epochs. It holds no random-number state: each epoch draws from the seed and the epoch number.
struct checkpoint {
    std::uint64_t run = 0; ///< hash of everything that determines the result: data, options, initial weights
    std::size_t steps = 0; ///< Adam's step count
    std::size_t best = 0;  ///< epoch, from 0, of the weights in `best_model`; the last epoch without validation
    std::vector<epoch_report> history;
    tlp::model<float> model, best_model;
    tlp::model<float> first, second; ///< Adam's moments

    [[nodiscard]] std::size_t epochs() const { return history.size(); }
};

namespace detail {

inline constexpr std::array<std::string_view, 4> checkpoint_parts{"network.", "best.", "first.", "second."};

/// Calls f(name, parameter) for every tensor of a checkpoint.
template <class Checkpoint, class F>
void visit_checkpoint(Checkpoint& c, const F& f) {
    std::size_t part = 0;
    for (auto* net : {&c.model, &c.best_model, &c.first, &c.second}) {
        model<float>::visit([&](std::string_view name, auto& p) { f(std::string(checkpoint_parts[part]) + std::string(name), p); }, *net);
        ++part;
    }
}

inline std::string checkpoint_state(const checkpoint& c) {
    std::string text;
    json_writer out(text);
    out.begin_object().key("run").value(std::to_string(c.run)).key("steps").value(static_cast<std::uint64_t>(c.steps));
    out.key("best").value(static_cast<std::uint64_t>(c.best)).key("history").begin_array();
    for (const epoch_report& e : c.history) out.begin_array().value(e.loss).value(e.top_1).value(e.top_5).end_array();
    out.end_array().end_object();
    return text;
}

inline result<void> read_checkpoint_state(std::string_view text, checkpoint& c) {
    json_reader in(text);
    std::string_view key;
    std::vector<std::string> seen;
    const auto count = [&](std::size_t& to) {
        std::int64_t n = 0;
        if (in.read(n) && n < 0) in.fail(errc::parse, "expected a number of at least 0");
        to = static_cast<std::size_t>(n);
    };
    if (in.begin_object()) {
        while (in.next_member(key)) {
            if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
                in.fail(errc::parse, "the key '" + std::string(key) + "' comes twice");
                break;
            }
            seen.emplace_back(key);
            if (key == "run") { // a string: JSON numbers do not hold 64 bits
                std::string_view number;
                if (in.read(number)) {
                    for (const char digit : number) c.run = 10 * c.run + static_cast<std::uint64_t>(digit - '0');
                    if (std::to_string(c.run) != number) in.fail(errc::parse, "expected a number");
                }
            } else if (key == "steps") {
                count(c.steps);
            } else if (key == "best") {
                count(c.best);
            } else if (key == "history") {
                if (!in.begin_array()) break;
                while (in.next_element()) {
                    std::array<double, 3> e{};
                    if (!in.begin_array()) break;
                    for (double& x : e)
                        if ((!in.next_element() && !in.fail(errc::parse, "expected three numbers")) || !in.read(x)) break;
                    if (in.ok() && in.next_element()) in.fail(errc::parse, "expected three numbers");
                    if (!in.ok()) break;
                    c.history.push_back({e[0], e[1], e[2]});
                }
            } else {
                in.fail(errc::parse, "unknown key '" + std::string(key.substr(0, 40)) + "'");
            }
            if (!in.ok()) break;
        }
    }
    if (in.ok() && seen.size() != 4) in.fail(errc::parse, "expected four keys");
    if (!in.finish()) return error{in.error().code, "state " + in.error().detail};
    if (c.best >= (std::max)(c.history.size(), std::size_t{1})) return error{errc::parse, "the best epoch is beyond the last"};
    return {};
}

/// CRC-32 of the state and all tensors.
inline std::uint32_t checkpoint_checksum(const checkpoint& c, std::string_view state) {
    std::uint32_t sum = crc32(state);
    visit_checkpoint(c, [&](const std::string&, const auto& p) {
        sum = crc32({reinterpret_cast<const char*>(p.data()), static_cast<std::size_t>(p.size()) * sizeof(float)}, sum);
    });
    return sum;
}

} // namespace detail

/// Saves a checkpoint. Replaces the file atomically (`replace_file`); the data are durable on return. Errors: io, not_found (the folder).
inline result<void> save_checkpoint(const checkpoint& c, const std::string& path) {
    nn::safetensors_writer out;
    const std::string state = detail::checkpoint_state(c);
    out.metadata("format", "augur-tlp-checkpoint");
    out.metadata("version", "1");
    out.metadata("state", state);
    out.metadata("checksum", std::to_string(detail::checkpoint_checksum(c, state)));
    detail::visit_checkpoint(c, [&](const std::string& name, const auto& p) {
        out.tensor(name, std::array{static_cast<std::uint64_t>(p.rows()), static_cast<std::uint64_t>(p.cols())},
                   {p.data(), static_cast<std::size_t>(p.size())});
    });
    return replace_file(path, out.file());
}

/// Loads the checkpoint of run `run` with models of `config`.
///
/// Errors: io, limit; version_mismatch (not a checkpoint, another version, wrong checksum, another run); those of `nn::parse_safetensors` and
/// `nn::read_tensor`.   pre: config.check()
inline result<checkpoint> load_checkpoint(const std::string& path, const tlp::config& config, std::uint64_t run) {
    const auto file = nn::load_checkpoint_file(path, "augur-tlp-checkpoint");
    if (!file) return file.error();
    const auto state = file->header.metadata_text("state");
    checkpoint c;
    if (auto read = detail::read_checkpoint_state(state, c); !read) return file->wrong(read.error().code, read.error().detail);
    if (c.run != run)
        return file->wrong(errc::version_mismatch,
                           "expected run " + std::to_string(run) + ", got run " + std::to_string(c.run) + ": other data, options or initial weights");
    c.model = c.best_model = c.first = c.second = model<float>::zeros(config);
    result<void> outcome;
    detail::visit_checkpoint(c, [&](const std::string& name, auto& p) {
        if (outcome)
            outcome = nn::read_tensor(file->bytes, file->header, name,
                                      std::array{static_cast<std::uint64_t>(p.rows()), static_cast<std::uint64_t>(p.cols())},
                                      {p.data(), static_cast<std::size_t>(p.size())});
    });
    if (!outcome) return file->wrong(outcome.error().code, outcome.error().detail);
    if (std::to_string(detail::checkpoint_checksum(c, state)) != file->header.metadata_text("checksum"))
        return file->wrong(errc::version_mismatch, "the checksum does not fit: the file is damaged");
    return c;
}

} // namespace augur::inline v0::tlp

#endif
