// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlm/corpus.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/core/thread_pool.hpp>
#include <augur/dataset/file.hpp>
#include <augur/loopnest/ir/operators.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/space/walk.hpp>
#include <augur/tlm/sentence.hpp>
#include <augur/workload/kernel.hpp>

#include "../space/toy.hpp"

namespace tlm = augur::tlm;

namespace {

const char* const corpus_kernel_texts[] = {"dense:m=16,n=32,k=8,bias", "conv2d:n=1,h=8,w=8,c=4,f=8,k=3,stride=1,pad=1,layout=nhwc,bias,relu",
                                           "softmax:m=4,n=19"};

augur::loopnest::ansor_space space_of(const char* kernel) {
    return *augur::loopnest::ansor_space::create(
        std::make_shared<const augur::loopnest::compute_dag>(*augur::loopnest::build_dag(*augur::kernel::parse(kernel))), {});
}
augur::result<tlm::corpus_kernel<augur::loopnest::ansor_space>> make(std::size_t i) {
    const auto task = augur::loopnest::kernel_task::create(*augur::kernel::parse(corpus_kernel_texts[i]), {});
    if (!task) return task.error();
    return tlm::corpus_kernel<augur::loopnest::ansor_space>{tlm::prompt_text(*task, {}), space_of(corpus_kernel_texts[i]), i == 2 ? "b" : "a"};
}

template <class E>
augur::dataset sampled(E&& threads, std::size_t n = 50, std::uint64_t seed = 7) {
    auto made = tlm::sample_corpus(3, make, n, seed, threads, [](std::size_t) { return true; });
    REQUIRE(made);
    return *std::move(made);
}

std::string text_of(const augur::dataset& corpus, std::size_t record) {
    std::string out;
    tlm::append_words(out, corpus.visit(record));
    return out;
}

} // namespace

TEST_CASE("corpus: its sentences are those of points drawn one by one, and it is the same on one thread and on four") {
    const auto corpus = sampled(augur::serial_executor());
    const auto again = sampled(augur::thread_pool_executor(4));
    REQUIRE(corpus.size() == again.size());
    REQUIRE(corpus.tasks() == 3);
    CHECK(corpus.sources() == 2);
    for (std::size_t r = 0; r < corpus.size(); ++r) CHECK(text_of(corpus, r) == text_of(again, r));
    std::size_t record = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        const auto space = space_of(corpus_kernel_texts[i]);
        auto rng = augur::random_engine(7).stream(i);
        std::set<std::string> seen;
        CHECK(corpus.task(i).key == make(i)->prompt);
        for (int n = 0; n < 50; ++n) {
            const auto path = augur::sample_path(space, rng);
            std::string text;
            tlm::append_words(text, tlm::spoken_point<augur::loopnest::ansor_space>{&space, path.values});
            if (seen.insert(text).second) CHECK(text_of(corpus, record++) == text);
        }
        CHECK(corpus.task(i).last == record);
    }
    CHECK(record == corpus.size());
}

TEST_CASE("corpus: the tokens of a record are those of its text, values apart from names") {
    const auto corpus = sampled(augur::serial_executor());
    for (const auto numbers : {tlm::number_form::words, tlm::number_form::factors}) {
        const auto words = tlm::count_words(corpus).build(numbers);
        REQUIRE(words);
        const tlm::corpus_tokens tokens(corpus, *words);
        CHECK(tokens.unknown().empty());
        for (std::size_t t = 0; t < corpus.tasks(); ++t) {
            const auto prompt = tokens.prompt(t);
            CHECK(prompt.front() == tlm::vocabulary::begin);
            CHECK(*words->decode(prompt) == corpus.task(t).key);
            for (auto r = corpus.task(t).first; r < corpus.task(t).last; ++r) {
                std::vector<tlm::token> full, compact, values, expected;
                std::vector<std::uint8_t> learned, compact_learned;
                tokens.append(r, tlm::sentence_form::full, full, learned);
                tokens.append(r, tlm::sentence_form::compact, compact, compact_learned);
                REQUIRE(learned.size() == full.size());
                REQUIRE(compact_learned.size() == compact.size());
                words->append_text(text_of(corpus, r), expected);
                expected.push_back(tlm::vocabulary::end);
                CHECK(full == expected);
                // what is learned is what the compact form has
                for (std::size_t i = 0; i < full.size(); ++i)
                    if (learned[i] != 0) values.push_back(full[i]);
                CHECK(values == compact);
                CHECK(compact_learned == std::vector<std::uint8_t>(compact.size(), 1));
            }
        }
    }
}

TEST_CASE("corpus: words that a vocabulary does not know are named") {
    const auto corpus = sampled(augur::serial_executor(), 3);
    tlm::vocabulary_builder few;
    few.add_text("SP = : dense");
    const tlm::corpus_tokens tokens(corpus, *few.build());
    CHECK(tokens.unknown().contains("softmax"));
    CHECK(!tokens.unknown().contains("dense"));
}

TEST_CASE("corpus: a point of a search becomes a sentence with its latency") {
    augur::dataset_builder to;
    const toy::described_space space;
    const auto source = to.source("a log");
    REQUIRE(tlm::add_sentence(to, source, "toy PPT", space, augur::decision_vector{0, 3, 4, 2}, 0.25));
    REQUIRE(tlm::add_sentence(to, source, "toy PPT", space, augur::decision_vector{1, 0, 0, 1}, 0, augur::outcome::run_crash));
    CHECK(tlm::add_sentence(to, source, "toy PPT", space, augur::decision_vector{1, 0}).error().code == augur::errc::illegal_schedule);
    const auto corpus = std::move(to).finish();
    REQUIRE(corpus.size() == 2);
    CHECK(text_of(corpus, 0) == " sketch = 0 tile = 4 tile second = 6 unroll = 2");
    CHECK(corpus.seconds(0) == 0.25);
    CHECK(corpus.status(1) == augur::outcome::run_crash);
}

TEST_CASE("corpus: a space without an option for a decision is an error that names the decision") {
    struct dead_end {
        [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
            if (p.size() == 2) return std::nullopt;
            return augur::decision{augur::decision_kind::tile_size, p.empty() ? std::uint64_t{2} : std::uint64_t{0}};
        }
    };
    augur::dataset_builder to;
    const auto source = to.source("toys");
    const auto sampled = tlm::sample_sentences(to, source, "a kernel PPT", dead_end{}, 3, augur::random_engine(1));
    REQUIRE(!sampled);
    CHECK(augur::to_string(sampled.error()) == "illegal_schedule: corpus: expected at least one option for decision 1, the space gave none");
}

TEST_CASE("corpus: a kernel that cannot be made ends it with that error, and it can be stopped") {
    augur::serial_executor serial;
    const auto failing = [](std::size_t i) -> augur::result<tlm::corpus_kernel<augur::loopnest::ansor_space>> {
        if (i == 1) return augur::error{augur::errc::not_found, "no such kernel"};
        return make(i);
    };
    const auto go_on = [](std::size_t) { return true; };
    CHECK(tlm::sample_corpus(3, failing, 2, 1, serial, go_on).error().detail == "no such kernel");
    const auto many = [](std::size_t i) { return make(i % 3); };
    CHECK(tlm::sample_corpus(200, many, 1, 1, serial, [](std::size_t) { return false; }).error().code == augur::errc::interrupted);
}

TEST_CASE("corpus: at most 200 bytes a sentence, all arrays counted") {
    const auto corpus = sampled(augur::serial_executor(), 2000);
    CHECK(corpus.report().bytes_a_record() < 200);
}
