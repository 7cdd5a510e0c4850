// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/detail/ranking_groups.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <doctest/doctest.h>

using namespace augur;

namespace {

/// Two tasks and two outputs: of every eight samples one has a label of the first alone, one of both, the others of the second alone.
tlp::training_samples some_samples() {
    tlp::training_samples s;
    s.outputs = 2;
    for (std::uint32_t task = 0; task < 2; ++task)
        for (std::uint32_t i = 0; i < 160; ++i) {
            s.records.push_back(160 * task + i);
            s.groups.push_back(task);
            s.labels.insert(s.labels.end(), {1 / (1.0F + static_cast<float>(i)), 1 / (2.0F + static_cast<float>(i))});
            s.known.insert(s.known.end(), {i % 8 <= 1, i % 8 >= 1});
        }
    return s;
}

std::vector<std::uint32_t> all_of(const tlp::training_samples& s) {
    std::vector<std::uint32_t> all(s.size());
    std::iota(all.begin(), all.end(), 0U);
    return all;
}

} // namespace

TEST_CASE("tlp lists: what one output knows meets in its list, the judged one's first and as often as was said") {
    const tlp::training_samples samples = some_samples();
    for (const std::size_t judged : {std::size_t{0}, std::size_t{1}})
        for (const std::size_t passes : {std::size_t{1}, std::size_t{3}}) {
            tlp::training_options options;
            options.fine.list = 32;
            options.fine.target_head = judged;
            options.fine.target_head_passes = passes;
            tlp::detail::ranking_groups lists(samples, all_of(samples), options);
            std::map<std::uint32_t, std::size_t> seen;
            std::set<std::vector<std::uint32_t>> distinct;
            const auto drawn = lists.draw(augur::random_engine(3));
            for (const auto& list : drawn) {
                REQUIRE(list.size() > 0);
                CHECK(list.size() <= 32);
                const bool leads = samples.known[2 * list[0] + judged] != 0;
                for (const auto i : list) {
                    ++seen[i];
                    CHECK(samples.groups[i] == samples.groups[list[0]]);
                    CHECK((samples.known[2 * i + judged] != 0) == leads);
                }
                distinct.insert({list.begin(), list.end()});
            }
            CHECK(distinct.size() == drawn.size()); // a list that is drawn again is shuffled again
            std::size_t sum = 0;
            for (const auto& [i, times] : seen) {
                CHECK(times == (samples.known[2 * i + judged] != 0 ? passes : 1));
                sum += times;
            }
            CHECK(seen.size() == samples.size());
            CHECK(sum == lists.size());
        }
}

TEST_CASE("tlp lists: one output has lists of a task, a loss that does not rank has everything") {
    tlp::training_samples samples = some_samples();
    samples.outputs = 1;
    samples.labels.resize(samples.size());
    samples.known.assign(samples.size(), 1);
    tlp::training_options options;
    options.fine.target_head_passes = 5; // of several outputs alone
    tlp::detail::ranking_groups by_task(samples, all_of(samples), options);
    CHECK(by_task.size() == samples.size());
    CHECK(by_task.draw(augur::random_engine(1)).size() == 4);            // 160 in two of 80, twice
    std::fill(samples.labels.begin() + 160, samples.labels.end(), 0.5F); // nothing to rank in the second task
    CHECK(tlp::detail::ranking_groups(samples, all_of(samples), options).size() == 160);
    options.fine.loss = tlp::training_loss::mse;
    tlp::detail::ranking_groups together(samples, all_of(samples), options);
    CHECK(together.size() == samples.size());
    CHECK(together.draw(augur::random_engine(1)).size() == 1); // a batch of 512
    options.fine.target_head_passes = 0;
    CHECK(options.check(1).error().code == errc::invalid_argument);
}

TEST_CASE("tlp lists: a draw depends on its numbers only, a redraw also on the draw before") {
    tlp::training_samples samples = some_samples();
    const auto drawn = [](auto groups) {
        std::vector<std::vector<std::uint32_t>> out;
        for (const auto& g : groups) out.emplace_back(g.begin(), g.end());
        return out;
    };
    tlp::detail::ranking_groups once(samples, all_of(samples), {}), again(samples, all_of(samples), {});
    const auto first = drawn(once.draw(random_engine(3)));
    CHECK(drawn(again.redraw(random_engine(3))) == first); // there was no draw before
    const auto second = drawn(again.redraw(random_engine(3)));
    CHECK(second != first);
    CHECK(drawn(once.redraw(random_engine(3))) == second);
    CHECK(drawn(once.draw(random_engine(3))) == first);
}
