// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlm_offline.hpp"

#include <bit>
#include <string_view>

#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/space/walk.hpp>

#include "console.hpp"

namespace tlm_offline {

namespace {

template <class Result, class F>
void each_number(Result& r, const F& f) {
    for (auto& x : r.model) f(x);
    for (auto& one : r.by)
        for (auto& x : one) f(x);
}

} // namespace

std::string identity_of(const wishes& w, const material& m, std::size_t count) {
    std::uint64_t hash = augur::fnv1a64(w.numbers, augur::fnv1a64(w.vocabulary, augur::fnv1a64("tlm_offline 1")));
    const auto add = [&](std::uint64_t n) { hash = augur::mix64(hash ^ n); };
    for (const auto n : {w.config.layers, w.config.width, w.config.heads, w.config.hidden, w.config.context}) add(static_cast<std::uint64_t>(n));
    for (const std::size_t n : {w.training.epochs, w.training.prompts, w.training.sentences, w.samples, count}) add(n);
    add(std::bit_cast<std::uint64_t>(w.training.learning_rate));
    add(w.seed);
    for (std::size_t i = 0; i < count; ++i) {
        add(augur::fnv1a64(m.prompts[m.lessons[i].task]));
        add(augur::hash_decisions(m.lessons[i].point));
    }
    for (const auto& task : m.tested) {
        add(augur::fnv1a64(task.prompt));
        for (std::size_t i = 0; i < task.points.size(); ++i) {
            add(augur::hash_decisions(task.points[i]));
            add(std::bit_cast<std::uint64_t>(task.seconds[i]));
        }
    }
    return examples::text_of("%016llx", static_cast<unsigned long long>(hash));
}

void result_format::write(augur::json_writer& out, const std::string& identity, const model_result& one) {
    out.begin_object().key("identity").value(identity).key("numbers").begin_array();
    each_number(one, [&](double x) { out.value(x); });
    out.end_array().end_object();
}

void result_format::read(augur::json_reader& in, std::string& identity, model_result& one) {
    std::string_view key;
    std::vector<double> flat;
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "identity") in.read(identity);
        else if (key == "numbers" && in.begin_array()) {
            while (in.next_element()) in.read(flat.emplace_back());
        } else examples::refuse_member(in, key);
    }
    std::size_t n = 0;
    each_number(one, [&](double& x) {
        if (n < flat.size()) x = flat[n];
        ++n;
    });
    if (flat.size() != n) in.fail(augur::errc::parse, "expected " + std::to_string(n) + " numbers, got " + std::to_string(flat.size()));
}

} // namespace tlm_offline
