// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_TASK_DAGS_HPP
#define AUGUR_EXAMPLES_SUPPORT_TASK_DAGS_HPP

/// @file
/// The compute DAGs of logged tasks, from the file that lies beside the logs.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/dag.hpp>

namespace examples {

/// By workload key.
using dag_map = std::map<std::string, std::shared_ptr<const augur::loopnest::compute_dag>, std::less<>>;

/// Reads the DAGs of the wanted keys from lines of {"key": workload key, "dag": TVM's text}, plain or packed; the last line may lack its newline. A
/// wanted DAG that cannot be read is told on stderr and left out. Holds the whole text.
/// Errors: not_found; io; parse, with the line
[[nodiscard]] augur::result<dag_map> read_dags(const std::string& path, const std::function<bool(std::string_view)>& wanted);

} // namespace examples

#endif
