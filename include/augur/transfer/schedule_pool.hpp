// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TRANSFER_SCHEDULE_POOL_HPP
#define AUGUR_TRANSFER_SCHEDULE_POOL_HPP

/// @file
/// Tuned schedules of kernels, and what they are for another kernel: the nearest point of its space, or the reason why there is none.

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/record/logged_schedule.hpp>
#include <augur/search/concepts.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/describe.hpp>
#include <augur/space/walk.hpp>
#include <augur/workload/class_levels.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0::transfer {

/// A tuned schedule of a kernel, as the words of its decisions.
struct pooled_schedule {
    std::string name;    ///< of the kernel, for reports
    class_levels levels; ///< of the kernel
    std::string target;  ///< the text of the machine that it was measured on
    described_point words;
    double latency = 0; ///< seconds, of its own kernel
};

/// Why a schedule of the pool is no candidate for a kernel.
enum class refusal : std::uint8_t {
    other_class,        ///< the kernels do not agree at the level that is asked for
    other_target,       ///< measured on another machine
    same_workload,      ///< the kernel's own schedule of this machine: that is reuse, not transfer
    no_common_decision, ///< none of its decisions is one of the kernel's
    duplicate,          ///< another schedule gives the same point; the source is the one with more of its own decisions in it
};
inline constexpr std::array<std::string_view, 5> refusal_names{"other class", "other target", "same workload", "no common decision", "duplicate"};
[[nodiscard]] constexpr std::string_view to_string(refusal r) noexcept { return refusal_names[static_cast<std::size_t>(r)]; }

/// A schedule of the pool as a point of a kernel's space. Its decisions are legal there, whatever the extents.
struct transferred_point {
    std::size_t source = 0;                      ///< index in the pool
    class_level level = class_level::operations; ///< the finest level at which the kernels agree
    decision_vector point;
    std::size_t equal = 0;   ///< decisions with the words of the source
    std::size_t changed = 0; ///< decisions with the nearest legal words
    std::size_t unnamed = 0; ///< decisions that the source does not have, or nothing is near to: the preferred value

    /// The share of decisions that are the source's.
    [[nodiscard]] double exactness() const noexcept {
        const auto all = equal + changed + unnamed;
        return all == 0 ? 1 : static_cast<double>(equal) / static_cast<double>(all);
    }
};

/// What a pool has for a kernel.
struct transfer_list {
    std::vector<transferred_point> points; ///< in the order of the pool; of equal points, the place of the first
    std::array<std::size_t, refusal_names.size()> refused{};

    [[nodiscard]] std::size_t count(refusal r) const noexcept { return refused[static_cast<std::size_t>(r)]; }
};

/// What may be transferred.
struct transfer_options {
    class_level level = class_level::operations; ///< at which the kernels must agree; the paper's classes by default
    bool other_targets = false;                  ///< schedules of other machines, too, the kernel's own among them
    bool same_workload = false;                  ///< the kernel's own schedules of this machine, too
};

/// What `schedule_pool::add_fastest` did with the trials of a kernel.
struct added_schedules {
    std::size_t added = 0;
    std::size_t outside = 0; ///< fast schedules that are no points of the space and were passed over
};

/// Tuned schedules, each in words, which any space of the same kind of decisions can read.
///
/// ```cpp
/// augur::transfer::schedule_pool pool;
/// if (auto added = pool.add("dense 512", task_class_levels(small), "", small_space, tuned, 1e-4); !added) return added.error();
/// const auto found = pool.adapt(large_space, task_class_levels(large), "");
/// for (const auto& t : found.points) measure(*large_space.realise(t.point));
/// ```
///
/// Threads  const member functions may run at the same time
class schedule_pool {
public:
    /// Adds a schedule that is in words already.
    void add(pooled_schedule s) { schedules_.push_back(std::move(s)); }

    /// Adds the schedule with these decisions.   Errors: illegal_schedule (no complete and legal point of the space)
    template <described_space P>
    result<void> add(std::string name, class_levels levels, std::string target, const P& space, std::span<const std::uint64_t> decisions,
                     double latency) {
        auto words = describe_point(space, decisions);
        if (!words) return words.error();
        add({std::move(name), std::move(levels), std::move(target), *std::move(words), latency});
        return {};
    }

    /// Adds the `best` fastest schedules of a kernel, each point once; of equally fast ones the first. `space.decide` gives the point of a schedule.
    ///
    /// @param space     the space in which the kernel was tuned
    /// @param measured  latency (seconds, no NaN) and schedule
    /// Errors           as `add`
    /// Cost             a sort, and a call of `decide` for each schedule until there are `best`
    template <described_space P, class S>
        requires requires(const P& p, const S& s) {
            { p.decide(s) } -> std::same_as<result<decision_vector>>;
        }
    result<added_schedules> add_fastest(const std::string& name, const class_levels& levels, const std::string& target, const P& space,
                                        const std::vector<std::pair<double, S>>& measured, std::size_t best) {
        std::vector<std::size_t> order(measured.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            const double x = measured[a].first, y = measured[b].first;
            return x != y ? x < y : a < b;
        });
        added_schedules out;
        std::vector<decision_vector> points;
        for (const auto i : order) {
            if (points.size() == best) break;
            auto point = space.decide(measured[i].second);
            if (!point) {
                ++out.outside;
                continue;
            }
            if (std::find(points.begin(), points.end(), *point) != points.end()) continue;
            if (auto in = add(name, levels, target, space, *point, measured[i].first); !in) return in.error();
            points.push_back(*std::move(point));
        }
        out.added = points.size();
        return out;
    }

    /// As above, for the trials of a log, with name and class of the task; failed trials and those of other tasks are left out.
    ///
    /// @param trials  those of `read_trials` (tune/trial_log.hpp), or of a type with the members of `logged_trial`
    /// @param target  the text of the machine on which the trials were measured
    template <task Task, described_space P, measured_trial Trial>
    result<added_schedules> add_fastest(const Task& t, const P& space, const std::vector<Trial>& trials, const std::string& target,
                                        std::size_t best) {
        std::vector<std::pair<double, decltype(Trial::schedule)>> measured;
        const std::string identity = task_identity(t);
        for (const Trial& trial : trials)
            if (const double latency = trial.outcome.latency(); trial.task == identity && std::isfinite(latency))
                measured.emplace_back(latency, trial.schedule);
        return add_fastest(std::string(task_key(t)), task_class_levels(t), target, space, measured, best);
    }

    [[nodiscard]] const std::vector<pooled_schedule>& schedules() const noexcept { return schedules_; }

    /// Adapts the schedules to a kernel: each decision takes the legal value nearest to the words of the source's decision of that name.
    ///
    /// Where `task_traits` gives neither `kernel_class` nor `class_levels`, two kernels agree at no level, and a kernel with itself at `workload`
    /// only: every schedule of another kernel is refused as `other_class`.
    ///
    /// @param target  the text of the machine that the kernel is for
    /// Cost           a walk through the space for each schedule that is not refused
    template <described_space P>
    [[nodiscard]] transfer_list adapt(const P& space, const class_levels& levels, std::string_view target,
                                      const transfer_options& options = {}) const {
        transfer_list out;
        std::unordered_multimap<std::uint64_t, std::size_t> known; // a hash of its decisions -> index in out.points
        for (std::size_t i = 0; i < schedules_.size(); ++i) {
            const auto& source = schedules_[i];
            const class_agreement agreement(source.levels, levels);
            const auto refuse = [&](refusal r) { ++out.refused[static_cast<std::size_t>(r)]; };
            if (!agreement.at(options.level)) refuse(refusal::other_class);
            else if (!options.other_targets && source.target != target) refuse(refusal::other_target);
            else if (!options.same_workload && source.target == target && agreement.at(class_level::workload)) refuse(refusal::same_workload);
            else {
                auto adapted = adapt_point(space, source.words);
                transferred_point t{i, *agreement.finest(), std::move(adapted.path.values), adapted.equal, adapted.changed, adapted.unnamed};
                const std::uint64_t hash = hash_decisions(t.point);
                const auto [first, last] = known.equal_range(hash);
                const auto same = std::find_if(first, last, [&](const auto& entry) { return out.points[entry.second].point == t.point; });
                if (t.equal + t.changed == 0) refuse(refusal::no_common_decision);
                else if (same != last) {
                    refuse(refusal::duplicate);
                    auto& kept = out.points[same->second];
                    if (t.exactness() > kept.exactness() || (t.exactness() == kept.exactness() && t.level > kept.level)) kept = std::move(t);
                } else {
                    known.emplace(hash, out.points.size());
                    out.points.push_back(std::move(t));
                }
            }
        }
        return out;
    }

private:
    std::vector<pooled_schedule> schedules_;
};

/// Chooses points to measure: first the `by_score` points that the scorer ranks highest, then those with the largest share of decisions that are the
/// source's. Equal ones: by the other of the two, then by the level of agreement, the finest first, then in their order. A point with a score of
/// -infinity or NaN is not chosen.
///
/// One by score and the others by that share found 0.990 of the best of all points, three by score 0.985, any three 0.982 (docs/results/transfer.md).
///
/// Errors  those of the scorer
template <point_scorer F>
[[nodiscard]] result<std::vector<transferred_point>> choose_transfers(std::vector<transferred_point> points, F& scorer, std::size_t count,
                                                                      std::size_t by_score = 1) {
    std::vector<decision_vector> asked;
    for (const auto& p : points) asked.push_back(p.point);
    std::vector<float> scores(asked.size());
    if (auto scored = scorer(asked, std::span<float>(scores)); !scored) return scored.error();
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < points.size(); ++i)
        if (scores[i] > -std::numeric_limits<float>::infinity()) order.push_back(i); // NaN is not, either
    const auto sort = [&](std::size_t from, bool score_first) {
        std::sort(order.begin() + static_cast<std::ptrdiff_t>(from), order.end(), [&](std::size_t a, std::size_t b) {
            const double x = points[a].exactness(), y = points[b].exactness();
            if (score_first && scores[a] != scores[b]) return scores[a] > scores[b];
            if (x != y) return x > y;
            if (scores[a] != scores[b]) return scores[a] > scores[b];
            return points[a].level != points[b].level ? points[a].level > points[b].level : a < b;
        });
    };
    sort(0, true);
    if (by_score < order.size()) sort(by_score, false);
    order.resize((std::min)(order.size(), count));
    std::vector<transferred_point> out;
    for (const auto i : order) out.push_back(std::move(points[i]));
    return out;
}

} // namespace augur::inline v0::transfer

#endif
