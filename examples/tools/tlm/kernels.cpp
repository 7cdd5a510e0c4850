// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include <augur/core/number.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/workload/networks.hpp>

namespace {

/// The text of a kernel with some parameters changed; the text may be of no kernel.
std::string varied(const std::string& text, augur::random_engine& rng) {
    constexpr double scales[] = {0.25, 0.5, 0.75, 1, 1, 1.25, 1.5, 2};
    const double side = scales[rng.below(std::size(scales))], width = scales[rng.below(std::size(scales))],
                 more_width = scales[rng.below(std::size(scales))];
    const std::int64_t batch = std::int64_t{1} << (rng.below(4) * rng.below(2));
    const bool other_activation = rng.below(4) == 0;
    std::string out = text.substr(0, text.find(':') + 1);
    bool first = true;
    for (std::size_t at = out.size(); at <= text.size();) {
        const auto end = (std::min)(text.find(',', at), text.size());
        std::string item = text.substr(at, end - at);
        const auto equals = item.find('=');
        const auto name = item.substr(0, equals);
        if (equals != std::string::npos) {
            const auto value = augur::parse_int(std::string_view(item).substr(equals + 1));
            const auto scaled = [&](double by) {
                if (!value || *value <= 4) return item; // three colours stay three
                const auto n = static_cast<double>(*value) * by;
                const double unit = n >= 32 ? 8 : 1;
                return name + "=" +
                       std::to_string((std::max)(std::int64_t{1}, static_cast<std::int64_t>(n / unit) * static_cast<std::int64_t>(unit)));
            };
            if (value && (name == "n" || name == "b") && text.find(",h=") != std::string::npos) item = name + "=" + std::to_string(*value * batch);
            else if (name == "h" || name == "w" || name == "m") item = scaled(side);
            else if (name == "c") item = scaled(width);
            else if (name == "f" || name == "n" || name == "b") item = scaled(more_width);
            else if (name == "k" && text.find(",h=") == std::string::npos) item = scaled(width);
        } else if (other_activation && (item == "relu" || item == "relu6")) {
            item = item == "relu" ? "relu6" : "relu";
        }
        out += (first ? "" : ",") + item;
        first = false;
        at = end + 1;
    }
    return out;
}

} // namespace

augur::result<std::vector<sourced_kernel>> varied_kernels(std::span<const std::string> networks, std::span<const std::string> left_out,
                                                          std::size_t count, std::uint64_t seed) {
    std::set<std::string> seen;
    for (const auto& name : left_out) {
        const auto network = augur::find_network(name);
        if (!network) return network.error();
        for (const auto& k : network->kernels) seen.insert(k.workload.text());
    }
    std::vector<sourced_kernel> out;
    for (const auto& name : networks) {
        const auto network = augur::find_network(name);
        if (!network) return network.error();
        for (const auto& k : network->kernels)
            if (seen.insert(k.workload.text()).second) out.push_back({k.workload, network->name});
    }
    const std::size_t originals = out.size();
    if (originals == 0) return augur::error{augur::errc::limit, "corpus: the networks have no kernel that is not left out"};
    augur::random_engine rng(seed);
    rng.shuffle(std::span(out));
    for (std::size_t tried = 0; out.size() < count; ++tried) {
        if (tried == 100 * count)
            return augur::error{augur::errc::limit,
                                "corpus: expected " + std::to_string(count) + " kernels, there are " + std::to_string(out.size()) + " variants"};
        const auto& from = out[rng.below(originals)];
        auto k = augur::kernel::parse(varied(from.workload.text(), rng));
        if (k && seen.insert(k->text()).second) out.push_back({*std::move(k), from.network});
    }
    out.resize((std::min)(out.size(), count), out.front());
    return out;
}
