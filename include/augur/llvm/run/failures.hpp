// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_RUN_FAILURES_HPP
#define AUGUR_LLVM_RUN_FAILURES_HPP

/// @file
/// Signal handlers of the child process that report failures of the traced program to the parent.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/time.h>

#include <llvm/IR/Function.h>
#include <llvm/Support/ErrorHandling.h>

#include <augur/llvm/options.hpp>
#include <augur/llvm/run/guarded_child.hpp>
#include <augur/llvm/run/watched_run.hpp>

namespace augur::inline v0::detail {

/// Reports signals, out-of-memory and LLVM's fatal errors to the parent before the child process ends.
struct ir_failures {
    static inline const child_report* report = nullptr;
    static inline const char* step = "read";
    static inline double seconds = 0;
    static inline std::vector<std::pair<std::size_t, std::string>>* names = nullptr; ///< (counter, the function or block that it counts)
    static inline std::vector<::llvm::Function*>* foreign = nullptr;

    static void install(const child_report& to, const ir_options& o) {
        report = &to;
        seconds = o.time_limit_seconds;
        struct sigaction act{};
        act.sa_sigaction = &handle;
        act.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigfillset(&act.sa_mask);
        for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGALRM, SIGXCPU}) ::sigaction(s, &act, nullptr);
        itimerval timer{};
        timer.it_value.tv_sec = static_cast<time_t>(seconds);
        timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - static_cast<double>(timer.it_value.tv_sec)) * 1e6);
        ::setitimer(ITIMER_REAL, &timer, nullptr);
        ::llvm::install_fatal_error_handler(
            [](void*, const char* message, bool) { report_failure(errc::unsupported, "LLVM reported a fatal error", message); });
        std::set_new_handler([] { report_failure(errc::limit, "out of memory", ""); });
    }
    static void no_such_function(std::uint64_t i) {
        report->fail(errc::not_found,
                     "the program calls '" + (*foreign)[i]->getName().take_front(80).str() + "', which is not here (ir_options.symbols)");
    }

private:
    [[noreturn]] static void report_failure(errc code, const char* failure, const char* details) {
        std::array<char, 512> text;
        const int n = std::snprintf(text.data(), text.size(), "%s while it was to %s%s%s%s", failure, step, *details != '\0' ? ": " : "", details,
                                    hottest_place().data());
        report->fail(code, {text.data(), (std::min)(static_cast<std::size_t>(n), text.size() - 1)});
    }
    /// Names the function or block with the highest count so far.
    static std::array<char, 256> hottest_place() {
        std::array<char, 256> text{};
        if (ir_run::now == nullptr || names == nullptr) return text;
        const std::string* most = nullptr;
        std::uint64_t times = 0;
        for (const auto& [counter, name] : *names)
            if (const auto n = ir_run::now->counters[counter]; n > times) times = n, most = &name;
        if (most != nullptr)
            std::snprintf(text.data(), text.size(), "; the highest execution count is %llu, of %s", static_cast<unsigned long long>(times),
                          most->c_str());
        return text;
    }
    static void handle(int signal, siginfo_t* info, void*) {
        std::array<char, 256> text{};
        if (signal == SIGALRM) {
            std::snprintf(text.data(), text.size(), "stopped at its time limit of %g seconds", seconds);
            report_failure(errc::limit, text.data(), "");
        }
        if (signal == SIGXCPU) report_failure(errc::limit, "stopped at its limit of processor time", "");
        const bool running = ir_run::now != nullptr;
        if (running && (signal == SIGSEGV || signal == SIGBUS))
            ir_run::now->memory.describe(reinterpret_cast<std::uint64_t>(info->si_addr), text.data(), text.size());
        if (running && ir_run::now->heap.refused() > 0) {
            const auto used = std::char_traits<char>::length(text.data());
            std::snprintf(text.data() + used, text.size() - used, "; before that it asked for %llu bytes, more than the memory limit has left",
                          static_cast<unsigned long long>(ir_run::now->heap.refused()));
        }
        const char* const failure = signal == SIGSEGV || signal == SIGBUS ? "wild access to memory"
                                    : signal == SIGFPE                    ? "division by zero or overflow of a division"
                                    : signal == SIGILL                    ? "an instruction that this processor does not have, or unreachable code"
                                    : signal == SIGABRT                   ? "abort"
                                                                          : "killed by a signal";
        report_failure(running ? errc::illegal_schedule : errc::unsupported, failure, text.data());
    }
};

} // namespace augur::inline v0::detail

#endif
