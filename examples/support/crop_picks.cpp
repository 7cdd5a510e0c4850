// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "crop_picks.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include <augur/session/sample_schedules.hpp>
#ifdef AUGUR_EXAMPLES_CROP
#include <augur/crop/cost_model.hpp>
#include <augur/loopnest/crop/features.hpp>
#include <augur/target/find_machine.hpp>
#endif

namespace examples {

augur::result<std::vector<augur::step_list>> crop_picks([[maybe_unused]] const augur::session& session, [[maybe_unused]] std::size_t kernel,
                                                        [[maybe_unused]] std::size_t count, [[maybe_unused]] std::uint64_t seed) {
    std::vector<augur::step_list> out;
#ifdef AUGUR_EXAMPLES_CROP
    constexpr std::size_t drawn = 512;
    if (session.options().machine.empty()) return out;
    auto machine = augur::find_machine(session.options().machine);
    if (!machine) return machine.error();
    augur::crop::model crop(*std::move(machine), session.report().threads,
                            augur::loopnest::crop_feature_extractor{augur::loopnest::c_options::of(session.host())});
    auto schedules = augur::sample_schedules(session.spaces()[kernel], drawn, seed);
    std::vector<float> scores(schedules.size());
    if (auto scored = crop.score(session.tasks()[kernel], schedules, std::span(scores)); !scored) return scored.error();
    std::vector<std::size_t> order(schedules.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
    for (std::size_t i = 0; i < (std::min)(count, order.size()); ++i) out.push_back(std::move(schedules[order[i]]));
#endif
    return out;
}

} // namespace examples
