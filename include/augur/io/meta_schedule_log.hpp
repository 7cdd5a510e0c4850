// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_META_SCHEDULE_LOG_HPP
#define AUGUR_IO_META_SCHEDULE_LOG_HPP

/// @file
/// Fast parallel reader of MetaSchedule databases (record/meta_schedule_line.hpp), plain or compressed, into a sink or a data set.
///
/// The reader finds tasks and instructions that it has read before by their bytes and parses only new ones, as io/ansor_log.hpp does.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/core/json.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/io/byte_source.hpp>
#include <augur/io/dataset_sink.hpp>
#include <augur/io/detail/buffered_lines.hpp>
#include <augur/io/detail/meta_schedule_line_parser.hpp>
#include <augur/io/detail/single_line_records.hpp>
#include <augur/io/log_file_report.hpp>
#include <augur/io/trial_sink.hpp>
#include <augur/record/meta_schedule_line.hpp>
#include <augur/record/record_assembler.hpp>
#include <augur/schedule/meta_schedule_trace.hpp>

namespace augur::inline v0 {

/// The two files of a database.
struct meta_schedule_files {
    std::string records;   ///< database_tuning_record.json
    std::string workloads; ///< database_workload.json; empty: there is none

    /// Files of TVM's `work_dir`.
    [[nodiscard]] static meta_schedule_files in_folder(const std::string& folder) {
        return {folder + "/database_tuning_record.json", folder + "/database_workload.json"};
    }
};

namespace detail {

/// Parser of the lines of database_workload.json.
struct workload_parser {
    std::vector<std::string>* hashes;
    json_limits limits;
    std::string hash, reason;

    bool parse(std::string_view line, std::size_t number, bad_line& problem) {
        json_reader in(line, limits, number);
        if (read_meta_schedule_workload(in, hash) && in.finish()) return true;
        reason = in.reason();
        problem = {{}, in.position().line, in.position().column, in.code(), reason};
        return false;
    }
    result<void> give() {
        hashes->push_back(hash);
        return {};
    }
};

} // namespace detail

/// Structural hashes of the workloads of a database, by line. A bad line is an error, because the lines after it would get other numbers; a torn last
/// line is reported to `options.on_bad_line`. Errors: those of byte_source::open; parse, limit.
[[nodiscard]] inline result<std::vector<std::string>> read_meta_schedule_workloads(const std::string& path, log_read_options options = {}) {
    auto source = byte_source::open(path);
    if (!source) return source.error();
    std::vector<std::string> hashes;
    options.strict = false;
    error first_bad;
    options.on_bad_line = [&, tell = std::move(options.on_bad_line)](const bad_line& bad) {
        if (first_bad.code == errc{}) first_bad = {bad.code, bad.text()};
        if (tell) tell(bad);
    };
    json_limits limits = options.limits;
    limits.string = limits.document; // a module with constants is one long string
    using records = detail::single_line_records<detail::workload_parser>;
    detail::buffered_lines<records> lines(records(path, options, detail::workload_parser{&hashes, limits, {}, {}}), limits.document,
                                          std::size_t{1} << 18U);
    if (auto done = lines.read(*source, [] { return false; }); !done) return done.error();
    if (lines.records().summary().bad > 0) return first_bad;
    return hashes;
}

/// Reads the records of one database into a sink, which gets instructions as steps. `log_read_options::steps` limits the instructions of a trace.
///
/// Memory     the longest line, at least a block of 256 KiB; caches of the texts of tasks and instructions (io/detail/text_cache.hpp)
/// Threads    one thread per reader
template <trial_sink<meta_schedule_trace> K>
class meta_schedule_log_reader {
public:
    /// `name`: file name for messages. `workloads`: see `read_meta_schedule_workloads`; nullopt: `name` and a number take the place of the hash in the
    /// key of a task. `block`: initial size of the buffer in bytes.
    meta_schedule_log_reader(std::string name, std::optional<std::vector<std::string>> workloads, K& sink, const log_read_options& options = {},
                             std::size_t block = std::size_t{1} << 18U)
        : lines_(records(name, options, detail::meta_schedule_line_parser<K>(sink, options, name, std::move(workloads))), options.limits.document,
                 block) {}

    /// Reads from `source.read(char*, size_t) -> result<size_t>` to the end or until `stop()` is true. A line that is no record is counted and
    /// reported, and so is damage of a compressed file. Errors: io; errors of the sink; with `strict`, the first bad line or torn record.
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
    using records = detail::single_line_records<detail::meta_schedule_line_parser<K>>;
    detail::buffered_lines<records> lines_;
};

/// Reads databases in parallel, as `read_ansor_logs` (io/ansor_log.hpp) does. `log_file_report` is about the file of records.
/// Errors: those of read_meta_schedule_workloads, byte_source::open and meta_schedule_log_reader::read.
template <bulk_executor E, std::invocable<std::size_t> SinkOf>
[[nodiscard]] result<std::vector<log_file_report>> read_meta_schedule_logs(std::span<const meta_schedule_files> databases, E& executor,
                                                                           SinkOf&& sink_of, log_read_options options = {}) {
    std::vector<std::string> paths;
    for (const auto& database : databases) paths.push_back(database.records);
    const auto read = [&](std::size_t i, const log_read_options& told, auto& stop, auto& report) -> result<void> {
        std::optional<std::vector<std::string>> workloads;
        if (!databases[i].workloads.empty()) {
            auto hashes = read_meta_schedule_workloads(databases[i].workloads, told);
            if (!hashes) return hashes.error();
            workloads = *std::move(hashes);
        }
        auto& sink = sink_of(i);
        meta_schedule_log_reader<std::remove_reference_t<decltype(sink)>> reader(paths[i], std::move(workloads), sink, told);
        return detail::read_log_file(reader, stop, report);
    };
    return detail::read_log_files(paths, executor, std::move(options), read);
}

/// Source name of the records of a database: `source_name` of the file, of its folder for a file with TVM's name.
[[nodiscard]] inline std::string_view meta_schedule_source_name(std::string_view path) noexcept {
    const std::string_view name = source_name(path);
    const auto slash = path.rfind('/');
    return name != "database_tuning_record" || slash == std::string_view::npos ? name : source_name(path.substr(0, slash));
}

/// Reads databases into `builder` in parallel, as `read_ansor_logs` (io/ansor_dataset.hpp) does. The key of a task is `meta_schedule_workload_key`; an
/// instruction with its decision is one primitive. The source of a record is `meta_schedule_source_name` of its file.
template <bulk_executor E>
[[nodiscard]] result<std::vector<log_file_report>> read_meta_schedule_logs(std::span<const meta_schedule_files> databases, E& executor,
                                                                           dataset_builder& builder, const log_read_options& options = {}) {
    std::vector<std::string> paths;
    for (const auto& database : databases) paths.push_back(database.records);
    const auto read = [&](const auto& sink_of) { return read_meta_schedule_logs(databases, executor, sink_of, options); };
    return detail::read_into_builder(paths, builder, read, meta_schedule_source_name);
}

} // namespace augur::inline v0

#endif
