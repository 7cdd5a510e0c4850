// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "search_tables.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>

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
    out.end_array();
    if (std::isfinite(r.measuring)) out.key("measuring").value(r.measuring);
    if (r.errors) {
        out.key("errors").begin_array();
        for (const double e : *r.errors) out.value(e);
        out.end_array();
    }
    out.end_object();
    return text;
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
        else if (key == "measuring") in.read(out.measuring);
        else if (key == "errors" && in.begin_array()) {
            out.errors.emplace();
            for (double& e : *out.errors)
                if (in.next_element()) in.read(e);
            if (in.next_element()) in.fail(augur::errc::parse, "expected " + std::to_string(out.errors->size()) + " errors, got more");
        } else if (key == "best" && in.begin_array()) {
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
    auto lines = examples::result_lines::open(path, "search_tables", [&](augur::json_reader& in) -> augur::result<void> {
        search_result r;
        if (!read(in, r)) return in.error();
        const auto other = [&](const char* what, std::size_t expected, std::size_t got) {
            return augur::error{augur::errc::invalid_argument, std::to_string(in.position().line) + ": expected results of " +
                                                                   std::to_string(expected) + " " + what + ", got one of " + std::to_string(got) +
                                                                   "; take another folder"};
        };
        if (r.trials != trials) return other("trials", trials, r.trials);
        if (uses_network(r.search) && r.trainings != trainings) return other("trainings", trainings, r.trainings);
        result_key key = key_of(r);
        out.results_.insert_or_assign(std::move(key), std::move(r));
        return {};
    });
    if (!lines) return lines.error();
    out.lines_ = *std::move(lines);
    return out;
}

augur::result<void> result_file::add(search_result r) {
    if (auto added = lines_.add(line_of(r)); !added) return added;
    result_key key = key_of(r);
    results_.insert_or_assign(std::move(key), std::move(r));
    return {};
}
