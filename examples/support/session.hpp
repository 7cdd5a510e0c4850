// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_SESSION_HPP
#define AUGUR_EXAMPLES_SUPPORT_SESSION_HPP

/// @file
/// A tuning session of the embedded compiler: baselines, searches, and the numbers that a report needs.
/// session.cpp has the compiler's part, search.cpp the learning one, so that two processors can build them.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/run/roofline.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/record/log_writer.hpp>
#include <augur/record/measurement.hpp>
#include <augur/target/machine.hpp>
#include <augur/tune/summary.hpp>
#include <augur/tune/trial_log.hpp>
#include <augur/workload/networks.hpp>

#include "console.hpp"

namespace augur::inline v0 {
class task_normalised_samples;
namespace loopnest {
class task_runner;
}
namespace tlp {
struct trained_model;
}
} // namespace augur::inline v0

namespace examples {

/// The model that guides a search.
enum class guide : std::uint8_t {
    tlp,    ///< a TLP that learns from what is measured
    crop,   ///< Crop's prediction from the loops, which learns nothing
    trees,  ///< boosted trees on numbers of the loops, which learn from what is measured
    hybrid, ///< Crop's prediction, and such trees for what it gets wrong
    nest    ///< such trees that know the candidates of other kernels, relative to their kernel's others, and learn on
};
inline constexpr std::array<std::string_view, 5> guide_names{"tlp", "crop", "trees", "hybrid", "nest"};
[[nodiscard]] constexpr std::string_view to_string(guide g) noexcept { return guide_names[static_cast<std::size_t>(g)]; }
[[nodiscard]] constexpr bool asks_crop(guide g) noexcept { return g == guide::crop || g == guide::hybrid; }

/// What to tune and how.
struct settings {
    augur::network work;     ///< name and kernels
    std::size_t trials = 64; ///< a kernel, on average
    std::size_t round = 0;   ///< 0: chosen by `round_of`
    bool guided = true;      ///< evolutionary search under a model; else random search
    guide by = guide::tlp;
    bool even = false; ///< every kernel gets the same number of trials
    std::uint64_t seed = 1;
    int threads = 0; ///< of the tuned kernels and of the search; 0: all processors
    std::string log; ///< empty: none
    bool resume = false;
    augur::loopnest::compiler_options compiler;
    std::string weights;        ///< file that TLP begins with; empty: it begins with nothing
    std::string machine;        ///< that Crop predicts: its file, or the name of a preset
    std::string known;          ///< log of the other kernels that `nest` knows
    std::size_t population = 0; ///< of the evolution; 0: 2048, or 256 where Crop is asked, which takes a millisecond a schedule
};

/// Trials of one kernel between two looks at the model: small budgets learn early, large ones have Ansor's 64.
[[nodiscard]] inline std::size_t round_of(const settings& s) {
    if (s.round != 0) return (std::min)(s.round, s.trials);
    return (std::min)(std::clamp(s.trials / 4, std::size_t{4}, std::size_t{64}), s.trials);
}

/// A machine by the name of a preset or from its file.   Errors: those of the file; check_machine
[[nodiscard]] augur::result<augur::machine> find_machine(const std::string& name);

/// Distinct kernels of all networks: first what there must be of each family (convolutions, depthwise, products, norms, pooling), in turns, then
/// whatever comes. Fewer are the first of more.
[[nodiscard]] augur::network draw_kernels(std::size_t count, std::uint64_t seed);

/// A kernel for a table: `conv2d 56x56x64->64 3x3/1 +bias +relu`.
[[nodiscard]] std::string label(const augur::kernel& k);

/// What stands beside a tuned kernel.
struct baseline {
    std::string name; ///< `label`
    double uses = 1;
    double naive = 0;   ///< seconds; one thread, the loops as the definition has them; 0: not measured
    double untuned = 0; ///< seconds; `untuned_schedule`; 0: not measured
    double flops = 0;
    double bytes = 0;
    double least = 0;       ///< seconds that the machine's limits allow; 0: not known
    bool by_memory = false; ///< bytes are the limit, not operations
};

/// What came of one search over all kernels.
struct searched {
    std::string name;
    std::vector<std::vector<double>> latencies;                              ///< kernel, trial in order: seconds, infinity when it failed
    std::vector<std::vector<std::pair<double, augur::step_list>>> finalists; ///< of each kernel: the best few by their records, best first
    std::vector<double> best_latency;                                        ///< as it was recorded
    std::vector<double> checked_latency;                                     ///< of the best one, measured again when all was done; 0: not measured
    augur::outcome_counts counts{};
    std::array<std::string, augur::outcome_kinds> first_reason;
    std::optional<augur::tuning_summary> summary; ///< none when the run ended by an error
    std::optional<augur::error> failed;
    std::vector<std::string> notes; ///< about the log and the records that were taken

    /// The latency to report: measured again where that was done, for the least of many measurements is too good.
    [[nodiscard]] double latency(std::size_t kernel) const { return checked_latency[kernel] > 0 ? checked_latency[kernel] : best_latency[kernel]; }
};

/// Machine, compiler and kernels, ready to be searched. Not movable: the parts know each other by address.
class session {
public:
    explicit session(settings s);
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session();

    settings with;
    augur::machine on;
    std::vector<augur::loopnest::kernel_task> tasks;
    std::vector<augur::loopnest::ansor_space> spaces;
    std::vector<baseline> baselines;
    augur::loopnest::roofline peak; ///< zeros when it could not be measured
    std::string no_limit;           ///< why a limit could not be measured, the first reason; empty: all were

    /// Checks everything that can be wrong before anything is measured, and takes the log.
    augur::result<void> prepare();
    /// Takes another log, `with.log`, as `prepare` does.
    augur::result<void> take_log();
    /// What turns schedules into code.   pre: prepare()
    [[nodiscard]] const augur::toolchain& made_with() const { return made_with_; }

    /// Measures what tuned kernels are compared with. An error is a kernel that does not even compile naively; limits of the machine that cannot be
    /// measured are none, `no_limit` says why.
    augur::result<void> measure_baselines(progress_line& progress);
    /// Searches all kernels, until the budget is used up or Ctrl-C. With `to_log` the session's log is resumed from and written to.
    searched search(const std::string& name, bool guided, bool to_log, progress_line& progress);
    /// Measures the best few schedules of each search and the untuned one once more, longer, all of a kernel side by side: the numbers of the table.
    void measure_best(std::span<searched> searches, progress_line& progress);
    /// Writes what the last guided search has learned.   Errors: not_found (it has learned nothing), io
    augur::result<void> save_model(const std::string& path) const;

    /// Runs the kernels.   pre: prepare()
    [[nodiscard]] augur::loopnest::task_runner& runner() noexcept { return *runner_; }
    /// Models `runner`, so that a search need not know how.
    std::vector<augur::measurement> measure(const augur::loopnest::kernel_task& t, std::span<const augur::step_list> candidates);

private:
    std::unique_ptr<augur::loopnest::task_runner> runner_;
    std::optional<augur::log_writer> log_;
    augur::toolchain made_with_;
    std::shared_ptr<const augur::tlp::trained_model> start_;
    std::shared_ptr<const augur::tlp::trained_model> learned_;

    std::optional<augur::machine> crop_on_;                       ///< what Crop predicts
    std::shared_ptr<const augur::task_normalised_samples> known_; ///< of other kernels

    augur::result<void> load_model();
    augur::result<void> load_known();
    void find_limit(std::size_t kernel);
    template <class Tuner>
    searched run(Tuner& tuner, const std::string& name, bool to_log, progress_line& progress);
    template <class Tuner>
    void collect(const Tuner& tuner, searched& out) const;
    [[nodiscard]] std::vector<std::string> notes_of(const augur::trials_in_log<>& old, std::size_t taken, std::size_t duplicates,
                                                    const std::string& first_bad) const;
};

} // namespace examples

#endif
