// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "search_tables.hpp"

#include <cmath>
#include <limits>
#include <utility>

void result_format::write(augur::json_writer& out, const result_key& /*key*/, const search_result& r) {
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
    if (!r.learned.empty()) out.key("learned").value(r.learned);
    out.end_object();
}

void result_format::read(augur::json_reader& in, result_key& key, search_result& r) {
    std::string_view name;
    in.begin_object();
    while (in.next_member(name)) {
        std::int64_t number = 0;
        if (name == "device") in.read(r.device);
        else if (name == "task") in.read(r.task);
        else if (name == "search") in.read(r.search);
        else if (name == "seed" && in.read(number)) r.seed = static_cast<std::uint64_t>(number);
        else if (name == "trials" && in.read(number)) r.trials = static_cast<std::size_t>(number);
        else if (name == "first_round" && in.read(number)) r.first_round = static_cast<std::size_t>(number);
        else if (name == "trainings" && in.read(number)) r.trainings = static_cast<std::size_t>(number);
        else if (name == "learned") in.read(r.learned);
        else if (name == "optimum") in.read(r.optimum);
        else if (name == "proposing") in.read(r.proposing);
        else if (name == "measuring") in.read(r.measuring);
        else if (name == "errors" && in.begin_array()) {
            r.errors.emplace();
            for (double& e : *r.errors)
                if (in.next_element()) in.read(e);
            if (in.next_element()) in.fail(augur::errc::parse, "expected " + std::to_string(r.errors->size()) + " errors, got more");
        } else if (name == "best" && in.begin_array()) {
            while (in.next_element()) {
                double b = std::numeric_limits<double>::infinity();
                if (in.peek() == augur::json_kind::null) in.read_null();
                else in.read(b);
                r.best.push_back(b);
            }
        } else examples::refuse_member(in, name);
    }
    key = key_of(r);
}

augur::result<result_file> open_results(std::string path, std::size_t trials, std::size_t trainings) {
    return result_file::open(std::move(path), [&](const search_result& r) -> augur::result<void> {
        const auto other = [](const char* what, std::size_t expected, std::size_t got) {
            return augur::error{augur::errc::invalid_argument, "expected results of " + std::to_string(expected) + " " + what + ", got one of " +
                                                                   std::to_string(got) + "; take another folder"};
        };
        if (r.trials != trials) return other("trials", trials, r.trials);
        if (uses_network(r.search) && r.trainings != trainings) return other("trainings", trainings, r.trainings);
        return {};
    });
}
