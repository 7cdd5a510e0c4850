// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_TRAIN_CHECKPOINT_FILE_HPP
#define AUGUR_NN_TRAIN_CHECKPOINT_FILE_HPP

/// @file
/// The file of a training's checkpoint, as it is loaded.

#include <string>
#include <string_view>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/nn/safetensors.hpp>

namespace augur::inline v0 {
namespace nn {

struct checkpoint_file {
    std::string path;
    std::string bytes;
    safetensors_header header;

    /// An error that names the file.
    [[nodiscard]] error wrong(errc code, const std::string& message) const { return {code, "checkpoint '" + path + "': " + message}; }
};

/// Loads a checkpoint of a format of this library.
/// Errors: those of `load_bytes`; version_mismatch (another format or version)
[[nodiscard]] inline result<checkpoint_file> load_checkpoint_file(const std::string& path, std::string_view format,
                                                                  const safetensors_limits& limits = {}) {
    auto bytes = load_bytes(path, limits);
    if (!bytes) return bytes.error();
    checkpoint_file out{path, *std::move(bytes), {}};
    auto header = parse_safetensors(out.bytes, limits);
    if (!header) return out.wrong(header.error().code, header.error().detail);
    out.header = *std::move(header);
    if (auto fits = out.header.check_format(format); !fits) return out.wrong(fits.error().code, fits.error().detail);
    return out;
}

} // namespace nn
} // namespace augur::inline v0

#endif
