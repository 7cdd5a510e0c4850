// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_MODELS_HPP
#define AUGUR_SESSION_DETAIL_MODELS_HPP

/// @file
/// The models of a session: checks of their names, what is loaded for them before the search, and what is kept of them after it.
///
/// A component that a build has defines a macro: AUGUR_HAS_TLP, AUGUR_HAS_TLM, AUGUR_HAS_METATUNE, AUGUR_HAS_CROP, AUGUR_HAS_XGBOOST, AUGUR_HAS_SEARCH_BAYES.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/session/auto_search.hpp>
#include <augur/session/detail/transfer_pool.hpp>
#include <augur/session/options.hpp>
#include <augur/target/find_machine.hpp>
#include <augur/target/isa_level.hpp>
#include <augur/target/machine.hpp>
#include <augur/transfer/schedule_pool.hpp>
#include <augur/tune/trial_log.hpp>

#ifdef AUGUR_HAS_TLP
#include <augur/nn/safetensors.hpp>
#include <augur/tlp/weights_file.hpp>
#endif
#ifdef AUGUR_HAS_METATUNE
#include <augur/loopnest/schedule/space.hpp>
#include <augur/loopnest/schedule/untuned_schedule.hpp>
#include <augur/metatune/weights_file.hpp>
#include <augur/session/sample_schedules.hpp>
#include <augur/session/schedule_rows.hpp>
#endif
#ifdef AUGUR_HAS_TLM
#include <augur/dataset/dataset.hpp>
#include <augur/session/demonstrations.hpp>
#include <augur/workload/kernel.hpp>
#include <augur/tlm/weights_file.hpp>
#endif
#ifdef AUGUR_HAS_XGBOOST
#include <augur/loopnest/features/nest_row.hpp>
#include <augur/session/known.hpp>
#endif

namespace augur::inline v0::detail {

#ifdef AUGUR_HAS_TLP
inline constexpr bool has_tlp = true;
#else
inline constexpr bool has_tlp = false;
#endif
#ifdef AUGUR_HAS_TLM
inline constexpr bool has_tlm = true;
#else
inline constexpr bool has_tlm = false;
#endif
#ifdef AUGUR_HAS_SEARCH_BAYES
inline constexpr bool has_bayes = true;
#else
inline constexpr bool has_bayes = false;
#endif
#ifdef AUGUR_HAS_CROP
inline constexpr bool has_crop = true;
#else
inline constexpr bool has_crop = false;
#endif
#ifdef AUGUR_HAS_XGBOOST
inline constexpr bool has_xgboost = true;
#else
inline constexpr bool has_xgboost = false;
#endif

inline bool is_model_name(std::string_view model) { return std::find(session_models.begin(), session_models.end(), model) != session_models.end(); }
/// Does the strategy of a search need no model?
inline bool guides_itself(const session_search& s) { return s.strategy == "descent" || s.strategy == "bayes"; }
/// The kind of model, for weights that of their file, behind what drafts or proposes if that is not evolution: "random", "tlp", "crop+tlp", "tlm",
/// "tlm+trees", "annealing+trees", "bayes", "tlp+descent".
inline std::string search_name(const session_search& s, std::string_view weights = "tlp") {
    const std::string proposes = !s.language.empty() ? "tlm" : s.strategy == "evolutionary" || s.strategy.empty() ? s.draft : s.strategy;
    const std::string model = s.model == "none" ? (proposes.empty() ? "random" : "") : std::string(is_model_name(s.model) ? s.model : weights);
    return proposes + (proposes.empty() || model.empty() ? "" : "+") + model + (s.descend_after > 0 ? "+descent" : "");
}

/// The models of a search as they were asked for, for messages.
inline std::string asked_models(const session_search& s) { return s.draft.empty() ? s.model : s.draft + "+" + s.model; }

inline bool scores_with_crop(const session_search& s) { return s.model == "crop" || s.model == "hybrid" || s.draft == "crop"; }

/// Are the components of a search's models there?   Errors: unsupported
inline result<void> check_components(const session_search& s) {
    const std::string& model = s.model;
    const auto absent = [&](const char* component) {
        return error{errc::unsupported,
                     "model '" + asked_models(s) + "' needs the component augur::" + component + ", which this program is built without"};
    };
    if (!s.language.empty() && !has_tlm)
        return error{errc::unsupported, "a language model needs the component augur::tlm, which this program is built without"};
    if (model == "auto" && !s.weights.empty() && !has_tlp) return absent("tlp");
    if (model == "none" || model == "auto") return {};
    if ((model == "tlp" || !is_model_name(model)) && !has_tlp) return absent("tlp");
    if (scores_with_crop(s) && !has_crop) return absent("crop");
    if ((model == "trees" || model == "hybrid" || model == "nest") && !has_xgboost) return absent("xgboost");
    return {};
}

/// What the models of a session need beside its kernels.
struct session_models_state {
    std::optional<machine> crop_machine;
    std::vector<std::string> notes; ///< about the records of other kernels
    transfer::schedule_pool pool;   ///< of the logs of `session_options::transfer_from`
#ifdef AUGUR_HAS_TLP
    std::string weights_path; ///< of `initial` or `graph_network`
    std::shared_ptr<const tlp::trained_model> initial;
    std::shared_ptr<const tlp::trained_model> learned; ///< by the last search
#endif
#ifdef AUGUR_HAS_METATUNE
    std::shared_ptr<const metatune::trained_network> graph_network; ///< there are weights of one network at a time
    bool loops_checked = false;                                     ///< whether it can read the kernels
#endif
#ifdef AUGUR_HAS_TLM
    std::string language_path; ///< of `language`
    std::shared_ptr<const tlm::language_model> language;
    std::optional<dataset> demonstrations; ///< of the logs of `session_options::demonstrations`
#endif
#ifdef AUGUR_HAS_XGBOOST
    std::shared_ptr<const task_normalised_samples> known;
#endif

    static result<session_models_state> create(const session_options& o) {
        session_models_state out;
        if (!o.machine.empty()) {
            auto m = find_machine(o.machine);
            if (m) m = machine_at(*std::move(m), o.compiler.isa);
            if (!m) return m.error();
            out.crop_machine.emplace(*std::move(m));
        }
        if (auto ready = out.load(o.search); !ready) return ready.error();
        if (auto ready = out.load_demonstrations(o); !ready) return ready.error();
        if (o.search.model == "nest" && o.known.empty() && o.transfer_from.empty()) return no_known();
        return out;
    }

    /// Errors: invalid_argument; unsupported
    static result<void> check_strategy(const session_search& s) {
        const auto refused = [&](std::string text) {
            return error{errc::invalid_argument, "strategy '" + s.strategy + "': expected " + std::move(text)};
        };
        if (s.strategy.empty()) return {};
        if (std::find(session_strategies.begin(), session_strategies.end(), s.strategy) == session_strategies.end())
            return refused("evolutionary, annealing, descent or bayes");
        if (!s.language.empty() || s.only_transfers) return refused("none beside a language model or transfers alone, which propose everything");
        if (!s.draft.empty() && s.strategy != "evolutionary") return refused("evolutionary, whose drafts Crop chooses");
        if (s.model == "none" && !guides_itself(s)) return refused("a model that guides it, none came");
        if (s.strategy == "bayes" && !has_bayes)
            return error{errc::unsupported, "strategy 'bayes' needs the component augur::search_bayes, which this program is built without"};
        return {};
    }

    /// Checks the model of a search and loads its weights.
    result<void> load(const session_search& s) {
        if (s.trials == 0) return error{errc::invalid_argument, "session: expected at least one trial per kernel, 0 came"};
        if (!s.draft.empty() && s.draft != "crop") return error{errc::invalid_argument, "draft '" + s.draft + "': expected crop"};
        if (!s.draft.empty() && (s.model == "none" || s.model == "crop" || s.model == "auto"))
            return error{errc::invalid_argument, "draft '" + s.draft + "': expected a model that verifies it, '" + s.model + "' came"};
        if (is_model_name(s.weights)) return error{errc::invalid_argument, "weights '" + s.weights + "': expected a file, got the name of a model"};
        if (s.only_transfers && s.descend_after > 0)
            return error{errc::invalid_argument, "session: only transfers, so expected no descent after them"};
        if (!s.draft.empty() && !s.language.empty())
            return error{errc::invalid_argument, "draft '" + s.draft + "': expected it or a language model to draft, both came"};
        if (auto fits = check_strategy(s); !fits) return fits;
        if (s.only_transfers && (s.model != "none" || !s.language.empty()))
            return error{errc::invalid_argument, "session: only transfers, so expected the model 'none' and no language model, '" + s.model +
                                                     "' and '" + s.language + "' came"};
        if (auto there = check_components(s); !there) return there;
        if (scores_with_crop(s) && !crop_machine)
            return error{errc::invalid_argument, "model '" + asked_models(s) + "': expected a machine (session_options::machine), none came"};
#ifdef AUGUR_HAS_TLM
        if (!s.language.empty() && !(language && language_path == s.language)) {
            auto loaded = tlm::load(s.language);
            if (!loaded) return loaded.error();
            language = std::make_shared<const tlm::language_model>(*std::move(loaded));
            language_path = s.language;
        }
#endif
#ifdef AUGUR_HAS_TLP
        if (s.model == "tlp") initial.reset();
        const std::string& weights = s.model == "auto" ? s.weights : s.model;
        if (!weights.empty() && !is_model_name(weights))
            if (auto loaded = load_weights(weights); !loaded) return loaded;
#endif
        return {};
    }

#ifdef AUGUR_HAS_TLP
    /// Loads the weights of a network; the format of the file says of which.
    result<void> load_weights(const std::string& path) {
        if (weights_path == path && !weights_model().empty()) return {};
        initial.reset();
#ifdef AUGUR_HAS_METATUNE
        graph_network.reset();
#endif
        std::error_code unknown;
        const auto bytes = nn::load_bytes(path);
        if (!bytes && !std::filesystem::exists(path, unknown))
            return error{errc::not_found,
                         "model '" + path + "': expected auto, none, tlp, crop, trees, hybrid, nest or a weights file; " + bytes.error().detail};
        if (!bytes) return bytes.error();
        const auto header = nn::parse_safetensors(*bytes);
        if (!header) return error{header.error().code, path + ": " + header.error().detail};
        weights_path = path;
#ifdef AUGUR_HAS_METATUNE
        if (const auto* format = header->find_metadata("format"); format != nullptr && *format == "augur-metatune") {
            auto loaded = metatune::load(path);
            if (!loaded) return loaded.error();
            graph_network = std::make_shared<const metatune::trained_network>(*std::move(loaded));
            loops_checked = false;
            return {};
        }
#endif
        auto loaded = tlp::load(path);
        if (!loaded) return loaded.error();
        initial = std::make_shared<const tlp::trained_model>(*std::move(loaded));
        return {};
    }
#endif
    /// The model that the loaded weights are of; empty: none are loaded.
    [[nodiscard]] std::string_view weights_model() const {
#ifdef AUGUR_HAS_TLP
        if (initial) return "tlp";
#endif
#ifdef AUGUR_HAS_METATUNE
        if (graph_network) return "metatune";
#endif
        return {};
    }

    /// Can MetaTune's network read the schedules of these kernels? Adds a note where it can only read some of them.
    /// Errors: version_mismatch, weights for other candidates; not_found, a kernel whose untuned schedule has a loop without a slot, which is named
    result<void> check_loops([[maybe_unused]] std::span<const loopnest::kernel_task> tasks,
                             [[maybe_unused]] std::span<const loopnest::ansor_space> spaces, [[maybe_unused]] int threads) {
#ifdef AUGUR_HAS_METATUNE
        if (!graph_network || loops_checked) return {};
        const auto refused = [&](const error& e) { return error{e.code, "model '" + weights_path + "': " + e.detail}; };
        const auto rows = schedule_rows::create(*graph_network);
        if (!rows) return refused(rows.error());
        std::size_t drawn = 0, unread = 0;
        std::string first;
        for (std::size_t k = 0; k < tasks.size(); ++k) {
            const std::string kernel = tasks[k].workload().text() + ": ";
            if (const auto untuned = (*rows)(tasks[k], loopnest::untuned_schedule(*tasks[k].dag(), threads)); !untuned)
                return refused({untuned.error().code, kernel + untuned.error().detail});
            for (const auto& s : sample_schedules(spaces[k], 64, 1)) {
                const auto read = (*rows)(tasks[k], s);
                ++drawn;
                if (read || read.error().code != errc::not_found) continue;
                if (unread++ == 0) first = kernel + read.error().detail;
            }
        }
        if (unread > 0)
            notes.push_back("MetaTune: the weights cannot read " + std::to_string(unread) + " of " + std::to_string(drawn) +
                            " random schedules, and rank such ones last; the first: " + first);
        loops_checked = true;
#endif
        return {};
    }

    /// Reads what a language model is fine-tuned on before the search.
    result<void> load_demonstrations([[maybe_unused]] const session_options& o) {
        if (o.demonstrations_best == 0) return error{errc::invalid_argument, "session: expected at least one demonstration of a kernel, 0 came"};
        const bool own_logs = o.demonstrations.empty() && o.search.model == "auto" && !o.search.language.empty();
        const auto& logs = own_logs ? o.transfer_from : o.demonstrations;
        if (logs.empty()) return {};
        if (o.search.language.empty())
            return error{errc::invalid_argument, "session: demonstrations are for a language model (session_search::language), none came"};
#ifdef AUGUR_HAS_TLM
        std::vector<kernel> own; // a log that the session itself writes would teach it more each time it is resumed
        for (const auto& k : o.work.kernels) own.push_back(k.workload);
        auto read = read_demonstrations(logs, o.demonstrations_best, own);
        if (!read && own_logs && read.error().code == errc::not_found) { // they were not given as demonstrations
            notes.push_back("demonstrations: " + read.error().detail);
            return {};
        }
        if (!read) return read.error();
        notes.push_back("demonstrations: " + read->text());
        demonstrations.emplace(std::move(read->sentences));
#endif
        return {};
    }

    /// Reads the records of other kernels, for the models `nest` and `auto`; from the logs of a transfer none of the session's own kernels.
    result<void> load_known([[maybe_unused]] const session_options& o, [[maybe_unused]] std::span<const loopnest::kernel_task> own,
                            [[maybe_unused]] const hardware_params& hardware, [[maybe_unused]] const toolchain& made_with,
                            [[maybe_unused]] const machine& host, [[maybe_unused]] int threads) {
#ifdef AUGUR_HAS_XGBOOST
        const bool decides = o.search.model == "auto", trees = decides || o.search.model == "nest" || !o.known.empty();
        std::vector<std::string> logs;
        if (!o.known.empty()) logs.push_back(o.known);
        for (const auto& log : o.transfer_from)
            if (log != o.known && (decides || o.known.empty())) logs.push_back(log);
        if (!trees || logs.empty()) return {};
        const loopnest::nest_row row_of(loopnest::nest_target::make(host, threads));
        task_normalised_samples all(row_of.columns());
        for (const auto& log : logs) {
            auto read =
                read_known(log, hardware, made_with, row_of, all, o.compiler.isa, log == o.known ? std::span<const loopnest::kernel_task>() : own);
            if (!read && decides && read.error().code == errc::not_found) { // what else is known decides
                notes.push_back(read.error().detail);
                continue;
            }
            if (!read) return read.error();
            notes.push_back(log + ": " + std::to_string(read->records) + " candidates of " + std::to_string(read->kernels) + " kernels are known");
            if (read->passed_over > 0)
                notes.push_back(log + ": " + std::to_string(read->passed_over) +
                                " records of unknown kernels, other targets or compilers are passed over");
            if (read->other_machine > 0)
                notes.push_back(log + ": " + std::to_string(read->other_machine) + " records are of another machine (" + read->first_other_machine +
                                ") and are passed over");
            if (!read->first_bad.empty()) notes.push_back(log + ": damaged lines are passed over; the first: " + read->first_bad);
        }
        if (all.size() == 0 && decides) return {};
        if (all.size() == 0) return no_known(); // all records are of the session's own kernels, or have failed
        known = std::make_shared<const task_normalised_samples>(std::move(all));
#endif
        return {};
    }

    /// Reads the schedules that may be transferred.
    result<void> load_pool(const session_options& o, const hardware_params& hardware, const toolchain& made_with,
                           const loopnest::ansor_options& space) {
        if (!o.transfer_from.empty() && o.transfer_best == 0)
            return error{errc::invalid_argument, "session: expected to transfer at least the best schedule of a kernel, 0 came"};
        for (const auto& log : o.transfer_from)
            if (auto added = add_log(pool, log, hardware, made_with, space, o.compiler.isa, o.transfer_best, notes); !added) return added;
        return {};
    }

    /// What `choose_search` asks.
    [[nodiscard]] search_knowledge knowledge() const {
        search_knowledge out;
#ifdef AUGUR_HAS_XGBOOST
        if (known) out.records = known->size();
#endif
        out.tlp = has_tlp;
        out.metatune = weights_model() == "metatune";
        out.xgboost = has_xgboost;
        return out;
    }

    /// Is there what the model `nest` begins with?   Errors: invalid_argument
    [[nodiscard]] result<void> check_known() const {
#ifdef AUGUR_HAS_XGBOOST
        if (known) return {};
#endif
        return no_known();
    }
    static error no_known() {
        return {errc::invalid_argument, "model 'nest': expected a log of other kernels (session_options::known or transfer_from), none came"};
    }

    [[nodiscard]] result<void> save(const std::string& path) const {
#ifdef AUGUR_HAS_TLP
        if (learned) return tlp::save(*learned, path);
#endif
        return error{errc::not_found, path + ": there is no model to write, no TLP has learned anything yet"};
    }
};

} // namespace augur::inline v0::detail

#endif
