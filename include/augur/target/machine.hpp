// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TARGET_MACHINE_HPP
#define AUGUR_TARGET_MACHINE_HPP

/// @file
/// Machine description for CPUs: cores, caches, memory, vector width, instruction costs; detection of the local machine; TVM's hardware parameters.
/// target/machine_file.hpp reads and writes the JSON form.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

#include <augur/target/machine_instructions.hpp>

namespace augur::inline v0 {

/// Ansor's hardware parameters, the list of eight numbers in its log lines (TVM, include/tvm/auto_scheduler/search_task.h, HardwareParamsNode).
/// The last five are 0 for a CPU.
struct hardware_params {
    std::int64_t num_cores = 1;
    std::int64_t vector_unit_bytes = 64;
    std::int64_t cache_line_bytes = 64;
    std::int64_t max_shared_memory_per_block = 0;
    std::int64_t max_local_memory_per_block = 0;
    std::int64_t max_threads_per_block = 0;
    std::int64_t max_vthread_extent = 0;
    std::int64_t warp_size = 0;

    /// The eight parameters in the order of the log lines.
    [[nodiscard]] std::array<std::int64_t, 8> numbers() const noexcept {
        return {
            num_cores,          vector_unit_bytes, cache_line_bytes, max_shared_memory_per_block, max_local_memory_per_block, max_threads_per_block,
            max_vthread_extent, warp_size};
    }
    friend bool operator==(const hardware_params&, const hardware_params&) = default;
};

/// The source of a number. The names are written to files: append, never rename.
enum class provenance : std::uint8_t {
    defaulted, ///< not known: a textbook value
    table,     ///< from a manual or a published table
    measured,  ///< measured on that machine
};
inline constexpr std::array<std::string_view, 3> provenance_names{"default", "table", "measured"};
constexpr std::string_view to_string(provenance p) noexcept { return detail::name_of(provenance_names, static_cast<std::size_t>(p)); }

/// A data or unified cache. Sizes are per instance, not the sum over all cores, which lscpu and Table 1 of the Crop paper give.
struct cache_level {
    int level = 0;
    std::int64_t bytes = 0; ///< capacity of one instance
    std::int64_t line_bytes = 64;
    int sharers = 1;                         ///< processors that share one instance
    std::int64_t ways = 0;                   ///< associativity; 0: not known
    double latency = 0;                      ///< load-to-use latency in cycles of a hit in this level; 0: not known
    double bytes_per_cycle = 0;              ///< bandwidth of one core from this level; 0: not known, and then never a limit
    provenance from = provenance::defaulted; ///< source of latency, bytes_per_cycle and set_cycles
    double set_cycles = 0;                   ///< cycles between two line fills of one set from the next level; 0: not known, no limit

    friend bool operator==(const cache_level&, const cache_level&) = default;
};

/// Main memory, the level after the last cache.
struct main_memory {
    std::int64_t bytes = 0;           ///< total physical memory
    double latency = 0;               ///< cycles; 0: not known
    double bytes_per_second = 0;      ///< read bandwidth of all cores together; 0: not known, and then never a limit
    double core_bytes_per_second = 0; ///< read bandwidth of one core; 0: not known
    provenance from = provenance::defaulted;

    friend bool operator==(const main_memory&, const main_memory&) = default;
};

/// A group of `count` identical execution units (ports).
struct execution_unit {
    std::string name;
    int count = 1;

    friend bool operator==(const execution_unit&, const execution_unit&) = default;
};

/// The cost of one instruction on vectors of up to `lanes` lanes. A longer vector takes several instructions; a shorter one costs the same.
struct instruction_cost {
    instruction_class op = instruction_class::unknown;
    element_type type = element_type::i64;
    std::int64_t lanes = 1;
    double latency = 1;    ///< cycles from operands to result
    double throughput = 1; ///< reciprocal throughput: cycles between the starts of two independent instructions, over all units of the group
    std::size_t unit = 0;  ///< index into machine::units
    provenance from = provenance::defaulted;

    friend bool operator==(const instruction_cost&, const instruction_cost&) = default;
};

/// The front end and the speculation of a core. 0 means not known, unless the comment of the field says otherwise.
struct core_front {
    double issue_width = 0;     ///< instructions per cycle
    double window = 0;          ///< instructions in flight (reorder buffer)
    double mispredict = 0;      ///< cycles lost per mispredicted branch
    double store_forward = 0;   ///< latency in cycles of a load that is forwarded from an earlier store
    double predicted_trips = 0; ///< branches of loops with at most this trip count are predicted, loop exits included; 0: none (Crop)
    double parallel_launch = 0; ///< cycles to fork and join the threads of one parallel region; may be 0
    std::uint32_t folds = 0;    ///< bit i: the machine applies fold_hint i
    provenance from = provenance::defaulted;

    friend bool operator==(const core_front&, const core_front&) = default;
};

/// A target machine: the local one (`detect_machine`), or one read from a machine file. Unknown fields keep their defaults.
struct machine {
    std::string architecture;          ///< x86_64, aarch64, ...
    std::string cpu_name;              ///< product name, for display
    std::string vendor;                ///< x86: as in /proc/cpuinfo, e.g. AuthenticAMD; Arm: number of the implementer; empty: not known
    std::string family;                ///< x86: CPU family; Arm: version of the architecture
    std::string model;                 ///< x86: model number; Arm: part number
    std::vector<std::string> features; ///< CPU feature flags as in /proc/cpuinfo, sorted
    int processors = 1;                ///< number of processors that this process may use
    std::int64_t vector_bytes = 16;    ///< width of the widest floating-point vector registers
    double clock_hz = 0;               ///< frequency of the cycles in which all latencies are given; 0: not known
    std::vector<cache_level> caches;   ///< from the innermost level to the outermost
    main_memory memory;
    core_front core;
    std::vector<execution_unit> units;
    std::vector<instruction_cost> costs; ///< an instruction that is not listed has a default cost (program/pipeline/costs.hpp)

    friend bool operator==(const machine&, const machine&) = default;

    /// Whether the machine applies a fold hint.
    [[nodiscard]] bool folds(fold_hint f) const noexcept { return ((core.folds >> static_cast<unsigned>(f)) & 1U) != 0; }
    [[nodiscard]] bool has(std::string_view feature) const { return std::binary_search(features.begin(), features.end(), feature); }

    /// Number of vector registers: 32 with AVX-512, on Arm and on RISC-V; 16 on other x86 processors.
    [[nodiscard]] int vector_registers() const noexcept { return vector_bytes >= 64 || !is_x86() ? 32 : 16; }
    /// Whether vectors are multiplied and added by one instruction. A description without features tells it by the width of its vectors.
    [[nodiscard]] bool has_multiply_add() const { return !is_x86() || has("fma") || (features.empty() && vector_bytes >= 32); }

    /// The cache of the given level, or null.
    [[nodiscard]] const cache_level* cache(int level) const noexcept {
        const auto at = std::find_if(caches.begin(), caches.end(), [&](const cache_level& c) { return c.level == level; });
        return at == caches.end() ? nullptr : &*at;
    }

    /// The hardware parameters for log lines. `threads` is the number of threads of a kernel; 0: one per processor.
    [[nodiscard]] hardware_params hardware(int threads = 0) const noexcept {
        hardware_params h;
        h.num_cores = threads > 0 ? threads : processors;
        h.vector_unit_bytes = vector_bytes;
        h.cache_line_bytes = caches.empty() ? 64 : caches.front().line_bytes;
        return h;
    }

private:
    [[nodiscard]] bool is_x86() const noexcept { return architecture == "x86_64" || architecture == "i686"; }
};

/// The number of processors that this process may use (CPU affinity), at least 1.
inline int available_processors() noexcept {
#ifdef __linux__
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) == 0) return (std::max)(1, CPU_COUNT(&set));
#endif
    return static_cast<int>((std::max)(1U, std::thread::hardware_concurrency()));
}

namespace detail {

inline std::string_view trimmed(std::string_view s) {
    const auto begin = s.find_first_not_of(" \t\n\r");
    if (begin == std::string_view::npos) return {};
    return s.substr(begin, s.find_last_not_of(" \t\n\r") - begin + 1);
}

/// The text of a small file in /proc or /sys, at most about 1 MiB; empty if the file cannot be opened.
inline std::string read_small_file(const std::string& path) {
    std::string text;
    if (std::FILE* f = std::fopen(path.c_str(), "re")) {
        char block[4096];
        for (std::size_t n = 0; text.size() < (1U << 20U) && (n = std::fread(block, 1, sizeof block, f)) > 0;) text.append(block, n);
        std::fclose(f);
    }
    return text;
}

/// Parses a size such as "48K" or "2M" into bytes; 0 if the text is malformed.
inline std::int64_t parse_size(std::string_view text) {
    text = trimmed(text);
    std::int64_t n = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (bad != std::errc{} || n < 0 || n > (std::int64_t{1} << 40U)) return 0;
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    return unit.empty() ? n : unit == "K" ? n << 10U : unit == "M" ? n << 20U : 0;
}

/// Counts the members of a CPU list such as "0-3,8"; 0 if the text is malformed.
inline int count_list(std::string_view text) {
    int count = 0;
    text = trimmed(text);
    while (!text.empty()) {
        const auto comma = (std::min)(text.find(','), text.size());
        const auto part = text.substr(0, comma);
        text.remove_prefix((std::min)(comma + 1, text.size()));
        int low = 0, high = 0;
        const auto dash = (std::min)(part.find('-'), part.size());
        if (std::from_chars(part.data(), part.data() + dash, low).ec != std::errc{}) return 0;
        high = low;
        if (dash < part.size() && std::from_chars(part.data() + dash + 1, part.data() + part.size(), high).ec != std::errc{}) return 0;
        if (high < low || high > (1 << 20)) return 0;
        count += high - low + 1;
    }
    return count;
}

/// Reads name, vendor, family, model and features of the first processor from the text of /proc/cpuinfo.
inline void read_cpuinfo(std::string_view text, machine& m) {
    const auto set_first = [](std::string& out, std::string_view value) {
        if (!out.empty()) return;
        for (const char c : value.substr(0, 128)) out.push_back(c >= ' ' && c < 127 ? c : '?');
    };
    while (!text.empty()) {
        const auto end = (std::min)(text.find('\n'), text.size());
        const auto line = text.substr(0, end);
        text.remove_prefix((std::min)(end + 1, text.size()));
        const auto colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        const auto key = trimmed(line.substr(0, colon));
        auto value = trimmed(line.substr(colon + 1));
        if (key == "model name" || key == "Model" || key == "Hardware") set_first(m.cpu_name, value);
        else if (key == "vendor_id" || key == "CPU implementer") set_first(m.vendor, value);
        else if (key == "cpu family" || key == "CPU architecture") set_first(m.family, value);
        else if (key == "model" || key == "CPU part") set_first(m.model, value);
        if (!m.features.empty() || (key != "flags" && key != "Features")) continue;
        while (!value.empty()) {
            const auto blank = (std::min)(value.find(' '), value.size());
            if (blank > 0) m.features.emplace_back(value.substr(0, blank));
            value.remove_prefix((std::min)(blank + 1, value.size()));
        }
        std::sort(m.features.begin(), m.features.end());
    }
    m.vector_bytes = m.has("avx512f") ? 64 : m.has("avx") ? 32 : 16;
}

} // namespace detail

/// Describes the local machine from /proc and /sys. Never fails: a field without a source keeps its default.
inline machine detect_machine() {
    machine m;
#if defined(__x86_64__)
    m.architecture = "x86_64";
#elif defined(__aarch64__)
    m.architecture = "aarch64";
#else
    m.architecture = "unknown";
#endif
    m.processors = available_processors();
    detail::read_cpuinfo(detail::read_small_file("/proc/cpuinfo"), m);
    for (int i = 0; i < 8; ++i) {
        const std::string base = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
        const std::string type = detail::read_small_file(base + "type");
        const auto kind = detail::trimmed(type);
        if (kind.empty() || kind == "Instruction") continue;
        cache_level c;
        c.level = static_cast<int>(detail::parse_size(detail::read_small_file(base + "level")));
        c.bytes = detail::parse_size(detail::read_small_file(base + "size"));
        if (const auto line = detail::parse_size(detail::read_small_file(base + "coherency_line_size")); line > 0) c.line_bytes = line;
        c.ways = (std::max)(std::int64_t{0}, detail::parse_size(detail::read_small_file(base + "ways_of_associativity")));
        c.sharers = (std::max)(1, detail::count_list(detail::read_small_file(base + "shared_cpu_list")));
        if (c.level > 0 && c.bytes > 0) m.caches.push_back(c);
    }
    std::sort(m.caches.begin(), m.caches.end(), [](const cache_level& a, const cache_level& b) { return a.level < b.level; });
    const auto memory = detail::read_small_file("/proc/meminfo");
    if (const auto at = memory.find("MemTotal:"); at != std::string::npos) {
        auto value = detail::trimmed(std::string_view(memory).substr(at + 9));
        m.memory.bytes = detail::parse_size(value.substr(0, value.find(' '))) * 1024;
    }
    return m;
}

} // namespace augur::inline v0

#endif
