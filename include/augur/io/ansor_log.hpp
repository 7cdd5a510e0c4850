// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_ANSOR_LOG_HPP
#define AUGUR_IO_ANSOR_LOG_HPP

/// @file
/// Fast parallel reader of tuning logs by TVM's auto_scheduler (v0.2 to v0.6) and by augur, plain or compressed.
///
/// The reader accepts the same logs as record/log_reader.hpp, with the same values and error messages. It is faster because logs repeat themselves:
/// the reader finds tasks and steps that it has read before by their bytes and parses only new ones. A line that is not formatted as TVM formats it
/// goes to the strict parser.

#include <algorithm>
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
#include <augur/record/log_reader.hpp>
#include <augur/record/record.hpp>

namespace augur::inline v0 {

/// Reads one log into a sink.
///
/// Memory     the longest line, at least a block of 256 KiB; two caches of the texts of tasks and steps, which are cleared when they are full
///            (io/detail/text_cache.hpp)
/// Threads    one thread per reader
template <trial_sink K>
class ansor_log_reader {
public:
    /// `name`: file name for messages. `block`: initial size of the buffer in bytes.
    ansor_log_reader(std::string name, K& sink, log_read_options options = {}, std::size_t block = std::size_t{1} << 18U)
        : name_(std::move(name)), options_(std::move(options)), parser_(sink, options_), sink_(&sink), buffer_(block + padding) {}

    /// Reads from `source.read(char*, size_t) -> result<size_t>` to the end or until `stop()` is true.
    /// A damaged compressed file is reported as a bad line at the point of damage.
    /// Errors: io; version_mismatch (an augur log of another version); errors of the sink; with `strict`, the first bad line or torn record.
    template <class Source, class Stop>
    [[nodiscard]] result<void> read(Source& source, const Stop& stop) {
        for (bool open = true; open && failed_.code == errc{} && !stop();) {
            make_room();
            const auto got = source.read(buffer_.data() + end_, buffer_.size() - padding - end_);
            open = got && *got > 0;
            if (got) bytes_ += *got;
            end_ += got ? *got : 0;
            lines();
            if (!got) {
                if (got.error().code != errc::parse) return got.error();
                refuse(number_ + 1, 1, errc::parse, got.error().detail);
            }
        }
        if (failed_.code == errc{} && !stop()) last_line();
        if (failed_.code != errc{}) return failed_;
        return {};
    }
    template <class Source>
    [[nodiscard]] result<void> read(Source& source) {
        return read(source, [] { return false; });
    }

    [[nodiscard]] const log_summary& summary() const noexcept { return summary_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; } ///< bytes read, after decompression

private:
    using entry = typename detail::ansor_line_parser<K>::entry;
    static constexpr std::size_t padding = 64;

    /// Moves the unread bytes to the front of the buffer and makes sure that there is room after them.
    void make_room() {
        if (has_pending_ && pending_line_.data() != kept_line_.data()) {
            kept_line_.assign(pending_line_);
            pending_line_ = kept_line_;
        }
        if (end_ - begin_ > options_.limits.document) { // drops the part of the line that is in the buffer, so that the memory stays bounded
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
        while (failed_.code == errc{}) {
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
            line({from, length});
        }
    }
    void last_line() {
        const std::string_view text(buffer_.data() + begin_, end_ - begin_);
        if (!text.empty() || dropping_) {
            buffer_[end_] = '\n';
            unended_ = !dropping_ && text.size() <= options_.limits.document;
            line(text);
        }
        if (failed_.code == errc{}) finish();
    }
    void line(std::string_view text) {
        ++number_;
        if (std::exchange(dropping_, false) || text.size() > options_.limits.document) {
            damage_pending();
            refuse(number_, 1, errc::limit, "a line beyond the limit of " + std::to_string(options_.limits.document) + " bytes");
            return;
        }
        accept(text);
    }

    // The functions below follow log_reader (record/log_reader.hpp), which explains the rules.

    void accept(std::string_view line) {
        if (line.empty() || line == "\r") return;
        if (line.front() == '{') return record_line(line);
        if (line.starts_with(record_comment_prefix)) return complete(line);
        if (line.starts_with(log_header_prefix)) return header(line);
        if (unended_ && may_be_torn(line, summary_.ours)) return tear();
        damage_pending();
        if (line.front() != '#' && line.front() != ' ') refuse(number_, 1, errc::parse, "neither a record nor a comment");
    }

    void record_line(std::string_view line) {
        bad_line problem;
        const bool good = parser_.parse(line, number_, entries_[1 - pending_], problem);
        if (unended_ && (summary_.ours || !good)) {
            if (has_pending_) give_pending();
            return tear();
        }
        if (!good) {
            damage_pending();
            return refuse(problem.line, problem.column, problem.code, std::string(problem.reason));
        }
        if (has_pending_) give_pending();
        pending_ = 1 - pending_;
        pending_line_ = line;
        pending_number_ = number_;
        has_pending_ = true;
    }

    void complete(std::string_view line) {
        if (has_pending_) {
            const auto read = read_record_comment(pending_line_, line, waiting().rest, number_);
            if (read) {
                summary_.ours = true;
                summary_.last_sequence = (std::max)(summary_.last_sequence, waiting().rest.sequence);
                return give_pending();
            }
            if (!unended_) {
                drop_pending();
                return refuse(number_, 1, read.error().code, read.error().detail);
            }
        }
        if (unended_) tear();
        else refuse(number_, 1, errc::parse, "expected a record line before its comment line");
    }

    void header(std::string_view line) {
        damage_pending();
        if (has_pending_) give_pending();
        const auto check = check_log_header(line, number_);
        if (check) {
            summary_.ours = true;
        } else if (check.error().code == errc::version_mismatch) {
            if (failed_.code == errc{}) failed_ = {errc::version_mismatch, name_ + ":" + check.error().detail};
        } else if (unended_) {
            tear();
        } else {
            summary_.ours = true;
            refuse(number_, 1, errc::parse, check.error().detail);
        }
    }

    void finish() {
        if (!has_pending_ || summary_.torn) return;
        if (summary_.ours) tear();
        else give_pending();
    }
    void give_pending() {
        has_pending_ = false;
        ++summary_.records;
        const entry& e = waiting();
        const record& r = e.rest;
        if (r.foreign) ++summary_.foreign;
        const record_view trial{*e.task, e.task_number, e.steps, r.measured, r.compiler, r.flags, r.version, r.sequence, r.foreign};
        if (auto added = sink_->add(trial); !added && failed_.code == errc{}) failed_ = added.error();
    }
    entry& waiting() noexcept { return entries_[pending_]; }
    void drop_pending() {
        has_pending_ = false;
        waiting().rest.foreign = false; // tells the parser to reset the entry: a damaged comment can have set some of its fields
    }
    void damage_pending() {
        if (!has_pending_ || !summary_.ours) return;
        has_pending_ = false;
        refuse(pending_number_, 1, errc::parse, "the comment of the record is damaged");
    }
    void tear() {
        has_pending_ = false;
        summary_.torn = true;
        tell(number_, 1, errc::parse, "the log ends within a record");
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
    detail::ansor_line_parser<K> parser_;
    K* sink_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0, end_ = 0; ///< range of unread bytes in the buffer
    std::size_t searched_ = 0;        ///< number of unread bytes that were searched and have no newline
    std::size_t number_ = 0;          ///< number of the last line read, from 1
    std::uint64_t bytes_ = 0;
    log_summary summary_;
    std::array<entry, 2> entries_;  ///< the pending record, whose comment line may follow, and the record being read
    std::size_t pending_ = 0;       ///< index of the pending record
    std::string_view pending_line_; ///< in the buffer or in kept_line_
    std::string kept_line_;
    std::size_t pending_number_ = 0;
    bool has_pending_ = false, unended_ = false, dropping_ = false;
    error failed_{};
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
