// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_TASKS_IN_LOG_HPP
#define AUGUR_SESSION_DETAIL_TASKS_IN_LOG_HPP

/// @file
/// The kernels of a log, as tasks of this machine.

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/target/isa_level.hpp>
#include <augur/target/machine.hpp>
#include <augur/workload/kernel.hpp>

namespace augur::inline v0::detail {

/// The tasks of a log, in the order of their first records.
inline result<std::vector<loopnest::kernel_task>> tasks_in_log(const std::string& log, const hardware_params& hardware, isa_level level) {
    auto reader = log_reader::open(log);
    if (!reader) return reader.error();
    std::vector<loopnest::kernel_task> out;
    std::set<std::string, std::less<>> seen;
    for (record r;;) {
        const auto has_record = reader->next(r);
        if (!has_record) return has_record.error();
        if (!*has_record) return out;
        if (!seen.insert(r.task.workload_key).second) continue;
        const auto k = kernel::from_workload_key(r.task.workload_key);
        if (!k) continue; // who reads the trials of these tasks counts its records
        auto t = loopnest::kernel_task::create(*k, hardware, 1, level);
        if (!t) continue; // likewise
        out.push_back(*std::move(t));
    }
}

} // namespace augur::inline v0::detail

#endif
