// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_TUNING_ARCHIVE_HPP
#define AUGUR_IO_TUNING_ARCHIVE_HPP

/// @file
/// Reader of the measurements of kernels with tunable parameters: cache files of Kernel Tuner and T4 result files (JSON), plain or compressed.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/core/json.hpp>
#include <augur/io/byte_source.hpp>
#include <augur/io/detail/tuning_entry.hpp>
#include <augur/record/measurement.hpp>
#include <augur/record/record_assembler.hpp>
#include <augur/schedule/configuration.hpp>

namespace augur::inline v0 {

/// A configuration with its measurement.
struct measured_configuration {
    configuration point;
    measurement measured;
};

/// The measurements of one kernel on one device. Models `task`.
struct tuning_archive {
    std::string workload; ///< kernel and problem size; of a T4 file, which does not name them, the file name without its endings
    std::string device;   ///< empty if the file does not name it
    std::vector<measured_configuration> records; ///< in file order; all have the same parameters in the same order
    std::size_t bad = 0;                         ///< entries that could not be read

    [[nodiscard]] std::string_view key() const noexcept { return workload; }
    [[nodiscard]] std::string_view target() const noexcept { return device; }
};

struct archive_read_options {
    std::size_t bytes = std::size_t{1} << 30U;         ///< limit of a file after decompression
    std::function<void(const bad_line&)> on_bad_entry; ///< called for each bad entry in file order; may be empty
};

namespace detail {

/// Parser of one text. Every entry is parsed by a reader of its own, so that an error inside an entry does not end the reading.
class archive_parser {
public:
    archive_parser(std::string_view text, std::string_view file, tuning_archive& out, const archive_read_options& options)
        : text_(text), file_(file), out_(&out), options_(&options) {
        limits_.document = (std::numeric_limits<std::size_t>::max)();
        if (!out.records.empty()) {
            point_ = out.records.front().point;
            continued_ = true;
        }
    }

    [[nodiscard]] result<void> run() {
        bool entries = false;
        if (!token('{')) return failed_here("expected an object");
        for (bool first = true; !token('}'); first = false) {
            if (!first && !token(',')) return failed_here("expected ',' or '}'");
            std::string name;
            if (!value([&](json_reader& in) { return in.read(name); })) return error_;
            if (!token(':')) return failed_here("expected ':'");
            const bool cache = name == "cache";
            if (cache || name == "results") {
                entries = true;
                if (auto ok = cache ? list('{', '}', true) : list('[', ']', false); !ok) return ok;
            } else if (!value([&](json_reader& in) { return header(in, name); })) {
                return error_;
            }
        }
        space();
        if (at_ != text_.size()) return failed_here("expected the end");
        if (!entries) return error{errc::parse, place(0) + "expected a member 'cache' (Kernel Tuner) or 'results' (T4), got none"};
        return {};
    }

private:
    void space() noexcept {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
    }
    bool token(char c) noexcept {
        space();
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    /// Reads a value by `read(json_reader&) -> bool`. On an error `at_` stays, and `error_` has the message with its place.
    template <class F>
    bool value(F&& read) {
        json_reader in(text_.substr(at_), limits_);
        if (read(in) && in.ok()) return at_ += in.offset(), true;
        failed_at_ = at_ + in.offset();
        reason_ = in.reason();
        error_ = {in.code(), place(failed_at_) + reason_ + (failed_at_ == text_.size() ? early : "")};
        return false;
    }
    [[nodiscard]] error failed_here(const std::string& expected) {
        space();
        if (at_ == text_.size()) return {errc::parse, place(at_) + expected + ", got the end" + early};
        return {errc::parse, place(at_) + expected + ", got '" + (text_[at_] >= ' ' && text_[at_] < 127 ? text_[at_] : '?') + "'"};
    }

    bool header(json_reader& in, std::string_view name) {
        std::string_view text;
        if (name == "schema_version") {
            if (!in.read(text)) return false;
            return text.starts_with("1.") ||
                   in.fail(errc::version_mismatch, "expected schema version 1, got '" + std::string(text.substr(0, 40)) + "'");
        }
        if (name == "objective" && in.peek() == json_kind::string) return in.read(objective_);
        if (name == "device_name") return in.read(text) && same(in, out_->device, std::string(text), "device");
        if (name == "kernel_name") return in.read(kernel_);
        if (name == "problem_size") {
            if (!in.raw(text)) return false;
            problem_.clear();
            for (const char c : text)
                if (c > ' ' && c != '"') problem_ += c;
            return true;
        }
        if (name != "tune_params_keys") return in.skip();
        configuration c;
        if (!in.begin_array()) return false;
        while (in.next_element()) {
            if (!in.read(text)) return false;
            if (const std::size_t n = c.parameters.size(); n > 0 && find_parameter(c, text, 0) < n)
                return in.fail(errc::parse, "'" + std::string(text) + "' stands twice");
            c.parameters.push_back({std::string(text), std::int64_t{0}});
        }
        if (!in.ok()) return false;
        if (c.parameters.empty()) return in.fail(errc::parse, "expected at least one parameter, got none");
        if (out_->records.empty()) point_ = std::move(c);
        else if (c.parameters.size() != point_.parameters.size() || !same_names(c)) return in.fail(errc::invalid_argument, other_parameters());
        return true;
    }
    [[nodiscard]] bool same_names(const configuration& c) const {
        for (std::size_t i = 0; i < c.parameters.size(); ++i)
            if (c.parameters[i].name != point_.parameters[i].name) return false;
        return true;
    }
    [[nodiscard]] std::string other_parameters() const {
        std::string names;
        for (const auto& p : point_.parameters) names += (names.empty() ? "" : ", ") + p.name;
        return "expected the parameters of the records before (" + names + "), got others";
    }
    /// Sets a name of the archive, or checks that a further file has the same.
    bool same(json_reader& in, std::string& known, std::string name, const char* what) const {
        if (!continued_) return known = std::move(name), true;
        return known == name || in.fail(errc::invalid_argument, "expected the " + std::string(what) + " '" + known +
                                                                    "' of the records before, got '" + name.substr(0, 60) + "'");
    }

    /// Reads the entries of a cache (`keyed`) or the results of a T4 file.
    [[nodiscard]] result<void> list(char open, char close, bool keyed) {
        if (!token(open)) return failed_here(std::string("expected '") + open + "'");
        if (keyed && point_.parameters.empty()) return error{errc::parse, place(at_) + "expected 'tune_params_keys' before 'cache'"};
        if (auto ok = name_workload(keyed); !ok) return ok;
        for (bool first = true; !token(close); first = false) {
            if (!first && !token(',')) return failed_here(std::string("expected ',' or '") + close + "'");
            std::string_view key;
            if (keyed && !value([&](json_reader& in) { return in.read(key); })) return error_;
            if (keyed && !token(':')) return failed_here("expected ':'");
            space();
            if (auto ok = entry(keyed); !ok) return ok;
        }
        return {};
    }
    result<void> name_workload(bool keyed) {
        std::string name = kernel_ + (problem_.empty() ? "" : " " + problem_);
        if (!keyed) {
            const std::size_t from = file_.find_last_of('/') + 1; // npos + 1 is 0
            name = file_.substr(from, file_.find('.', from + 1) - from);
        }
        if (!continued_) out_->workload = std::move(name);
        else if (keyed && out_->workload != name)
            return error{errc::invalid_argument,
                         place(at_) + "expected the kernel '" + out_->workload + "' of the records before, got '" + name + "'"};
        return {};
    }

    result<void> entry(bool keyed) {
        const bool unnamed = point_.parameters.empty();
        if (value([&](json_reader& in) {
                return (keyed ? read_cache_entry(in, objective_, point_, present_, times_) : read_t4_result(in, point_, present_, times_)) &&
                       to_measurement(in, times_, measured_);
            })) {
            out_->records.push_back({point_, std::move(measured_)});
            return {};
        }
        if (unnamed) point_.parameters.clear();
        const error why = error_;
        const std::size_t failed_at = failed_at_;
        const std::string reason = reason_;
        if (failed_at == text_.size() || !skip_entry()) return failed_at == text_.size() ? why : error{why.code, why.detail + early};
        ++out_->bad;
        if (options_->on_bad_entry) {
            const json_position at = position(failed_at);
            options_->on_bad_entry({file_, at.line, at.column, why.code, reason});
        }
        return {};
    }
    /// Steps behind the entry at `at_` by its brackets alone. A newline ends a string that lacks a quote. The brackets in such a string were missed,
    /// so the entry ends there if the line ends in `},`: Kernel Tuner writes an entry in a line. False if the text ends before the entry does.
    bool skip_entry() noexcept {
        std::size_t depth = 0;
        bool quoted = false;
        for (std::size_t i = at_; i < text_.size(); ++i) {
            const char c = text_[i];
            if (quoted) {
                if (c == '\n' && text_.substr(0, i).ends_with("},")) return at_ = i - 1, true;
                if (c == '\n' && text_.substr(0, i).ends_with("},\r")) return at_ = i - 2, true;
                if (c == '\\') ++i;
                else if (c == '"' || c == '\n') quoted = false;
                continue;
            }
            if (c == '"') quoted = true;
            else if (c == '{' || c == '[') ++depth;
            else if (depth == 0 && c == ',') return at_ = i, true; // the entry was no container
            else if (c == '}' || c == ']') {
                if (depth == 0) return at_ = i, true;
                if (--depth == 0) return at_ = i + 1, true;
            }
        }
        return false;
    }

    /// Line and column of an offset; the lines before the last asked place are not counted again.
    json_position position(std::size_t offset) {
        if (offset < counted_) counted_ = line_start_ = 0, line_ = 1;
        for (; counted_ < offset; ++counted_)
            if (text_[counted_] == '\n') ++line_, line_start_ = counted_ + 1;
        return {line_, offset - line_start_ + 1};
    }
    [[nodiscard]] std::string place(std::size_t offset) {
        const json_position at = position(offset);
        return std::string(file_) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
    }

    static constexpr const char* early = "; the file ends early, the entries before this place were read";

    std::string_view text_;
    std::string_view file_;
    tuning_archive* out_;
    const archive_read_options* options_;
    json_limits limits_;
    bool continued_ = false; ///< the archive had records before
    std::size_t at_ = 0;
    std::string objective_ = "time", kernel_, problem_;
    configuration point_;
    std::vector<bool> present_;
    tuning_times times_;
    measurement measured_;
    error error_;
    std::size_t failed_at_ = 0;
    std::string reason_;
    std::size_t counted_ = 0, line_ = 1, line_start_ = 0; ///< `position` has counted the lines up to here
};

} // namespace detail

/// Appends the measurements in `text` to `out`. An archive that has records already takes only files of the same kernel, device and parameters.
///
/// Times: Kernel Tuner writes milliseconds. The repeats are `times`, without them the mean `time`. `measurement::total_seconds` is the sum of
/// compile, verification and benchmark time, which Kernel Tuner charges when it simulates; the time of its search and its framework is left out.
/// `measurement::compile_cpu_seconds` is the compile time, which is wall time. A failure is a record with its outcome.
///
/// A bad entry is counted, reported to `options.on_bad_entry` and left out. Errors: parse (a text that is no archive, or that ends early, e.g. the
/// cache of an interrupted run), version_mismatch, invalid_argument (another kernel, device or other parameters than those of `out`). The message
/// begins with file:line:column. After an error `out` has the records before that place.
/// @param file  file name for messages; a T4 file has its workload from it
[[nodiscard]] inline result<void> parse_tuning_archive(std::string_view text, std::string_view file, tuning_archive& out,
                                                       const archive_read_options& options = {}) {
    return detail::archive_parser(text, file, out, options).run();
}

/// Appends the measurements of a file to `out`. Errors: those of `byte_source::open` and `parse_tuning_archive`; limit (a larger file). Of a damaged
/// compressed file, the records before the damage are read.
[[nodiscard]] inline result<void> read_tuning_archive(const std::string& path, tuning_archive& out, const archive_read_options& options = {}) {
    auto source = byte_source::open(path);
    if (!source) return source.error();
    std::string text;
    for (std::size_t block = std::size_t{1} << 18U;; block = (std::min)(2 * block, std::size_t{1} << 24U)) {
        const std::size_t size = text.size();
        text.resize(size + block);
        const auto got = source->read(text.data() + size, block);
        text.resize(size + (got ? *got : 0));
        if (text.size() > options.bytes)
            return error{errc::limit, path + ": expected at most " + std::to_string(options.bytes) + " bytes after decompression, got more"};
        if (!got) {
            if (got.error().code != errc::parse) return got.error();
            const auto parsed = parse_tuning_archive(text, path, out, options);
            return parsed ? got.error() : error{errc::parse, parsed.error().detail + " (" + got.error().detail + ")"};
        }
        if (*got == 0) break;
    }
    return parse_tuning_archive(text, path, out, options);
}

/// One of several files.
struct archive_file {
    std::string path;
    tuning_archive archive;
    std::optional<error> failed; ///< `archive` has the records before
};

/// Reads files in parallel, one per task of `executor`. The result does not depend on the number of threads. `options.on_bad_entry` is called by one
/// thread at a time, in the order of the entries within a file.
template <bulk_executor E>
[[nodiscard]] std::vector<archive_file> read_tuning_archives(std::span<const std::string> paths, E& executor, archive_read_options options = {}) {
    std::vector<archive_file> files(paths.size());
    std::mutex one_at_a_time;
    if (options.on_bad_entry)
        options.on_bad_entry = [&one_at_a_time, tell = std::move(options.on_bad_entry)](const bad_line& bad) {
            const std::scoped_lock lock(one_at_a_time);
            tell(bad);
        };
    executor.bulk(paths.size(), [&](std::size_t i) {
        files[i].path = paths[i];
        if (auto read = read_tuning_archive(paths[i], files[i].archive, options); !read) files[i].failed = read.error();
    });
    return files;
}

} // namespace augur::inline v0

#endif
