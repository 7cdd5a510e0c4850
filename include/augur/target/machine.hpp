// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TARGET_MACHINE_HPP
#define AUGUR_TARGET_MACHINE_HPP

/// @file
/// What kernels run on: cores, caches, vector width, and how logs name it.

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

namespace augur::inline v0 {

/// Ansor's description of a target, the list of eight numbers in its log lines (TVM, include/tvm/auto_scheduler/search_task.h,
/// HardwareParamsNode). A CPU has 0 in the last five.
struct hardware_params {
    std::int64_t num_cores = 1;
    std::int64_t vector_unit_bytes = 64;
    std::int64_t cache_line_bytes = 64;
    std::int64_t max_shared_memory_per_block = 0;
    std::int64_t max_local_memory_per_block = 0;
    std::int64_t max_threads_per_block = 0;
    std::int64_t max_vthread_extent = 0;
    std::int64_t warp_size = 0;

    /// In the order of the log lines.
    [[nodiscard]] std::array<std::int64_t, 8> numbers() const noexcept {
        return {
            num_cores,          vector_unit_bytes, cache_line_bytes, max_shared_memory_per_block, max_local_memory_per_block, max_threads_per_block,
            max_vthread_extent, warp_size};
    }
    friend bool operator==(const hardware_params&, const hardware_params&) = default;
};

/// A data or unified cache.
struct cache_level {
    int level = 0;
    std::int64_t bytes = 0;
    std::int64_t line_bytes = 64;
    int sharers = 1; ///< processors that share one instance
};

/// The machine that this process runs on. What could not be found out keeps its default.
struct machine {
    std::string architecture;          ///< x86_64, aarch64, ...
    std::string cpu_name;              ///< printable, for people
    std::vector<std::string> features; ///< as the kernel names them, sorted
    int processors = 1;                ///< that this process may use
    std::int64_t vector_bytes = 16;    ///< widest float vectors
    std::vector<cache_level> caches;   ///< inner to outer
    std::int64_t memory_bytes = 0;     ///< physical, all of it

    [[nodiscard]] bool has(std::string_view feature) const { return std::binary_search(features.begin(), features.end(), feature); }

    /// The cache of a level, or null.
    [[nodiscard]] const cache_level* cache(int level) const noexcept {
        const auto at = std::find_if(caches.begin(), caches.end(), [&](const cache_level& c) { return c.level == level; });
        return at == caches.end() ? nullptr : &*at;
    }

    /// As log lines give it. `threads` is what kernels use, 0 for all processors.
    [[nodiscard]] hardware_params hardware(int threads = 0) const noexcept {
        hardware_params h;
        h.num_cores = threads > 0 ? threads : processors;
        h.vector_unit_bytes = vector_bytes;
        h.cache_line_bytes = caches.empty() ? 64 : caches.front().line_bytes;
        return h;
    }
};

/// How log lines name the target of kernels that a C compiler makes for the machine it runs on, in TVM's form.
inline std::string native_target_text() { return "c -keys=cpu -mcpu=native"; }

/// Processors that this process may use, at least 1.
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

/// A small file of /proc or /sys; empty when it is not there.
inline std::string read_small_file(const std::string& path) {
    std::string text;
    if (std::FILE* f = std::fopen(path.c_str(), "re")) {
        char block[4096];
        for (std::size_t n = 0; text.size() < (1U << 20U) && (n = std::fread(block, 1, sizeof block, f)) > 0;) text.append(block, n);
        std::fclose(f);
    }
    return text;
}

/// "48K" and "2M" in bytes; 0 when it is no such text.
inline std::int64_t parse_size(std::string_view text) {
    text = trimmed(text);
    std::int64_t n = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (bad != std::errc{} || n < 0 || n > (std::int64_t{1} << 40U)) return 0;
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    return unit.empty() ? n : unit == "K" ? n << 10U : unit == "M" ? n << 20U : 0;
}

/// Members of a list such as "0-3,8"; 0 when it is no such text.
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

/// Name and features from the text of /proc/cpuinfo, of its first processor.
inline void read_cpuinfo(std::string_view text, machine& m) {
    while (!text.empty()) {
        const auto end = (std::min)(text.find('\n'), text.size());
        const auto line = text.substr(0, end);
        text.remove_prefix((std::min)(end + 1, text.size()));
        const auto colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        const auto key = trimmed(line.substr(0, colon));
        auto value = trimmed(line.substr(colon + 1));
        if (m.cpu_name.empty() && (key == "model name" || key == "Model" || key == "Hardware"))
            for (const char c : value.substr(0, 128)) m.cpu_name.push_back(c >= ' ' && c < 127 ? c : '?');
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

/// Looks at /proc and /sys. Never fails: what is not there keeps its default.
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
        c.sharers = (std::max)(1, detail::count_list(detail::read_small_file(base + "shared_cpu_list")));
        if (c.level > 0 && c.bytes > 0) m.caches.push_back(c);
    }
    std::sort(m.caches.begin(), m.caches.end(), [](const cache_level& a, const cache_level& b) { return a.level < b.level; });
    const auto memory = detail::read_small_file("/proc/meminfo");
    if (const auto at = memory.find("MemTotal:"); at != std::string::npos) {
        auto rest = detail::trimmed(std::string_view(memory).substr(at + 9));
        m.memory_bytes = detail::parse_size(rest.substr(0, rest.find(' '))) * 1024;
    }
    return m;
}

} // namespace augur::inline v0

#endif
