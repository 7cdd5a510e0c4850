// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session.hpp"

#include <cmath>

#include <augur/core/random_engine.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/target/machine_check.hpp>
#include <augur/target/machine_file.hpp>
#include <augur/target/machine_presets.hpp>

namespace examples {

std::string label(const augur::kernel& k) {
    using kind = augur::kernel_kind;
    std::string out(to_string(k.kind()));
    const auto number = [&](const char* name) { return std::to_string(k[name]); };
    switch (k.kind()) {
    case kind::dense:
    case kind::matmul: out += " " + number("m") + "x" + number("n") + "x" + number("k"); break;
    case kind::batch_matmul: out += " " + number("b") + "x" + number("m") + "x" + number("n") + "x" + number("k"); break;
    case kind::softmax:
    case kind::layer_norm: out += " " + number("m") + "x" + number("n"); break;
    default:
        out += " " + number("h") + "x" + number("w") + "x" + number("c");
        if (k.kind() == kind::conv2d || k.kind() == kind::conv2d_transpose) out += "->" + number("f");
        if (k.kind() != kind::elementwise && k.kind() != kind::global_avg_pool2d)
            out += " " + number("k") + "x" + number("k") + "/" + number("stride");
        break;
    }
    for (const auto op : k.fused()) out += " +" + std::string(to_string(op));
    return out;
}

augur::result<augur::machine> find_machine(const std::string& name) {
    auto found = augur::machine_preset(name);
    if (!found) found = augur::read_machine(name);
    if (!found) return found.error();
    if (auto whole = augur::check_machine(*found); !whole) return whole.error();
    return found;
}

namespace {

enum class family : std::uint8_t { convolution, depthwise, product, norm, pooling, other };

family family_of(augur::kernel_kind k) {
    using kind = augur::kernel_kind;
    switch (k) {
    case kind::conv2d: return family::convolution;
    case kind::depthwise_conv2d: return family::depthwise;
    case kind::dense:
    case kind::matmul:
    case kind::batch_matmul: return family::product;
    case kind::softmax:
    case kind::layer_norm: return family::norm;
    case kind::max_pool2d:
    case kind::avg_pool2d:
    case kind::global_avg_pool2d: return family::pooling;
    default: return family::other;
    }
}

} // namespace

augur::network draw_kernels(std::size_t count, std::uint64_t seed) {
    augur::network all{"all", {}};
    for (const auto name : augur::network_names)
        if (const auto net = augur::find_network(name))
            for (const auto& k : net->kernels) all.add(k.what);
    augur::random_engine(seed).shuffle(std::span(all.kernels));
    using f = family;
    constexpr std::array wanted{f::convolution, f::depthwise, f::product,     f::norm,      f::pooling, f::convolution, f::depthwise,  f::product,
                                f::norm,        f::pooling,   f::convolution, f::depthwise, f::product, f::convolution, f::convolution};
    augur::network out{"drawn from the networks", {}};
    const auto take = [&](auto&& wants) {
        const auto at = std::find_if(all.kernels.begin(), all.kernels.end(), wants);
        if (at == all.kernels.end() || out.kernels.size() == count) return false;
        out.kernels.push_back({at->what, 1});
        all.kernels.erase(at);
        return true;
    };
    for (const auto w : wanted) take([w](const augur::network_kernel& k) { return family_of(k.what.kind()) == w; });
    while (take([](const augur::network_kernel&) { return true; })) {}
    return out;
}

session::session(settings s) : with(std::move(s)), on(augur::detect_machine()) {}
session::~session() = default;

augur::result<void> session::prepare() {
    if (with.threads == 0) with.threads = on.processors;
    const auto hardware = on.hardware(with.threads);
    augur::loopnest::ansor_options space;
    space.num_cores = hardware.num_cores;
    for (const auto& k : with.work.kernels) {
        auto t = augur::loopnest::kernel_task::create(k.what, hardware, k.uses);
        if (!t) return augur::error{t.error().code, k.what.text() + ": " + t.error().detail};
        auto p = augur::loopnest::ansor_space::create(t->dag(), space);
        if (!p) return augur::error{p.error().code, k.what.text() + ": " + p.error().detail};
        baselines.push_back({label(k.what), static_cast<double>(k.uses), 0, 0, t->flops(), t->bytes(), 0, false});
        tasks.push_back(std::move(*t));
        spaces.push_back(std::move(*p));
    }
    if (!with.log.empty())
        if (auto taken = take_log(); !taken) return taken;
    if (auto loaded = load_model(); !loaded) return loaded;
    augur::loopnest::runner_options options;
    options.compiler = with.compiler;
    options.threads = with.threads;
    auto programs = augur::loopnest::program_runner::create(options);
    if (!programs) return programs.error();
    made_with_.compiler = programs->used_compiler().identity;
    for (const auto& f : programs->used_compiler().flags) made_with_.flags += (made_with_.flags.empty() ? "" : " ") + f;
    runner_ = std::make_unique<augur::loopnest::task_runner>(std::move(*programs), augur::loopnest::native_c_options(on));
    return load_known();
}

augur::result<void> session::take_log() {
    log_.reset(); // one that is open cannot be opened again
    auto log = augur::log_writer::open(with.log);
    if (!log) return log.error();
    if (log->found().records > 0 && !with.resume)
        return augur::error{augur::errc::invalid_argument, with.log + " holds " + std::to_string(log->found().records) +
                                                               " records: give --resume to go on with it, or another file"};
    log_.emplace(std::move(*log));
    return {};
}

augur::result<void> session::measure_baselines(progress_line& progress) {
    auto limits = augur::loopnest::measure_roofline(runner_->programs(), on);
    if (limits) peak = *limits;
    else no_limit = limits.error().detail;
    for (std::size_t i = 0; i < tasks.size() && !stop_requested().load(); ++i) {
        progress.show(i, tasks.size(), "baselines: " + baselines[i].name, false);
        if (auto ready = runner_->prepare(tasks[i]); !ready) return augur::error{ready.error().code, baselines[i].name + ": " + ready.error().detail};
        baselines[i].naive = runner_->naive_seconds(tasks[i]);
        const auto plain = augur::loopnest::untuned_schedule(*tasks[i].dag());
        const auto m = runner_->measure(tasks[i], std::span(&plain, 1)).front();
        if (m.ok()) baselines[i].untuned = m.latency();
        find_limit(i);
    }
    progress.clear();
    return {};
}

void session::measure_best(std::span<searched> searches, progress_line& progress) {
    const auto usual = runner_->programs().options().timing;
    auto longer = usual;
    longer.repeats = 31;
    longer.enough_seconds = 3;
    (void)static_cast<bool>(runner_->programs().set_timing(longer));
    for (std::size_t i = 0; i < tasks.size() && !stop_requested().load(); ++i) {
        progress.show(i, tasks.size(), "checking the best: " + baselines[i].name, false);
        std::vector<augur::step_list> best{augur::loopnest::untuned_schedule(*tasks[i].dag())};
        std::vector<std::size_t> whose{searches.size()};
        for (std::size_t s = 0; s < searches.size(); ++s)
            for (const auto& finalist : searches[s].finalists[i]) {
                best.push_back(finalist.second);
                whose.push_back(s);
            }
        const auto again = runner_->measure(tasks[i], best);
        for (std::size_t k = 0; k < again.size(); ++k) {
            if (!again[k].ok()) continue;
            auto& to = k == 0 ? baselines[i].untuned : searches[whose[k]].checked_latency[i];
            to = k == 0 || to == 0 ? again[k].latency() : (std::min)(to, again[k].latency());
        }
    }
    (void)static_cast<bool>(runner_->programs().set_timing(usual));
    progress.clear();
}

std::vector<augur::measurement> session::measure(const augur::loopnest::kernel_task& t, std::span<const augur::step_list> candidates) {
    return runner_->measure(t, candidates);
}

/// Operations at the peak, or bytes at the read bandwidth of a working set of that size, whichever takes longer; none where one cannot be measured.
void session::find_limit(std::size_t i) {
    auto& b = baselines[i];
    if (!(peak.flops_all > 0)) return;
    const double compute = b.flops / peak.flops_all;
    if (b.bytes / peak.read_all <= compute) {
        b.least = compute;
        return;
    }
    const auto read = augur::loopnest::measure_read_bandwidth(runner_->programs(), on, static_cast<std::int64_t>(b.bytes));
    if (!read) {
        if (no_limit.empty()) no_limit = b.name + ": " + read.error().detail;
        return;
    }
    const double streamed = b.bytes / (*read)[1];
    b.by_memory = streamed > compute;
    b.least = (std::max)(streamed, compute);
}

} // namespace examples
