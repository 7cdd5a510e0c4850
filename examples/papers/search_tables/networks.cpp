// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "search_tables.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/core/steady_seconds.hpp>
#include <augur/metatune/weights_file.hpp>
#include <augur/schedule/hash.hpp>

#include "console.hpp"

namespace {

using augur::result;

/// Trains both networks.
result<template_networks> train(const std::vector<metatune::task_samples>& tasks, const metatune::config& shape, const network_plan& plan,
                                const std::string& name, examples::executor& threads) {
    const char* phase = "supervised";
    double told = augur::steady_seconds();
    const auto progress = [&](const metatune::training_progress& p) {
        if (const double now = augur::steady_seconds(); now - told > 10) {
            std::fprintf(stderr, "%s, %s: step %zu of %zu, loss %.4f\n", name.c_str(), phase, p.step, p.steps, p.loss);
            told = now;
        }
        return !examples::stop_requested();
    };
    metatune::training_state begun(metatune::network<float>::random_init(shape, augur::random_engine(1)));
    metatune::pretraining_options supervised;
    std::size_t samples = 0;
    for (const auto& t : tasks) samples += t.seconds.size();
    supervised.epochs = (std::max)(std::size_t{1}, plan.steps * plan.batch / samples);
    supervised.batch = plan.batch;
    supervised.learning_rate = plan.learning_rate;
    if (auto done = metatune::pretrain(begun, tasks, threads, supervised, progress); !done) return done.error();
    metatune::training_state longer = begun, state(begun.net);
    supervised.epochs *= 2;
    if (auto done = metatune::pretrain(longer, tasks, threads, supervised, progress); !done) return done.error();

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
    if (auto done = metatune::meta_train(state, tasks, threads, meta, progress); !done) return done.error();
    if (examples::stop_requested()) return augur::error{augur::errc::interrupted, name + ": stopped before the network was trained"};
    return template_networks{std::move(longer.net), std::move(state.net)};
}

/// Names what the networks of a template learn, and how: other records must not find the files, for these may be of tasks that are searched now.
std::uint64_t identity_of(const device_records& device, const std::vector<std::pair<std::size_t, std::size_t>>& records, const network_plan& plan) {
    std::uint64_t hash =
        augur::fnv1a64(examples::text_of("%zu %zu %zu %zu %zu %zu %a %a %zu", plan.steps, plan.batch, plan.shots, plan.queries, plan.meta_tasks,
                                         plan.cold, plan.learning_rate, plan.inner.inner_rate, plan.inner.inner_steps));
    for (const auto& [t, i] : records) {
        const auto& archive = device.tasks[t].archive;
        hash = augur::fnv1a64(archive.workload, hash);
        for (const std::uint64_t bits :
             {augur::hash_schedule(archive.records[i].point), std::bit_cast<std::uint64_t>(archive.records[i].measured.latency())})
            hash = augur::mix64(hash ^ bits);
    }
    return hash;
}

} // namespace

result<void> learn_networks(device_records& device, const network_plan& plan, const std::string& work, examples::executor& threads) {
    for (const auto& [form, text] : device.graphs.templates) {
        std::string name = device.device + '.' + form;
        std::erase_if(name, [](char c) { return std::string_view("[\"/ ").find(c) != std::string_view::npos; });
        std::size_t replayed = 0;
        while (form_of(device, replayed) != form) ++replayed;
        const auto learned = history(device, replayed);
        name += examples::text_of(".%016llx", static_cast<unsigned long long>(identity_of(device, learned, plan)));
        const std::string supervised_file = work + '/' + name + ".supervised.safetensors", meta_file = work + '/' + name + ".meta.safetensors";
        std::error_code code;
        if (std::filesystem::exists(meta_file, code)) { // written last
            auto supervised = metatune::load(supervised_file, text), meta = metatune::load(meta_file, text);
            if (!supervised) return supervised.error();
            if (!meta) return meta.error();
            device.networks.insert_or_assign(form, template_networks{std::move(supervised->net), std::move(meta->net)});
            continue;
        }
        std::map<std::size_t, metatune::task_samples> samples;
        for (const auto& [t, i] : learned) {
            const auto& archive = device.tasks[t].archive;
            auto loops = device.graphs(archive, archive.records[i].point);
            if (!loops) return loops.error();
            samples[t].candidates.push_back(*std::move(loops));
            samples[t].seconds.push_back(archive.records[i].measured.latency());
        }
        std::vector<metatune::task_samples> tasks;
        for (auto& [t, s] : samples) tasks.push_back(std::move(s));
        metatune::config shape;
        shape.features = tasks.front().candidates.front().features.cols();
        auto trained = train(tasks, shape, plan, name, threads);
        if (!trained) return trained.error();
        if (auto saved = metatune::save({trained->supervised, text}, supervised_file); !saved) return saved.error();
        if (auto saved = metatune::save({trained->meta, text}, meta_file); !saved) return saved.error();
        device.networks.insert_or_assign(form, *std::move(trained));
    }
    return {};
}
