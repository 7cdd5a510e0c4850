// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_KEYED_RESULTS_HPP
#define AUGUR_EXAMPLES_SUPPORT_KEYED_RESULTS_HPP

/// @file
/// The results of a program by key: a file with a JSON text a line, from which the program goes on after it was killed.

#include <cstddef>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/core/whole_file.hpp>
#include <augur/record/replace_file.hpp>

namespace examples {

/// Reports that an object in a line has no such member. `object` names it in the message.
inline void refuse_member(augur::json_reader& in, std::string_view name, const std::string& object = "result") {
    in.fail(augur::errc::parse, "expected a member of a " + object + ", got '" + std::string(name.substr(0, 40)) + "'");
}

/// Appends results to a file as soon as they are there, and finds them by key. Without a file they last as long as the object.
/// @tparam Format  of a line: the types `key_type` and `value_type`, and static `program` (its name, for messages),
///                 `write(json_writer&, const key_type&, const value_type&)`, which makes no line break, and
///                 `read(json_reader&, key_type&, value_type&)`, which reports errors by `json_reader::fail`
///
/// Threads    one thread per object, or any number that only call `find` and `all`
template <class Format>
class keyed_results {
public:
    using key_type = typename Format::key_type;
    using value_type = typename Format::value_type;

    /// Reads what is there; of results with the same key the last one counts. A line that was cut off by a kill is removed and said.
    /// @param path   empty: nothing is there, and nothing is kept
    /// @param check  whether a result that was read fits this run; empty: each one does
    /// Errors: io; those of the reader (a line that is no result) and of `check`, behind the path and the line
    static augur::result<keyed_results> open(std::string path, const std::function<augur::result<void>(const value_type&)>& check = {}) {
        keyed_results out;
        if (path.empty()) return out;
        if (std::FILE* const there = std::fopen(path.c_str(), "a"); there != nullptr) std::fclose(there); // may it be written?
        else return not_written(path);
        auto text = augur::read_whole_file(path, std::size_t{1} << 30U);
        if (!text) return text.error();
        const auto end = text->rfind('\n') + 1; // npos + 1 is 0
        if (end != text->size()) {
            std::fprintf(stderr, "%s: %s: the last line is cut off, its result is computed again\n", Format::program, path.c_str());
            text->resize(end);
            if (auto written = augur::replace_file(path, *text); !written) return written.error();
        }
        std::size_t number = 0;
        for (std::size_t at = 0; at < text->size();) {
            const auto stop = text->find('\n', at);
            augur::json_reader in(std::string_view(*text).substr(at, stop - at), {}, ++number);
            key_type key{};
            value_type value{};
            Format::read(in, key, value);
            if (!in.finish()) return augur::error{in.code(), path + ":" + in.error().detail};
            if (check)
                if (const auto fits = check(value); !fits)
                    return augur::error{fits.error().code, path + ":" + std::to_string(number) + ": " + fits.error().detail};
            out.results_.insert_or_assign(std::move(key), std::move(value));
            at = stop + 1;
        }
        out.path_ = std::move(path);
        return out;
    }

    /// Null: it is not there yet.
    [[nodiscard]] const value_type* find(const key_type& key) const {
        const auto at = results_.find(key);
        return at == results_.end() ? nullptr : &at->second;
    }
    [[nodiscard]] const std::map<key_type, value_type>& all() const { return results_; }

    /// Appends a line, and keeps the result in place of one with the same key.   Errors: io
    augur::result<void> add(const key_type& key, value_type value) {
        if (!path_.empty()) {
            std::string line;
            augur::json_writer out(line);
            Format::write(out, key, value);
            line += '\n';
            std::FILE* const file = std::fopen(path_.c_str(), "a");
            const bool written = file != nullptr && std::fwrite(line.data(), 1, line.size(), file) == line.size();
            if (file == nullptr || std::fclose(file) != 0 || !written) return not_written(path_);
        }
        results_.insert_or_assign(key, std::move(value));
        return {};
    }

private:
    static augur::error not_written(const std::string& path) { return {augur::errc::io, path + ": cannot be written"}; }

    std::string path_;
    std::map<key_type, value_type> results_;
};

} // namespace examples

#endif
