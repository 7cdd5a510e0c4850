// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "search_tables.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <list>
#include <utility>

#include <augur/core/executor.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/core/steady_seconds.hpp>
#include <augur/metatune/weights_file.hpp>

#include "console.hpp"

namespace {

using augur::result;

/// A training of both networks of a template.
struct training_job {
    const std::vector<metatune::task_samples>* tasks;
    std::string text; ///< of the super-graph
    std::string name; ///< for messages
    std::uint64_t seed;
    std::string supervised_file, meta_file;
    template_networks* to;
};

/// Trains both networks and keeps them in their files.
result<void> train(const training_job& job, const network_plan& plan) {
    const char* phase = "supervised";
    double told = augur::steady_seconds();
    const auto progress = [&](const metatune::training_progress& p) {
        if (const double now = augur::steady_seconds(); now - told > 10) {
            std::fprintf(stderr, "%s, %s: step %zu of %zu, loss %.4f\n", job.name.c_str(), phase, p.step, p.steps, p.loss);
            told = now;
        }
        return !examples::stop_requested();
    };
    const auto& tasks = *job.tasks;
    augur::serial_executor serial; // the trainings are parallel
    metatune::config shape;
    shape.features = tasks.front().candidates.front().features.cols();
    metatune::training_state begun(metatune::network<float>::random_init(shape, augur::random_engine(job.seed)));
    metatune::pretraining_options supervised;
    std::size_t samples = 0;
    for (const auto& t : tasks) samples += t.seconds.size();
    supervised.epochs = (std::max)(std::size_t{1}, plan.steps * plan.batch / samples);
    supervised.batch = plan.batch;
    supervised.learning_rate = plan.learning_rate;
    supervised.seed = job.seed;
    if (auto done = metatune::pretrain(begun, tasks, serial, supervised, progress); !done) return done.error();
    metatune::training_state longer = begun, state(begun.net);
    supervised.epochs *= 2;
    if (auto done = metatune::pretrain(longer, tasks, serial, supervised, progress); !done) return done.error();

    phase = "meta-training";
    metatune::meta_training_options meta;
    meta.inner = plan.inner;
    meta.shots = plan.shots;
    meta.queries = plan.queries;
    meta.batch = plan.meta_tasks;
    meta.cold = plan.cold;
    meta.steps = begun.steps;
    meta.learning_rate = plan.learning_rate;
    meta.frozen = false;
    meta.seed = job.seed;
    if (auto done = metatune::meta_train(state, tasks, serial, meta, progress); !done) return done.error();
    if (examples::stop_requested()) return augur::error{augur::errc::interrupted, job.name + ": stopped before the network was trained"};
    if (auto saved = metatune::save({longer.net, job.text}, job.supervised_file); !saved) return saved;
    if (auto saved = metatune::save({state.net, job.text}, job.meta_file); !saved) return saved;
    *job.to = {std::move(longer.net), std::move(state.net)};
    return {};
}

/// Names what the networks of a template learn, and how: other records must not find the files, for these may be of tasks that are searched now.
std::uint64_t identity_of(const device_records& device, const std::vector<std::pair<std::size_t, std::size_t>>& records, const network_plan& plan,
                          std::string_view graph) {
    return hash_records(
        device, records,
        augur::fnv1a64(examples::text_of("%zu %zu %zu %zu %zu %zu %a %a %zu", plan.steps, plan.batch, plan.shots, plan.queries, plan.meta_tasks,
                                         plan.cold, plan.learning_rate, plan.inner.inner_rate, plan.inner.inner_steps),
                       augur::fnv1a64(graph)));
}

/// The records that a template learns from, by task.
result<std::vector<metatune::task_samples>> samples_of(const device_records& device, const recorded_loops& graphs,
                                                       const std::vector<std::pair<std::size_t, std::size_t>>& records) {
    std::map<std::size_t, metatune::task_samples> samples;
    for (const auto& [t, i] : records) {
        const auto& archive = device.tasks[t].archive;
        auto loops = graphs(archive, archive.records[i].point);
        if (!loops) return loops.error();
        samples[t].candidates.push_back(*std::move(loops));
        samples[t].seconds.push_back(archive.records[i].measured.latency());
    }
    std::vector<metatune::task_samples> tasks;
    for (auto& [t, s] : samples) tasks.push_back(std::move(s));
    return tasks;
}

} // namespace

result<void> learn_networks(std::span<device_records> devices, const network_plan& plan, std::size_t trainings, const std::string& work,
                            examples::executor& threads) {
    std::list<std::vector<metatune::task_samples>> samples;
    std::vector<training_job> jobs;
    for (device_records& device : devices)
        for (learned_graphs& kind : device.learned)
            for (const auto& [form, text] : kind.graphs.templates) {
                std::string name = device.device + '.' + form;
                std::erase_if(name, [](char c) { return std::string_view("[\"/ ").find(c) != std::string_view::npos; });
                std::size_t replayed = 0;
                while (form_of(device, replayed) != form) ++replayed;
                const auto learned = history(device, replayed);
                name += examples::text_of(".%016llx", static_cast<unsigned long long>(identity_of(device, learned, plan, text)));
                auto& networks = kind.networks[form];
                networks.resize(trainings);
                const std::vector<metatune::task_samples>* tasks = nullptr;
                for (std::size_t n = 0; n < trainings; ++n) {
                    const std::string named = name + examples::text_of(".%zu", n + 1), file = work + '/' + named;
                    training_job job{nullptr, text, named, n + 1, file + ".supervised.safetensors", file + ".meta.safetensors", &networks[n]};
                    std::error_code code;
                    if (std::filesystem::exists(job.meta_file, code)) { // written last
                        auto supervised = metatune::load(job.supervised_file, text), meta = metatune::load(job.meta_file, text);
                        if (!supervised) return supervised.error();
                        if (!meta) return meta.error();
                        networks[n] = {std::move(supervised->net), std::move(meta->net)};
                        continue;
                    }
                    if (tasks == nullptr) {
                        auto read = samples_of(device, kind.graphs, learned);
                        if (!read) return read.error();
                        tasks = &samples.emplace_back(*std::move(read));
                    }
                    job.tasks = tasks;
                    jobs.push_back(std::move(job));
                }
            }
    std::vector<result<void>> done(jobs.size());
    threads.bulk(jobs.size(), [&](std::size_t i) { done[i] = train(jobs[i], plan); });
    for (auto& d : done)
        if (!d) return std::move(d);
    return {};
}
