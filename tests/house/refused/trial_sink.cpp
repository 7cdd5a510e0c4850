// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/io/ansor_log.hpp>
struct counter {
    std::size_t trials = 0;
    std::uint32_t task(const augur::logged_task&) { return 0; }
    std::uint32_t step(const augur::step_list&) { return 0; }
#if FAIL // a sink must be able to end the reading
    void add(const augur::record_view&) { ++trials; }
#else
    augur::result<void> add(const augur::record_view&) { return ++trials, augur::result<void>(); }
#endif
};
void check(counter& sink) { augur::ansor_log_reader<counter> reader("log", sink); }
