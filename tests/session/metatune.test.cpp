// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MetaTune's weights in a session: which model a file is of, what is refused before anything is measured, equal searches on any number of threads.
#include <augur/session.hpp>

#ifdef AUGUR_HAS_METATUNE

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/thread_pool.hpp>
#include <augur/metatune.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/session/sample_schedules.hpp>
#include <augur/session/schedule_rows.hpp>
#include <augur/tune/tuner.hpp>

namespace metatune_session_test {

namespace fs = std::filesystem;
namespace metatune = augur::metatune;
using augur::loopnest::kernel_task;

struct folder {
    fs::path path;
    folder() {
        std::string name = (fs::temp_directory_path() / "metatune-session-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    std::string operator/(const std::string& file) const { return (path / file).string(); }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::vector<std::string> kernels{"dense:m=16,n=32,k=16,bias", "dense:m=16,n=48,k=16"};

std::pair<std::vector<kernel_task>, std::vector<augur::loopnest::ansor_space>> tasks() {
    std::pair<std::vector<kernel_task>, std::vector<augur::loopnest::ansor_space>> out;
    augur::loopnest::ansor_options options;
    options.num_cores = 1;
    for (const auto& k : kernels) {
        out.first.push_back(*kernel_task::create(*augur::kernel::parse(k), {}));
        out.second.push_back(*augur::loopnest::ansor_space::create(out.first.back().dag(), options));
    }
    return out;
}

/// The super-graph of random schedules and of the untuned ones.
metatune::super_graph graph(std::size_t random) {
    const auto [all, spaces] = tasks();
    metatune::super_graph out;
    for (std::size_t k = 0; k < all.size(); ++k) {
        auto schedules = augur::sample_schedules(spaces[k], random, 1);
        schedules.push_back(augur::loopnest::untuned_schedule(*all[k].dag(), 1));
        for (const auto& s : schedules)
            if (const auto features = augur::loopnest::schedule_features(all[k], s)) REQUIRE(out.add(*features, augur::schedule_rows::role));
    }
    return out;
}

metatune::network<float> weights(std::size_t features) {
    metatune::config c;
    c.features = static_cast<augur::nn::index>(features);
    c.convolutions = {8, 8};
    c.head = {8};
    return metatune::network<float>::random_init(c, augur::random_engine(1));
}

augur::session_options options(const std::string& model) {
    augur::session_options o;
    o.work.name = "two kernels";
    for (const auto& k : kernels) o.work.add(*augur::kernel::parse(k));
    o.search.model = model;
    o.search.trials = 8;
    o.search.round = 4;
    o.search.population = 32;
    o.search.scheduler = augur::scheduling::round_robin;
    o.limits = false;
    o.threads = 1;
    return o;
}

std::string refusal(const augur::session_options& o) {
    const auto s = augur::session::create(o);
    REQUIRE_FALSE(s);
    return s.error().detail;
}

/// Latencies by the hash of the schedule.
struct made_up_runner {
    static std::vector<augur::measurement> measure(const kernel_task&, std::span<const augur::step_list> candidates) {
        std::vector<augur::measurement> out;
        for (const auto& s : candidates) {
            augur::measurement m;
            m.seconds = {1e-3 * (1 + static_cast<double>(augur::hash_schedule(s) % 1000))};
            out.push_back(m);
        }
        return out;
    }
};

} // namespace metatune_session_test

TEST_CASE("session: weights of MetaTune guide a search and adapt to each kernel") {
    using namespace metatune_session_test;
    const folder at;
    const auto g = graph(200);
    REQUIRE(metatune::save({weights(g.columns()), to_text(g), {}}, at / "w.safetensors"));
    for (const char* model : {"file", "auto"}) {
        auto o = options(model == std::string("file") ? at / "w.safetensors" : "auto");
        if (o.search.model == "auto") o.search.weights = at / "w.safetensors";
        auto s = augur::session::create(o);
        if (!s) FAIL(s.error().detail);
        CHECK_FALSE(s->trains_tlp());
        const auto report = s->tune();
        REQUIRE(report);
        const auto& found = report->searches.back();
        const bool prior = o.search.model == "auto" && augur::detail::has_bayes; // the network is the prior mean of Bayesian optimisation
        CHECK(found.name == (prior ? "bayes+metatune" : "metatune"));
        REQUIRE_FALSE(found.failed);
        REQUIRE(found.summary);
        CHECK(found.summary->first_model_error == "");
        CHECK(found.summary->trials == 16);
        for (std::size_t k = 0; k < 2; ++k) CHECK(std::isfinite(found.best_latency[k]));
        bool told = o.search.model != "auto";
        for (const auto& n : found.notes) told = told || has(n, "ranked by MetaTune with the given weights");
        CHECK(told);
        CHECK_FALSE(s->save_model(at / "learned"));
    }
}

#ifdef AUGUR_HAS_SEARCH_BAYES
TEST_CASE("session: Bayesian optimisation begins with the points that the network ranks highest") {
    using namespace metatune_session_test;
    const folder at;
    const auto g = graph(200);
    const metatune::trained_network trained{weights(g.columns()), to_text(g), {}};
    REQUIRE(metatune::save(trained, at / "w.safetensors"));
    auto o = options(at / "w.safetensors");
    o.search.strategy = "bayes";
    o.search.trials = o.search.round = 4; // the untuned schedule and three of the first proposal, all of which are finalists
    auto s = augur::session::create(o);
    if (!s) FAIL(s.error().detail);
    const auto found = s->search("bayes", s->options().search, false);
    REQUIRE_FALSE(found.failed);
    metatune::cost_model<augur::step_list, kernel_task, augur::schedule_rows> model(*augur::schedule_rows::create(trained), trained.net);
    const auto scores = [&](const kernel_task& t, const std::vector<augur::step_list>& of) {
        std::vector<float> out(of.size());
        REQUIRE(model.score(t, of, out));
        return out;
    };
    double places = 0; // share of random schedules with a lower score
    std::size_t proposed = 0;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        const auto& task = s->tasks()[k];
        const auto random = scores(task, augur::sample_schedules(s->spaces()[k], 256, 7));
        std::vector<augur::step_list> chosen;
        for (const auto& f : found.finalists[k])
            if (!(f.schedule == s->untuned_schedule(k))) chosen.push_back(f.schedule);
        for (const float score : scores(task, chosen)) {
            places += static_cast<double>(std::count_if(random.begin(), random.end(), [&](float r) { return r < score; })) / 256;
            ++proposed;
        }
    }
    REQUIRE(proposed >= 4); // some of the six may have failed
    CHECK(places / static_cast<double>(proposed) > 0.8);
}
#endif

TEST_CASE("session: weights that cannot read the kernels are refused, and the loop is named") {
    using namespace metatune_session_test;
    const folder at;
    const auto path = at / "w.safetensors";
    const auto g = graph(16);
    const auto write = [&](const metatune::trained_network& t) { REQUIRE(metatune::save(t, path)); };
    write({weights(66), "", {}}); // without a super-graph
    CHECK(has(refusal(options(path)), "expected the super-graph that they were trained on"));
    write({weights(g.columns() + 1), to_text(g), {}});
    CHECK(has(refusal(options(path)), "features a loop, as in the super-graph"));
    metatune::super_graph other;
    const auto features = augur::loopnest::schedule_features(tasks().first[0], {});
    REQUIRE(features);
    REQUIRE(other.add(*features, "conv2d_nchw.cuda"));
    write({weights(other.columns()), to_text(other), {}});
    CHECK(has(refusal(options(path)), "these are for 'conv2d_nchw.cuda'"));
    metatune::super_graph narrow; // of a softmax alone
    const auto softmax = augur::loopnest::schedule_features(*kernel_task::create(*augur::kernel::parse("softmax:m=4,n=8"), {}), {});
    REQUIRE(softmax);
    REQUIRE(narrow.add(*softmax, augur::schedule_rows::role));
    write({weights(narrow.columns()), to_text(narrow), {}});
    auto o = options(path);
    o.log = at / "refused.jsonl";
    const auto said = refusal(o);
    CAPTURE(said);
    CHECK(has(said, kernels[0]));
    CHECK((has(said, "no slot for the loop") || has(said, "no columns for access")));
    CHECK_FALSE(fs::exists(o.log)); // nothing was measured

    write({weights(g.columns()), to_text(g), {}});
    const auto bytes = *augur::nn::load_bytes(path);
    std::ofstream(path, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
    CHECK(has(refusal(options(path)), "w.safetensors"));
    augur::nn::safetensors_writer unknown;
    unknown.metadata("format", "weights-of-somebody");
    std::ofstream(path, std::ios::binary) << unknown.file();
    CHECK(has(refusal(options(path)), "weights-of-somebody"));
}

TEST_CASE("session: schedules whose loops have no slot are counted in a note and ranked last") {
    using namespace metatune_session_test;
    const folder at;
    const auto g = graph(0); // untuned schedules alone
    REQUIRE(metatune::save({weights(g.columns()), to_text(g), {}}, at / "w.safetensors"));
    auto s = augur::session::create(options(at / "w.safetensors"));
    if (!s) FAIL(s.error().detail);
    const auto found = s->search("metatune", s->options().search, false);
    REQUIRE_FALSE(found.failed);
    bool told = false;
    for (const auto& n : found.notes) told = told || has(n, "the weights cannot read ");
    CHECK(told);
}

TEST_CASE("session: MetaTune's search is the same on one thread and on three") {
    using namespace metatune_session_test;
    const auto g = graph(200);
    const auto [all, spaces] = tasks();
    std::vector<std::pair<std::size_t, std::uint64_t>> first;
    for (const std::size_t count : {1U, 3U}) {
        augur::thread_pool_executor threads(count);
        metatune::cost_model<augur::step_list, kernel_task, augur::schedule_rows> model({g, {}}, weights(g.columns()));
        augur::evolutionary_options evolution;
        evolution.population = 32;
        std::vector<augur::evolutionary<augur::thread_pool_executor>> strategies(2, augur::evolutionary(evolution, threads));
        augur::tuning_options o;
        o.trials = 16;
        o.round = 4;
        augur::tuner t(all, spaces, strategies, model, threads, o);
        made_up_runner runner;
        const auto summary = t.run(runner);
        REQUIRE(summary);
        CHECK(summary->model_errors == 0);
        std::vector<std::pair<std::size_t, std::uint64_t>> trials;
        for (const auto& one : t.trials()) trials.emplace_back(one.task, augur::hash_schedule(one.schedule));
        CHECK(trials.size() >= 16); // a space so small may be used up
        if (count == 1) first = trials;
        CHECK(trials == first);
        for (const auto& task : all) CHECK(model.adapted(task) != nullptr);
    }
}

#endif
