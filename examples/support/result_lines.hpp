// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_RESULT_LINES_HPP
#define AUGUR_EXAMPLES_SUPPORT_RESULT_LINES_HPP

/// @file
/// The results in a work folder: a file with a JSON text a line, from which a program goes on after it was killed.

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/whole_file.hpp>
#include <augur/record/replace_file.hpp>

namespace examples {

/// Appends results to a file as soon as they are there. Without a file they are not kept.
class result_lines {
public:
    result_lines() = default;
    /// Reads what is there: `take(json_reader&) -> augur::result<void>` for each line. A line that was cut off by a kill is removed and said.
    /// Errors: io; those of `take`, behind the path
    template <class Take>
    static augur::result<result_lines> open(std::string path, const char* program, const Take& take) {
        if (std::FILE* const there = std::fopen(path.c_str(), "a"); there != nullptr) std::fclose(there); // may it be written?
        else return augur::error{augur::errc::io, path + ": cannot be written"};
        auto text = augur::read_whole_file(path, std::size_t{1} << 30U);
        if (!text) return text.error();
        const auto end = text->rfind('\n') + 1; // npos + 1 is 0
        if (end != text->size()) {
            std::fprintf(stderr, "%s: %s: the last line is cut off, its result is computed again\n", program, path.c_str());
            text->resize(end);
            if (auto written = augur::replace_file(path, *text); !written) return written.error();
        }
        std::size_t number = 0;
        for (std::size_t at = 0; at < text->size();) {
            const auto stop = text->find('\n', at);
            augur::json_reader in(std::string_view(*text).substr(at, stop - at), {}, ++number);
            if (const augur::result<void> taken = take(in); !taken) return augur::error{taken.error().code, path + ":" + taken.error().detail};
            at = stop + 1;
        }
        result_lines out;
        out.path_ = std::move(path);
        return out;
    }

    /// Appends a line.   pre: `json` has no line break
    augur::result<void> add(std::string json) const {
        if (path_.empty()) return {};
        json += '\n';
        std::FILE* const file = std::fopen(path_.c_str(), "a");
        const bool written = file != nullptr && std::fwrite(json.data(), 1, json.size(), file) == json.size();
        if (file == nullptr || (std::fclose(file) != 0) || !written) return augur::error{augur::errc::io, path_ + ": cannot be written"};
        return {};
    }

private:
    std::string path_;
};

} // namespace examples

#endif
