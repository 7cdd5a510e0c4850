// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <augur/core/number.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/workload/networks.hpp>

namespace {

/// What a variant may change of a parameter.
enum class part { kept, batch, side, width, more_width };

/// @param image  whether the kernel has a height
part part_of(std::string_view name, std::int64_t value, bool image) {
    if (image && name == "n") return part::batch;
    if (value <= 4) return part::kept; // three colours stay three, one row stays one
    if (name == "h" || name == "w" || name == "m") return part::side;
    if (name == "c" || (!image && name == "k")) return part::width;
    return name == "f" || name == "n" || name == "b" ? part::more_width : part::kept;
}

/// The text of a kernel with each of its items replaced: `number(name, value, part) -> std::string` for parameters, `word(item) -> std::string` for the
/// others; an item that becomes empty is left out.
template <class Number, class Word>
std::string rewritten(const std::string& text, const Number& number, const Word& word) {
    const bool image = text.find(",h=") != std::string::npos;
    std::string out = text.substr(0, text.find(':') + 1);
    bool first = true;
    for (std::size_t at = out.size(); at <= text.size();) {
        const auto end = (std::min)(text.find(',', at), text.size());
        const std::string item = text.substr(at, end - at);
        const auto equals = item.find('=');
        const auto value = augur::parse_int(std::string_view(item).substr(equals == std::string::npos ? 0 : equals + 1));
        const auto name = item.substr(0, equals);
        const auto written = value ? number(name, *value, part_of(name, *value, image)) : word(item);
        if (!written.empty()) out += (first ? "" : ",") + written;
        first = first && written.empty();
        at = end + 1;
    }
    return out;
}

/// What all variants of a kernel have in common: its class and the parameters that they keep.
std::string template_of(const augur::kernel& k) {
    return rewritten(
        k.text(), [](const std::string& name, std::int64_t value, part p) { return p == part::kept ? name + "=" + std::to_string(value) : name; },
        [](const std::string& item) { return item; });
}

/// The text of a kernel with some parameters and fused operations changed; the text may be of no kernel.
std::string varied(const augur::kernel& k, augur::random_engine& rng) {
    constexpr double widths[] = {0.25, 0.375, 0.5, 0.625, 0.75, 1, 1, 1.25, 1.5, 2};
    constexpr double sevenths[] = {2, 3, 4, 5, 6, 8, 9, 10, 14}; // images of 224 become those of 64 to 448
    constexpr double rows[] = {0.25, 0.5, 0.75, 1.25, 1.5, 2};
    const auto one_of = [&](const auto& of) { return of[rng.below(std::size(of))]; };
    const bool same_side = rng.below(2) == 0;
    const double side = same_side ? 1 : k.is_image() ? one_of(sevenths) / 7 : one_of(rows), width = one_of(widths), more_width = one_of(widths);
    const std::int64_t batch = std::int64_t{1} << (rng.below(4) * rng.below(2));
    constexpr std::string_view of_images[] = {"relu", "relu6"}, of_rows[] = {"relu", "gelu", "tanh"};
    const auto activations = k.is_image() ? std::span<const std::string_view>(of_images) : std::span<const std::string_view>(of_rows);
    const std::string activation(activations[rng.below(activations.size())]);
    const bool without_residual = rng.below(4) == 0;
    const auto scaled = [](std::int64_t value, double by) {
        const auto n = static_cast<double>(value) * by + 1e-9;
        const double unit = n >= 32 ? 8 : 1;
        return (std::max)(std::int64_t{1}, static_cast<std::int64_t>(n / unit) * static_cast<std::int64_t>(unit));
    };
    return rewritten(
        k.text(),
        [&](const std::string& name, std::int64_t value, part p) {
            switch (p) {
            case part::kept: break;
            case part::batch: value *= batch; break;
            case part::side: value = scaled(value, side); break;
            case part::width: value = scaled(value, width); break;
            case part::more_width: value = scaled(value, more_width); break;
            }
            return name + "=" + std::to_string(value);
        },
        [&](const std::string& item) {
            if (without_residual && item == "add") return std::string();
            return std::find(activations.begin(), activations.end(), item) != activations.end() ? activation : item;
        });
}

} // namespace

augur::result<std::vector<sourced_kernel>> varied_kernels(std::span<const std::string> networks, std::span<const std::string> left_out,
                                                          std::size_t count, std::uint64_t seed) {
    std::set<std::string> not_again; // workload keys
    for (const auto& name : left_out) {
        const auto network = augur::find_network(name);
        if (!network) return network.error();
        for (const auto& k : network->kernels) not_again.insert(k.workload.workload_key());
    }
    std::vector<sourced_kernel> out;
    std::map<std::string, std::vector<sourced_kernel>> templates; // what variants are made from, kernels that are left out as well
    for (const auto& name : networks) {
        const auto network = augur::find_network(name);
        if (!network) return network.error();
        for (const auto& k : network->kernels) {
            auto& same = templates[template_of(k.workload)];
            if (std::none_of(same.begin(), same.end(), [&](const sourced_kernel& s) { return s.workload == k.workload; }))
                same.push_back({k.workload, network->name});
            if (not_again.insert(k.workload.workload_key()).second) out.push_back({k.workload, network->name});
        }
    }
    if (templates.empty()) return augur::error{augur::errc::limit, "corpus: there is no network"};
    augur::random_engine rng(seed);
    rng.shuffle(std::span(out));
    // A class of few kernels has as many variants as one of many, else a corpus would be what one network has most of.
    std::vector<const std::vector<sourced_kernel>*> order;
    for (const auto& [name, kernels] : templates) order.push_back(&kernels);
    for (std::size_t tried = 0; out.size() < count; ++tried) {
        if (tried == 100 * count)
            return augur::error{augur::errc::limit,
                                "corpus: expected " + std::to_string(count) + " kernels, there are " + std::to_string(out.size()) + " variants"};
        const auto& kernels = *order[rng.below(order.size())];
        const auto& from = kernels[rng.below(kernels.size())];
        auto k = augur::kernel::parse(varied(from.workload, rng));
        if (k && not_again.insert(k->workload_key()).second) out.push_back({*std::move(k), from.network});
    }
    out.resize((std::min)(out.size(), count), out.front());
    return out;
}
