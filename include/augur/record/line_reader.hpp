// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_RECORD_LINE_READER_HPP
#define AUGUR_RECORD_LINE_READER_HPP

/// @file
/// Reads a POSIX file descriptor line by line in bounded memory.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

#include <augur/record/file_descriptor.hpp>

namespace augur::inline v0 {

/// Splits the bytes of a file descriptor into lines.
///
/// Memory     two times the longest line, at most two times the limit
/// Threads    one thread per reader
class line_reader {
public:
    enum class status : std::uint8_t {
        line,     ///< a line, given without its newline
        unended,  ///< the last line of the file, which has no newline
        too_long, ///< a line longer than the limit; the reader skips it
        end,      ///< end of the file
        failed,   ///< read(2) failed; see errno
    };

    /// Reads from `fd`. The caller keeps `fd` open and closes it. `longest`: limit on a line in bytes.
    explicit line_reader(int fd, std::size_t longest = std::size_t{16} << 20U) : fd_(fd), longest_(longest), buffer_(first_size) {}

    /// Gives the next line. The view is valid until the next call.
    [[nodiscard]] status next(std::string_view& line) {
        at_ += used_; // skips the previous line
        used_ = 0;
        bool dropping = false;
        std::size_t searched = 0;
        for (;;) {
            const char* const from = buffer_.data() + begin_;
            const std::size_t held = end_ - begin_;
            const void* const newline = held > searched ? std::memchr(from + searched, '\n', held - searched) : nullptr;
            if (newline != nullptr) {
                const auto length = static_cast<std::size_t>(static_cast<const char*>(newline) - from);
                return take(line, length, length + 1, dropping || length > longest_ ? status::too_long : status::line);
            }
            searched = held;
            if (held > longest_) { // drops the part of the line that is in the buffer, so that the memory stays bounded
                dropping = true;
                used_ += held;
                begin_ = end_ = 0;
                searched = 0;
            }
            const auto got = fill();
            if (got < 0) return status::failed;
            if (got > 0) continue;
            if (dropping) return take(line, end_ - begin_, end_ - begin_, status::too_long);
            if (end_ == begin_) return status::end;
            return take(line, end_ - begin_, end_ - begin_, status::unended);
        }
    }

    [[nodiscard]] std::uint64_t offset() const noexcept { return at_; }   ///< byte offset of the last line given, from where reading began
    [[nodiscard]] std::size_t number() const noexcept { return number_; } ///< number of the last line given, from 1
    [[nodiscard]] bool unended() const noexcept { return unended_; }      ///< the last line given, of any length, has no newline

private:
    static constexpr std::size_t first_size = std::size_t{1} << 16U;

    status take(std::string_view& line, std::size_t length, std::size_t with_newline, status kind) {
        line = std::string_view(buffer_.data() + begin_, length);
        begin_ += with_newline;
        used_ += with_newline;
        unended_ = with_newline == length;
        ++number_;
        return kind;
    }
    /// Appends bytes of the file to the buffer. Returns their number; 0 at the end of the file, negative on failure.
    std::ptrdiff_t fill() {
        if (begin_ > 0) {
            std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
            end_ -= std::exchange(begin_, 0);
        }
        if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
        ssize_t got = 0;
        do got = ::read(fd_, buffer_.data() + end_, buffer_.size() - end_);
        while (got < 0 && errno == EINTR);
        if (got > 0) end_ += static_cast<std::size_t>(got);
        return got;
    }

    int fd_;
    std::size_t longest_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::uint64_t at_ = 0;
    std::uint64_t used_ = 0; ///< bytes of the last line given, newline included
    std::size_t number_ = 0;
    bool unended_ = false;
};

} // namespace augur::inline v0

#endif
