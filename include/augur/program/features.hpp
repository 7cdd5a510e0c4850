// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_FEATURES_HPP
#define AUGUR_PROGRAM_FEATURES_HPP

/// @file
/// Hardware-independent program features (Crop, section 3): control-flow graphs with task graphlets, execution counts and reuse profiles. Features
/// are gathered on one machine and give predictions for any other; features_json.hpp writes and reads them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <augur/program/graph/control_flow.hpp>
#include <augur/program/reuse/associativity_profile.hpp>
#include <augur/program/reuse/profile.hpp>

namespace augur::inline v0 {

/// Memory profiles of a run with a given number of threads.
struct memory_features {
    int threads = 1;
    reuse_profile own;                       ///< the accesses of one thread, for private caches
    reuse_profile shared;                    ///< the interleaved accesses of all threads, for shared caches; equal to `own` for one thread
    std::vector<associativity_profile> sets; ///< exact profiles of one thread for some numbers of sets; may be empty

    friend bool operator==(const memory_features&, const memory_features&) = default;
};

/// A function. A serial function runs `count` times; a parallel function is a loop body whose `count` iterations are distributed over the threads.
struct function_features {
    std::string name;
    bool parallel = false;
    std::uint64_t count = 1;             ///< Count(F) of Eq. 3
    std::uint64_t launches = 1;          ///< entries of the parallel region; 1 for a serial function
    control_flow_graph flow;             ///< block 0 is the entry
    std::vector<memory_features> memory; ///< by rising number of threads; empty: those of the program apply

    friend bool operator==(const function_features&, const function_features&) = default;
};

/// The features of a program on one input.
struct program_features {
    std::string name;
    std::string source; ///< tool that gathered the features; informative only
    std::vector<function_features> functions;
    std::vector<memory_features> memory; ///< of the whole program, by rising number of threads; empty: every access hits the first cache

    friend bool operator==(const program_features&, const program_features&) = default;
};

/// The entry with the largest number of threads up to `threads`, else the first entry; null for an empty list.
[[nodiscard]] inline const memory_features* memory_for(const std::vector<memory_features>& list, int threads) noexcept {
    const memory_features* best = list.empty() ? nullptr : &list.front();
    for (const auto& m : list)
        if (m.threads <= threads) best = &m;
    return best;
}

/// Size limits of a features file.
struct features_limits {
    std::size_t functions = 4096;
    std::size_t blocks = 8192;            ///< in one function
    std::size_t instructions = 1U << 20U; ///< in all functions
    std::size_t edges = 1U << 22U;        ///< in all graphs, including values carried between blocks
    std::size_t profiles = 16384;         ///< of reuse, in all functions; 15 KiB each
    std::uint64_t count = std::uint64_t{1} << 53U;
};

/// Checks the consistency of features: execution counts (`check_counts`), values carried between blocks, order of the memory profiles.
/// @note errors: invalid_argument, with the names of the function and the block
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
