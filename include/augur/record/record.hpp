// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_RECORD_RECORD_HPP
#define AUGUR_RECORD_RECORD_HPP

/// @file
/// Tuning record (task, schedule, measurement) and its two-line log format, which TVM can read.
///
/// The first line has TVM's format. The second line is a comment, which TVM skips. The comment has the fields that TVM's format lacks, all doubles
/// with full precision, and a CRC-32 of both lines:
///
///     {"i": [...], "r": [...], "v": "v0.6"}
///     # {"augur": "record", "version": 1, "schema": "...", "length": 812, "sequence": 17, ..., "crc": "8f3a12bc"}

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/record/ansor_line.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/target/machine_identity.hpp>

namespace augur::inline v0 {

/// One trial of a log.
struct record {
    logged_task task;
    step_list schedule;
    measurement measured;
    machine_identity machine;     ///< where it was measured, and with which compiler. Logs of version 0.1 know the compiler alone
    std::string flags;            ///< compiler flags
    std::string origin;           ///< where the schedule comes from, in words, if it was not searched here; mostly empty
    std::int64_t sequence = 0;    ///< position in the log, from 0; set by the writer
    std::string version = "v0.6"; ///< TVM log version
    bool foreign = false;         ///< read without an augur comment: of `measured` only TVM's fields are known, and seconds have six digits
};

/// Outcome for TVM's MeasureErrorNO. `ansor_error` maps several outcomes to one number, so this is an inverse only up to those.
constexpr outcome outcome_of_ansor_error(std::int64_t error) noexcept {
    switch (error) {
    case 0: return outcome::ok;
    case 1: return outcome::illegal_schedule;
    case 2:
    case 3: return outcome::compile_error;
    case 4: return outcome::run_crash;
    case 5: return outcome::wrong_result;
    case 6: return outcome::compile_timeout;
    case 7: return outcome::run_timeout;
    default: return outcome::runner_error;
    }
}

namespace detail {

/// Sets status and reason of a measurement from the error number of its TVM line; `m.seconds` has the costs of the line, and is cleared on an error.
/// A cost of `failed_cost` or more is no time.
inline void set_ansor_outcome(measurement& m, std::int64_t error, double failed_cost = ansor_failed_cost) {
    m.status = outcome_of_ansor_error(error);
    m.reason.clear();
    if (!m.ok()) {
        m.seconds.clear();
        m.reason = "error_no " + std::to_string(error);
        return;
    }
    bool positive = !m.seconds.empty();
    for (const double seconds : m.seconds) positive = positive && seconds > 0 && seconds < failed_cost;
    if (positive) return;
    m.status = outcome::unstable;
    m.reason = "no error, but not a positive time";
}

} // namespace detail

/// Converts a TVM line to a record and marks it foreign.
[[nodiscard]] inline record to_record(ansor_line line) {
    record record;
    record.task = std::move(line.task);
    record.schedule = std::move(line.schedule);
    record.measured.total_seconds = line.all_cost;
    record.measured.timestamp = line.timestamp;
    record.version = std::move(line.version);
    record.foreign = true;
    record.measured.seconds = std::move(line.costs);
    detail::set_ansor_outcome(record.measured, line.error);
    return record;
}

/// Converts a record to the line that TVM would write.
[[nodiscard]] inline ansor_line to_ansor_line(const record& record) {
    ansor_line line;
    line.task = record.task;
    line.schedule = record.schedule;
    line.costs = record.measured.ok() ? record.measured.seconds : std::vector<double>{ansor_failed_cost};
    line.error = ansor_error(record.measured.status);
    line.all_cost = std::isfinite(record.measured.total_seconds) ? record.measured.total_seconds : 0; // JSON has no inf or NaN; see the comment
    line.timestamp = record.measured.timestamp;
    line.version = record.version;
    return line;
}

/// First characters of the comments of a log.
inline constexpr std::string_view log_header_prefix = "# {\"augur\": \"log\", ";
inline constexpr std::string_view record_comment_prefix = "# {\"augur\": \"record\", ";
inline constexpr std::int64_t log_version = 1;

namespace detail {

/// Fields of a comment.
enum class comment_form : std::uint8_t {
    compiler, ///< written by version 0.1: of the machine only the compiler
    machine,
    origin, ///< of a record that has one
};

/// Calls f(name, value) for each field of the comment in file order, until f returns false. Reader, writer and schema hash share this list.
template <class Record, class F>
constexpr bool comment_fields(Record& r, F&& f, comment_form form = comment_form::machine) {
    return f("sequence", r.sequence) && (form == comment_form::compiler ? f("compiler", r.machine.compiler) : f("machine", r.machine)) &&
           f("flags", r.flags) && f("outcome", r.measured.status) && f("reason", r.measured.reason) && f("seconds", r.measured.seconds) &&
           f("total_seconds", r.measured.total_seconds) && f("compile_cpu_seconds", r.measured.compile_cpu_seconds) &&
           f("run_cpu_seconds", r.measured.run_cpu_seconds) && f("packing_seconds", r.measured.packing_seconds) &&
           f("max_error", r.measured.max_error) && f("timestamp", r.measured.timestamp) && (form != comment_form::origin || f("origin", r.origin));
}

inline void append_hex(std::string& out, std::uint64_t value, int digits) {
    constexpr char hex[] = "0123456789abcdef";
    for (int i = digits - 1; i >= 0; --i) out += hex[(value >> (4U * static_cast<unsigned>(i))) & 15U];
}

/// Hash of the field names in hex digits. A log with other fields is refused, because its schema differs.
inline std::string log_schema(comment_form form = comment_form::machine) {
    std::uint64_t hash = fnv1a64("length spread crc");
    record none;
    comment_fields(none, [&](std::string_view name, const auto&) { return hash = fnv1a64(name, fnv1a64(" ", hash)), true; }, form);
    std::string text;
    append_hex(text, hash, 16);
    return text;
}

/// Writes a double; infinities and NaN, which JSON lacks, become strings.
inline void write_real(json_writer& out, double value) {
    if (std::isfinite(value)) out.value(value);
    else out.value(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}
inline bool read_real(json_reader& in, double& value) {
    if (in.peek() == json_kind::number) return in.read(value);
    std::string_view name;
    if (!in.read(name)) return false;
    if (name == "nan") value = std::numeric_limits<double>::quiet_NaN();
    else if (name == "inf") value = std::numeric_limits<double>::infinity();
    else if (name == "-inf") value = -std::numeric_limits<double>::infinity();
    else return in.fail(errc::parse, "expected a number, \"inf\", \"-inf\" or \"nan\"");
    return true;
}

struct comment_writer {
    json_writer& out;
    bool operator()(std::string_view name, std::int64_t value) const { return out.key(name).value(value), true; }
    bool operator()(std::string_view name, const std::string& value) const { return out.key(name).value(value), true; }
    bool operator()(std::string_view name, const machine_identity& value) const { return write_identity(out.key(name), value), true; }
    bool operator()(std::string_view name, outcome value) const { return out.key(name).value(to_string(value)), true; }
    bool operator()(std::string_view name, double value) const { return out.key(name), write_real(out, value), true; }
    bool operator()(std::string_view name, const std::vector<double>& list) const {
        out.key(name).begin_array();
        for (const double value : list) write_real(out, value);
        out.end_array();
        return true;
    }
};

struct comment_reader {
    json_reader& in;
    bool operator()(std::string_view name, std::int64_t& value) const { return member(in, name) && in.read(value); }
    bool operator()(std::string_view name, std::string& value) const { return member(in, name) && in.read(value); }
    bool operator()(std::string_view name, machine_identity& value) const { return member(in, name) && read_identity(in, value); }
    bool operator()(std::string_view name, double& value) const { return member(in, name) && read_real(in, value); }
    bool operator()(std::string_view name, std::vector<double>& list) const {
        if (!member(in, name) || !in.begin_array()) return false;
        list.clear();
        while (in.next_element())
            if (!read_real(in, list.emplace_back())) return false;
        return in.ok();
    }
    bool operator()(std::string_view name, outcome& value) const {
        std::string_view word;
        if (!member(in, name) || !in.read(word)) return false;
        for (int i = 0; to_string(static_cast<outcome>(i)) != "unknown"; ++i)
            if (word == to_string(static_cast<outcome>(i))) return value = static_cast<outcome>(i), true;
        return in.fail(errc::parse, "expected an outcome, got \"" + std::string(word) + "\"");
    }
};

inline constexpr std::string_view crc_key = ", \"crc\": \"";
inline constexpr std::size_t crc_tail = 8 + 2; // eight digits, then `"}`

/// Ends a comment with the CRC-32 of `text` from offset `from`, and a newline.
inline void seal(std::string& text, std::size_t from) {
    text += crc_key;
    append_hex(text, crc32(std::string_view(text).substr(from)), 8);
    text += "\"}\n";
}

/// Does the checksum at the end of `comment` match? `front` is the CRC-32 of the bytes before the comment that the checksum covers.
inline bool seal_holds(std::string_view comment, std::uint32_t front) {
    if (comment.size() < crc_tail + crc_key.size()) return false;
    const std::string_view covered = comment.substr(0, comment.size() - crc_tail);
    if (!covered.ends_with(crc_key)) return false;
    std::string tail;
    append_hex(tail, crc32(covered, front), 8);
    tail += "\"}";
    return comment.ends_with(tail);
}

inline void begin_comment(json_writer& out, std::string_view kind, comment_form form = comment_form::machine) {
    out.begin_object().key("augur").value(kind).key("version").value(log_version).key("schema").value(log_schema(form));
}
inline bool read_comment_head(json_reader& in, std::string_view kind, comment_form& form) {
    std::string_view text;
    std::int64_t version = 0;
    if (!in.begin_object() || !member(in, "augur") || !in.read(text)) return false;
    if (text != kind) return in.fail(errc::parse, "expected a comment of kind " + std::string(kind) + ", got " + std::string(text));
    if (!member(in, "version") || !in.read(version)) return false;
    if (version != log_version)
        return in.fail(errc::version_mismatch, "version " + std::to_string(version) + ", known is " + std::to_string(log_version));
    if (!member(in, "schema") || !in.read(text)) return false;
    for (const auto known : {comment_form::machine, comment_form::origin, comment_form::compiler})
        if (text == log_schema(known)) return form = known, true;
    return in.fail(errc::version_mismatch, "schema " + std::string(text) + ", known is " + log_schema());
}

} // namespace detail

/// First line of a log, with its newline. It is the same for all logs of one version.
[[nodiscard]] inline std::string log_header(detail::comment_form form = detail::comment_form::machine) {
    std::string text = "# ";
    json_writer out(text);
    detail::begin_comment(out, "log", form);
    detail::seal(text, 0);
    return text;
}

/// Can `line` be a partial write of the augur writer? For the last line of a log that has no newline and is not a record. A comment that a user added
/// cannot.
///
/// @param ours  the log has an augur header or an augur comment
[[nodiscard]] inline bool may_be_torn(std::string_view line, bool ours) {
    return log_header().starts_with(line) || log_header(detail::comment_form::compiler).starts_with(line) ||
           (ours && (!line.starts_with('#') || record_comment_prefix.starts_with(line)));
}

/// Checks a header line, given without its newline. Errors: parse (damaged), version_mismatch (another version or schema).
[[nodiscard]] inline result<void> check_log_header(std::string_view line, std::size_t number = 1) {
    if (!detail::seal_holds(line, 0)) return error{errc::parse, "the header of the log is damaged"};
    json_reader in(line.substr(2), {}, number);
    detail::comment_form form{};
    if (!detail::read_comment_head(in, "log", form)) return in.error();
    return {};
}

/// Formats a record as its two lines, each with a newline.
[[nodiscard]] inline std::string to_text(const record& record) {
    std::string text;
    append_ansor_line(text, to_ansor_line(record));
    const std::size_t length = text.size();
    text += "\n# ";
    json_writer out(text);
    const auto form = record.origin.empty() ? detail::comment_form::machine : detail::comment_form::origin;
    detail::begin_comment(out, "record", form);
    out.key("length").value(length);
    detail::comment_fields(record, detail::comment_writer{out}, form);
    out.key("spread");
    detail::write_real(out, record.measured.ok() ? record.measured.spread() : 0.0); // for people; computed from the seconds
    detail::seal(text, 0);
    return text;
}

/// Adds the fields of the comment line to a record that `to_record` made from `line`.
/// Errors: parse (the checksum or a field is wrong), version_mismatch. On an error `record` is unspecified.
[[nodiscard]] inline result<void> read_record_comment(std::string_view line, std::string_view comment, record& record, std::size_t number = 1) {
    if (!comment.starts_with(record_comment_prefix)) return error{errc::parse, "expected the comment of a record"};
    if (!detail::seal_holds(comment, crc32("\n", crc32(line)))) return error{errc::parse, "the checksum does not match the record"};
    json_reader in(comment.substr(2), {}, number);
    std::int64_t length = 0;
    double spread = 0;
    std::string_view key;
    detail::comment_form form{};
    record.machine = {};
    record.origin.clear();
    const bool good = detail::read_comment_head(in, "record", form) && detail::member(in, "length") && in.read(length) &&
                      detail::comment_fields(record, detail::comment_reader{in}, form) && detail::member(in, "spread") &&
                      detail::read_real(in, spread) && detail::member(in, "crc") && in.skip() && !in.next_member(key) && in.finish();
    if (!in.ok()) return in.error();
    if (!good || length < 0 || static_cast<std::size_t>(length) != line.size()) return error{errc::parse, "the length does not match the record"};
    record.foreign = false;
    return {};
}

/// Parses the two lines of a record, both given without newline. Errors: those of `parse_ansor_line` and `read_record_comment`.
[[nodiscard]] inline result<record> parse_record(std::string_view line, std::string_view comment) {
    auto parsed = parse_ansor_line(line);
    if (!parsed) return parsed.error();
    record record = to_record(*std::move(parsed));
    if (auto read = read_record_comment(line, comment, record, 2); !read) return read.error();
    return record;
}

} // namespace augur::inline v0

#endif
