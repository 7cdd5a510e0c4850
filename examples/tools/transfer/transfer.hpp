// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_TRANSFER_HPP
#define AUGUR_EXAMPLES_TOOLS_TRANSFER_HPP

/// @file
/// Ways to choose the first schedules of a kernel, what each of them found, and the tables of that.

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <augur/session/report.hpp>
#include <augur/session/session.hpp>

#include "transfer_results.hpp"

/// A way to choose what is measured of a kernel beside its untuned schedule.
struct chooser {
    std::string_view name, model; ///< model: one of `augur::session_models`, or "weights": those of --weights
    int first;    ///< schedules of other kernels that are measured first; -1: all that are measured; `every`, `replays`, `picks`: see there
    bool evolves; ///< whether they join the population of the search
    std::string_view help;
};
inline constexpr int every = -2;   ///< all of them, and nothing else
inline constexpr int replays = -3; ///< their steps as they are, in place of adapted points
inline constexpr int picks = -4;   ///< none, and no search either: `examples::crop_picks`
inline constexpr std::array choosers{
    chooser{"trees", "nest", -1, false, "transferred schedules, ranked by boosted trees trained on the logs"},
    chooser{"trees-mixed", "nest", 1, true, "one of these, and those that the trees search from them"},
    chooser{"trees-evolved", "nest", 0, true, "those that the trees search from them"},
    chooser{"crop", "crop", -1, false, "transferred schedules, ranked by Crop; needs --machine"},
    chooser{"tlp", "weights", -1, false, "transferred schedules, ranked by the TLP of --weights"},
    chooser{"class", "none", -1, false, "transferred schedules of the kernels that are most alike, unranked"},
    chooser{"all", "none", every, false, "all transferred schedules, whatever --count says"},
    chooser{"replayed", "none", replays, false,
            "the steps of the fastest schedule of each kernel, as TVM replays them, whatever --best and --count say; not logged"},
    chooser{"trees-alone", "nest", 0, false, "schedules that the trees search, none transferred"},
    chooser{"crop-alone", "crop", 0, false, "schedules that Crop searches, none transferred"},
    chooser{"crop-picks", "none", picks, false, "the best of 512 random schedules by Crop; needs --machine"},
    chooser{"random", "none", 0, false, "random schedules"},
};
/// Null: there is none of that name.
[[nodiscard]] const chooser* find_chooser(std::string_view name);

/// A chooser, and how many schedules of a kernel it measures beside the untuned one.
struct counted_chooser {
    const chooser* by = nullptr;
    std::size_t count = 0; ///< 0: as many as --count says

    /// "random", "random:63".
    [[nodiscard]] std::string name() const { return std::string(by->name) + (count == 0 ? std::string() : ":" + std::to_string(count)); }
    friend bool operator==(const counted_chooser&, const counted_chooser&) = default;
};
/// Reads what `name` writes.   Errors: invalid_argument
[[nodiscard]] augur::result<counted_chooser> read_chooser(std::string_view text);

/// Measures the fastest schedule of each kernel of the session's logs on all kernels of its class, with the steps as they are: the paper's way.
/// Schedules of other machines and a kernel's own are passed over.
/// Errors: those of the logs
[[nodiscard]] augur::result<augur::search_report> replay_search(augur::session& session, std::string name, const augur::session_hooks& hooks);

/// Measures what Crop chooses of random schedules of each kernel.
/// Errors: those of `crop_picks`
[[nodiscard]] augur::result<augur::search_report> pick_search(augur::session& session, std::string name, std::size_t count,
                                                              const augur::session_hooks& hooks);

/// The searches of a report that are compared.
struct compared_searches {
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::size_t full = none; ///< the long search, of a log
    std::size_t first = 0;   ///< the one that the others are compared with
};
/// The results of a search, a kernel each, under its name.
[[nodiscard]] std::vector<examples::transfer_result> results_of(const augur::session_report& report, std::size_t search,
                                                                const compared_searches& compared);

using text_table = std::vector<std::vector<std::string>>;
/// The kernels of a search: what was taken from where, and what it gave. The last row is the network.
[[nodiscard]] text_table kernel_table(const augur::session_report& report, std::size_t search, const compared_searches& compared);
/// The classes of a search's kernels: how many of other kernels' schedules fit, why the others do not, and what the fastest is worth.
/// @param classes  the class of each kernel, in words
[[nodiscard]] text_table class_table(const augur::session_report& report, std::size_t search, std::span<const std::string> classes);
/// The choosers: share of the full search, its interval, share of the speed-up of networks; over kernels that have a source, and over all. A kernel
/// on another machine, or with schedules of other logs, is another kernel.
[[nodiscard]] text_table summary_table(std::span<const examples::transfer_result> results);
/// How much faster the schedules of the first chooser are than those of each other one, kernel by kernel, and how many measurements and seconds the other
/// needs to be as fast, by its own records: over the kernels that have a source, and over the half of them for which random schedules do worst. A kernel on
/// which it never is counts with all of its measurements. Only the head if there is one chooser.
[[nodiscard]] text_table rivals_table(std::span<const examples::transfer_result> results);

#endif
