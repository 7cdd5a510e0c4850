// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_SESSION_HPP
#define AUGUR_SESSION_SESSION_HPP

/// @file
/// The class `basic_session`. Include <augur/session.hpp>, which also defines its members; this header alone serves a source file that only refers to a
/// session which another one instantiates.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/core/thread_pool.hpp>
#include <augur/loopnest/codegen/c_options.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/loopnest/schedule/untuned_schedule.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/session/options.hpp>
#include <augur/session/report.hpp>
#include <augur/space/concepts.hpp>
#include <augur/target/isa_level.hpp>
#include <augur/target/machine.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/tune/options.hpp>
#include <augur/tune/resume.hpp>
#include <augur/tune/tuning_log.hpp>

namespace augur::inline v0 {

namespace loopnest {
class task_runner;
}

namespace detail {
struct session_models_state;
class any_model;
} // namespace detail

/// Tunes kernels or a network for the machine it runs on, with the embedded compiler (`loopnest/`).
///
/// ```cpp
/// augur::session_options options;
/// options.work = *augur::find_network("resnet_18");
/// options.search.trials = 64;          // of each kernel, on average
/// options.log = "resnet_18.jsonl";
/// options.resume = true;
/// auto session = augur::session::create(options);
/// if (!session) return session.error();
/// const auto report = session->tune();
/// if (!report) return report.error();
/// std::printf("%g ms\n", 1e3 * report->network_latency(report->searches.size() - 1));
/// ```
///
/// What guides the search follows from what is known (`choose_search`): here nothing, with `options.transfer_from = {"resnet_50.jsonl"}` the records of
/// other kernels.
///
/// `tune` is the whole run. Its parts are public for programs that compare several searches: `measure_baselines`, `search`, `measure_best`.
///
/// `tune` measures the untuned schedule of each kernel before it searches, and writes its record to the log first. That record does not count as a
/// trial and no model learns from it; the result of a kernel is the better of it and what the search found.
///
/// A resumed log may have records of other machines (`machine_identity`). A kernel that another machine has finished, with `trials` records and none of
/// this machine, keeps these records: nothing of it is measured here, and no model learns from it (`kernel_report::elsewhere`). Every other kernel is
/// searched here, with the records of this machine alone.
///
/// Components of augur that are absent from a build take away their models only: such a model is refused by name. See `session_models`.
///
/// Errors   nothing is measured before all options are checked; see `create`
/// Cost     about 0.1 to 0.3 s per trial, most of it in the C compiler and in timing
/// Threads  one thread per object. `E` runs the work of the models and the search; results do not depend on its number of threads
/// @tparam E  constructible from a number of threads, or `serial_executor`
template <bulk_executor E = thread_pool_executor>
class basic_session {
public:
    /// Checks the options, makes the search spaces, finds the compiler, loads models and opens the log.
    ///
    /// Errors  invalid_argument for no kernels or trials, an unknown model or preset, a model without the file that it needs, a log that has records
    ///         without `resume`; unsupported for a kernel that `loopnest` cannot schedule and a model whose component is absent; those of the
    ///         files and of the compiler
    [[nodiscard]] static result<basic_session> create(session_options options);

    basic_session(basic_session&&) noexcept;
    ~basic_session();

    /// Baselines, the search of the options (after one at random, if asked for), and the best schedules measured again. An error of the search itself
    /// is in the report of the search, with all its trials.
    /// Errors  those of `measure_baselines`
    result<session_report> tune(const session_hooks& hooks = {});

    /// Measures the naive nest and the untuned schedule of each kernel, and the roofline of the machine (`session_options::limits`). Does nothing in a
    /// second call.
    /// Errors  those of the naive nest, which do not depend on a schedule; io of the log. A roofline that cannot be measured is
    ///         `session_report::roofline_error`
    result<void> measure_baselines(const session_hooks& hooks = {});

    /// Weighs the kernels in the task scheduler of the next searches by other numbers than their uses, e.g. by (seconds of all calls in the
    /// network) / (seconds of one call alone). A resumed search with other weights takes the records and goes on differently.
    /// @param weights  one for each kernel
    /// Errors  invalid_argument (another number of weights, one that is not positive and finite), after which the weights are as they were
    result<void> weigh(std::span<const double> weights);

    /// Searches all kernels until the budget is used up or `hooks.stop`.
    /// @param name    of the search, for progress and report
    /// @param logged  continue with the trials of the open log and write to it; at most one logged search per `open_log`
    [[nodiscard]] search_report search(const std::string& name, const session_search& settings, bool logged, const session_hooks& hooks = {});

    /// The trials of a log, as if a search had made them now, to compare others with it. Records that are not of this machine, compiler and flags, or of
    /// other kernels, are passed over.
    /// Errors  those of `log_reader`
    [[nodiscard]] result<search_report> recorded(const std::string& name, const std::string& log) const;

    /// Measures the finalists of the searches and the untuned schedule again, longer, and all those of a kernel next to each other. Sets
    /// `checked_latency` and `result` of the searches, and the `untuned` latency of the kernels.
    void measure_best(std::span<search_report> searches, const session_hooks& hooks = {});

    /// Opens another log, for a further search.
    /// Errors  those of `open_tuning_log`; invalid_argument if it has records and `resume` is false
    result<void> open_log(const std::string& path, bool resume);

    /// Writes the weights of the TLP that the last search has trained.
    /// Errors  not_found if none was trained; those of `tlp::save`
    [[nodiscard]] result<void> save_model(const std::string& path) const;
    /// Does the search of the options train a TLP? MetaTune adapts to each kernel, and its weights stay as they are.
    [[nodiscard]] bool trains_tlp() const;

    [[nodiscard]] const session_options& options() const noexcept { return report_.options; }
    /// The machine that it runs on.
    [[nodiscard]] const machine& host() const noexcept { return report_.host; }
    /// This machine, compiler and flags of the candidates.
    [[nodiscard]] const toolchain& made_with() const noexcept { return report_.made_with; }
    [[nodiscard]] std::span<const loopnest::kernel_task> tasks() const noexcept { return tasks_; }
    [[nodiscard]] std::span<const loopnest::ansor_space> spaces() const noexcept { return spaces_; }
    /// The schedule of a kernel before any measurement, by rules, for the vectors and threads of this machine.
    [[nodiscard]] step_list untuned_schedule(std::size_t kernel) const { return untuned_on(kernel, loopnest::c_options::of(report_.host)); }
    /// Machine, kernels and baselines; the searches are those of the last `tune`.
    [[nodiscard]] const session_report& report() const noexcept { return report_; }
    /// Compiles and runs the kernels.
    [[nodiscard]] loopnest::task_runner& runner() noexcept { return *runner_; }
    /// Compiles and measures candidates of a task, one measurement each: a session models the concept `runner`, so a `tuner` of yours can use it.
    std::vector<measurement> measure(const loopnest::kernel_task& t, std::span<const step_list> candidates);

private:
    explicit basic_session(session_options options);

    session_report report_;
    std::vector<loopnest::kernel_task> tasks_;
    std::vector<loopnest::ansor_space> spaces_;
    std::unique_ptr<loopnest::task_runner> runner_;
    std::unique_ptr<detail::session_models_state> models_;
    std::optional<tuning_log<>> log_;
    bool baselines_measured_ = false;
    std::map<loopnest::expr_op, double> functions_; ///< measured evaluations per second

    std::vector<std::vector<logged_trial<step_list>>> elsewhere_; ///< per kernel: the trials of another machine that has finished it

    /// The kernels that are searched here.
    struct searched {
        std::vector<std::size_t> kernels; ///< indices of the session's kernels
        std::vector<loopnest::kernel_task> tasks;
        std::vector<loopnest::ansor_space> spaces;
    };

    struct running_search;

    result<void> prepare();
    void take_over();
    [[nodiscard]] step_list untuned_on(std::size_t kernel, const loopnest::c_options& code) const {
        return loopnest::untuned_schedule(*tasks_[kernel].dag(), report_.threads, code);
    }
    /// The untuned schedule of the machine that a kernel's records are from.
    [[nodiscard]] step_list untuned_on(std::size_t kernel, const machine_identity& other) const {
        const auto level = parse_isa_level(other.isa);
        return level ? untuned_on(kernel, loopnest::c_options::of(machine_of(*level))) : untuned_schedule(kernel);
    }
    void add_elsewhere(search_report& out) const;
    searched searched_here() const;
    bool begin_language(running_search& s);
    void search_by_model(running_search& s);
    void search_with(running_search& s, detail::any_model model, double random_share);
    template <class Scorer>
    std::vector<decision_vector> add_transfers(running_search& s, std::size_t k, Scorer& scorer, std::vector<decision_vector>& points) const;
    template <class Scorer>
    auto make_strategy(running_search& s, std::size_t k, std::vector<decision_vector> first, const std::vector<decision_vector>& fitting,
                       Scorer* drafts) const;
    void find_limit(std::size_t kernel);
    void choose_result(search_report& s) const;
    template <class Tuner>
    void run(Tuner& tuner, std::span<const std::size_t> kernels, search_report& out, bool logged, const session_hooks& hooks);
};

/// A session on threads of the standard library.
using session = basic_session<>;

} // namespace augur::inline v0

#endif
