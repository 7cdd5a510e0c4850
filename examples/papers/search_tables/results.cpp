// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "search_tables.hpp"

#include <cstdio>
#include <limits>
#include <utility>

#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/core/whole_file.hpp>
#include <augur/record/replace_file.hpp>

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::string line_of(const search_result& r) {
    std::string text;
    augur::json_writer out(text);
    out.begin_object().key("device").value(r.device).key("task").value(r.task).key("search").value(r.search);
    out.key("trials").value(static_cast<std::int64_t>(r.trials)).key("trainings").value(static_cast<std::int64_t>(r.trainings));
    out.key("first_round").value(static_cast<std::int64_t>(r.first_round));
    out.key("seed").value(static_cast<std::int64_t>(r.seed)).key("optimum").value(r.optimum).key("proposing").value_6(r.proposing);
    out.key("best").begin_array();
    for (const double b : r.best) out.value(b); // infinity becomes null
    out.end_array().end_object();
    return text += '\n';
}

bool read(augur::json_reader& in, search_result& out) {
    std::string_view key;
    if (!in.begin_object()) return false;
    while (in.next_member(key)) {
        std::int64_t number = 0;
        if (key == "device") in.read(out.device);
        else if (key == "task") in.read(out.task);
        else if (key == "search") in.read(out.search);
        else if (key == "seed" && in.read(number)) out.seed = static_cast<std::uint64_t>(number);
        else if (key == "trials" && in.read(number)) out.trials = static_cast<std::size_t>(number);
        else if (key == "first_round" && in.read(number)) out.first_round = static_cast<std::size_t>(number);
        else if (key == "trainings" && in.read(number)) out.trainings = static_cast<std::size_t>(number);
        else if (key == "optimum") in.read(out.optimum);
        else if (key == "proposing") in.read(out.proposing);
        else if (key == "best" && in.begin_array()) {
            while (in.next_element()) {
                double b = infinity;
                if (in.peek() == augur::json_kind::null) in.read_null();
                else in.read(b);
                out.best.push_back(b);
            }
        } else return in.ok() && in.fail(augur::errc::parse, "expected a member of a result, got '" + std::string(key.substr(0, 40)) + "'");
    }
    return in.finish();
}

} // namespace

augur::result<result_file> result_file::open(const std::string& path, std::size_t trials, std::size_t trainings) {
    result_file out;
    out.path_ = path;
    if (std::FILE* const there = std::fopen(path.c_str(), "a"); there != nullptr) std::fclose(there); // may it be written?
    else return augur::error{augur::errc::io, path + ": cannot be written"};
    auto text = augur::read_whole_file(path, std::size_t{1} << 30U);
    if (!text) return text.error();
    const auto end = text->rfind('\n') + 1; // npos + 1 is 0
    if (end != text->size()) {
        std::fprintf(stderr, "search_tables: %s: the last line is cut off, its search is done again\n", path.c_str());
        text->resize(end);
        if (auto written = augur::replace_file(path, *text); !written) return written.error();
    }
    std::size_t number = 0;
    for (std::size_t at = 0; at < text->size();) {
        const auto stop = text->find('\n', at);
        augur::json_reader in(std::string_view(*text).substr(at, stop - at), {}, ++number);
        search_result r;
        if (!read(in, r)) return augur::error{in.error().code, path + ":" + in.error().detail};
        const auto other = [&](const char* what, std::size_t expected, std::size_t got) {
            return augur::error{augur::errc::invalid_argument, path + ":" + std::to_string(number) + ": expected results of " +
                                                                   std::to_string(expected) + " " + what + ", got one of " + std::to_string(got) +
                                                                   "; take another folder"};
        };
        if (r.trials != trials) return other("trials", trials, r.trials);
        if (uses_network(r.search) && r.trainings != trainings) return other("trainings", trainings, r.trainings);
        result_key key = key_of(r);
        out.results_.insert_or_assign(std::move(key), std::move(r));
        at = stop + 1;
    }
    return out;
}

augur::result<void> result_file::add(search_result r) {
    const std::string line = line_of(r);
    std::FILE* const file = std::fopen(path_.c_str(), "a");
    const bool written = file != nullptr && std::fwrite(line.data(), 1, line.size(), file) == line.size();
    if (file == nullptr || (std::fclose(file) != 0) || !written) return augur::error{augur::errc::io, path_ + ": cannot be written"};
    result_key key = key_of(r);
    results_.insert_or_assign(std::move(key), std::move(r));
    return {};
}
