// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_DETAIL_BUFFERED_LINES_HPP
#define AUGUR_IO_DETAIL_BUFFERED_LINES_HPP

/// @file
/// Cuts a byte stream into lines in one buffer, for the log readers.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/record/record_assembler.hpp>

namespace augur::inline v0::detail {

/// Gives the lines of a source to `Records`, without copying them.
///
/// `Records` has the members of record_assembler that take lines and errors: `accept(log_line)`, `refuse_too_long(number)`, `refuse(number, column,
/// code, reason)`, `finish(number)`, `failed()`, `error()`; and `before_move()`, called before the texts of the lines given so far become invalid.
/// 64 bytes after a line are readable, and the first is a newline.
///
/// Memory     the longest line, at least a block; a line beyond the limit is not kept
template <class Records>
class buffered_lines {
public:
    /// `longest`: limit on a line in bytes. `block`: initial size of the buffer in bytes.
    buffered_lines(Records records, std::size_t longest, std::size_t block)
        : records_(std::move(records)), longest_(longest), buffer_(block + padding) {}

    /// Reads to the end or until `stop()` is true. Damage that the source reports as `parse` is a bad line; other errors end the reading.
    template <class Source, class Stop>
    [[nodiscard]] result<void> read(Source& source, const Stop& stop) {
        for (bool open = true; open && !records_.failed() && !stop();) {
            make_room();
            const auto got = source.read(buffer_.data() + end_, buffer_.size() - padding - end_);
            open = got && *got > 0;
            if (got) bytes_ += *got;
            end_ += got ? *got : 0;
            lines();
            if (!got) {
                if (got.error().code != errc::parse) return got.error();
                records_.refuse(number_ + 1, 1, errc::parse, got.error().detail);
            }
        }
        if (!records_.failed() && !stop()) last_line();
        if (records_.failed()) return records_.error();
        return {};
    }

    [[nodiscard]] const Records& records() const noexcept { return records_; }
    [[nodiscard]] Records& records() noexcept { return records_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

private:
    static constexpr std::size_t padding = 64;

    /// Moves the unread bytes to the front of the buffer and makes sure that there is room after them.
    void make_room() {
        records_.before_move();
        if (end_ - begin_ > longest_) { // drops the part of the line that is in the buffer, so that the memory stays bounded
            dropping_ = true;
            begin_ = end_ = searched_ = 0;
        }
        if (begin_ > 0) {
            std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
            end_ -= std::exchange(begin_, 0);
        }
        if (end_ + padding >= buffer_.size()) buffer_.resize(2 * buffer_.size());
    }

    void lines() {
        while (!records_.failed()) {
            char* const from = buffer_.data() + begin_;
            const std::size_t held = end_ - begin_;
            const void* const newline = held > searched_ ? std::memchr(from + searched_, '\n', held - searched_) : nullptr;
            if (newline == nullptr) {
                searched_ = held;
                return;
            }
            const auto length = static_cast<std::size_t>(static_cast<const char*>(newline) - from);
            searched_ = 0;
            begin_ += length + 1;
            line({from, length}, false);
        }
    }
    void last_line() {
        const std::string_view text(buffer_.data() + begin_, end_ - begin_);
        if (!text.empty() || dropping_) {
            buffer_[end_] = '\n';
            line(text, true);
        }
        if (!records_.failed()) records_.finish(number_);
    }
    void line(std::string_view text, bool unended) {
        ++number_;
        if (std::exchange(dropping_, false) || text.size() > longest_) records_.refuse_too_long(number_);
        else records_.accept({text, number_, unended});
    }

    Records records_;
    std::size_t longest_; ///< limit on a line in bytes
    std::vector<char> buffer_;
    std::size_t begin_ = 0, end_ = 0; ///< range of unread bytes in the buffer
    std::size_t searched_ = 0;        ///< number of unread bytes that were searched and have no newline
    std::size_t number_ = 0;          ///< number of the last line read, from 1
    std::uint64_t bytes_ = 0;
    bool dropping_ = false; ///< the first part of the current line was dropped
};

} // namespace augur::inline v0::detail

#endif
