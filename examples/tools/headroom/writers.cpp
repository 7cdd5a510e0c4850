// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "writers.hpp"

#include <optional>
#include <type_traits>
#include <utility>

#ifdef AUGUR_HAS_TLM
#include <augur/session/demonstrations.hpp>
#include <augur/tlm/generate/generator.hpp>
#include <augur/tlm/generate/gpt2_session.hpp>
#include <augur/tlm/generate/unconstrained.hpp>
#include <augur/tlm/sentence.hpp>
#include <augur/tlm/weights_file.hpp>

#include "trigrams.hpp"

namespace {

namespace tlm = augur::tlm;

/// A model with the words and the form of its sentences.
struct writing_model {
    tlm::frozen_gpt2 net;
    tlm::vocabulary words;
    tlm::sentence_form form;

    static augur::result<writing_model> load(const std::string& folder) {
        auto loaded = tlm::load(folder);
        if (!loaded) return loaded.error();
        return writing_model{tlm::frozen_gpt2(std::move(loaded->net)), std::move(loaded->words), loaded->form};
    }
};

} // namespace

struct schedule_writers::models {
    std::optional<writing_model> language, base;
    std::optional<examples::trigrams> counted;
};
#else
struct schedule_writers::models {};
#endif

schedule_writers::schedule_writers(std::unique_ptr<models> m) : models_(std::move(m)) {}
schedule_writers::schedule_writers(schedule_writers&&) noexcept = default;
schedule_writers& schedule_writers::operator=(schedule_writers&&) noexcept = default;
schedule_writers::~schedule_writers() = default;

#ifdef AUGUR_HAS_TLM

augur::result<schedule_writers> schedule_writers::load(const std::string& language, const std::string& base, std::span<const std::string> known,
                                                       std::span<const augur::kernel> left_out) {
    auto out = std::make_unique<models>();
    for (const auto& [folder, to] : {std::pair{&language, &out->language}, std::pair{&base, &out->base}}) {
        if (folder->empty()) continue;
        auto loaded = writing_model::load(*folder);
        if (!loaded) return loaded.error();
        to->emplace(*std::move(loaded));
    }
    if (!known.empty() && out->language) {
        const auto learned = augur::read_demonstrations(known, 4, left_out);
        if (!learned) return learned.error();
        const auto& of = *out->language;
        out->counted.emplace(of.words.size(), learned->sentences, tlm::corpus_tokens(learned->sentences, of.words), of.form);
    }
    return schedule_writers(std::move(out));
}

augur::result<std::vector<augur::decision_vector>> schedule_writers::write(std::string_view who, const augur::session& session, std::size_t kernel,
                                                                           std::size_t count, std::uint64_t seed) const {
    const auto& space = session.spaces()[kernel];
    const auto prompt = tlm::prompt_text(session.tasks()[kernel], session.made_with().machine);
    tlm::generation_options wanted;
    wanted.count = count;
    wanted.seed = seed;
    wanted.sample = who != "likely";
    const auto decisions_of = [](std::vector<tlm::generated_point> points) {
        std::vector<augur::decision_vector> out;
        for (auto& p : points) out.push_back(std::move(p.decisions));
        return out;
    };
    const auto& told = who == "base" ? *models_->base : *models_->language;
    if (who == "unmasked") {
        auto written = tlm::generate_unconstrained(told.net, told.words, told.form, prompt, space, wanted);
        if (!written) return written.error();
        return decisions_of(std::move(written->points));
    }
    const auto by = [&](const auto& model) -> augur::result<std::vector<augur::decision_vector>> {
        auto writer =
            tlm::generator<std::remove_cvref_t<decltype(model)>, augur::loopnest::ansor_space>::create(model, told.words, told.form, prompt, space);
        if (!writer) return writer.error();
        auto points = writer->generate(wanted);
        if (!points) return points.error();
        return decisions_of(*std::move(points));
    };
    return who == "trigram" ? by(*models_->counted) : by(told.net);
}

#else

augur::result<schedule_writers> schedule_writers::load(const std::string&, const std::string&, std::span<const std::string>,
                                                       std::span<const augur::kernel>) {
    return augur::error{augur::errc::unsupported, "this build has no language model (component tlm)"};
}

augur::result<std::vector<augur::decision_vector>> schedule_writers::write(std::string_view, const augur::session&, std::size_t, std::size_t,
                                                                           std::uint64_t) const {
    return augur::error{augur::errc::unsupported, "this build has no language model (component tlm)"};
}

#endif
