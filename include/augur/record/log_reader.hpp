// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_RECORD_LOG_READER_HPP
#define AUGUR_RECORD_LOG_READER_HPP

/// @file
/// Streaming reader of tuning logs, written by augur or by TVM, that recovers from damaged and incomplete lines (rules: record/record_assembler.hpp).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/record/ansor_line.hpp>
#include <augur/record/file_descriptor.hpp>
#include <augur/record/line_reader.hpp>
#include <augur/record/record.hpp>
#include <augur/record/record_assembler.hpp>

namespace augur::inline v0 {

namespace detail {

/// Store of a record_assembler that keeps the record given last for the caller of log_reader.
class parsed_records {
public:
    parsed_records(const json_limits& limits, std::size_t most_steps) : limits_(limits), most_steps_(most_steps) {}

    bool parse(std::string_view text, std::size_t number, bad_line& problem) {
        json_reader in(text, limits_, number);
        parsed_ = {};
        if (read_ansor_line(in, parsed_, most_steps_) && in.finish()) return true;
        reason_ = in.reason();
        problem = {{}, in.position().line, in.position().column, in.code(), reason_};
        return false;
    }
    void keep(std::string_view text) {
        pending_ = to_record(std::move(parsed_));
        line_.assign(text);
    }
    [[nodiscard]] record& pending() noexcept { return pending_; }
    [[nodiscard]] std::string_view pending_line() const noexcept { return line_; }
    void drop() noexcept {}
    result<void> give() {
        std::swap(given_, pending_);
        has_given_ = true;
        return {};
    }

    [[nodiscard]] bool has_given() const noexcept { return has_given_; }
    /// Takes the record given last. pre: has_given()
    void take(record& out) {
        std::swap(out, given_);
        has_given_ = false;
    }

private:
    json_limits limits_;
    std::size_t most_steps_;
    ansor_line parsed_;
    std::string reason_;
    record pending_;
    std::string line_;
    record given_;
    bool has_given_ = false;
};

} // namespace detail

/// Reads the records of one log in order.
///
/// Memory     two records and the longest line
/// Threads    one thread per reader; another process may append to the log meanwhile
class log_reader {
public:
    /// Opens a regular file; use the constructor for a pipe. Errors: io (not a regular file, ...), not_found.
    [[nodiscard]] static result<log_reader> open(const std::string& path, const log_read_options& options = {}) {
        auto opened = open_regular_file(path, O_RDONLY);
        if (!opened) return opened.error();
        const int fd = opened->file.get();
        return log_reader(path, options, fd, std::move(opened->file));
    }
    /// Reads from the current position of `fd`, which may be a pipe. The caller keeps `fd` open and closes it. Messages use `name`.
    log_reader(std::string name, int fd, const log_read_options& options = {}) : log_reader(std::move(name), options, fd, file_descriptor()) {}

    /// Reads the next record into `out`; false at the end of the log.
    /// Errors: io; version_mismatch (a log of another version); with `strict`, the first bad line.
    [[nodiscard]] result<bool> next(record& out) {
        detail::parsed_records& store = records_.store();
        while (!store.has_given() && !ended_ && !records_.failed()) {
            std::string_view text;
            switch (lines_.next(text)) {
            case line_reader::status::line:
            case line_reader::status::unended: records_.accept({text, lines_.number(), lines_.unended(), lines_.offset()}); break;
            case line_reader::status::too_long: records_.refuse_too_long(lines_.number()); break;
            case line_reader::status::end:
                ended_ = true;
                records_.finish(lines_.number());
                break;
            case line_reader::status::failed: records_.fail(errno_error(records_.name(), "cannot read")); break;
            }
        }
        if (records_.failed()) return records_.error();
        if (!store.has_given()) return false;
        store.take(out);
        return true;
    }

    [[nodiscard]] const log_summary& summary() const noexcept { return records_.summary(); }
    /// Byte offset of the torn record, from where reading began. pre: summary().torn
    [[nodiscard]] std::uint64_t torn_at() const noexcept { return records_.torn_at(); }
    /// Is the torn line the header of an augur log? pre: summary().torn
    [[nodiscard]] bool torn_header() const noexcept { return records_.torn_header(); }
    /// Does the last line of the log have no newline?
    [[nodiscard]] bool unended() const noexcept { return lines_.unended(); }

private:
    log_reader(std::string name, const log_read_options& options, int fd, file_descriptor file)
        : file_(std::move(file)), lines_(fd, options.limits.document),
          records_(std::move(name), options, detail::parsed_records(options.limits, options.steps)) {}

    file_descriptor file_; ///< owned by `open`, else empty
    line_reader lines_;
    detail::record_assembler<detail::parsed_records> records_;
    bool ended_ = false;
};

} // namespace augur::inline v0

#endif
