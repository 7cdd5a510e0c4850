// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_LOADED_WEIGHTS_HPP
#define AUGUR_SESSION_DETAIL_LOADED_WEIGHTS_HPP

/// @file
/// The weights that a session loads before a search, of TLP or MetaTune and of a language model, and those that its last search has learned.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/session/detail/search_checks.hpp>
#include <augur/session/options.hpp>

#ifdef AUGUR_HAS_TLP
#include <augur/nn/safetensors.hpp>
#include <augur/tlp/weights_file.hpp>
#endif
#ifdef AUGUR_HAS_METATUNE
#include <augur/loopnest/schedule/untuned_schedule.hpp>
#include <augur/metatune/weights_file.hpp>
#include <augur/session/sample_schedules.hpp>
#include <augur/session/schedule_rows.hpp>
#endif
#ifdef AUGUR_HAS_TLM
#include <augur/tlm/weights_file.hpp>
#endif

namespace augur::inline v0::detail {

/// There are weights of one network at a time.
struct loaded_weights {
    std::string path; ///< of the weights of the network
#ifdef AUGUR_HAS_TLP
    std::shared_ptr<const tlp::trained_model> initial; ///< that a search begins with
    std::shared_ptr<const tlp::trained_model> learned; ///< by the last search
#endif
#ifdef AUGUR_HAS_METATUNE
    std::shared_ptr<const metatune::trained_network> graph_network;
    bool loops_checked = false; ///< whether it can read the kernels
#endif
#ifdef AUGUR_HAS_TLM
    std::string language_path;
    std::shared_ptr<const tlm::language_model> language;
#endif

    /// Loads what a search names and is not loaded yet.   pre: `check_search`   Errors: those of the files
    result<void> load([[maybe_unused]] const session_search& s) {
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
            if (auto loaded = load_network(weights); !loaded) return loaded;
#endif
        return {};
    }

#ifdef AUGUR_HAS_TLP
    /// Loads the weights of a network; the format of the file says of which.
    result<void> load_network(const std::string& file) {
        if (path == file && !network().empty()) return {};
        initial.reset();
#ifdef AUGUR_HAS_METATUNE
        graph_network.reset();
#endif
        std::error_code unknown;
        const auto bytes = nn::load_bytes(file);
        if (!bytes && !std::filesystem::exists(file, unknown))
            return error{errc::not_found,
                         "model '" + file + "': expected auto, none, tlp, crop, trees, hybrid, nest or a weights file; " + bytes.error().detail};
        if (!bytes) return bytes.error();
        const auto header = nn::parse_safetensors(*bytes);
        if (!header) return error{header.error().code, file + ": " + header.error().detail};
        path = file;
#ifdef AUGUR_HAS_METATUNE
        if (const auto* format = header->find_metadata("format"); format != nullptr && *format == "augur-metatune") {
            auto loaded = metatune::load(file);
            if (!loaded) return loaded.error();
            graph_network = std::make_shared<const metatune::trained_network>(*std::move(loaded));
            loops_checked = false;
            return {};
        }
#endif
        auto loaded = tlp::load(file);
        if (!loaded) return loaded.error();
        initial = std::make_shared<const tlp::trained_model>(*std::move(loaded));
        return {};
    }
#endif
    /// The network that the weights are of, "tlp" or "metatune"; empty: none are loaded.
    [[nodiscard]] std::string_view network() const {
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
                             [[maybe_unused]] std::span<const loopnest::ansor_space> spaces, [[maybe_unused]] int threads,
                             [[maybe_unused]] std::vector<std::string>& notes) {
#ifdef AUGUR_HAS_METATUNE
        if (!graph_network || loops_checked) return {};
        const auto refused = [&](const error& e) { return error{e.code, "model '" + path + "': " + e.detail}; };
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

    [[nodiscard]] result<void> save(const std::string& file) const {
#ifdef AUGUR_HAS_TLP
        if (learned) return tlp::save(*learned, file);
#endif
        return error{errc::not_found, file + ": there is no model to write, no TLP has learned anything yet"};
    }
};

} // namespace augur::inline v0::detail

#endif
