// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Spaces, models, vocabularies and prompts that do not fit: an error or a report, never a point that the space does not have.
#include <augur/tlm/generate/generator.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <augur/space/describe.hpp>
#include <augur/space/walk.hpp>
#include <augur/tlm/generate/token_probabilities.hpp>
#include <augur/tlm/generate/unconstrained.hpp>
#include <augur/tlm/sentence.hpp>
#include <augur/tlm/vocabulary.hpp>

#include "../space/toy.hpp"

namespace tlm = augur::tlm;

namespace generator_errors_test {

namespace {

constexpr float no_number = std::numeric_limits<float>::quiet_NaN(), endless = std::numeric_limits<float>::infinity();

/// Three decisions of four options. It keeps to that for `*kept` questions, then decision `at` has `later` ones.
struct fickle {
    std::uint64_t later = 0;
    std::size_t at = 1;
    std::shared_ptr<std::size_t> kept = std::make_shared<std::size_t>(std::numeric_limits<std::size_t>::max());

    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
        const bool changed = *kept == 0;
        if (!changed) --*kept;
        if (p.size() == 3) return std::nullopt;
        return augur::decision{augur::decision_kind::tile_size, changed && p.size() == at ? later : std::uint64_t{4}};
    }
};

/// The same, with a cursor that cannot be copied.
struct one_way : fickle {
    class cursor_type {
    public:
        explicit cursor_type(const fickle& space) : space_(&space) {}
        cursor_type(cursor_type&&) = default;
        cursor_type& operator=(cursor_type&&) = default;
        [[nodiscard]] std::optional<augur::decision> next() const { return space_->next(values_); }
        void choose(std::uint64_t value) { values_.push_back(value); }

    private:
        const fickle* space_;
        augur::decision_vector values_;
    };
    [[nodiscard]] cursor_type cursor() const { return cursor_type(*this); }
};
static_assert(!std::copy_constructible<tlm::sentence_walk<one_way>>);

/// One decision, which has `told` options, and `spelled` ones when it is asked again.
struct two_minds {
    std::uint64_t told = 2, spelled = 6;

    class cursor_type {
    public:
        explicit cursor_type(const two_minds& space) : space_(&space) {}
        [[nodiscard]] std::optional<augur::decision> next() const {
            if (chosen_) return std::nullopt;
            const bool first = !asked_;
            asked_ = true;
            return augur::decision{augur::decision_kind::other, first ? space_->told : space_->spelled};
        }
        void choose(std::uint64_t) { chosen_ = true; }
        void describe(auto& sink) const { sink.primitive("choice"); }
        [[nodiscard]] augur::decision_scale scale() const { return {}; }
        void words(std::uint64_t value, auto& sink) const { sink.number(static_cast<std::int64_t>(value)); }
        [[nodiscard]] std::optional<std::uint64_t> nearest(std::span<const augur::schedule_item>) const { return std::nullopt; }

    private:
        const two_minds* space_;
        mutable bool asked_ = false;
        bool chosen_ = false;
    };
    [[nodiscard]] cursor_type cursor() const { return cursor_type(*this); }
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
        if (!p.empty()) return std::nullopt;
        return augur::decision{augur::decision_kind::other, told};
    }
};
static_assert(augur::described_space<two_minds>);

/// A model without state that says whatever a test wants.
struct scripted {
    std::size_t n = 0;
    std::function<augur::result<void>(std::span<const tlm::token>, std::span<float>)> say;
    [[nodiscard]] std::size_t words() const { return n; }
    [[nodiscard]] augur::result<void> logits(std::span<const tlm::token> all, std::span<float> out) const { return say(all, out); }
};
augur::result<void> say_anything(std::span<const tlm::token>, std::span<float> out) {
    std::fill(out.begin(), out.end(), 0.0F);
    return {};
}
/// Is sure of a token.
scripted sure_of(std::size_t n, tlm::token t) {
    return {n, [t](std::span<const tlm::token> all, std::span<float> out) {
                auto said = say_anything(all, out);
                out[t] = 50;
                return said;
            }};
}

/// The same, and it says how long its sentences may be.
struct brief : scripted {
    std::size_t most = 0;
    [[nodiscard]] std::size_t context() const { return most; }
};

tlm::vocabulary vocabulary_with(const std::string& text) {
    tlm::vocabulary_builder counted;
    counted.add_text("a kernel PPT " + text);
    return *counted.build();
}
tlm::vocabulary all_words() { return vocabulary_with("tile_size = : 0 1 2 3"); } // of `fickle`; a prompt of "a kernel PPT" has four tokens

template <class P>
tlm::generator<scripted, P> writer_of(const scripted& model, const tlm::vocabulary& words, tlm::sentence_form form, const P& space) {
    return *tlm::generator<scripted, P>::create(model, words, form, "a kernel PPT", space);
}
template <class P>
augur::result<tlm::unconstrained_points> write_freely(const scripted& model, const tlm::vocabulary& words, const P& space, std::size_t count = 64) {
    tlm::generation_options o;
    o.count = count;
    return tlm::generate_unconstrained(model, words, tlm::sentence_form::compact, "a kernel PPT", space, o);
}

/// Code and text of an error; "none" without one.
template <class T>
std::string text_of_error(const augur::result<T>& r) {
    return r ? std::string("none") : augur::to_string(r.error());
}
bool speaks_of(const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; }

} // namespace

TEST_CASE("generator: a space without an option for a decision is an error that names the decision") {
    const auto words = all_words();
    const scripted any{words.size(), say_anything}, zero = sure_of(words.size(), *words.find("0"));
    for (const std::size_t at : {0U, 1U, 2U}) {
        fickle space;
        space.at = at;
        *space.kept = 0;
        const std::string expected =
            "illegal_schedule: generator: expected at least one option for decision " + std::to_string(at) + ", the space gave none";
        for (const auto form : {tlm::sentence_form::full, tlm::sentence_form::compact})
            for (const bool sample : {false, true})
                for (const bool aligned : {false, true}) {
                    auto g = writer_of(any, words, form, space);
                    tlm::generation_options o;
                    o.sample = sample;
                    o.aligned = aligned;
                    CHECK(text_of_error(g.generate(o)) == expected);
                    CHECK(speaks_of(text_of_error(g.exclude(augur::decision_vector{0, 0, 0})), "illegal_schedule"));
                }
        CHECK(text_of_error(write_freely(zero, words, space)) == expected);
        const std::vector<std::string_view> said{"tile_size", "0", "=", "0", "tile_size", "1", "=", "0", "tile_size", "2", "=", "0"};
        CHECK(text_of_error(tlm::read_sentence(space, said)) ==
              "illegal_schedule: sentence: decision " + std::to_string(at) + ": expected at least one option, the space gave none");
    }
}

TEST_CASE("generator: a space without decisions has one point, which comes once") {
    struct nothing {
        [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t>) const { return std::nullopt; }
    };
    const auto words = all_words();
    const scripted any{words.size(), say_anything};
    const nothing space{};
    auto g = writer_of(any, words, tlm::sentence_form::compact, space);
    const auto points = g.generate({});
    REQUIRE(points);
    REQUIRE(points->size() == 1);
    CHECK(points->front().decisions.empty());
    CHECK(g.generate({})->empty());
    auto left_out = writer_of(any, words, tlm::sentence_form::compact, space);
    REQUIRE(left_out.exclude({}));
    CHECK(left_out.generate({})->empty());
}

TEST_CASE("generator: a point that the space no longer has when it is complete is an error") {
    const auto words = all_words();
    fickle space;
    space.later = 2;
    const auto three = *words.find("3");
    const scripted model{words.size(), [&](std::span<const tlm::token> all, std::span<float> out) {
                             auto said = say_anything(all, out);
                             out[all.size() < 7 ? three : tlm::vocabulary::end] = 50;
                             if (all.size() == 6) *space.kept = 0; // it is asked for the last decision
                             return said;
                         }};
    tlm::generation_options o;
    o.count = 1;
    for (const bool sample : {false, true})
        for (const bool aligned : {false, true}) {
            *space.kept = 1000;
            auto g = writer_of(model, words, tlm::sentence_form::compact, space);
            o.sample = sample;
            o.aligned = aligned;
            const auto told = text_of_error(g.generate(o));
            CHECK(speaks_of(told, "illegal_schedule"));
            CHECK(speaks_of(told, "expected a value below 2 for decision 1, 3 came"));
        }
    *space.kept = 1000;
    CHECK(speaks_of(text_of_error(write_freely(model, words, space, 1)), "expected a value below 2 for decision 1, 3 came"));
    *space.kept = 1000; // a space that keeps to what it says
    o.aligned = false;
    const scripted sure = sure_of(words.size(), three);
    const auto fine = writer_of(sure, words, tlm::sentence_form::compact, space).generate(o);
    REQUIRE_MESSAGE(fine, fine.error().detail);
    CHECK(fine->front().decisions == augur::decision_vector{3, 3, 3});
}

TEST_CASE("generator: a space with fewer options than in the call before gives the points that it still has, each once") {
    const auto words = all_words();
    const scripted any{words.size(), say_anything};
    fickle space;
    space.later = 2;
    auto g = writer_of(any, words, tlm::sentence_form::compact, space);
    tlm::generation_options o;
    o.count = 4;
    const auto before = g.generate(o);
    REQUIRE(before);
    REQUIRE(before->size() == 4);
    *space.kept = 0;
    o.count = 1000;
    const auto after = g.generate(o);
    REQUIRE_MESSAGE(after, after.error().detail);
    std::set<augur::decision_vector> seen;
    for (const auto& point : *before) CHECK(seen.insert(point.decisions).second);
    for (const auto& point : *after) {
        CHECK(seen.insert(point.decisions).second);
        CHECK(augur::trace_path(space, point.decisions));
    }
    CHECK(std::count_if(seen.begin(), seen.end(), [](const auto& p) { return p[1] < 2; }) == 4 * 2 * 4);
    CHECK(g.generate(o)->empty());
}

TEST_CASE("generator: a cursor that cannot be copied is walked again, and must tell the same") {
    const auto words = all_words();
    const scripted any{words.size(), say_anything};
    one_way space;
    tlm::generation_options o;
    o.count = 1000;
    const auto all = writer_of(any, words, tlm::sentence_form::full, space).generate(o);
    REQUIRE_MESSAGE(all, all.error().detail);
    std::set<augur::decision_vector> seen;
    for (const auto& point : *all) CHECK(seen.insert(point.decisions).second);
    CHECK(seen.size() == 64);
    for (const std::uint64_t later : {0U, 2U, 8U}) {
        space.later = later;
        *space.kept = 1000;
        const scripted model{words.size(), [&](std::span<const tlm::token> told, std::span<float> out) {
                                 if (told.size() == 5) *space.kept = 0; // before the walks part at decision 1
                                 return say_anything(told, out);
                             }};
        auto g = writer_of(model, words, tlm::sentence_form::compact, space);
        CHECK(text_of_error(g.generate(o)) == "illegal_schedule: generator: expected the options of decision 1 as before, the space gave others");
    }
}

TEST_CASE("generator: a point that is excluded while the space changes is an error, not another point") {
    const auto words = all_words();
    const scripted any{words.size(), say_anything};
    for (const std::uint64_t later : {0U, 2U}) {
        fickle space;
        space.later = later;
        auto g = writer_of(any, words, tlm::sentence_form::compact, space);
        *space.kept = 4; // as many as a check of the point asks
        const auto told = text_of_error(g.exclude(augur::decision_vector{0, 3, 0}));
        CHECK(speaks_of(told, "illegal_schedule"));
        CHECK(speaks_of(told, "decision 1"));
    }
}

TEST_CASE("generator: options that are told and spelled differently are an error, and no value beyond those that were told comes") {
    const auto words = vocabulary_with("choice = : 0 1 2 3 4 5");
    const scripted five = sure_of(words.size(), *words.find("5"));
    const std::string expected = "illegal_schedule: generator: expected the options of decision 0 as before, the space gave others";
    tlm::generation_options o;
    o.count = 1;
    for (const std::uint64_t spelled : {6U, 0U}) {
        two_minds space;
        space.spelled = spelled;
        o.sample = spelled == 0;
        CHECK(text_of_error(writer_of(five, words, tlm::sentence_form::compact, space).generate(o)) == expected);
        CHECK(text_of_error(write_freely(five, words, space)) == expected);
        const std::vector<std::string_view> said{"choice", "=", "5"};
        const auto told = text_of_error(tlm::read_sentence(space, said));
        CHECK(speaks_of(told, "illegal_schedule: sentence: decision 0: expected "));
        CHECK(speaks_of(told, spelled == 6 ? "a value below 2, the space gave words of 5" : "words of its options, the space gave none"));
    }
}

TEST_CASE("generator: words of a prompt that the vocabulary does not have are reported, each once") {
    const auto words = all_words();
    const scripted any{words.size(), say_anything};
    const fickle space;
    const std::vector<std::string> expected{"NHWC", "conv2d"};
    const auto g = tlm::generator<scripted, fickle>::create(any, words, tlm::sentence_form::compact, "a conv2d kernel NHWC  conv2d PPT", space);
    REQUIRE(g);
    CHECK(g->report().unknown_words == expected);
    CHECK(writer_of(any, words, tlm::sentence_form::compact, space).report().unknown_words.empty());
    const auto freely =
        tlm::generate_unconstrained(any, words, tlm::sentence_form::compact, "a conv2d kernel NHWC  conv2d PPT", space, tlm::generation_options{});
    REQUIRE(freely);
    CHECK(freely->unknown_words == expected);
    CHECK(write_freely(any, words, space)->unknown_words.empty());
}

TEST_CASE("generator: a vocabulary with more tokens than the model has is an error") {
    const auto words = all_words();
    const scripted small{words.size() - 1, say_anything};
    const fickle space;
    CHECK(speaks_of(text_of_error(tlm::generator<scripted, fickle>::create(small, words, tlm::sentence_form::compact, "PPT", space)),
                    "shape_mismatch: generator: the vocabulary has "));
    CHECK(speaks_of(text_of_error(write_freely(small, words, space)), "shape_mismatch: generator: the vocabulary has "));
}

namespace {

/// A model with sessions that does not open, or has no logits.
struct refusing {
    struct session_type {
        void sequences(std::size_t) {}
        void copy(std::size_t, std::size_t) {}
        void append(std::size_t, std::span<const tlm::token>) {}
        [[nodiscard]] augur::result<void> logits(std::span<const std::size_t>, std::span<float>) {
            return augur::error{augur::errc::io, "the model is gone"};
        }
    };
    std::size_t n = 0;
    bool opens = false;
    [[nodiscard]] std::size_t words() const { return n; }
    [[nodiscard]] augur::result<session_type> open(std::span<const tlm::token>) const {
        if (!opens) return augur::error{augur::errc::not_found, "no such model"};
        return session_type{};
    }
};
static_assert(tlm::next_token_model<refusing>);

} // namespace

TEST_CASE("generator: the errors of a model are passed on") {
    const auto words = all_words();
    const fickle space;
    refusing model;
    model.n = words.size();
    using writer = tlm::generator<refusing, fickle>;
    const auto form = tlm::sentence_form::compact;
    CHECK(text_of_error(writer::create(model, words, form, "a kernel PPT", space)) == "not_found: no such model");
    CHECK(text_of_error(tlm::generate_unconstrained(model, words, form, "a kernel PPT", space, tlm::generation_options{})) ==
          "not_found: no such model");
    model.opens = true;
    auto g = writer::create(model, words, form, "a kernel PPT", space);
    REQUIRE(g);
    CHECK(text_of_error(g->generate({})) == "io: the model is gone");
    CHECK(text_of_error(tlm::generate_unconstrained(model, words, form, "a kernel PPT", space, tlm::generation_options{})) ==
          "io: the model is gone");
    const scripted late{words.size(), [](std::span<const tlm::token> all, std::span<float> out) -> augur::result<void> {
                            if (all.size() == 6) return augur::error{augur::errc::unsupported, "no third word"};
                            return say_anything(all, out);
                        }};
    CHECK(text_of_error(writer_of(late, words, form, space).generate({})) == "unsupported: no third word");
}

TEST_CASE("unconstrained: a sentence longer than the context is counted, an error of the model with the code of a limit is passed on") {
    const auto words = all_words();
    const fickle space;
    const auto three = *words.find("3");
    std::size_t longest = 0;
    brief model;
    model.n = words.size();
    model.say = [&](std::span<const tlm::token> all, std::span<float> out) {
        longest = std::max(longest, all.size());
        auto said = say_anything(all, out);
        out[all.size() < 7 ? three : tlm::vocabulary::end] = 50; // four tokens of the prompt, three decisions
        return said;
    };
    tlm::generation_options o;
    o.count = 1;
    for (const std::size_t most : {6U, 7U}) {
        model.most = most;
        longest = 0;
        const auto written = tlm::generate_unconstrained(model, words, tlm::sentence_form::compact, "a kernel PPT", space, o);
        REQUIRE_MESSAGE(written, written.error().detail);
        CHECK(longest == most);
        CHECK(written->points.size() == most - 6);
        CHECK(written->calls == (most == 6 ? 5U : 1U)); // five passes
        CHECK(written->illegal == (most == 6 ? 5U : 0U));
        CHECK(written->illegal_forced == 0);
        for (const auto n : written->illegal_choices) CHECK(n == 0);
    }
    const scripted failing{words.size(), [&](std::span<const tlm::token> all, std::span<float> out) -> augur::result<void> {
                               if (all.size() == 6) return augur::error{augur::errc::limit, "no memory for a third decision"};
                               auto said = say_anything(all, out);
                               out[three] = 50;
                               return said;
                           }};
    CHECK(text_of_error(write_freely(failing, words, space)) == "limit: no memory for a third decision");
}

namespace {

/// A choice, and behind it one decision of four options or five of them.
struct short_or_long {
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
        if (!p.empty() && p.size() == (p[0] == 0 ? 2U : 6U)) return std::nullopt;
        return augur::decision{augur::decision_kind::other, p.empty() ? std::uint64_t{2} : std::uint64_t{4}};
    }
};

/// Gives all tokens the same probability, and fails beyond its context.
brief strict(std::size_t n, std::size_t most) {
    brief model;
    model.n = n;
    model.most = most;
    model.say = [most](std::span<const tlm::token> all, std::span<float> out) -> augur::result<void> {
        if (all.size() > most) return augur::error{augur::errc::limit, "longer than the context"};
        return say_anything(all, out);
    };
    return model;
}

} // namespace

TEST_CASE("generator: a sentence longer than the context is thrown away, and the shorter ones come") {
    const auto words = vocabulary_with("other = : 0 1 2 3");
    const short_or_long space;
    tlm::generation_options o;
    o.count = 1000;
    o.discards = 100;
    for (const std::size_t batch : {std::size_t{1}, std::size_t{5}, std::size_t{64}})
        for (const bool sample : {false, true})
            for (const bool aligned : {false, true}) {
                o.batch = batch;
                o.sample = sample;
                o.aligned = aligned;
                const auto model = strict(words.size(), 6); // four tokens of the prompt
                auto g = *tlm::generator<brief, short_or_long>::create(model, words, tlm::sentence_form::compact, "a kernel PPT", space);
                const auto points = g.generate(o);
                REQUIRE_MESSAGE(points, points.error().detail);
                std::set<augur::decision_vector> seen;
                for (const auto& point : *points) seen.insert(point.decisions);
                CHECK(points->size() == 4);
                CHECK(seen == std::set<augur::decision_vector>{{0, 0}, {0, 1}, {0, 2}, {0, 3}});
                CHECK(g.report().too_long == 16); // {1, 0, 0} to {1, 3, 3} begin a sentence that is too long, each once
                CHECK(g.report().discarded >= 16);
                CHECK(g.log_left() == -std::numeric_limits<double>::infinity());
                CHECK(g.generate(o)->empty());
            }
    const auto too_small = strict(words.size(), 4);
    auto none = *tlm::generator<brief, short_or_long>::create(too_small, words, tlm::sentence_form::compact, "a kernel PPT", space);
    CHECK(none.generate({})->empty());
    const auto no_name = strict(words.size(), 5); // the prompt, and not all of the first name
    auto full = *tlm::generator<brief, short_or_long>::create(no_name, words, tlm::sentence_form::full, "a kernel PPT", space);
    CHECK(full.generate({})->empty());
    const auto small = strict(words.size(), 5);
    const fickle all_long;
    auto some = *tlm::generator<brief, fickle>::create(small, words, tlm::sentence_form::compact, "a kernel PPT", all_long);
    o = {};
    o.count = o.batch = 1;
    o.discards = 2;
    CHECK(some.generate(o)->empty()); // it ends before it has tried all beginnings
    CHECK(some.report().too_long == 3);
}

TEST_CASE("generator: points that were written before an error come in the next call, and none is lost") {
    const auto words = all_words();
    const fickle space;
    std::size_t calls = 0, fails_at = 0;
    const scripted model{words.size(), [&](std::span<const tlm::token> all, std::span<float> out) -> augur::result<void> {
                             if (++calls == fails_at) return augur::error{augur::errc::io, "once"};
                             return say_anything(all, out);
                         }};
    tlm::generation_options o;
    o.count = 12;
    o.batch = 4;
    const auto whole = writer_of(model, words, tlm::sentence_form::compact, space).generate(o);
    REQUIRE(whole->size() == 12);
    REQUIRE(calls > 15);
    for (std::size_t at = 1, last = calls; at <= last; ++at) {
        calls = 0;
        fails_at = at;
        auto g = writer_of(model, words, tlm::sentence_form::compact, space), h = g;
        o.count = 12;
        CHECK(text_of_error(g.generate(o)) == "io: once");
        CHECK(g.report().points == 0);
        calls = 0;
        CHECK(!h.generate(o));
        const auto excluded = (*whole)[1].decisions;
        REQUIRE(h.exclude(excluded));
        fails_at = 0;
        o.count = 1000;
        const auto rest = *g.generate(o), others = *h.generate(o);
        std::set<augur::decision_vector> seen, seen_of_others;
        for (const auto& point : rest) seen.insert(point.decisions);
        for (const auto& point : others) seen_of_others.insert(point.decisions);
        CHECK(rest.size() == 64);
        CHECK(seen.size() == 64);
        CHECK(others.size() == 63);
        CHECK(seen_of_others.size() == 63);
        CHECK(!seen_of_others.contains(excluded));
        if (at == last)
            for (std::size_t i = 0; i < 8; ++i) CHECK(rest[i].decisions == (*whole)[i].decisions);
    }
    fickle changing; // what it does not have when the next call comes waits
    changing.later = 2;
    calls = 0;
    fails_at = 12;
    auto g = writer_of(model, words, tlm::sentence_form::compact, changing);
    o.count = 12;
    CHECK(!g.generate(o));
    fails_at = 0;
    std::set<augur::decision_vector> seen;
    *changing.kept = 0;
    o.count = 1000;
    const auto fewer = *g.generate(o);
    for (const auto& point : fewer) {
        CHECK(seen.insert(point.decisions).second);
        CHECK(point.decisions[1] < 2);
    }
    *changing.kept = 1'000'000;
    const auto rest = *g.generate(o);
    for (const auto& point : rest) CHECK(seen.insert(point.decisions).second);
    for (std::size_t i = 0; i < 4; ++i) CHECK(seen.contains((*whole)[i].decisions));
}

namespace {

/// One decision whose values are spelled in two words: a side, of which there are `sides`, and a number of four.
struct two_words {
    std::uint64_t sides = 2;

    class cursor_type {
    public:
        explicit cursor_type(const two_words& space) : space_(&space) {}
        [[nodiscard]] std::optional<augur::decision> next() const {
            if (chosen_) return std::nullopt;
            return augur::decision{augur::decision_kind::other, 4 * space_->sides};
        }
        void choose(std::uint64_t) { chosen_ = true; }
        void describe(auto& sink) const { sink.primitive("choice"); }
        [[nodiscard]] augur::decision_scale scale() const { return {}; }
        void words(std::uint64_t value, auto& sink) const {
            sink.name(value < 4 ? "left" : "right");
            sink.number(static_cast<std::int64_t>(value % 4));
        }
        [[nodiscard]] std::optional<std::uint64_t> nearest(std::span<const augur::schedule_item>) const { return std::nullopt; }

        struct speller_type {
            std::uint64_t sides, side = 0, number = 0;
            int said = 0;
            [[nodiscard]] std::uint64_t choices() const { return said == 0 ? sides : said == 1 ? 4 : 0; }
            void word(std::uint64_t choice, auto& sink) const {
                if (said == 0) sink.name(choice == 0 ? "left" : "right");
                else sink.number(static_cast<std::int64_t>(choice));
            }
            void choose(std::uint64_t choice) { (said++ == 0 ? side : number) = choice; }
            [[nodiscard]] std::uint64_t value() const { return 4 * side + number; }
        };
        [[nodiscard]] speller_type speller() const { return {space_->sides}; }

    private:
        const two_words* space_;
        bool chosen_ = false;
    };
    [[nodiscard]] cursor_type cursor() const { return cursor_type(*this); }
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
        if (!p.empty()) return std::nullopt;
        return augur::decision{augur::decision_kind::other, 4 * sides};
    }
};
static_assert(augur::described_space<two_words>);
static_assert(augur::word_speller<two_words::cursor_type::speller_type>);

} // namespace

TEST_CASE("generator: a value with an unknown word that the walk keeps can be excluded") {
    const auto words = vocabulary_with("choice = : 0 1 2 3"); // neither "left" nor "right"
    const scripted any{words.size(), say_anything};
    for (const std::uint64_t sides : {std::uint64_t{1}, std::uint64_t{2}})
        for (const auto form : {tlm::sentence_form::full, tlm::sentence_form::compact}) {
            const two_words space{sides};
            const auto all = writer_of(any, words, form, space).generate({});
            REQUIRE(all->size() == 4); // the first side, which is the only one or taken for want of a word
            for (const auto& point : *all) {
                auto g = writer_of(any, words, form, space);
                REQUIRE(g.exclude(point.decisions));
                if (sides == 2) REQUIRE(g.exclude(augur::decision_vector{point.decisions[0] + 4})); // no point that can come
                const auto rest = *g.generate({});
                CHECK(rest.size() == 3);
                for (const auto& other : rest) CHECK(other.decisions != point.decisions);
            }
        }
}

TEST_CASE("token walk: the legal tokens of a decision of many options, each once and in the order of the options") {
    const auto all = [](std::uint64_t n, tlm::number_form numbers) {
        struct wide {
            std::uint64_t n;
            [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
                if (!p.empty()) return std::nullopt;
                return augur::decision{augur::decision_kind::other, n};
            }
        };
        tlm::vocabulary_builder counted;
        for (std::uint64_t v = 0; v < n; ++v) counted.add(std::to_string(v), 1 + v % 7); // the tokens are in another order than the numbers
        const auto words = *counted.build(numbers);
        const wide space{n};
        tlm::token_walk<wide> walk(space, words, tlm::sentence_form::compact);
        std::vector<tlm::token> passed, expected;
        REQUIRE(walk.advance(passed));
        for (std::uint64_t v = 0; v < n; ++v) {
            std::vector<tlm::token> spelled;
            words.append(std::to_string(v), spelled);
            if (std::find(expected.begin(), expected.end(), spelled[0]) == expected.end()) expected.push_back(spelled[0]);
        }
        CHECK(std::vector(walk.choices().begin(), walk.choices().end()) == expected);
        return expected.size();
    };
    CHECK(all(1000, tlm::number_form::words) == 1000);
    const auto factors = all(1000, tlm::number_form::factors);
    CHECK(factors > 10);
    CHECK(factors < 200);
}

TEST_CASE("generator: logits that a model does not write, or one that is no number, are an error; those of the call before are not taken for them") {
    const auto words = all_words();
    const fickle space;
    const std::string expected = "limit: generator: the model gave logits that are no numbers, or all -infinity";
    const auto zero = *words.find("0");
    using script = std::function<void(std::span<float>)>;
    const std::vector<script> wrong{[](std::span<float>) {},
                                    [](std::span<float> out) {
                                        const auto half = out.first(out.size() / 2);
                                        std::fill(half.begin(), half.end(), 1.0F);
                                    },
                                    [](std::span<float> out) {
                                        const auto most = out.first(out.size() - 1);
                                        std::fill(most.begin(), most.end(), 1.0F);
                                    },
                                    [](std::span<float> out) {
                                        std::fill(out.begin(), out.end(), 1.0F);
                                        out[5] = no_number;
                                    },
                                    [](std::span<float> out) {
                                        std::fill(out.begin(), out.end(), 1.0F);
                                        out[out.size() - 2] = endless;
                                    },
                                    [](std::span<float> out) { std::fill(out.begin(), out.end(), -endless); }};
    for (const auto& say : wrong)
        for (const std::size_t from : {4U, 5U}) { // the first row, or the second
            const scripted model{words.size(), [&](std::span<const tlm::token> all, std::span<float> out) -> augur::result<void> {
                                     if (all.size() >= from) return say(out), augur::result<void>();
                                     auto said = say_anything(all, out);
                                     out[zero] = 50;
                                     return said;
                                 }};
            tlm::generation_options o;
            for (const bool sample : {false, true})
                for (const bool aligned : {false, true}) {
                    o.sample = sample;
                    o.aligned = aligned;
                    CHECK(text_of_error(writer_of(model, words, tlm::sentence_form::compact, space).generate(o)) == expected);
                }
            CHECK(text_of_error(write_freely(model, words, space)) == expected);
        }
}

TEST_CASE("token probabilities: one number that is none, at any place of a row of any length") {
    tlm::token_probabilities row;
    for (std::size_t n = 1; n <= 40; ++n)
        for (std::size_t at = 0; at < n; ++at) {
            std::vector<float> logits(n);
            for (std::size_t i = 0; i < n; ++i) logits[i] = 0.25F * static_cast<float>(i % 7);
            CHECK(row.read(logits));
            for (const float bad : {no_number, -no_number, endless}) {
                logits[at] = bad;
                CHECK(!row.read(logits));
            }
            logits[at] = -endless; // a token without a probability, unless there is no other
            CHECK(row.read(logits).has_value() == (n > 1));
        }
}

TEST_CASE("generator: legal tokens without a probability beside others that have one are an error, sampled or searched") {
    const auto words = all_words();
    const fickle space;
    for (const std::size_t from : {4U, 5U}) {
        const scripted model{words.size(), [&](std::span<const tlm::token> all, std::span<float> out) {
                                 auto said = say_anything(all, out);
                                 for (const char* digit : {"0", "1", "2", "3"})
                                     if (all.size() >= from) out[*words.find(digit)] = -endless;
                                 return said;
                             }};
        tlm::generation_options o;
        for (const bool sample : {false, true}) {
            o.sample = sample;
            CHECK(text_of_error(writer_of(model, words, tlm::sentence_form::compact, space).generate(o)) ==
                  "limit: generator: the model gives no legal token a probability");
        }
        o.aligned = true; // what is not legal is thrown away, and nothing is left
        auto g = writer_of(model, words, tlm::sentence_form::compact, space);
        const auto none = g.generate(o);
        REQUIRE(none);
        CHECK(none->empty());
        CHECK(g.report().discarded > 0);
        CHECK(g.log_left() == -std::numeric_limits<double>::infinity());
        const auto freely = write_freely(model, words, space);
        REQUIRE(freely);
        CHECK(freely->points.empty());
        CHECK(freely->illegal == freely->calls);
    }
}

TEST_CASE("generator: where the vocabulary has no word of any option the first is taken, without a token and without the model") {
    const toy::described_space space;
    const auto words = vocabulary_with("sketch tile unroll = : 4");
    const scripted silent{words.size(), [](std::span<const tlm::token>, std::span<float>) -> augur::result<void> {
                              return augur::error{augur::errc::unsupported, "nobody asks"};
                          }};
    for (const auto form : {tlm::sentence_form::full, tlm::sentence_form::compact}) {
        auto g = writer_of(silent, words, form, space);
        const auto points = g.generate({});
        REQUIRE_MESSAGE(points, points.error().detail);
        REQUIRE(points->size() == 1);
        CHECK(points->front().decisions == augur::decision_vector{0, 3, 3, 0}); // tiles of 4; no word for a sketch and for an unrolling
        CHECK(points->front().log_probability == 0);
        CHECK(g.report().unsayable == 2 + 7 + 4 + 4);
        CHECK(g.report().choices() == 0);
        if (form == tlm::sentence_form::compact) CHECK(g.report().forced == 2);
        CHECK(g.generate({})->empty());
    }
}

} // namespace generator_errors_test
