// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_LOADED_RECORDS_HPP
#define AUGUR_SESSION_DETAIL_LOADED_RECORDS_HPP

/// @file
/// What the models of a session know from logs of other kernels: records, schedules to transfer, demonstrations of a language model.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/session/detail/transfer_pool.hpp>
#include <augur/session/options.hpp>
#include <augur/target/machine.hpp>
#include <augur/transfer/schedule_pool.hpp>
#include <augur/tune/trial_log.hpp>

#ifdef AUGUR_HAS_TLM
#include <augur/dataset/dataset.hpp>
#include <augur/session/demonstrations.hpp>
#include <augur/workload/kernel.hpp>
#endif
#ifdef AUGUR_HAS_XGBOOST
#include <augur/loopnest/features/nest_row.hpp>
#include <augur/session/known.hpp>
#endif

namespace augur::inline v0::detail {

struct loaded_records {
    std::vector<std::string> notes; ///< what was taken from the logs, and what was not
    transfer::schedule_pool pool;   ///< of the logs of `session_options::transfer_from`
#ifdef AUGUR_HAS_TLM
    std::optional<dataset> demonstrations; ///< of the logs of `session_options::demonstrations`
#endif
#ifdef AUGUR_HAS_XGBOOST
    std::shared_ptr<const task_normalised_samples> known; ///< for the model `nest`
#endif

    /// Reads what a language model is fine-tuned on before the search.
    result<void> load_demonstrations([[maybe_unused]] const session_options& o) {
        if (o.demonstrations_best == 0) return error{errc::invalid_argument, "session: expected at least one demonstration of a kernel, 0 came"};
        const bool own_logs = o.demonstrations.empty() && o.search.model == "auto" && !o.search.language.empty();
        const auto& logs = own_logs ? o.transfer_from : o.demonstrations;
        if (logs.empty()) return {};
        if (o.search.language.empty())
            return error{errc::invalid_argument, "session: demonstrations are for a language model (session_search::language), none came"};
#ifdef AUGUR_HAS_TLM
        std::vector<kernel> own; // a log that the session itself writes would teach it more each time it is resumed
        for (const auto& k : o.work.kernels) own.push_back(k.workload);
        auto read = read_demonstrations(logs, o.demonstrations_best, own);
        if (!read && own_logs && read.error().code == errc::not_found) { // they were not given as demonstrations
            notes.push_back("demonstrations: " + read.error().detail);
            return {};
        }
        if (!read) return read.error();
        notes.push_back("demonstrations: " + read->text());
        demonstrations.emplace(std::move(read->sentences));
#endif
        return {};
    }

    /// Reads the records of other kernels, for the models `nest` and `auto`; from the logs of a transfer none of the session's own kernels.
    result<void> load_known([[maybe_unused]] const session_options& o, [[maybe_unused]] std::span<const loopnest::kernel_task> own,
                            [[maybe_unused]] const hardware_params& hardware, [[maybe_unused]] const toolchain& made_with,
                            [[maybe_unused]] const machine& host, [[maybe_unused]] int threads) {
#ifdef AUGUR_HAS_XGBOOST
        const bool decides = o.search.model == "auto", trees = decides || o.search.model == "nest" || !o.known.empty();
        std::vector<std::string> logs;
        if (!o.known.empty()) logs.push_back(o.known);
        for (const auto& log : o.transfer_from)
            if (log != o.known && (decides || o.known.empty()) && std::find(logs.begin(), logs.end(), log) == logs.end()) logs.push_back(log);
        if (!trees || logs.empty()) return {};
        const loopnest::nest_row row_of(loopnest::nest_target::make(host, threads));
        task_normalised_samples all(row_of.columns());
        for (const auto& log : logs) {
            auto read =
                read_known(log, hardware, made_with, row_of, all, o.compiler.isa, log == o.known ? std::span<const loopnest::kernel_task>() : own);
            // What else is known decides; a log of another machine has schedules to transfer all the same.
            if (!read && (decides || (o.transfer_other_machines && log != o.known)) && read.error().code == errc::not_found) {
                notes.push_back(read.error().detail);
                continue;
            }
            if (!read) return read.error();
            notes.push_back(log + ": " + std::to_string(read->records) + " candidates of " + std::to_string(read->kernels) + " kernels are known");
            if (read->unusable > 0)
                notes.push_back(log + ": " + std::to_string(read->unusable) +
                                " records have schedules that do not apply to their kernels and are passed over");
            if (read->passed_over > 0)
                notes.push_back(log + ": " + std::to_string(read->passed_over) +
                                " records of unknown kernels, other targets or compilers are passed over");
            if (read->other_machine > 0)
                notes.push_back(log + ": " + std::to_string(read->other_machine) + " records are of another machine (" + read->first_other_machine +
                                ") and are passed over");
            if (!read->first_bad.empty()) notes.push_back(log + ": damaged lines are passed over; the first: " + read->first_bad);
        }
        if (all.size() == 0 && decides) return {};
        if (all.size() == 0) return no_known(); // all records are of the session's own kernels, or have failed
        known = std::make_shared<const task_normalised_samples>(std::move(all));
#endif
        return {};
    }

    /// Reads the schedules that may be transferred.
    result<void> load_pool(const session_options& o, const toolchain& made_with, const loopnest::ansor_options& space) {
        if (!o.transfer_from.empty() && o.transfer_best == 0)
            return error{errc::invalid_argument, "session: expected to transfer at least the best schedule of a kernel, 0 came"};
        for (const auto& log : o.transfer_from)
            if (auto added = add_log(pool, log, made_with, space, o.transfer_best, o.transfer_other_machines, notes); !added) return added;
        return {};
    }

    /// Is there what the model `nest` begins with?   Errors: invalid_argument
    [[nodiscard]] result<void> check_known() const {
#ifdef AUGUR_HAS_XGBOOST
        if (known) return {};
#endif
        return no_known();
    }
    static error no_known() {
        return {errc::invalid_argument, "model 'nest': expected a log of other kernels (session_options::known or transfer_from), with records of "
                                        "this machine to learn from; none came"};
    }
};

} // namespace augur::inline v0::detail

#endif
