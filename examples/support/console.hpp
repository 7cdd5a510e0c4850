// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_CONSOLE_HPP
#define AUGUR_EXAMPLES_SUPPORT_CONSOLE_HPP

/// @file
/// What a person sees while a program tunes: a progress bar on a terminal, plain lines elsewhere, tables, and Ctrl-C.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

namespace examples {

/// Set by the first SIGINT or SIGTERM; the second one kills, as if nobody had caught it.
inline std::atomic<bool>& stop_requested() {
    static std::atomic<bool> flag{false};
    return flag;
}

inline void catch_signals() {
    static_assert(std::atomic<bool>::is_always_lock_free); // else a handler may not touch it
    (void)stop_requested();                                // made before a signal can come
    struct sigaction act{};
    act.sa_handler = [](int) {
        stop_requested().store(true);
        constexpr std::string_view text = "\nstopping: what runs is finished and written; once more kills\n";
        if (::write(STDERR_FILENO, text.data(), text.size()) < 0) {} // there is nobody to tell
    };
    sigemptyset(&act.sa_mask);
    act.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    ::sigaction(SIGINT, &act, nullptr);
    ::sigaction(SIGTERM, &act, nullptr);
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN; // a file size limit and a closed pipe are errors of a write, not the end
    ::sigaction(SIGXFSZ, &ignore, nullptr);
    ::sigaction(SIGPIPE, &ignore, nullptr);
}

/// What `main` returns: `code`, or 1 in place of 0 where stdout could not be written, as on a full disk.
[[nodiscard]] inline int finish(int code) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    std::fputs("stdout: cannot be written\n", stderr);
    return code == 0 ? 1 : code;
}

template <class... Args>
[[nodiscard]] std::string text_of(const char* format, Args... args) {
    char buffer[512];
    const int n = std::snprintf(buffer, sizeof buffer, format, args...);
    return std::string(buffer, n < 0 ? 0 : (std::min)(static_cast<std::size_t>(n), sizeof buffer - 1));
}

/// A positive number with three digits that count, or four; short, too, where it is very small or large; "-" for anything else.
[[nodiscard]] inline std::string three_digits(double x) {
    if (!std::isfinite(x) || x <= 0) return "-";
    if (x < 1e-3 || x >= 1e6) return text_of("%.3g", x);
    return text_of("%.*f", x >= 100 ? 1 : x >= 10 ? 2 : x >= 1 ? 3 : 4, x);
}

/// Seconds as milliseconds with three digits that count; "-" when there are none.
[[nodiscard]] inline std::string milliseconds(double seconds) { return three_digits(seconds * 1e3); }

/// 75 as "1:15".
[[nodiscard]] inline std::string clock_text(double seconds) {
    const long s = std::isfinite(seconds) && seconds > 0 ? static_cast<long>(std::min(seconds, 1e7)) : 0;
    return s >= 3600 ? text_of("%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60) : text_of("%ld:%02ld", s / 60, s % 60);
}

/// One line that is written again and again on a terminal; on anything else a line now and then. On stderr.
class progress_line {
public:
    progress_line() : terminal_(::isatty(STDERR_FILENO) == 1) {}

    /// @param important  worth a line of its own where there is no terminal
    void show(std::size_t done, std::size_t total, const std::string& text, bool important) {
        if (!terminal_) {
            if (important) std::fprintf(stderr, "%zu/%zu  %s\n", done, total, text.c_str());
            return;
        }
        winsize size{};
        const std::size_t width = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80U;
        constexpr std::size_t bar = 20;
        const std::size_t full = total > 0 ? bar * (std::min)(done, total) / total : 0;
        std::string line = "[" + std::string(full, '=') + std::string(bar - full, ' ') + "] " + text_of("%zu/%zu  ", done, total) + text;
        line.resize((std::min)(line.size(), width - 1));
        std::fprintf(stderr, "\r\033[K%s", line.c_str());
        drawn_ = true;
    }
    /// Ends the line, so that other text can follow.
    void clear() {
        if (drawn_) std::fputs("\r\033[K", stderr);
        drawn_ = false;
    }

private:
    bool terminal_;
    bool drawn_ = false;
};

/// A table as text; the first column is left-aligned, the others right.
[[nodiscard]] inline std::string table_text(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> width;
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (i == width.size()) width.push_back(0);
            width[i] = (std::max)(width[i], row[i].size());
        }
    std::string out;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        for (std::size_t i = 0; i < rows[r].size(); ++i) {
            const std::string fill(width[i] - rows[r][i].size(), ' ');
            out += (i > 0 ? "  " : "") + (i == 0 ? rows[r][i] + fill : fill + rows[r][i]);
        }
        while (!out.empty() && out.back() == ' ') out.pop_back();
        out += '\n';
        if (r > 0) continue;
        std::size_t all = 0;
        for (const auto w : width) all += w + 2;
        out += std::string(all > 2 ? all - 2 : 0, '-') + '\n';
    }
    return out;
}

} // namespace examples

#endif
