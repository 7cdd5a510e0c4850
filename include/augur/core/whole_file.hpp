// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_WHOLE_FILE_HPP
#define AUGUR_CORE_WHOLE_FILE_HPP

/// @file
/// Reading a file as a whole, with the standard library alone: a regular file, of a size that is known before memory is taken.

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

/// What a file is, for messages.
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

/// A regular file that is read from its front. Anything else is refused before it is opened: a FIFO would wait for a writer, a device has no end.
/// Who may exchange the file for a FIFO in the moment between the two can make `open` wait.
///
/// Threads    one thread an object
class whole_file {
public:
    /// Errors: io, which says what came.
    [[nodiscard]] static result<whole_file> open(const std::string& path) {
        std::error_code wrong;
        const auto type = std::filesystem::status(path, wrong).type(); // of what a link leads to
        if (type == std::filesystem::file_type::not_found || type == std::filesystem::file_type::none)
            return error{errc::io, path + ": cannot open: " + (wrong ? wrong.message() : std::string(std::strerror(ENOENT)))};
        if (type != std::filesystem::file_type::regular) return detail::not_regular(path, type);
        errno = 0;
        whole_file made(path, std::fopen(path.c_str(), "rbe"));
        if (made.file_ == nullptr) return error{errc::io, path + ": cannot open: " + std::strerror(errno)};
        const auto size = std::filesystem::file_size(path, wrong);
        if (wrong) return error{errc::io, path + ": its size is not known: " + wrong.message()};
        made.size_ = size;
        return made;
    }

    /// Bytes, when it was opened. Files of /proc say 0.
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

    /// Appends up to `most` bytes, fewer at the end only. Takes memory for what is there, a block at a time. Errors: io.
    [[nodiscard]] result<void> read(std::string& to, std::size_t most) {
        constexpr std::size_t block = std::size_t{1} << 20U;
        while (most > 0) {
            const std::size_t before = to.size(), part = (std::min)(most, block);
            to.resize(before + part);
            errno = 0;
            const std::size_t got = std::fread(to.data() + before, 1, part, file_.get());
            to.resize(before + got);
            if (std::ferror(file_.get()) != 0) return error{errc::io, path_ + ": cannot read: " + std::strerror(errno)};
            if (got < part) return {};
            most -= got;
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

/// The bytes of a regular file. Errors: io; limit (more than `most` bytes, found before memory is taken).
[[nodiscard]] inline result<std::string> read_whole_file(const std::string& path, std::size_t most) {
    auto file = whole_file::open(path);
    if (!file) return file.error();
    const auto limit = [&] { return error{errc::limit, path + ": more than the limit of " + std::to_string(most) + " bytes"}; };
    if (file->size() > most) return limit();
    std::string bytes;
    bytes.reserve(static_cast<std::size_t>(file->size()));
    if (auto done = file->read(bytes, most); !done) return done.error();
    std::string more; // one that grows, or does not know its size
    if (bytes.size() == most)
        if (auto done = file->read(more, 1); !done || !more.empty()) return done ? limit() : done.error();
    return bytes;
}

} // namespace augur::inline v0

#endif
