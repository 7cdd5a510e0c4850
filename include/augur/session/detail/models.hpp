// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_MODELS_HPP
#define AUGUR_SESSION_DETAIL_MODELS_HPP

/// @file
/// The models of a session: what is loaded for them before a search, and what is kept of them after it.

#include <optional>
#include <string>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/session/auto_search.hpp>
#include <augur/session/detail/loaded_records.hpp>
#include <augur/session/detail/loaded_weights.hpp>
#include <augur/session/detail/search_checks.hpp>
#include <augur/session/options.hpp>
#include <augur/target/find_machine.hpp>
#include <augur/target/isa_level.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0::detail {

/// What the models of a session need beside its kernels.
struct session_models_state {
    std::optional<machine> crop_machine;
    loaded_weights weights;
    loaded_records records;

    static result<session_models_state> create(const session_options& o) {
        session_models_state out;
        if (!o.machine.empty()) {
            auto m = find_machine(o.machine);
            if (m) m = machine_at(*std::move(m), o.compiler.isa);
            if (!m) return m.error();
            out.crop_machine.emplace(*std::move(m));
        }
        if (auto ready = out.load(o.search); !ready) return ready.error();
        if (auto ready = out.records.load_demonstrations(o); !ready) return ready.error();
        if (o.search.model == "nest" && o.known.empty() && o.transfer_from.empty()) return loaded_records::no_known();
        return out;
    }

    /// Checks the options of a search and loads its weights.
    result<void> load(const session_search& s) {
        if (auto fits = check_search(s); !fits) return fits;
        if (scores_with_crop(s) && !crop_machine)
            return error{errc::invalid_argument, "model '" + asked_models(s) + "': expected a machine (session_options::machine), none came"};
        return weights.load(s);
    }

    /// What `choose_search` asks.
    [[nodiscard]] search_knowledge knowledge() const {
        search_knowledge out;
#ifdef AUGUR_HAS_XGBOOST
        if (records.known) out.records = records.known->size();
#endif
        out.tlp = has_tlp;
        out.metatune = weights.network() == "metatune";
        out.xgboost = has_xgboost;
        out.machine = has_crop && crop_machine.has_value();
        return out;
    }
};

} // namespace augur::inline v0::detail

#endif
