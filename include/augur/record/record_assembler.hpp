// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_RECORD_RECORD_ASSEMBLER_HPP
#define AUGUR_RECORD_RECORD_ASSEMBLER_HPP

/// @file
/// Rules by which the lines of a tuning log form records, shared by log_reader (record/log_reader.hpp) and ansor_log_reader (io/ansor_log.hpp).
///
/// A record of an augur log is a record line and its comment line (record/record.hpp); it is given only if the checksum of both lines matches. A
/// record line without a comment is foreign: TVM wrote it. If the last record line of an augur log has no comment, the record is torn: its writer
/// died during the write. Every other damage loses one line, or two lines that lost the newline between them, and is reported.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/record/record.hpp>
#include <augur/schedule/steps.hpp>

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

namespace detail {

/// A line of a log, without its newline.
struct log_line {
    std::string_view text;
    std::size_t number = 0;   ///< from 1
    bool unended = false;     ///< the last line of the log, which has no newline
    std::uint64_t offset = 0; ///< byte offset in the log; only `torn_at` needs it
};

/// Assembles the lines of one log into records.
///
/// A record line is pending until the next line or the end of the log, which decides whether the record is complete, foreign, torn or damaged.
///
/// `Store` parses record lines and holds the pending record:
///   parse(text, number, problem) -> bool  parses a record line and leaves the pending record unchanged; false: `problem` says why
///   keep(text)                            makes the record parsed last the pending one; `text` is its line
///   pending() -> record&                  pending record, to which the assembler adds the fields of its comment
///   pending_line() -> string_view         line of the pending record
///   drop()                                discards the pending record, which a damaged comment may have changed
///   give() -> result<void>                gives the pending record to the user. An error ends the reading
/// A line gives at most one record.
///
/// Threads    one thread per assembler
template <class Store>
class record_assembler {
public:
    /// `name`: file name for messages.
    record_assembler(std::string name, log_read_options options, Store store)
        : name_(std::move(name)), options_(std::move(options)), store_(std::move(store)) {}

    void accept(log_line line) {
        if (line.text.ends_with('\r')) line.text.remove_suffix(1);
        const std::string_view text = line.text;
        if (text.empty()) return;
        if (text.front() == '{') return record_line(line);
        if (text.starts_with(record_comment_prefix)) return comment(line);
        if (text.starts_with(log_header_prefix)) return header(line);
        if (line.unended && may_be_torn(text, summary_.ours)) {
            torn_header_ = !summary_.ours;
            return tear(line.number, has_pending_ ? pending_at_ : line.offset);
        }
        damage_pending();
        if (text.front() != '#' && text.front() != ' ') // TVM skips lines that begin with either
            refuse(line.number, 1, errc::parse, "neither a record nor a comment");
    }

    /// Handles a line that is longer than `options().limits.document` bytes.
    void refuse_too_long(std::size_t number) {
        damage_pending();
        refuse(number, 1, errc::limit, "a line beyond the limit of " + std::to_string(options_.limits.document) + " bytes");
    }

    /// Handles the end of the log. `number`: number of its last line.
    void finish(std::size_t number) {
        if (!has_pending_ || summary_.torn) return;
        if (summary_.ours) tear(number, pending_at_);
        else give_pending();
    }

    /// Reports a bad line.
    void refuse(std::size_t number, std::size_t column, errc code, std::string_view reason) {
        ++summary_.bad;
        report({name_, number, column, code, reason});
    }
    /// Records an error, which ends the reading; later errors are ignored.
    void fail(augur::error failure) {
        if (!failed()) error_ = std::move(failure);
    }

    [[nodiscard]] bool failed() const noexcept { return error_.code != errc{}; }
    [[nodiscard]] const augur::error& error() const noexcept { return error_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const log_read_options& options() const noexcept { return options_; }
    [[nodiscard]] const log_summary& summary() const noexcept { return summary_; }
    [[nodiscard]] bool has_pending() const noexcept { return has_pending_; }
    [[nodiscard]] Store& store() noexcept { return store_; }
    /// Byte offset of the torn record. pre: summary().torn
    [[nodiscard]] std::uint64_t torn_at() const noexcept { return torn_at_; }
    /// Is the torn line the header of an augur log? pre: summary().torn
    [[nodiscard]] bool torn_header() const noexcept { return torn_header_; }

private:
    /// The pending record has no comment line, so it is foreign; `line` becomes the pending record.
    void record_line(const log_line& line) {
        bad_line problem;
        const bool good = store_.parse(line.text, line.number, problem);
        if (line.unended && (summary_.ours || !good)) {
            if (has_pending_) give_pending();
            return tear(line.number, line.offset);
        }
        if (!good) {
            damage_pending();
            return refuse(problem.line, problem.column, problem.code, problem.reason);
        }
        if (has_pending_) give_pending();
        store_.keep(line.text);
        pending_at_ = line.offset;
        pending_number_ = line.number;
        has_pending_ = true;
    }

    /// An augur comment completes the pending record.
    void comment(const log_line& line) {
        if (has_pending_) {
            record& pending = store_.pending();
            const auto read = read_record_comment(store_.pending_line(), line.text, pending, line.number);
            if (read) {
                summary_.ours = true;
                summary_.last_sequence = (std::max)(summary_.last_sequence, pending.sequence);
                return give_pending();
            }
            if (!line.unended) {
                has_pending_ = false;
                store_.drop();
                return refuse(line.number, 1, read.error().code, read.error().detail);
            }
        }
        if (line.unended) tear(line.number, has_pending_ ? pending_at_ : line.offset);
        else refuse(line.number, 1, errc::parse, "expected a record line before its comment line");
    }

    /// A header can follow other lines: TVM wrote the log first, or two logs were concatenated.
    void header(const log_line& line) {
        damage_pending();
        if (has_pending_) give_pending();
        const auto check = check_log_header(line.text, line.number);
        if (check) {
            summary_.ours = true;
        } else if (check.error().code == errc::version_mismatch) {
            fail({errc::version_mismatch, name_ + ":" + check.error().detail}); // with `strict` an earlier bad line is the error
        } else if (line.unended) {
            torn_header_ = !summary_.ours;
            tear(line.number, line.offset);
        } else {
            summary_.ours = true;
            refuse(line.number, 1, errc::parse, check.error().detail);
        }
    }

    void give_pending() {
        has_pending_ = false;
        ++summary_.records;
        if (store_.pending().foreign) ++summary_.foreign;
        if (auto given = store_.give(); !given) fail(given.error());
    }
    /// Refuses the pending record of an augur log: its comment should follow, and neither augur nor TVM writes the line that follows instead.
    void damage_pending() {
        if (!has_pending_ || !summary_.ours) return;
        has_pending_ = false;
        refuse(pending_number_, 1, errc::parse, "the comment of the record is damaged");
    }
    void tear(std::size_t number, std::uint64_t at) {
        has_pending_ = false;
        summary_.torn = true;
        torn_at_ = at;
        report({name_, number, 1, errc::parse, "the log ends within a record"});
    }
    void report(const bad_line& bad) {
        if (options_.on_bad_line) options_.on_bad_line(bad);
        if (options_.strict) fail({bad.code, bad.text()});
    }

    std::string name_;
    log_read_options options_;
    Store store_;
    log_summary summary_;
    augur::error error_{};
    std::size_t pending_number_ = 0;
    std::uint64_t pending_at_ = 0;
    std::uint64_t torn_at_ = 0;
    bool has_pending_ = false;
    bool torn_header_ = false;
};

} // namespace detail

} // namespace augur::inline v0

#endif
