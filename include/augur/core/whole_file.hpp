// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_WHOLE_FILE_HPP
#define AUGUR_CORE_WHOLE_FILE_HPP

/// @file
/// Reads whole regular files with the standard library. The size is known before memory is allocated.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <augur/core/error.hpp>

namespace augur::inline v0 {
namespace detail {

/// The kind of a file, for error messages.
constexpr std::string_view kind_of_file(std::filesystem::file_type type) noexcept {
    switch (type) {
    case std::filesystem::file_type::regular: return "a regular file";
    case std::filesystem::file_type::directory: return "a directory";
    case std::filesystem::file_type::fifo: return "a FIFO";
    case std::filesystem::file_type::socket: return "a socket";
    case std::filesystem::file_type::character:
    case std::filesystem::file_type::block: return "a device";
    default: return "a file of another kind";
    }
}

/// "PATH: expected a regular file, got a FIFO".
inline error not_regular(std::string_view path, std::filesystem::file_type type) {
    return {errc::io, std::string(path) + ": expected a regular file, got " + std::string(kind_of_file(type))};
}

} // namespace detail

/// Sequential reader of a regular file. Other kinds of files are rejected before they are opened, because opening a FIFO waits for a writer and a
/// device may have no end. If another process replaces the file by a FIFO between the check and the opening, `open` may block.
///
/// Threads    one thread per object
class whole_file {
public:
    /// Errors: io (the file does not exist, is no regular file, or cannot be opened).
    [[nodiscard]] static result<whole_file> open(const std::string& path) {
        std::error_code failure;
        const auto type = std::filesystem::status(path, failure).type(); // follows symbolic links
        if (type == std::filesystem::file_type::not_found || type == std::filesystem::file_type::none)
            return error{errc::io, path + ": cannot open: " + (failure ? failure.message() : std::string(std::strerror(ENOENT)))};
        if (type != std::filesystem::file_type::regular) return detail::not_regular(path, type);
        errno = 0;
        whole_file file(path, std::fopen(path.c_str(), "rbe"));
        if (file.file_ == nullptr) return error{errc::io, path + ": cannot open: " + std::strerror(errno)};
        const auto size = std::filesystem::file_size(path, failure);
        if (failure) return error{errc::io, path + ": cannot read its size: " + failure.message()};
        file.size_ = size;
        return file;
    }

    /// The size in bytes when the file was opened. Files in /proc report 0.
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

    /// Appends up to `most` bytes to `to`, fewer only at the end of the file. Allocates one block of 1 MiB at a time. Errors: io.
    [[nodiscard]] result<void> read(std::string& to, std::size_t max_bytes) {
        constexpr std::size_t block = std::size_t{1} << 20U;
        while (max_bytes > 0) {
            const std::size_t old_size = to.size(), wanted = (std::min)(max_bytes, block);
            to.resize(old_size + wanted);
            errno = 0;
            const std::size_t got = std::fread(to.data() + old_size, 1, wanted, file_.get());
            to.resize(old_size + got);
            if (std::ferror(file_.get()) != 0) return error{errc::io, path_ + ": cannot read: " + std::strerror(errno)};
            if (got < wanted) return {};
            max_bytes -= got;
        }
        return {};
    }

private:
    struct closer {
        void operator()(std::FILE* f) const noexcept { std::fclose(f); }
    };
    whole_file(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}

    std::string path_;
    std::unique_ptr<std::FILE, closer> file_;
    std::uint64_t size_ = 0;
};

/// Returns the bytes of a regular file. Errors: io; limit (more than `max_bytes` bytes, checked before memory is allocated).
[[nodiscard]] inline result<std::string> read_whole_file(const std::string& path, std::size_t max_bytes) {
    auto file = whole_file::open(path);
    if (!file) return file.error();
    const auto limit = [&] { return error{errc::limit, path + ": more than the limit of " + std::to_string(max_bytes) + " bytes"}; };
    if (file->size() > max_bytes) return limit();
    std::string bytes;
    bytes.reserve(static_cast<std::size_t>(file->size()));
    if (auto done = file->read(bytes, max_bytes); !done) return done.error();
    std::string excess; // detects a file that grows, or that reports a wrong size
    if (bytes.size() == max_bytes)
        if (auto done = file->read(excess, 1); !done || !excess.empty()) return done ? limit() : done.error();
    return bytes;
}

} // namespace augur::inline v0

#endif
