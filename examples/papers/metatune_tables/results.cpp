// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "metatune_tables.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>

#include "console.hpp"

namespace metatune_tables {

namespace {

void write_scores(augur::json_writer& out, std::string_view key, std::span<const scores> all) {
    out.key(key).begin_array();
    for (const scores& s : all) out.value(s.mse).value(s.mse_fast).value(s.spearman);
    out.end_array();
}

/// A list whose last triple is not whole is an error of the reader.
std::vector<scores> read_scores(augur::json_reader& in) {
    std::vector<scores> out;
    in.begin_array();
    while (in.next_element()) {
        scores& s = out.emplace_back();
        in.read(s.mse);
        for (double* part : {&s.mse_fast, &s.spearman})
            if (in.next_element()) in.read(*part);
    }
    return out;
}

void read_row(augur::json_reader& in, adapted_rows& out) {
    std::string_view key;
    adapted_row row;
    std::string start_name;
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "start") in.read(start_name);
        else if (key == "test") row.test = read_scores(in);
        else if (key == "held_out") {
            const auto held_out = read_scores(in);
            if (held_out.size() == row.held_out.size()) std::copy(held_out.begin(), held_out.end(), row.held_out.begin());
            else in.fail(augur::errc::parse, "expected " + std::to_string(row.held_out.size()) + " scores, got " + std::to_string(held_out.size()));
        } else examples::refuse_member(in, key, "row");
    }
    const auto at = std::find(start_names.begin(), start_names.end(), start_name);
    if (at == start_names.end()) in.fail(augur::errc::parse, "expected the name of a start, got '" + start_name.substr(0, 40) + "'");
    else out.insert_or_assign(static_cast<start>(at - start_names.begin()), std::move(row));
}

} // namespace

std::string identity_of(const device_tasks& on, const training_plan& plan, const adaptation& how) {
    const auto& net = plan.network;
    const auto& tuning = how.fine_tuning;
    std::uint64_t hash = augur::fnv1a64(examples::text_of(
        "%s %zu, %d %d %d %d, %zu %zu %zu %zu %a %a %zu %llu, %zu %zu %a %zu %a %d %a", on.device.c_str(), on.features, static_cast<int>(net.input),
        net.masked ? 1 : 0, net.nested ? 1 : 0, net.frozen ? 1 : 0, plan.epochs, plan.batch, plan.meta_tasks, plan.queries, plan.learning_rate,
        plan.inner.inner_rate, plan.inner.inner_steps, static_cast<unsigned long long>(plan.seed), how.shots, how.seeds, tuning.inner_rate,
        tuning.inner_steps, tuning.learning_rate, tuning.frozen ? 1 : 0, tuning.validity_weight));
    for (const std::string_view name : start_names) hash = augur::fnv1a64(name, hash);
    for (const std::size_t steps : tried_steps) hash = augur::mix64(hash ^ steps);
    for (const auto* list : {&on.train, &on.held_out, &on.test}) {
        hash = augur::mix64(hash ^ list->size());
        for (const table_task& t : *list) {
            hash = augur::fnv1a64(t.name, hash);
            for (const double s : t.samples.seconds) hash = augur::mix64(hash ^ std::bit_cast<std::uint64_t>(s));
        }
    }
    return examples::text_of("%016llx", static_cast<unsigned long long>(hash));
}

void result_format::write(augur::json_writer& out, const std::string& identity, const value_type& of) {
    out.begin_object().key("identity").value(identity).key("title").value(of.title).key("rows").begin_array();
    for (const auto& [from, row] : of.rows) {
        out.begin_object().key("start").value(name_of(from));
        write_scores(out, "held_out", row.held_out);
        write_scores(out, "test", row.test);
        out.end_object();
    }
    out.end_array().end_object();
}

void result_format::read(augur::json_reader& in, std::string& identity, value_type& of) {
    std::string_view key;
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "identity") in.read(identity);
        else if (key == "title") in.read(of.title);
        else if (key == "rows" && in.begin_array()) {
            while (in.next_element()) read_row(in, of.rows);
        } else examples::refuse_member(in, key);
    }
    if (in.finish() && of.rows.size() != start_names.size())
        in.fail(augur::errc::parse, "expected " + std::to_string(start_names.size()) + " rows, got " + std::to_string(of.rows.size()));
}

} // namespace metatune_tables
