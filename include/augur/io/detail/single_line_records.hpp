// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_DETAIL_SINGLE_LINE_RECORDS_HPP
#define AUGUR_IO_DETAIL_SINGLE_LINE_RECORDS_HPP

/// @file
/// Records of a log in which each line is a record of its own: AutoTVM, MetaSchedule.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/record/record_assembler.hpp>

namespace augur::inline v0::detail {

/// Takes the lines of buffered_lines. Empty lines and lines that begin with '#' are skipped, as TVM does.
///
/// `Parser`: `parse(text, number, problem) -> bool` parses a line, or sets `problem`; `give() -> result<void>` gives the parsed record to the user.
/// A last line without a newline that is no record is torn: its writer died during the write.
template <class Parser>
class single_line_records {
public:
    single_line_records(std::string name, log_read_options options, Parser parser)
        : name_(std::move(name)), options_(std::move(options)), parser_(std::move(parser)) {}

    void accept(const log_line& line) {
        std::string_view text = line.text;
        if (text.ends_with('\r')) text.remove_suffix(1);
        if (text.empty() || text.front() == '#') return;
        bad_line problem;
        if (parser_.parse(text, line.number, problem)) {
            ++summary_.records;
            ++summary_.foreign;
            if (auto given = parser_.give(); !given) fail(given.error());
        } else if (line.unended) {
            summary_.torn = true;
            const std::string reason = "the log ends within a record: " + std::string(problem.reason);
            report({name_, problem.line, problem.column, problem.code, reason});
        } else {
            refuse(problem.line, problem.column, problem.code, problem.reason);
        }
    }
    void refuse_too_long(std::size_t number) {
        refuse(number, 1, errc::limit, "a line beyond the limit of " + std::to_string(options_.limits.document) + " bytes");
    }
    void refuse(std::size_t number, std::size_t column, errc code, std::string_view reason) {
        ++summary_.bad;
        report({name_, number, column, code, reason});
    }
    void finish(std::size_t) noexcept {}
    void before_move() noexcept {}

    [[nodiscard]] bool failed() const noexcept { return error_.code != errc{}; }
    [[nodiscard]] const augur::error& error() const noexcept { return error_; }
    [[nodiscard]] const log_summary& summary() const noexcept { return summary_; }

private:
    void fail(augur::error failure) {
        if (!failed()) error_ = std::move(failure);
    }
    void report(const bad_line& bad) {
        if (options_.on_bad_line) options_.on_bad_line(bad);
        if (options_.strict) fail({bad.code, bad.text()});
    }

    std::string name_;
    log_read_options options_;
    Parser parser_;
    log_summary summary_;
    augur::error error_{};
};

} // namespace augur::inline v0::detail

#endif
