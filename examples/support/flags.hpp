// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_FLAGS_HPP
#define AUGUR_EXAMPLES_SUPPORT_FLAGS_HPP

/// @file
/// Command lines: a table of flags, strict reading, and one clear sentence for everything that is wrong.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/number.hpp>
#include <augur/target/isa_level.hpp>

namespace examples {

/// Text of a user, safe to show on a terminal: control characters and what is not ASCII as '?', cut to 60 characters.
inline std::string shown(std::string_view text) {
    std::string out(text.substr(0, 60));
    for (char& c : out)
        if (c < ' ' || c > '~') c = '?'; // whether char is signed or not
    return text.size() > 60 ? out + "..." : out;
}

/// The flags of a program. `--flag value` and `--flag=value` are the same.
class flag_set {
public:
    /// Takes the text behind the flag; an error says what is wrong with it.
    using taker = std::function<augur::result<void>(std::string_view)>;

    /// @param repeatable  may be given more than once
    void add(std::string name, std::string value, std::string help, taker take, bool repeatable = false) {
        flags_.push_back({std::move(name), std::move(value), std::move(help), std::move(take), repeatable, false});
    }
    void add_switch(std::string name, std::string help, bool& on) {
        add(std::move(name), "", std::move(help), [&on](std::string_view) {
            on = true;
            return augur::result<void>();
        });
    }
    /// A whole number from `low` to `high`.
    template <class Int>
    void add_number(std::string name, std::string value, std::string help, Int& to, std::int64_t low, std::int64_t high) {
        add(std::move(name), std::move(value), std::move(help), [&to, low, high](std::string_view text) -> augur::result<void> {
            const auto n = augur::parse_int(text);
            if (!n || *n < low || *n > high)
                return augur::error{augur::errc::invalid_argument, "expected a whole number from " + std::to_string(low) + " to " +
                                                                       std::to_string(high) + ", got '" + shown(text) + "'"};
            to = static_cast<Int>(*n);
            return {};
        });
    }
    /// One of a list of words.
    void add_choice(std::string name, std::vector<std::string> words, std::string help, std::string& to) {
        std::string value;
        for (const auto& w : words) value += (value.empty() ? "" : "|") + w;
        add(std::move(name), value, std::move(help), [&to, words, value](std::string_view text) -> augur::result<void> {
            if (std::find(words.begin(), words.end(), text) == words.end())
                return augur::error{augur::errc::invalid_argument, "expected " + value + ", got '" + shown(text) + "'"};
            to = std::string(text);
            return {};
        });
    }
    /// The level of the code of kernels.
    void add_isa_level(augur::isa_level& to) {
        add("isa", "LEVEL",
            "instruction set of the kernels: native, x86-64-v2 (SSE4.2), x86-64-v3 (AVX2) or x86-64-v4 (AVX-512);\none that this machine lacks is "
            "refused; "
            "default native",
            [&to](std::string_view text) -> augur::result<void> {
                const auto level = augur::parse_isa_level(text);
                if (!level) return level.error();
                to = *level;
                return {};
            });
    }
    /// Text that is not empty, such as a path.
    void add_text(std::string name, std::string value, std::string help, std::string& to) {
        add(std::move(name), std::move(value), std::move(help), [&to](std::string_view text) -> augur::result<void> {
            if (text.empty()) return augur::error{augur::errc::invalid_argument, "expected a value, got none"};
            to = std::string(text);
            return {};
        });
    }
    /// --data, the folder of the recorded measurements; without it the variable AUGUR_DATA, else ../shared/data.
    /// @param holds  what the folder has, for the help
    void add_data_folder(const std::string& holds, std::string& to) {
        const char* const set = std::getenv("AUGUR_DATA");
        to = set != nullptr && *set != '\0' ? set : "../shared/data";
        add_text("data", "FOLDER", "has " + holds + "; default: the variable AUGUR_DATA, else ../shared/data", to);
    }
    /// Texts that are not empty, such as paths: the flag may be given again.
    void add_texts(std::string name, std::string value, std::string help, std::vector<std::string>& to) {
        const auto take = [&to](std::string_view text) -> augur::result<void> {
            if (text.empty()) return augur::error{augur::errc::invalid_argument, "expected a value, got none"};
            to.emplace_back(text);
            return {};
        };
        add(std::move(name), std::move(value), std::move(help), take, true);
    }

    /// Words with commas between them, which replace the default. A word NAME=VALUE belongs to the one before it: a network's further parameter
    /// (gpt2:tokens=1,past=127).
    void add_list(std::string name, std::string help, std::vector<std::string>& to) {
        add(std::move(name), "NAME,...", std::move(help), [&to](std::string_view text) -> augur::result<void> {
            to.clear();
            for (std::size_t at = 0; at <= text.size();) {
                const auto end = (std::min)(text.find(',', at), text.size());
                const auto word = text.substr(at, end - at);
                const auto equals = word.find('=');
                if (equals != word.npos && word.find(':') == word.npos && !to.empty()) to.back().append(",").append(word);
                else if (!word.empty()) to.emplace_back(word);
                at = end + 1;
            }
            return {};
        });
    }

    /// Whole numbers of at least 1 with commas between them, which replace the default.
    void add_counts(std::string name, std::string help, std::vector<std::size_t>& to) {
        add(std::move(name), "N,...", std::move(help), [&to](std::string_view text) -> augur::result<void> {
            to.clear();
            for (std::size_t at = 0, end = 0; at <= text.size(); at = end + 1) {
                end = (std::min)(text.find(',', at), text.size());
                const auto n = augur::parse_int(text.substr(at, end - at));
                if (!n || *n < 1 || *n > 10'000'000)
                    return augur::error{augur::errc::invalid_argument,
                                        "expected numbers of at least 1, got '" + shown(text.substr(at, end - at)) + "'"};
                to.push_back(static_cast<std::size_t>(*n));
            }
            return {};
        });
    }

    /// Reads all arguments (without the program's name).
    [[nodiscard]] augur::result<void> parse(std::span<char* const> arguments) {
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            const std::string_view argument = arguments[i];
            if (!argument.starts_with("--") || argument.size() == 2)
                return augur::error{augur::errc::invalid_argument, "unexpected argument '" + shown(argument) + "'; try --help"};
            const auto equals = argument.find('=');
            const auto name = argument.substr(2, equals == std::string_view::npos ? equals : equals - 2);
            const auto at = std::find_if(flags_.begin(), flags_.end(), [&](const flag& f) { return f.name == name; });
            if (at == flags_.end()) return augur::error{augur::errc::invalid_argument, "unknown flag '--" + shown(name) + "'; try --help"};
            const std::string dashed = "--" + at->name;
            if (at->given && !at->repeatable) return augur::error{augur::errc::invalid_argument, dashed + " is given twice"};
            at->given = true;
            std::string_view value;
            if (at->value.empty()) {
                if (equals != std::string_view::npos) return augur::error{augur::errc::invalid_argument, dashed + " takes no value"};
            } else if (equals != std::string_view::npos) {
                value = argument.substr(equals + 1);
            } else if (i + 1 == arguments.size()) {
                return augur::error{augur::errc::invalid_argument, dashed + " needs a value: " + at->value};
            } else {
                value = arguments[++i];
            }
            if (auto taken = at->take(value); !taken) return augur::error{taken.error().code, dashed + ": " + taken.error().detail};
        }
        return {};
    }

    [[nodiscard]] bool given(std::string_view name) const {
        return std::any_of(flags_.begin(), flags_.end(), [&](const flag& f) { return f.name == name && f.given; });
    }

    /// The first flag but this one that was given; empty: there is none.
    [[nodiscard]] std::string_view given_beside(std::string_view name) const {
        const auto at = std::find_if(flags_.begin(), flags_.end(), [&](const flag& f) { return f.name != name && f.given; });
        return at == flags_.end() ? std::string_view() : std::string_view(at->name);
    }

    /// One line a flag, more where the help has newlines.
    [[nodiscard]] std::string help() const {
        std::size_t widest = 0;
        for (const auto& f : flags_) widest = (std::max)(widest, f.name.size() + (f.value.empty() ? 0 : 1 + f.value.size()));
        widest = (std::min)(widest, std::size_t{26});
        std::string out;
        for (const auto& f : flags_) {
            std::string left = "--" + f.name + (f.value.empty() ? "" : " " + f.value);
            const bool own_line = left.size() > widest + 2;
            if (!own_line) left.resize(widest + 2, ' ');
            out += "  " + left + (own_line ? "\n" + std::string(widest + 6, ' ') : "  ");
            for (const char c : f.help) {
                out += c;
                if (c == '\n') out += std::string(widest + 6, ' ');
            }
            out += '\n';
        }
        return out;
    }

private:
    struct flag {
        std::string name;
        std::string value; ///< placeholder; empty: a switch
        std::string help;
        taker take;
        bool repeatable;
        bool given;
    };
    std::vector<flag> flags_;
};

} // namespace examples

#endif
