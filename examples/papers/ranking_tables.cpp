// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How well do models rank the schedules of kernels that they have not seen, by the number of kernels that they learned from? TLP, trees on
// features of the loops, and both, trained on tuning logs of this machine and judged on others. ranking_tables --help, docs/results/tlp.md.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/hash.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/io/ansor_dataset.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/session/sample_schedules.hpp>
#include <augur/target/isa_level.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/tlp/inference/frozen_model.hpp>
#include <augur/tlp/scorer.hpp>
#include <augur/tlp/train/dataset_trainer.hpp>
#include <augur/tlp/weights_file.hpp>

#include "executor.hpp"
#include "flags.hpp"
#include "keyed_results.hpp"
#include "program.hpp"
#include "statistics.hpp"
#ifdef AUGUR_EXAMPLES_NEST_MODELS
#include <augur/loopnest/features/nest_row.hpp>
#include <augur/model/task_normaliser.hpp>
#include <augur/xgboost/task_normalised_model.hpp>
#endif

namespace {

using augur::errc;
using augur::error;
using augur::step_list;
using augur::loopnest::kernel_task;

struct wishes {
    std::vector<std::string> train, test;
    std::string work, size = "full", normalised_by = "random";
    std::vector<std::size_t> counts;
    std::size_t trainings = 5, effort = 400, threads = 0;
    int measured_threads = 1; ///< of the kernels in the logs
};

/// A kernel and the distinct schedules of it that were measured; infinity: it failed.
struct measured_kernel {
    kernel_task task;
    std::vector<step_list> schedules;
    std::vector<double> seconds;

    [[nodiscard]] double best() const { return *std::min_element(seconds.begin(), seconds.end()); }
};

/// Where the records of logs were measured.
struct measured_on {
    augur::machine_identity machine;        ///< empty: logs without what augur adds do not know it
    std::array<std::int64_t, 8> hardware{}; ///< `augur::logged_task::hardware`, cores first
    bool known = false;
};

/// The kernels of logs in the order of their first records, without those of other compilers and those of which nothing succeeded.
/// @param on      of all records, or not known yet
/// @param failed  whether failed records count
/// Errors: those of the logs; version_mismatch: records of two machines or numbers of threads
augur::result<std::vector<measured_kernel>> read_kernels(std::span<const std::string> logs, measured_on& on, bool failed) {
    std::vector<measured_kernel> out;
    std::map<std::string, std::size_t> places; // by workload key; no_place: of another compiler
    constexpr auto no_place = std::numeric_limits<std::size_t>::max();
    for (const auto& path : logs) {
        auto reader = augur::log_reader::open(path);
        if (!reader) return reader.error();
        for (augur::record r;;) {
            const auto more = reader->next(r);
            if (!more) return more.error();
            if (!*more) break;
            if (!on.known) on = {r.foreign ? augur::machine_identity{} : r.machine, r.task.hardware, true};
            if (r.task.hardware != on.hardware)
                return error{errc::version_mismatch, path + ": expected records of one machine and number of threads, got others"};
            if (!r.foreign && on.machine == augur::machine_identity{}) on.machine = r.machine;
            if (!r.foreign && r.machine != on.machine)
                return error{errc::version_mismatch,
                             path + ": expected records of one machine, got another's: " + augur::first_difference(on.machine, r.machine)};
            const auto cores = std::clamp<std::int64_t>(r.task.hardware[0], 1, 1024); // a log may say anything
            const auto [at, is_new] = places.try_emplace(r.task.workload_key, no_place);
            if (is_new)
                if (const auto k = augur::kernel::from_workload_key(r.task.workload_key))
                    if (auto task = kernel_task::create(*k, augur::detect_machine().hardware(static_cast<int>(cores)))) {
                        at->second = out.size();
                        out.push_back({*std::move(task), {}, {}});
                    }
            if (at->second == no_place || (!failed && !r.measured.ok())) continue;
            auto& of = out[at->second];
            const double seconds = r.measured.ok() ? r.measured.latency() : std::numeric_limits<double>::infinity();
            const auto known = std::find(of.schedules.begin(), of.schedules.end(), r.schedule);
            if (known == of.schedules.end()) {
                of.schedules.push_back(std::move(r.schedule));
                of.seconds.push_back(seconds);
            } else {
                auto& least = of.seconds[static_cast<std::size_t>(known - of.schedules.begin())];
                least = (std::min)(least, seconds);
            }
        }
        if (reader->summary().bad > 0) std::fprintf(stderr, "%s: %zu damaged lines are passed over\n", path.c_str(), reader->summary().bad);
        if (reader->summary().torn) std::fprintf(stderr, "%s: the last record is cut off and is passed over\n", path.c_str());
    }
    std::erase_if(out, [](const measured_kernel& k) { return k.seconds.empty() || !std::isfinite(k.best()); });
    return out;
}

/// Of each tested kernel: the best latency over the least among the k highest scores, k = 1 and 5.
using shares = std::vector<std::array<double, 2>>;

/// Equal scores rank by chance, which a seed decides; a score that is no number ranks last.
std::array<double, 2> shares_of(const measured_kernel& k, std::span<const float> scores, augur::random_engine rng) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    rng.shuffle(std::span(order));
    std::vector<std::pair<float, std::size_t>> ranks; // by falling score, then by place in the shuffled order
    for (std::size_t place = 0; place < order.size(); ++place) {
        const float s = scores[order[place]];
        ranks.emplace_back(std::isnan(s) ? std::numeric_limits<float>::infinity() : -s, place);
    }
    std::sort(ranks.begin(), ranks.end());
    std::array<double, 2> out{};
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < (std::min)(ranks.size(), std::size_t{5}); ++i) {
        least = (std::min)(least, k.seconds[order[ranks[i].second]]);
        if (i == 0) out[0] = k.best() / least;
    }
    out[1] = k.best() / least;
    return out;
}

/// Scores of all schedules of a kernel.
using score_function = std::function<augur::result<void>(const measured_kernel&, std::span<float>)>;

augur::result<shares> judge(const score_function& score, std::span<const measured_kernel> tested, std::uint64_t seed) {
    shares out;
    for (const auto& k : tested) {
        std::vector<float> scores(k.schedules.size());
        if (auto scored = score(k, scores); !scored) return scored.error();
        out.push_back(shares_of(k, scores, augur::random_engine(seed).stream(out.size())));
    }
    return out;
}

/// TLP, trained from nothing on the records of some kernels.
augur::result<augur::tlp::trained_model> train_tlp(const wishes& w, const augur::dataset& data, std::span<const measured_kernel* const> learned,
                                                   std::uint64_t seed, examples::executor& threads) {
    std::set<std::string> keys;
    for (const auto* k : learned) keys.insert(k->task.workload().workload_key());
    std::vector<std::uint32_t> tasks;
    for (std::uint32_t t = 0; t < data.tasks(); ++t)
        if (const auto k = augur::kernel::from_workload_key(data.task(t).key); k && keys.contains(k->workload_key())) tasks.push_back(t);
    const auto schema = augur::tlp::schema::ansor();
    const auto config = w.size == "small"    ? augur::tlp::config::small(0)
                        : w.size == "medium" ? augur::tlp::config::medium(0)
                                             : augur::tlp::config::full(0);
    auto model = augur::tlp::trained_model::random_init(schema, config, augur::random_engine(seed));
    if (!model) return model.error();
    const augur::tlp::row_table table(schema, data.primitives());
    const auto records = augur::tlp::records_of(data, tasks);
    augur::tlp::training_options options;
    options.seed = seed;
    options.epochs = std::clamp(1000 * w.effort / (records.size() + 1), std::size_t{2}, std::size_t{200});
    const auto samples = augur::tlp::make_samples(data, records);
    const auto fitted = augur::tlp::train_on_dataset(model->model, table, data, samples, augur::tlp::training_samples{}, threads, options,
                                                     [](const augur::tlp::training_progress&) { return !examples::stop_requested().load(); });
    if (!fitted) return fitted.error();
    if (fitted->stopped) return error{errc::interrupted, "stopped; with --work FILE the same command goes on"};
    return model;
}

#ifdef AUGUR_EXAMPLES_NEST_MODELS
/// The features of random schedules of a kernel: what those of a tested kernel are normalised by, too.
std::vector<float> random_rows(const measured_kernel& k, int cores, augur::loopnest::nest_row& row_of) {
    std::vector<float> out, row(row_of.columns());
    augur::loopnest::ansor_options options;
    options.num_cores = cores;
    if (const auto space = augur::loopnest::ansor_space::create(k.task.dag(), options))
        for (const auto& s : augur::sample_schedules(*space, 256, 1))
            if (row_of(k.task, s, row)) out.insert(out.end(), row.begin(), row.end());
    return out;
}
#endif

constexpr std::array<std::string_view, 4> model_names{"random", "TLP", "trees", "trees and TLP"};

/// What the models of one training have on the tested kernels, by `model_names`; without xgboost there are no trees.
augur::result<std::vector<shares>> train_and_judge(const wishes& w, const augur::dataset& data, std::span<const measured_kernel* const> learned,
                                                   std::span<const measured_kernel> tested, std::uint64_t seed) {
    std::vector<shares> out;
    const auto add = [&](const score_function& score) -> augur::result<void> {
        auto judged = judge(score, tested, seed);
        if (!judged) return judged.error();
        out.push_back(*std::move(judged));
        return {};
    };
    if (auto done = add([](const measured_kernel&, std::span<float>) { return augur::result<void>(); }); !done) return done.error();
    auto threads = examples::make_executor(w.threads);
    const auto trained = train_tlp(w, data, learned, seed, threads);
    if (!trained) return trained.error();
    const auto frozen = augur::tlp::freeze(*trained);
    if (!frozen) return frozen.error();
    auto tlp = frozen->scorer(threads);
    const auto by = [](auto& model) {
        return
            [&model](const measured_kernel& k, std::span<float> scores) -> augur::result<void> { return model.score(k.task, k.schedules, scores); };
    };
    if (auto done = add(by(tlp)); !done) return done.error();
#ifdef AUGUR_EXAMPLES_NEST_MODELS
    augur::loopnest::nest_row row_of(augur::loopnest::nest_target::make(augur::detect_machine(), w.measured_threads));
    augur::task_normalised_samples samples(row_of.columns());
    for (const auto* k : learned) {
        std::vector<float> rows, row(row_of.columns()), labels;
        for (std::size_t i = 0; i < k->schedules.size(); ++i) {
            if (!row_of(k->task, k->schedules[i], row)) continue;
            rows.insert(rows.end(), row.begin(), row.end());
            labels.push_back(augur::speed_label(k->best(), k->seconds[i]));
        }
        if (labels.empty()) continue;
        auto drawn = w.normalised_by == "random" ? random_rows(*k, w.measured_threads, row_of) : std::vector<float>();
        const auto normaliser = augur::task_normaliser::fit(drawn.empty() ? rows : drawn, row_of.columns());
        if (auto added = samples.add(normaliser, std::move(rows), labels); !added) return added.error();
    }
    auto options = augur::task_normalised_trees::defaults();
    options.threads = static_cast<std::uint32_t>(w.threads);
    options.seed = seed;
    const auto members = augur::task_normalised_trees::train_members(samples, options, 5);
    if (!members) return members.error();
    using trees_model = augur::task_normalised_model<step_list, kernel_task, augur::loopnest::nest_row>;
    trees_model trees(*members, row_of), both(*members, row_of, tlp);
    for (auto* model : {&trees, &both}) {
        for (const auto& k : tested) {
            augur::loopnest::ansor_options space_options;
            space_options.num_cores = w.measured_threads;
            const auto space = augur::loopnest::ansor_space::create(k.task.dag(), space_options);
            if (!space) return space.error();
            if (auto set = model->set_normaliser(k.task, augur::sample_schedules(*space, 512, seed)); !set) return set.error();
        }
        if (auto done = add(by(*model)); !done) return done.error();
    }
#endif
    return out;
}

/// A line of the file of results: a training.
struct result_format {
    using key_type = std::string;           ///< `identity_of`
    using value_type = std::vector<shares>; ///< of `train_and_judge`
    static constexpr const char* program = "ranking_tables";
    static void write(augur::json_writer& out, const std::string& identity, const std::vector<shares>& all) {
        out.begin_object().key("identity").value(identity).key("shares").begin_array();
        for (const auto& one : all) {
            out.begin_array();
            for (const auto& s : one) out.value(s[0]).value(s[1]);
            out.end_array();
        }
        out.end_array().end_object();
    }
    static void read(augur::json_reader& in, std::string& identity, std::vector<shares>& all) {
        std::string_view key;
        in.begin_object();
        while (in.next_member(key)) {
            if (key == "identity") in.read(identity);
            else if (key == "shares" && in.begin_array()) {
                while (in.next_element() && in.begin_array()) {
                    std::vector<double> flat;
                    while (in.next_element()) in.read(flat.emplace_back());
                    shares& one = all.emplace_back(flat.size() / 2);
                    for (std::size_t i = 0; i < 2 * one.size(); ++i) one[i / 2][i % 2] = flat[i];
                }
            } else examples::refuse_member(in, key);
        }
    }
};
/// The results of trainings, in a file that the same command goes on with.
using result_file = examples::keyed_results<result_format>;

std::string identity_of(const wishes& w, std::span<const measured_kernel* const> learned, std::span<const measured_kernel> tested,
                        std::uint64_t seed) {
    std::uint64_t hash = augur::fnv1a64(w.size + w.normalised_by, augur::mix64(w.effort ^ (seed << 32U)));
    const auto add = [&](const measured_kernel& k) {
        hash = augur::fnv1a64(k.task.workload().text(), hash);
        for (const double s : k.seconds) hash = augur::mix64(hash ^ std::bit_cast<std::uint64_t>(s));
        for (const auto& s : k.schedules) hash = augur::mix64(hash ^ augur::hash_schedule(s));
    };
    hash = augur::mix64(hash ^ static_cast<std::uint64_t>(w.measured_threads));
#ifdef AUGUR_EXAMPLES_NEST_MODELS
    hash = augur::fnv1a64("trees", hash);
#endif
    for (const auto* k : learned) add(*k);
    for (const auto& k : tested) add(k);
    return examples::text_of("%016llx", static_cast<unsigned long long>(hash));
}

/// A row of the table: mean and extremes over the trainings of the geometric mean over the kernels, and the slowest pick of all.
std::vector<std::string> row_of(std::size_t learned, std::string_view name, std::span<const shares> trainings) {
    std::vector<std::string> out{std::to_string(learned), std::string(name)};
    double worst = 1;
    for (const std::size_t k : {0U, 1U}) {
        std::vector<double> means;
        for (const auto& training : trainings) {
            double sum = 0;
            for (const auto& s : training) {
                sum += std::log(s[k]);
                if (k == 0) worst = (std::min)(worst, s[k]);
            }
            means.push_back(std::exp(sum / static_cast<double>(training.size())));
        }
        const auto [least, most] = std::minmax_element(means.begin(), means.end());
        out.push_back(examples::text_of("%.3f (%.3f to %.3f)", examples::arithmetic(means).mean, *least, *most));
    }
    out.push_back(examples::text_of("%.2f", 1 / worst));
    return out;
}

augur::result<int> run(wishes w) {
    measured_on on;
    auto train = read_kernels(w.train, on, true);
    if (!train) return train.error();
    const auto tested = read_kernels(w.test, on, false);
    if (!tested) return tested.error();
    if (tested->empty()) return error{errc::not_found, "--test: the logs have no kernel of this compiler with a schedule that ran"};
    w.measured_threads = static_cast<int>(std::clamp<std::int64_t>(on.hardware[0], 1, 1024));
    const std::size_t all = train->size();
    std::erase_if(*train, [&](const measured_kernel& k) {
        return std::any_of(tested->begin(), tested->end(), [&](const measured_kernel& t) { return t.task.workload() == k.task.workload(); });
    });
    std::size_t records = 0, candidates = 0;
    for (const auto& k : *train) records += k.schedules.size();
    for (const auto& k : *tested) candidates += k.schedules.size();
    std::printf("%zu kernels with %zu schedules to learn from, %zu that are tested are left out; %zu tested kernels with %zu schedules\n",
                train->size(), records, all - train->size(), tested->size(), candidates);
    if (train->empty()) return error{errc::not_found, "--train: the logs have no kernel of this compiler that is not tested"};
    auto counts = w.counts.empty() ? std::vector<std::size_t>{37, 75, 150, 300} : w.counts;
    for (auto& n : counts) {
        if (n <= train->size()) continue;
        std::printf("%zu kernels to learn from were asked for, there are %zu\n", n, train->size());
        n = train->size();
    }
    std::sort(counts.begin(), counts.end());
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    auto threads = examples::make_executor(w.threads);
    augur::dataset_builder builder;
    if (auto read = augur::read_ansor_logs(w.train, threads, builder); !read) return read.error();
    const auto data = std::move(builder).finish();
    auto results = result_file::open(w.work);
    if (!results) return results.error();

    examples::progress_line line;
    std::vector<std::vector<std::string>> rows{{"kernels", "model", "top-1", "top-5", "slowest pick / best"}};
    std::size_t trained = 0; // also those that are known from before
    for (const std::size_t n : counts) {
        std::vector<std::vector<shares>> by_model(model_names.size());
        for (std::size_t training = 1; training <= w.trainings; ++training, ++trained) {
            std::vector<const measured_kernel*> learned;
            for (const auto& k : *train) learned.push_back(&k);
            augur::random_engine(training).shuffle(std::span(learned));
            learned.resize(n);
            const auto identity = identity_of(w, learned, *tested, training);
            std::vector<shares> judged;
            if (const auto* known = results->find(identity)) {
                judged = *known;
            } else {
                line.show(trained, counts.size() * w.trainings, std::to_string(n) + " kernels", true);
                auto fresh = train_and_judge(w, data, learned, *tested, training);
                if (!fresh) return fresh.error();
                judged = *std::move(fresh);
                if (auto added = results->add(identity, judged); !added) return added.error();
            }
            for (std::size_t m = 0; m < (std::min)(judged.size(), by_model.size()); ++m) by_model[m].push_back(std::move(judged[m]));
        }
        for (std::size_t m = 0; m < by_model.size(); ++m)
            if (!by_model[m].empty()) rows.push_back(row_of(n, model_names[m], by_model[m]));
    }
    line.clear();
    std::printf("\nThe best latency over the least of the 1 and 5 highest scores, geometric mean over the kernels, of the schedules that ran; mean "
                "of %zu trainings, the least "
                "and the most\n\n%s",
                w.trainings, examples::table_text(rows).c_str());
    return examples::done;
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    examples::flag_set flags;
    bool help = false;
    flags.add_texts("train", "LOG", "tuning log of this machine to learn from; may be given again", w.train);
    flags.add_texts("test", "LOG", "tuning log whose kernels are ranked, and left out of the learning; may be given again", w.test);
    flags.add_counts("kernels", "numbers of kernels to learn from; default 37,75,150,300", w.counts);
    flags.add_number("trainings", "N", "of each model on each number of kernels, each with a seed and a draw of the kernels; default 5", w.trainings,
                     1, 1000);
    flags.add_number("effort", "N", "thousands of schedules that a training of TLP sees in all; default 400", w.effort, 1, 1'000'000);
    flags.add_choice("size", {"small", "medium", "full"}, "of TLP; default full, the paper's", w.size);
    flags.add_choice(
        "normalised-by", {"random", "records"},
        "whose statistics normalise the features of a kernel to learn from: 256 random schedules, or its records, as in a search with `nest`;\n"
        "default random",
        w.normalised_by);
    flags.add_text("work", "FILE", "where finished trainings are kept; the same command goes on from it; default: nowhere", w.work);
    flags.add_number("threads", "N", "default: all processors", w.threads, 1, 1024);
    flags.add_switch("help", "print this", help);
    auto read = flags.parse(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)));
    if (read && !help && (w.train.empty() || w.test.empty())) read = error{errc::invalid_argument, "expected --train LOG and --test LOG; try --help"};
    if (!read) return examples::complain("ranking_tables", read.error(), examples::misuse);
    if (help) {
        std::printf("usage: ranking_tables --train LOG --test LOG [flags]\n\n%s\nExit code: 0 done, 1 it failed on the way, 2 wrong flags, 130 "
                    "interrupted.\n",
                    flags.help().c_str());
        return examples::finish(examples::done);
    }
    if (w.threads == 0) w.threads = static_cast<std::size_t>((std::max)(augur::detect_machine().processors, 1));
    examples::catch_signals();
    const auto done = run(std::move(w));
    if (!done)
        return examples::complain("ranking_tables", done.error(), done.error().code == errc::interrupted ? examples::interrupted : examples::failed);
    return examples::finish(*done);
}
