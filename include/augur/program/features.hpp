// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_FEATURES_HPP
#define AUGUR_PROGRAM_FEATURES_HPP

/// @file
/// What Crop knows of a program, whatever machine it runs on: functions, their blocks as graphlets, counts, and how they use memory. A value,
/// gathered on one machine and predicted for any other; features_json.hpp writes and reads it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <augur/program/graph/control_flow.hpp>
#include <augur/program/reuse/associativity_profile.hpp>
#include <augur/program/reuse/profile.hpp>

namespace augur::inline v0 {

/// How memory is used when the work is dealt to so many threads.
struct memory_features {
    int threads = 1;
    reuse_profile own;             ///< the accesses of one thread: what private caches see
    reuse_profile shared;          ///< those of all threads, interleaved: what a cache sees that they share; with one thread equal to `own`
    std::vector<associativity_profile> sets; ///< the accesses of one thread, exactly, for the numbers of sets that were counted; may be none

    friend bool operator==(const memory_features&, const memory_features&) = default;
};

/// A function: a serial one runs `count` times, a parallel one is the body of `count` iterations that are dealt to the threads.
struct function_features {
    std::string name;
    bool parallel = false;
    std::uint64_t count = 1;             ///< Count(F) of Eq. 3
    std::uint64_t launches = 1;          ///< how often a parallel function was dealt out; 1 for a serial one
    control_flow_graph flow;             ///< block 0 is where it begins
    std::vector<memory_features> memory; ///< by threads, rising; none: the program's

    friend bool operator==(const function_features&, const function_features&) = default;
};

/// A program on one input.
struct program_features {
    std::string name;
    std::string source; ///< what gathered them, for people
    std::vector<function_features> functions;
    std::vector<memory_features> memory; ///< of the whole program, by threads, rising; none: it is taken to stay in the first cache

    friend bool operator==(const program_features&, const program_features&) = default;
};

/// The entry gathered for the most threads that are not more than `threads`, or the first; null when there is none.
[[nodiscard]] inline const memory_features* memory_for(const std::vector<memory_features>& list, int threads) noexcept {
    const memory_features* best = list.empty() ? nullptr : &list.front();
    for (const auto& m : list)
        if (m.threads <= threads) best = &m;
    return best;
}

/// Limits of what a file of features may hold.
struct features_limits {
    std::size_t functions = 4096;
    std::size_t blocks = 8192;            ///< of a function
    std::size_t instructions = 1U << 20U; ///< of all functions
    std::size_t edges = 1U << 22U;        ///< of all graphs, and values carried between blocks
    std::uint64_t count = std::uint64_t{1} << 53U;
};

/// Do the parts fit together? Counts (`check_counts`), values carried between blocks, order of the entries.
/// @note errors: invalid_argument, which names the function and the block
[[nodiscard]] inline result<void> check_features(const program_features& p) {
    const auto refuse = [](const function_features& f, const std::string& text) {
        return error{errc::invalid_argument, "function '" + f.name.substr(0, 80) + "': " + text};
    };
    const auto rising = [](const std::vector<memory_features>& list) {
        int last = 0;
        for (const auto& m : list) {
            if (m.threads <= last || m.own.line_bytes() != m.shared.line_bytes()) return false;
            last = m.threads;
        }
        return true;
    };
    if (!rising(p.memory)) return error{errc::invalid_argument, "memory: expected rising numbers of threads and lines of one size"};
    for (const auto& f : p.functions) {
        if (!rising(f.memory)) return refuse(f, "memory: expected rising numbers of threads and lines of one size");
        if (f.flow.size() == 0) return refuse(f, "has no block");
        if (f.launches < 1 || f.launches > (std::max)(f.count, std::uint64_t{1}) || (!f.parallel && f.launches != 1))
            return refuse(f, "launches: expected 1, or for a parallel function at most its count, got " + std::to_string(f.launches));
        if (auto fits = check_counts(f.flow, f.count); !fits) return refuse(f, fits.error().detail);
        for (std::uint32_t i = 0; i < f.flow.edge_count(); ++i) {
            const auto e = f.flow.edge(i);
            std::uint32_t last = 0;
            for (const auto& d : f.flow[e].carried) {
                if (d.from >= f.flow[e.source].code.size() || d.to >= f.flow[e.target].code.size() || d.from < last)
                    return refuse(f, "edge " + std::to_string(i) + " carries " + std::to_string(d.from) + " to " + std::to_string(d.to) +
                                         ", expected vertices of its blocks, by rising source");
                last = d.from;
            }
        }
    }
    return {};
}

} // namespace augur::inline v0

#endif
