// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_ANSOR_LOG_HPP
#define AUGUR_IO_ANSOR_LOG_HPP

/// @file
/// Fast parallel reader of tuning logs by TVM's auto_scheduler (v0.2 to v0.6) and by augur, plain or compressed.
///
/// The reader accepts the same logs as record/log_reader.hpp, with the same values and error messages (rules: record/record_assembler.hpp). It is
/// faster because logs repeat themselves: the reader finds tasks and steps that it has read before by their bytes and parses only new ones. A line
/// that is not formatted as TVM formats it goes to the strict parser.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/io/detail/ansor_line_parser.hpp>
#include <augur/io/detail/buffered_lines.hpp>
#include <augur/io/log_file_report.hpp>
#include <augur/io/trial_sink.hpp>
#include <augur/record/record.hpp>
#include <augur/record/record_assembler.hpp>

namespace augur::inline v0 {

namespace detail {

/// Store of a record_assembler that gives records to a sink: the pending record and the record being parsed.
template <trial_sink K>
class sink_records {
public:
    sink_records(K& sink, const log_read_options& options) : sink_(&sink), parser_(sink, options) {}

    bool parse(std::string_view text, std::size_t number, bad_line& problem) { return parser_.parse(text, number, entries_[1 - pending_], problem); }
    void keep(std::string_view text) noexcept {
        pending_ = 1 - pending_;
        pending_line_ = text;
    }
    [[nodiscard]] record& pending() noexcept { return entries_[pending_].rest; }
    [[nodiscard]] std::string_view pending_line() const noexcept { return pending_line_; }
    void drop() noexcept { pending().foreign = false; } // tells the parser to reset the entry: a damaged comment can have set some of its fields
    result<void> give() {
        const entry& e = entries_[pending_];
        const record& r = e.rest;
        return sink_->add(record_view{*e.task, e.task_number, e.steps, r.measured, r.machine, r.flags, r.version, r.sequence, r.foreign});
    }

    /// Copies the line of the pending record, which is a view of the buffer.
    void own_pending_line() {
        if (pending_line_.data() == own_line_.data()) return;
        own_line_.assign(pending_line_);
        pending_line_ = own_line_;
    }

private:
    using entry = typename ansor_line_parser<K>::entry;

    K* sink_;
    ansor_line_parser<K> parser_;
    std::array<entry, 2> entries_;
    std::size_t pending_ = 0;       ///< index of the pending record
    std::string_view pending_line_; ///< in the buffer of the reader or in own_line_
    std::string own_line_;
};

/// Assembler of the records of one log. The line of the pending record is a view of the buffer until the buffer moves.
template <trial_sink K>
class sink_assembler : public record_assembler<sink_records<K>> {
public:
    using record_assembler<sink_records<K>>::record_assembler;
    void before_move() {
        if (this->has_pending()) this->store().own_pending_line();
    }
};

} // namespace detail

/// Reads one log into a sink.
///
/// Memory     the longest line, at least a block of 256 KiB; two caches of the texts of tasks and steps, which are cleared when they are full
///            (io/detail/text_cache.hpp)
/// Threads    one thread per reader
template <trial_sink K>
class ansor_log_reader {
public:
    /// `name`: file name for messages. `block`: initial size of the buffer in bytes.
    ansor_log_reader(std::string name, K& sink, const log_read_options& options = {}, std::size_t block = std::size_t{1} << 18U)
        : lines_(detail::sink_assembler<K>(std::move(name), options, detail::sink_records<K>(sink, options)), options.limits.document, block) {}

    /// Reads from `source.read(char*, size_t) -> result<size_t>` to the end or until `stop()` is true.
    /// A damaged compressed file is reported as a bad line at the point of damage.
    /// Errors: io; version_mismatch (an augur log of another version); errors of the sink; with `strict`, the first bad line or torn record.
    template <class Source, class Stop>
    [[nodiscard]] result<void> read(Source& source, const Stop& stop) {
        return lines_.read(source, stop);
    }
    template <class Source>
    [[nodiscard]] result<void> read(Source& source) {
        return lines_.read(source, [] { return false; });
    }

    [[nodiscard]] const log_summary& summary() const noexcept { return lines_.records().summary(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return lines_.bytes(); } ///< bytes read, after decompression

private:
    detail::buffered_lines<detail::sink_assembler<K>> lines_;
};

/// Reads log files in parallel, one file per task of `executor`. `sink_of(i)` returns the sink for `paths[i]`. The calls that a sink gets do not
/// depend on the number of threads. `options.on_bad_line` is called by one thread at a time, in line order within a file.
///
/// Errors: those of byte_source::open and ansor_log_reader::read. If several files fail, the error of the first in the list is returned. An error
/// stops the reading of all files.
template <bulk_executor E, std::invocable<std::size_t> SinkOf>
[[nodiscard]] result<std::vector<log_file_report>> read_ansor_logs(std::span<const std::string> paths, E& executor, SinkOf&& sink_of,
                                                                   log_read_options options = {}) {
    return detail::read_log_files(paths, executor, std::move(options), [&](std::size_t i, const log_read_options& told, auto& stop, auto& report) {
        auto& sink = sink_of(i);
        ansor_log_reader<std::remove_reference_t<decltype(sink)>> reader(paths[i], sink, told);
        return detail::read_log_file(reader, stop, report);
    });
}

} // namespace augur::inline v0

#endif
