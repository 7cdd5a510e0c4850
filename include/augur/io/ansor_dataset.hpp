// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_ANSOR_DATASET_HPP
#define AUGUR_IO_ANSOR_DATASET_HPP

/// @file
/// Import of TVM auto_scheduler (Ansor) logs into a data set.

#include <span>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/io/ansor_log.hpp>
#include <augur/io/dataset_sink.hpp>
#include <augur/io/log_file_report.hpp>

namespace augur::inline v0 {

/// Reads log files into `builder` in parallel, with the result of a sequential reading. The source of a record is `source_name` of its file.
///
/// Memory     the memory of the builder, and that of the largest file once more
/// Errors     those of the other `read_ansor_logs` and of the builder; `builder` is then unchanged, or unusable if the error is `limit`
template <bulk_executor E>
[[nodiscard]] result<std::vector<log_file_report>> read_ansor_logs(std::span<const std::string> paths, E& executor, dataset_builder& builder,
                                                                   const log_read_options& options = {}) {
    return detail::read_into_builder(paths, builder, [&](const auto& sink_of) { return read_ansor_logs(paths, executor, sink_of, options); });
}

} // namespace augur::inline v0

#endif
