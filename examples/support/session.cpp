// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <augur/core/random_engine.hpp>
#include <augur/session.hpp>

template class augur::basic_session<>;

namespace examples {

augur::session_hooks hooks_on(progress_line& line) {
    augur::session_hooks hooks;
    hooks.progress = [&line, shown = std::size_t{0}](const augur::session_progress& p) mutable {
        if (!p.searching) {
            line.show(p.done, p.total, p.stage + ": " + p.kernel, false);
            if (p.done + 1 == p.total) line.clear();
            return;
        }
        const bool important = p.done == p.total || p.done >= shown + 8 || p.done < shown;
        if (important) shown = p.done;
        line.show(p.done, p.total,
                  p.stage + "  " + p.kernel + "  best " + milliseconds(p.best_latency) + " ms  " +
                      (std::isfinite(p.expected_latency) ? "expected " + milliseconds(p.expected_latency) + " ms  " : "") + std::to_string(p.failed) +
                      " failed  " + clock_text(p.seconds_left) + " left",
                  important);
        if (p.done == p.total) line.clear();
    };
    hooks.note = [&line](const std::string& text) {
        line.clear();
        std::fprintf(stderr, "%s\n", text.c_str());
    };
    hooks.stop = [] { return stop_requested().load(); };
    return hooks;
}

void add_work_flags(flag_set& flags, const char* network_flag, augur::network& work) {
    std::string networks;
    for (const auto name : augur::network_names) networks.append(networks.empty() ? "" : ", ").append(name);
    flags.add(
        network_flag, "NAME",
        "tune all kernels of a network; may be given again:\n" + networks +
            ",\nthe last two also with parameters: bert_base:tokens=384, gpt2:tokens=1,past=127",
        [&work](std::string_view text) -> augur::result<void> {
            auto found = augur::find_network(text);
            if (!found) return found.error();
            work.name += (work.name.empty() ? "" : " + ") + std::string(text);
            for (const auto& k : found->kernels) work.add(k.workload, k.uses);
            return {};
        },
        true);
    flags.add(
        "kernel", "KERNEL", "tune one kernel, e.g. conv2d:h=56,w=56,c=64,f=64,k=3,pad=1,bias,relu or dense:m=1,n=1000,k=512;\nmay be given again",
        [&work](std::string_view text) -> augur::result<void> {
            const auto k = augur::kernel::parse(text);
            if (!k) return k.error();
            work.add(*k);
            if (work.name.empty()) work.name = "all kernels";
            return {};
        },
        true);
}

void add_run_flags(flag_set& flags, augur::session_options& s) {
    flags.add_number("threads", "N", "threads that kernels use; default: all processors", s.threads, 1, 1024);
    flags.add_number("seed", "N", "of all random numbers; default 1", s.search.seed, 0, 9'223'372'036'854'775'807);
    flags.add_isa_level(s.compiler.isa);
    flags.add_text("compiler", "COMMAND", "C compiler, with leading arguments; default: the variable CC, else cc", s.compiler.command);
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
            for (const auto& k : net->kernels) all.add(k.workload);
    augur::random_engine(seed).shuffle(std::span(all.kernels));
    using f = family;
    constexpr std::array wanted{f::convolution, f::depthwise, f::product,     f::norm,      f::pooling, f::convolution, f::depthwise,  f::product,
                                f::norm,        f::pooling,   f::convolution, f::depthwise, f::product, f::convolution, f::convolution};
    augur::network out{"drawn from the networks", {}};
    const auto take = [&](auto&& wants) {
        const auto at = std::find_if(all.kernels.begin(), all.kernels.end(), wants);
        if (at == all.kernels.end() || out.kernels.size() == count) return false;
        out.kernels.push_back({at->workload, 1});
        all.kernels.erase(at);
        return true;
    };
    for (const auto w : wanted) take([w](const augur::network_kernel& k) { return family_of(k.workload.kind()) == w; });
    while (take([](const augur::network_kernel&) { return true; })) {}
    return out;
}

} // namespace examples
