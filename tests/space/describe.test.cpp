// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/space/describe.hpp>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/loopnest/ir/operators.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/space/autotvm_space.hpp>
#include <augur/space/check.hpp>
#include <augur/space/factorisation.hpp>
#include <augur/space/mutate.hpp>
#include <augur/space/recorded_space.hpp>
#include <augur/workload/kernel.hpp>

#include "../loopnest/kernels.hpp"
#include "toy.hpp"

namespace describe_test {

namespace {

using augur::schedule_item;
using kind = schedule_item::kind;

schedule_item number(std::int64_t n) { return {kind::integer, n, 0, {}}; }
schedule_item name(std::string text) { return {kind::name, 0, 0, std::move(text)}; }

// The contract and nothing else: one decision of four values, 10 to 40.
struct archetype {
    struct cursor_type {
        bool decided = false;
        cursor_type() = default;
        cursor_type(const cursor_type&) = delete;
        [[nodiscard]] std::optional<augur::decision> next() const {
            if (decided) return std::nullopt;
            return augur::decision{augur::decision_kind::other, 4};
        }
        void choose(std::uint64_t) { decided = true; }
        void describe(auto& sink) const { sink.primitive("tens"); }
        [[nodiscard]] augur::decision_scale scale() const { return {augur::decision_scale::kind::ordinal}; }
        void words(std::uint64_t value, auto& sink) const { sink.number(static_cast<std::int64_t>(10 * value + 10)); }
        [[nodiscard]] std::optional<std::uint64_t> nearest(std::span<const schedule_item> words) const {
            if (words.empty()) return std::nullopt;
            return static_cast<std::uint64_t>(std::clamp<std::int64_t>((words[0].integer + 5) / 10 - 1, 0, 3));
        }
    };
    [[nodiscard]] cursor_type cursor() const { return {}; }
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> prefix) const {
        if (!prefix.empty()) return std::nullopt;
        return augur::decision{augur::decision_kind::other, 4};
    }
};
static_assert(augur::described_space<archetype>);
static_assert(augur::described_space<toy::described_space> && !augur::described_space<toy::space>);

/// Lies in one member.
enum class lie { none, shared_words, far, nameless, unstable };
template <lie L>
struct lying_space {
    struct cursor_type : archetype::cursor_type {
        mutable int calls = 0;
        void describe(auto& sink) const {
            if (L == lie::nameless) sink.name("tens");
            else sink.primitive("tens");
        }
        void words(std::uint64_t value, auto& sink) const {
            if (L == lie::unstable) value = static_cast<std::uint64_t>(calls++ % 4);
            sink.number(static_cast<std::int64_t>(L == lie::shared_words ? 10 : 10 * value + 10));
        }
        [[nodiscard]] std::optional<std::uint64_t> nearest(std::span<const schedule_item> words) const {
            if (L == lie::far) return std::nullopt;
            return archetype::cursor_type::nearest(words);
        }
    };
    [[nodiscard]] cursor_type cursor() const { return {}; }
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> prefix) const { return archetype().next(prefix); }
};

/// The archetype; behind all of its values but the first there is a decision without options.
struct dead_end {
    struct cursor_type : archetype::cursor_type {
        bool dead = false;
        [[nodiscard]] std::optional<augur::decision> next() const {
            if (dead) return augur::decision{augur::decision_kind::other, 0};
            return archetype::cursor_type::next();
        }
        void choose(std::uint64_t value) {
            dead = value != 0;
            archetype::cursor_type::choose(value);
        }
    };
    [[nodiscard]] cursor_type cursor() const { return {}; }
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> prefix) const {
        if (prefix.size() == 1 && prefix[0] != 0) return augur::decision{augur::decision_kind::other, 0};
        return archetype().next(prefix);
    }
};

augur::loopnest::ansor_space space_of(std::string_view text, augur::loopnest::ansor_options options = {}) {
    const auto k = augur::kernel::parse(text);
    REQUIRE_MESSAGE(static_cast<bool>(k), k.error().detail);
    auto dag = augur::loopnest::build_dag(*k);
    REQUIRE_MESSAGE(static_cast<bool>(dag), dag.error().detail);
    options.num_cores = 2;
    auto space = augur::loopnest::ansor_space::create(std::make_shared<const augur::loopnest::compute_dag>(*std::move(dag)), options);
    REQUIRE_MESSAGE(static_cast<bool>(space), space.error().detail);
    return *std::move(space);
}

/// The example of the header.
augur::result<augur::step_list> adapt(const augur::loopnest::ansor_space& small, const augur::loopnest::ansor_space& large,
                                      const augur::step_list& tuned) {
#include <snippets/space/describe.hpp.1.inc>
}

} // namespace

TEST_CASE("described_space: the archetype and the toy space keep the contract, and each lie is found") {
    augur::random_engine rng(1);
    const auto told = [&](const auto& space) {
        const auto ok = augur::testing::check_described_space(space, rng);
        return ok ? std::string() : ok.error().detail;
    };
    CHECK(told(archetype()).empty());
    CHECK(told(toy::described_space()).empty());
    CHECK(told(lying_space<lie::none>()).empty());
    CHECK(told(lying_space<lie::shared_words>()).find("begins like the other") != std::string::npos);
    CHECK(told(lying_space<lie::far>()).find("got none") != std::string::npos);
    CHECK(told(lying_space<lie::nameless>()).find("begins with a primitive") != std::string::npos);
    CHECK(told(lying_space<lie::unstable>()).find("two calls of words") != std::string::npos);
    CHECK(told(dead_end()).find("a decision without options") != std::string::npos);
}

TEST_CASE("factorisation::nearest: as a search through all factorisations") {
    augur::random_engine rng(2);
    for (const std::int64_t extent : {1, 7, 12, 64, 96, 127, 360, 1000}) {
        for (std::size_t levels = 1; levels <= 3; ++levels) {
            const augur::factorisation f(extent, levels, 16);
            for (int i = 0; i < 50; ++i) {
                std::vector<std::int64_t> wanted;
                for (std::size_t l = 0; l < levels; ++l) wanted.push_back(1 + static_cast<std::int64_t>(rng.below(i < 25 ? 8 : 300)));
                double least = std::numeric_limits<double>::infinity();
                for (std::uint64_t v = 0; v < f.count(); ++v) {
                    const auto lengths = f.lengths_of(v);
                    double distance = 0;
                    for (std::size_t l = 0; l < levels; ++l)
                        distance += std::abs(std::log2(static_cast<double>(lengths[l]) / static_cast<double>(wanted[l])));
                    least = std::min(least, distance);
                }
                const auto near = f.nearest(wanted);
                CHECK(near.distance == doctest::Approx(least).epsilon(1e-12));
                double of_index = 0;
                const auto lengths = f.lengths_of(near.index);
                for (std::size_t l = 0; l < levels; ++l)
                    of_index += std::abs(std::log2(static_cast<double>(lengths[l]) / static_cast<double>(wanted[l])));
                CHECK(of_index == doctest::Approx(least).epsilon(1e-12));
            }
        }
    }
    CHECK(augur::factorisation(64, 2).lengths_of(augur::factorisation(64, 2).nearest(std::vector<std::int64_t>{0, -5}).index) ==
          std::vector<std::int64_t>{1, 1}); // lengths below 1 count as 1
    CHECK(augur::factorisation(1 << 20, 3).nearest(std::vector<std::int64_t>{3, 3, 3}).distance > 0);
    const augur::factorisation many(1441440, 3); // 288 divisors: above the number that needs no memory
    CHECK(many.lengths_of(many.nearest(std::vector<std::int64_t>{11, 13, 63}).index) == std::vector<std::int64_t>{11, 13, 63});
    CHECK(many.nearest(std::vector<std::int64_t>{17, 13, 63}).distance < 0.2);
}

TEST_CASE("described_space: all operators of the embedded compiler") {
    augur::random_engine rng(3);
    for (const auto text : small_kernels) {
        for (const int which : {0, 1, 2, 3}) {
            auto options = which % 2 == 0 ? augur::loopnest::ansor_options{} : augur::loopnest::ansor_options::as_tvm(2);
            options.evolved = which > 1;
            CAPTURE(text);
            CAPTURE(options.faithful);
            CAPTURE(options.evolved);
            const auto space = space_of(text, options);
            const auto ok = augur::testing::check_described_space(space, rng, 6);
            CHECK_MESSAGE(static_cast<bool>(ok), (ok ? std::string() : ok.error().detail));
        }
    }
}

TEST_CASE("adapt_point: a schedule in its own space is itself, in another shape it has its words where they are legal") {
    augur::random_engine rng(4);
    const auto small = space_of("conv2d:h=14,w=14,c=64,f=64,k=3,pad=1,bias,relu");
    const auto large = space_of("conv2d:h=56,w=56,c=32,f=96,k=3,pad=1,bias,relu");
    std::size_t equal = 0, all = 0;
    for (int i = 0; i < 50; ++i) {
        const auto path = augur::sample_path(small, rng);
        const auto words = augur::describe_point(small, path.values);
        REQUIRE(words);
        const auto same = augur::adapt_point(small, *words);
        CHECK(same.path.values == path.values);
        CHECK(same.equal == path.values.size());
        CHECK(same.changed + same.unnamed == 0);

        const auto adapted = augur::adapt_point(large, *words);
        REQUIRE(augur::trace_path(large, adapted.path.values));
        CHECK(adapted.equal + adapted.changed + adapted.unnamed == adapted.path.values.size());
        CHECK(adapted.path.values[0] == path.values[0]); // the kernels have the same sketches
        CHECK(adapted.unnamed == 0);
        equal += adapted.equal;
        const auto schedule = adapt(small, large, *small.realise(path.values));
        REQUIRE(schedule);
        CHECK(*schedule == *large.realise(adapted.path.values));
        all += adapted.path.values.size();
    }
    CHECK(equal * 2 > all); // 14 and 56, 64 and 32 share most of their divisors
    const auto none = augur::describe_point(small, std::vector<std::uint64_t>{0});
    REQUIRE(!none);
    CHECK(none.error().code == augur::errc::illegal_schedule);
}

TEST_CASE("adapt_point: words that no option is near to leave the preferred value") {
    const auto space = space_of("dense:m=16,n=16,k=16");
    auto words = *augur::describe_point(space, augur::detail::walk(space, [](const augur::decision&, auto) { return std::uint64_t{0}; }).values);
    auto all = words;
    for (auto& item : all.items) item = name("nothing of this kind");
    const auto adapted = augur::adapt_point(space, all);
    CHECK(adapted.equal == 0);
    REQUIRE(augur::trace_path(space, adapted.path.values));
    for (std::size_t i = 1; i < adapted.path.values.size(); ++i)
        if (adapted.path.decisions[i].kind == augur::decision_kind::tile_size) CHECK(adapted.path.values[i] == adapted.path.decisions[i].preferred);
    for (auto& d : words.decisions) d.name ^= 1;
    CHECK(augur::adapt_point(space, words).unnamed == augur::adapt_point(space, words).path.values.size());
}

TEST_CASE("adapt_point: ends at a decision without options, as every walk") {
    const auto words = augur::describe_point(archetype(), std::vector<std::uint64_t>{3});
    REQUIRE(words);
    const auto adapted = augur::adapt_point(dead_end(), *words);
    CHECK(adapted.path.values == augur::decision_vector{3});
    CHECK(adapted.equal == 1);
    CHECK(adapted.unnamed == 0);
    CHECK_FALSE(augur::trace_path(dead_end(), adapted.path.values));
}

TEST_CASE("ansor_space: words from outside, of any form and size, give a legal value or none") {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    const std::vector<std::vector<schedule_item>> given{{},
                                                        {number(most)},
                                                        {number(least)},
                                                        {number(most), number(most), number(least)},
                                                        {name("at"), name("conv2d"), name("i"), number(least)},
                                                        {name("at"), number(1), number(2), name("x")},
                                                        {name("at")},
                                                        {name("somewhere")},
                                                        {name("stay"), name("stay")},
                                                        {number(2), name("SP"), number(3)},
                                                        {{kind::real, 0, std::numeric_limits<double>::quiet_NaN(), {}}},
                                                        std::vector<schedule_item>(1000, name("SP"))};
    augur::random_engine rng(8);
    for (const auto text : {"conv2d:h=7,w=9,c=8,f=16,k=3,pad=1,bias,relu", "softmax:m=4,n=19"}) {
        const auto space = space_of(text);
        for (int i = 0; i < 20; ++i) {
            auto cursor = space.cursor();
            while (const auto d = cursor.next()) {
                for (const auto& words : given)
                    if (const auto value = cursor.nearest(words)) CHECK(*value < d->options);
                CHECK(!cursor.nearest({}));
                CHECK(!cursor.nearest(given[7]));
                if (d->kind == augur::decision_kind::unroll) {
                    CHECK(cursor.nearest(given[1]) == d->options - 1);
                    CHECK(cursor.nearest(given[2]) == 0);
                }
                cursor.choose(rng.below(d->options));
            }
        }
    }
}

TEST_CASE("names of decisions: equal in other shapes, with other fused operations where they are of the same operation") {
    const auto names_of = [](const augur::loopnest::ansor_space& space) {
        std::set<std::uint64_t> names;
        augur::random_engine rng(5);
        for (int i = 0; i < 40; ++i) {
            const auto point = augur::describe_point(space, augur::sample_path(space, rng).values);
            REQUIRE(point);
            for (const auto& d : point->decisions) names.insert(d.name);
        }
        return names;
    };
    const auto first = names_of(space_of("conv2d:h=14,w=14,c=64,f=64,k=3,pad=1,bias,relu"));
    CHECK(first == names_of(space_of("conv2d:h=28,w=28,c=32,f=128,k=3,pad=1,bias,relu")));
    const auto plain = names_of(space_of("conv2d:h=14,w=14,c=64,f=64,k=3,pad=1"));
    std::size_t shared = 0;
    for (const auto n : plain) shared += first.count(n);
    CHECK(shared >= plain.size() / 2);
}

TEST_CASE("cross_words: legal, and with values of the parents") {
    augur::random_engine rng(6);
    const auto space = space_of("conv2d:h=7,w=9,c=8,f=16,k=3,pad=1,bias,relu");
    for (int i = 0; i < 50; ++i) {
        const auto a = augur::sample_path(space, rng), b = augur::sample_path(space, rng);
        const auto child = augur::cross_words(space, a, b, rng);
        REQUIRE(augur::trace_path(space, child.values));
        CHECK((child.values[0] == a.values[0] || child.values[0] == b.values[0]));
        CHECK(augur::cross_words(space, a, a, rng).values == a.values);
    }
}

TEST_CASE("recorded_space and autotvm_space are described") {
    augur::random_engine rng(7);
    std::vector<augur::configuration> points;
    for (const std::int64_t block : {16, 32, 64, 128})
        for (const char* layout : {"row", "column"})
            for (const double scale : {0.5, 1.0}) {
                augur::configuration c;
                c.parameters = {{"block", block}, {"layout", std::string(layout)}, {"scale", scale}};
                if (block < 128 || scale > 0.5) points.push_back(c);
            }
    const auto recorded = augur::recorded_space::build(points);
    REQUIRE(recorded);
    auto ok = augur::testing::check_described_space(*recorded, rng);
    CHECK_MESSAGE(static_cast<bool>(ok), (ok ? std::string() : ok.error().detail));
    auto at = recorded->cursor();
    CHECK(at.scale().type == augur::decision_scale::kind::ordinal);
    CHECK(at.nearest(std::vector{number(100)}) == 3); // 128
    CHECK(at.nearest(std::vector{number(-7)}) == 0);
    CHECK(!at.nearest(std::vector{name("row")}));
    CHECK(!at.nearest({}));
    at.choose(3);
    CHECK(at.scale().type == augur::decision_scale::kind::categorical);
    CHECK(at.nearest(std::vector{name("row")}) == 1);
    CHECK(!at.nearest(std::vector{name("diagonal")}));
    CHECK(!at.nearest(std::vector{number(1)}));

    const auto knobs =
        augur::autotvm_space::make({augur::autotvm_split_knob("tile_x", 56, 3),
                                    {"unroll", augur::autotvm_knob_kind::other, {{std::int64_t{0}}, {std::int64_t{512}}, {std::int64_t{1500}}}}});
    REQUIRE(knobs);
    ok = augur::testing::check_described_space(*knobs, rng);
    CHECK_MESSAGE(static_cast<bool>(ok), (ok ? std::string() : ok.error().detail));
    auto knob = knobs->cursor();
    CHECK(knob.scale() == augur::decision_scale{augur::decision_scale::kind::factorisation, 56, 2, 56});
    const auto near = knob.nearest(std::vector{number(8), number(5)});
    REQUIRE(near);
    augur::recording_sink words;
    knob.words(*near, words);
    CHECK(words.items == std::vector{number(8), number(7)});
    CHECK(!knob.nearest(std::vector{number(8)}));
    knob.choose(0);
    CHECK(knob.nearest(std::vector{number(900)}) == 1); // 512 is nearer than 1500
}

} // namespace describe_test
