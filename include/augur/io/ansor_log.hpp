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
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/io/byte_source.hpp>
#include <augur/io/detail/ansor_line_parser.hpp>
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
        return sink_->add(record_view{*e.task, e.task_number, e.steps, r.measured, r.compiler, r.flags, r.version, r.sequence, r.foreign});
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
        : records_(std::move(name), options, detail::sink_records<K>(sink, options)), longest_(options.limits.document), buffer_(block + padding) {}

    /// Reads from `source.read(char*, size_t) -> result<size_t>` to the end or until `stop()` is true.
    /// A damaged compressed file is reported as a bad line at the point of damage.
    /// Errors: io; version_mismatch (an augur log of another version); errors of the sink; with `strict`, the first bad line or torn record.
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
    template <class Source>
    [[nodiscard]] result<void> read(Source& source) {
        return read(source, [] { return false; });
    }

    [[nodiscard]] const log_summary& summary() const noexcept { return records_.summary(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; } ///< bytes read, after decompression

private:
    static constexpr std::size_t padding = 64;

    /// Moves the unread bytes to the front of the buffer and makes sure that there is room after them.
    void make_room() {
        if (records_.has_pending()) records_.store().own_pending_line();
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

    detail::record_assembler<detail::sink_records<K>> records_;
    std::size_t longest_; ///< limit on a line in bytes
    std::vector<char> buffer_;
    std::size_t begin_ = 0, end_ = 0; ///< range of unread bytes in the buffer
    std::size_t searched_ = 0;        ///< number of unread bytes that were searched and have no newline
    std::size_t number_ = 0;          ///< number of the last line read, from 1
    std::uint64_t bytes_ = 0;
    bool dropping_ = false; ///< the first part of the current line was dropped
};

/// Report about one file.
struct log_file_report {
    std::string path;
    log_summary summary;
    std::uint64_t bytes = 0; ///< bytes read, after decompression
};

/// Reads log files in parallel, one file per task of `executor`. `sink_of(i)` returns the sink for `paths[i]`. The calls that a sink gets do not
/// depend on the number of threads. `options.on_bad_line` is called by one thread at a time, in line order within a file.
///
/// Errors: those of byte_source::open and ansor_log_reader::read. If several files fail, the error of the first in the list is returned. An error
/// stops the reading of all files.
template <bulk_executor E, std::invocable<std::size_t> SinkOf>
[[nodiscard]] result<std::vector<log_file_report>> read_ansor_logs(std::span<const std::string> paths, E& executor, SinkOf&& sink_of,
                                                                   log_read_options options = {}) {
    std::vector<log_file_report> reports(paths.size());
    std::vector<error> errors(paths.size());
    std::atomic<std::size_t> first_failed{paths.size()};
    std::mutex one_at_a_time;
    if (options.on_bad_line)
        options.on_bad_line = [&one_at_a_time, tell = std::move(options.on_bad_line)](const bad_line& bad) {
            const std::scoped_lock lock(one_at_a_time);
            tell(bad);
        };
    executor.bulk(paths.size(), [&](std::size_t i) {
        const auto stop = [&] { return first_failed.load(std::memory_order_relaxed) < i; };
        const auto run = [&]() -> result<void> {
            reports[i].path = paths[i];
            if (stop()) return {};
            auto source = byte_source::open(paths[i]);
            if (!source) return source.error();
            auto& sink = sink_of(i);
            ansor_log_reader<std::remove_reference_t<decltype(sink)>> reader(paths[i], sink, options);
            auto done = reader.read(*source, stop);
            reports[i].summary = reader.summary();
            reports[i].bytes = reader.bytes();
            return done;
        };
        if (auto done = run(); !done) {
            errors[i] = done.error();
            auto before = first_failed.load();
            while (i < before && !first_failed.compare_exchange_weak(before, i)) {}
        }
    });
    if (const auto failed = first_failed.load(); failed < paths.size()) return errors[failed];
    return reports;
}

} // namespace augur::inline v0

#endif
