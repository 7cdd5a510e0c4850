// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_RECORD_LOG_READER_HPP
#define AUGUR_RECORD_LOG_READER_HPP

/// @file
/// Streaming reader of tuning logs, written by augur or by TVM, that recovers from damaged and incomplete lines.
///
/// A record of an augur log is a record line and its comment line (record/record.hpp); the reader gives the record only if the checksum of both lines
/// matches. A record line without a comment is foreign: TVM wrote it. If the last record line of an augur log has no comment, the record is torn: its
/// writer died during the write. Every other damage loses one line, or two lines that lost the newline between them, and is reported.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/record/line_reader.hpp>
#include <augur/record/record.hpp>

namespace augur::inline v0 {

/// Report about a line that could not be read as a record.
struct bad_line {
    std::string_view file;
    std::size_t line = 0;   ///< from 1
    std::size_t column = 0; ///< in bytes, from 1
    errc code{};
    std::string_view reason;

    [[nodiscard]] std::string text() const {
        return std::string(file) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + std::string(reason);
    }
};

struct log_read_options {
    json_limits limits{};                             ///< limits of the JSON parser; `document` limits a line in bytes
    std::size_t steps = max_steps;                    ///< limit on the steps of one schedule
    bool strict = false;                              ///< stop with an error at the first bad line or torn record
    std::function<void(const bad_line&)> on_bad_line; ///< called for each bad line in file order; may be empty
};

/// Counters of a reader up to the last record given.
struct log_summary {
    std::size_t records = 0;         ///< records given, foreign records included
    std::size_t foreign = 0;         ///< records given that have no comment line
    std::size_t bad = 0;             ///< lines refused
    bool torn = false;               ///< the log ends within a record
    bool ours = false;               ///< an augur log: it has an augur header or an augur comment
    std::int64_t last_sequence = -1; ///< largest sequence number; -1: none
};

/// Reads the records of one log in order.
///
/// Memory     one record and the longest line
/// Threads    one thread per reader; another process may append to the log meanwhile
class log_reader {
public:
    /// Opens a regular file; use the constructor for a pipe. Errors: io (not a regular file, ...), not_found.
    [[nodiscard]] static result<log_reader> open(const std::string& path, log_read_options options = {}) {
        auto opened = open_regular_file(path, O_RDONLY);
        if (!opened) return opened.error();
        const int fd = opened->file.get();
        return log_reader(path, std::move(options), fd, std::move(opened->file));
    }
    /// Reads from the current position of `fd`, which may be a pipe. The caller keeps `fd` open and closes it. Messages use `name`.
    log_reader(std::string name, int fd, log_read_options options = {}) : log_reader(std::move(name), std::move(options), fd, file_descriptor()) {}

    /// Reads the next record into `out`; false at the end of the log.
    /// Errors: io; version_mismatch (a log of another version); with `strict`, the first bad line.
    [[nodiscard]] result<bool> next(record& out) {
        bool give = false;
        while (!give && !ended_ && failed_.code == errc{}) {
            std::string_view line;
            switch (lines_.next(line)) {
            case line_reader::status::line: give = accept(line, out); break;
            case line_reader::status::unended:
                unended_ = true;
                give = accept(line, out);
                break;
            case line_reader::status::too_long:
                unended_ = lines_.unended();
                damage_pending();
                refuse(lines_.number(), 1, errc::limit, "a line beyond the limit of " + std::to_string(options_.limits.document) + " bytes");
                break;
            case line_reader::status::end:
                ended_ = true;
                give = finish(out);
                break;
            case line_reader::status::failed: failed_ = errno_error(name_, "cannot read"); break;
            }
        }
        if (failed_.code != errc{}) return failed_;
        return give;
    }

    [[nodiscard]] const log_summary& summary() const noexcept { return summary_; }
    /// Byte offset of the torn record, from where reading began. pre: summary().torn
    [[nodiscard]] std::uint64_t torn_at() const noexcept { return torn_at_; }
    /// Is the torn line the header of an augur log? pre: summary().torn
    [[nodiscard]] bool torn_header() const noexcept { return torn_header_; }
    /// Does the last line of the log have no newline?
    [[nodiscard]] bool unended() const noexcept { return unended_; }

private:
    log_reader(std::string name, log_read_options options, int fd, file_descriptor file)
        : name_(std::move(name)), options_(std::move(options)), file_(std::move(file)), lines_(fd, options_.limits.document) {}

    bool accept(std::string_view line, record& out) {
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) return false;
        if (line.starts_with(record_comment_prefix)) return complete(line, out);
        if (line.starts_with(log_header_prefix)) return header(line, out);
        if (line.front() == '{') return record_line(line, out);
        if (unended_ && may_be_torn(line, summary_.ours)) {
            torn_header_ = !summary_.ours;
            tear(has_pending_ ? pending_at_ : lines_.offset());
            return false;
        }
        damage_pending();
        if (line.front() != '#' && line.front() != ' ') // TVM skips lines that begin with either
            refuse(lines_.number(), 1, errc::parse, "neither a record nor a comment");
        return false;
    }

    /// Handles an augur comment, which completes the pending record. True: `out` has a record.
    bool complete(std::string_view line, record& out) {
        if (has_pending_) {
            const auto read = read_record_comment(pending_line_, line, pending_, lines_.number());
            if (read) {
                summary_.ours = true;
                if (pending_.sequence > summary_.last_sequence) summary_.last_sequence = pending_.sequence;
                return give_pending(out);
            }
            if (!unended_) {
                has_pending_ = false;
                refuse(lines_.number(), 1, read.error().code, read.error().detail);
                return false;
            }
        }
        if (unended_) tear(has_pending_ ? pending_at_ : lines_.offset());
        else refuse(lines_.number(), 1, errc::parse, "expected a record line before its comment line");
        return false;
    }

    /// Handles a header. It can follow other lines: TVM wrote the log first, or two logs were concatenated. True: `out` has a record.
    bool header(std::string_view line, record& out) {
        damage_pending();
        const bool foreign_before = has_pending_ && give_pending(out);
        const auto check = check_log_header(line, lines_.number());
        if (check) {
            summary_.ours = true;
        } else if (check.error().code == errc::version_mismatch) {
            if (failed_.code == errc{})
                failed_ = {errc::version_mismatch, name_ + ":" + check.error().detail}; // with `strict` an earlier bad line is the error
        } else if (unended_) {
            torn_header_ = !summary_.ours;
            tear(lines_.offset());
        } else {
            summary_.ours = true;
            refuse(lines_.number(), 1, errc::parse, check.error().detail);
        }
        return foreign_before;
    }

    /// Handles a record line, which stays pending: the next line decides whether the record is foreign. True: `out` has the previous record.
    bool record_line(std::string_view line, record& out) {
        json_reader in(line, options_.limits, lines_.number());
        ansor_line parsed;
        const bool good = read_ansor_line(in, parsed, options_.steps) && in.finish();
        if (unended_ && (summary_.ours || !good)) {
            const bool foreign_before = has_pending_ && give_pending(out);
            tear(lines_.offset());
            return foreign_before;
        }
        if (!good) {
            damage_pending();
            const auto at = in.position();
            refuse(at.line, at.column, in.code(), in.reason());
            return false;
        }
        const bool foreign_before = has_pending_ && give_pending(out);
        pending_ = to_record(std::move(parsed));
        pending_line_.assign(line);
        pending_at_ = lines_.offset();
        pending_number_ = lines_.number();
        has_pending_ = true;
        return foreign_before;
    }

    bool finish(record& out) {
        if (!has_pending_ || summary_.torn) return false;
        if (!summary_.ours) return give_pending(out);
        tear(pending_at_);
        return false;
    }

    bool give_pending(record& out) {
        has_pending_ = false;
        std::swap(out, pending_);
        ++summary_.records;
        if (out.foreign) ++summary_.foreign;
        return true;
    }
    /// Refuses the pending record of an augur log: its comment should follow, and neither augur nor TVM writes the line that follows instead.
    void damage_pending() {
        if (!has_pending_ || !summary_.ours) return;
        has_pending_ = false;
        refuse(pending_number_, 1, errc::parse, "the comment of the record is damaged");
    }
    void tear(std::uint64_t at) {
        has_pending_ = false;
        summary_.torn = true;
        torn_at_ = at;
        tell(lines_.number(), 1, errc::parse, "the log ends within a record");
    }
    void refuse(std::size_t line, std::size_t column, errc code, const std::string& reason) {
        ++summary_.bad;
        tell(line, column, code, reason);
    }
    void tell(std::size_t line, std::size_t column, errc code, const std::string& reason) {
        const bad_line bad{name_, line, column, code, reason};
        if (options_.on_bad_line) options_.on_bad_line(bad);
        if (options_.strict && failed_.code == errc{}) failed_ = {code, bad.text()};
    }

    std::string name_;
    log_read_options options_;
    file_descriptor file_; ///< owned by `open`, else empty
    line_reader lines_;
    log_summary summary_;
    record pending_; ///< record whose comment line may follow
    std::string pending_line_;
    std::uint64_t pending_at_ = 0;
    std::size_t pending_number_ = 0;
    bool has_pending_ = false;
    bool unended_ = false;
    bool ended_ = false;
    bool torn_header_ = false;
    std::uint64_t torn_at_ = 0;
    error failed_{};
};

} // namespace augur::inline v0

#endif
