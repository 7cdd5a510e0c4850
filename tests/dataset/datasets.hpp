// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_RECORD_DATASETS_HPP
#define AUGUR_TESTS_RECORD_DATASETS_HPP

// What the tests of data sets share: made-up records, and a text that two data sets share when they hold the same.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/schedule/steps.hpp>

namespace datasets {

using namespace augur;

/// A measured schedule, made up.
struct made_up {
    std::string key, target, source;
    std::array<std::int64_t, 8> hardware{};
    step_list schedule;
    measurement measured;
};

/// Schedules of up to `longest` steps with little variety, so that equal ones occur.
inline std::vector<made_up> make(std::size_t records, std::size_t tasks, std::uint64_t seed, std::size_t longest = 4) {
    augur::random_engine draw(seed);
    std::vector<made_up> out(records);
    for (auto& m : out) {
        const auto t = static_cast<std::int64_t>(draw.below(tasks));
        m.key = "[\"task\", " + std::to_string(t) + "]";
        m.target = t % 3 == 0 ? "llvm" : "cuda";
        m.hardware = {t % 2 + 1, 64, 64, 0, 0, 0, 0, 0};
        m.source = "logs/net_" + std::to_string(draw.below(2) == 0 ? t % 5 : t % 3) + ".json.gz";
        for (std::uint64_t n = draw.below(longest) + 1; n-- > 0;) switch (draw.below(3)) {
            case 0: m.schedule.steps.emplace_back(split_step{1, 0, 512, {static_cast<std::int64_t>(draw.below(4)), 8}, true}); break;
            case 1: m.schedule.steps.emplace_back(annotate_step{static_cast<std::int64_t>(draw.below(3)), 0, loop_annotation::parallel}); break;
            default: m.schedule.steps.emplace_back(pragma_step{1, 0, "auto_unroll_max_step$" + std::to_string(draw.below(3))}); break;
            }
        if (draw.below(6) == 0) m.measured.status = static_cast<outcome>(1 + draw.below(10));
        else {
            m.measured.status = outcome::ok;
            for (std::uint64_t n = draw.below(3) + 1; n-- > 0;) m.measured.seconds.push_back(draw.uniform(1e-5, 1e-3));
        }
    }
    return out;
}

inline void add(dataset_builder& to, const made_up& m) {
    const auto t = to.task(m.key, m.target, m.hardware);
    REQUIRE(t);
    REQUIRE(to.add(*t, to.source(m.source), m.schedule, m.measured));
}

inline dataset build(const std::vector<made_up>& records, const dataset_options& options = {}) {
    dataset_builder builder;
    for (const auto& m : records) add(builder, m);
    return std::move(builder).finish(options);
}

template <schedule S>
std::string spell(const S& s) {
    recording_sink seen;
    schedule_traits<S>::visit(s, seen);
    std::string text;
    for (const auto& i : seen.items)
        text += std::to_string(static_cast<int>(i.type)) + "," + std::to_string(i.integer) + "," +
                std::to_string(std::bit_cast<std::uint64_t>(i.real)) + "," + std::to_string(i.text.size()) + "," + i.text + ";";
    return text;
}

/// Everything that a caller can see.
inline std::string spell(const dataset& data) {
    std::string text;
    for (std::size_t t = 0; t < data.tasks(); ++t) {
        const dataset_task task = data.task(t);
        ((text += task.key) += " ") += task.target;
        for (const auto n : task.hardware) (text += " ") += std::to_string(n);
        for (const auto s : task.sources) (text += " ") += data.source(s);
        (text += " ") += task.machine;
        text += "\n";
        for (auto r = task.first; r < task.last; ++r) {
            text += std::to_string(std::bit_cast<std::uint64_t>(data.seconds(r))) + " " + std::string(to_string(data.status(r))) + " ";
            for (const auto id : data.schedule(r)) text += std::to_string(id) + ",";
            text += spell(data.visit(r)) + "\n";
        }
    }
    return text;
}

} // namespace datasets

#endif
