// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_LOG_FILE_REPORT_HPP
#define AUGUR_IO_LOG_FILE_REPORT_HPP

/// @file
/// Report about a log file that was read, and the parallel loop over files that all log readers share.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/io/byte_source.hpp>
#include <augur/record/record_assembler.hpp>

namespace augur::inline v0 {

/// Report about one file.
struct log_file_report {
    std::string path;
    log_summary summary;
    std::uint64_t bytes = 0; ///< bytes read, after decompression
};

namespace detail {

/// Reads the file `report.path` with `reader` and fills the report.
template <class Reader, class Stop>
[[nodiscard]] result<void> read_log_file(Reader& reader, const Stop& stop, log_file_report& report) {
    auto source = byte_source::open(report.path);
    if (!source) return source.error();
    auto done = reader.read(*source, stop);
    report.summary = reader.summary();
    report.bytes = reader.bytes();
    return done;
}

/// Calls `read_one(i, options, stop, reports[i]) -> result<void>` for each path, one call per task of `executor`. The calls of
/// `options.on_bad_line` exclude each other. The error of the first file that fails is returned; it makes `stop()` true for the files after it.
template <bulk_executor E, class ReadOne>
[[nodiscard]] result<std::vector<log_file_report>> read_log_files(std::span<const std::string> paths, E& executor, log_read_options options,
                                                                  const ReadOne& read_one) {
    std::vector<log_file_report> reports(paths.size());
    std::vector<error> errors(paths.size());
    std::atomic<std::size_t> first_failed{paths.size()};
    std::mutex one_at_a_time;
    if (options.on_bad_line)
        options.on_bad_line = [&one_at_a_time, tell = std::move(options.on_bad_line)](const bad_line& bad) {
            const std::scoped_lock<std::mutex> lock(one_at_a_time);
            tell(bad);
        };
    executor.bulk(paths.size(), [&](std::size_t i) {
        const auto stop = [&] { return first_failed.load(std::memory_order_relaxed) < i; };
        reports[i].path = paths[i];
        if (stop()) return;
        if (result<void> done = read_one(i, std::as_const(options), stop, reports[i]); !done) {
            errors[i] = done.error();
            auto before = first_failed.load();
            while (i < before && !first_failed.compare_exchange_weak(before, i)) {}
        }
    });
    if (const auto failed = first_failed.load(); failed < paths.size()) return errors[failed];
    return reports;
}

} // namespace detail

} // namespace augur::inline v0

#endif
