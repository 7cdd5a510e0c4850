// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_AUTOTVM_LOG_HPP
#define AUGUR_IO_AUTOTVM_LOG_HPP

/// @file
/// Fast parallel reader of AutoTVM logs (version 0.2, record/autotvm_line.hpp), plain or compressed, into a sink or a data set.
///
/// The reader finds tasks and knobs that it has read before by their bytes and parses only new ones, as io/ansor_log.hpp does. A line that is not
/// formatted as TVM formats it goes to `parse_autotvm_line`; the values and the errors are the same either way.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/io/dataset_sink.hpp>
#include <augur/io/detail/autotvm_line_parser.hpp>
#include <augur/io/detail/buffered_lines.hpp>
#include <augur/io/detail/single_line_records.hpp>
#include <augur/io/log_file_report.hpp>
#include <augur/io/trial_sink.hpp>
#include <augur/record/record_assembler.hpp>
#include <augur/schedule/autotvm_config.hpp>

namespace augur::inline v0 {

/// Reads one log into a sink, which gets the knobs of configurations as steps. `compiler` of a record is "TVM " and the version of TVM.
/// The index of a configuration in its space is not given: the knobs say the same. `log_read_options::steps` limits the knobs of a configuration.
///
/// Memory     the longest line, at least a block of 256 KiB; caches of the texts of tasks and knobs (io/detail/text_cache.hpp)
/// Threads    one thread per reader
template <trial_sink<autotvm_config> K>
class autotvm_log_reader {
public:
    /// `name`: file name for messages. `block`: initial size of the buffer in bytes.
    autotvm_log_reader(std::string name, K& sink, const log_read_options& options = {}, std::size_t block = std::size_t{1} << 18U)
        : lines_(records(std::move(name), options, detail::autotvm_line_parser<K>(sink, options)), options.limits.document, block) {}

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
    using records = detail::single_line_records<detail::autotvm_line_parser<K>>;
    detail::buffered_lines<records> lines_;
};

/// Reads log files in parallel, as `read_ansor_logs` (io/ansor_log.hpp) does. Errors: those of byte_source::open and autotvm_log_reader::read.
template <bulk_executor E, std::invocable<std::size_t> SinkOf>
[[nodiscard]] result<std::vector<log_file_report>> read_autotvm_logs(std::span<const std::string> paths, E& executor, SinkOf&& sink_of,
                                                                     log_read_options options = {}) {
    return detail::read_log_files(paths, executor, std::move(options), [&](std::size_t i, const log_read_options& told, auto& stop, auto& report) {
        auto& sink = sink_of(i);
        autotvm_log_reader<std::remove_reference_t<decltype(sink)>> reader(paths[i], sink, told);
        return detail::read_log_file(reader, stop, report);
    });
}

/// Reads log files into `builder` in parallel, as `read_ansor_logs` (io/ansor_dataset.hpp) does. The key of a task is `autotvm_workload_key`; a knob is
/// one primitive.
template <bulk_executor E>
[[nodiscard]] result<std::vector<log_file_report>> read_autotvm_logs(std::span<const std::string> paths, E& executor, dataset_builder& builder,
                                                                     const log_read_options& options = {}) {
    return detail::read_into_builder(paths, builder, [&](const auto& sink_of) { return read_autotvm_logs(paths, executor, sink_of, options); });
}

} // namespace augur::inline v0

#endif
