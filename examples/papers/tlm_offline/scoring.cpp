// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlm_offline.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <augur/tlm/generate/next_token.hpp>
#include <augur/tlm/generate/token_probabilities.hpp>
#include <augur/tlm/generate/token_walk.hpp>

#include "statistics.hpp"

namespace tlm_offline {

augur::result<told_point> tell(const ansor_space& space, const decision_vector& point, const tlm::vocabulary& words) {
    told_point out;
    tlm::token_walk<ansor_space> walk(space, words, form);
    for (;;) {
        const bool open = walk.advance(out.tokens);
        if (walk.failed()) return *walk.failed();
        const auto& taken = walk.decisions(); // where no option can be told, the walk has taken one that the point may not have
        if (taken.size() > point.size() || !std::equal(taken.begin(), taken.end(), point.begin())) return told_point{};
        if (open == (taken.size() == point.size())) return told_point{};
        if (!open) break;
        const auto next = walk.towards(point[taken.size()]);
        if (!next) return told_point{};
        const auto legal = walk.choices();
        out.choices.push_back({out.tokens.size(), out.legal.size(), out.legal.size() + legal.size()});
        out.legal.insert(out.legal.end(), legal.begin(), legal.end());
        out.tokens.push_back(*next);
        walk.choose(*next);
    }
    out.tokens.push_back(tlm::vocabulary::end);
    return out;
}

augur::result<both_scores> log_probabilities(const tlm::frozen_gpt2& model, std::span<const tlm::token> prompt, std::span<const told_point> points) {
    constexpr std::size_t batch = 64; // more keys and values than that leave the caches
    auto session = tlm::open_session(model, prompt);
    if (!session) return session.error();
    both_scores out;
    for (auto& scores : out)
        for (const auto& p : points) scores.push_back(p.tokens.empty() ? -std::numeric_limits<double>::infinity() : 0);
    const std::size_t words = model.words();
    std::vector<float> logits;
    tlm::token_probabilities row;
    for (std::size_t from = 0; from < points.size(); from += batch) {
        const auto n = (std::min)(batch, points.size() - from);
        session->sequences(n);
        std::vector<std::size_t> active(n), choices(n, 0);
        std::iota(active.begin(), active.end(), std::size_t{0});
        for (std::size_t at = 0;; ++at) { // the token of each sentence
            std::erase_if(active, [&](std::size_t i) { return at >= points[from + i].tokens.size(); });
            if (active.empty()) break;
            logits.resize(active.size() * words);
            if (auto told = session->logits(active, std::span<float>(logits)); !told) return told.error();
            for (std::size_t k = 0; k < active.size(); ++k) {
                const auto i = active[k];
                const auto& p = points[from + i];
                const tlm::token t = p.tokens[at];
                if (auto read = row.read(std::span<const float>(logits).subspan(k * words, words)); !read) return read.error();
                out[1][from + i] += row.log_probability(t);
                if (choices[i] < p.choices.size() && p.choices[choices[i]].at == at) {
                    const auto& choice = p.choices[choices[i]++];
                    const auto legal = std::span<const tlm::token>(p.legal).subspan(choice.first, choice.last - choice.first);
                    const auto log_p = row.log_probabilities(legal, tlm::token_sampling{});
                    out[0][from + i] += log_p[static_cast<std::size_t>(std::find(legal.begin(), legal.end(), t) - legal.begin())];
                }
                session->append(i, std::span<const tlm::token>(&t, 1));
            }
        }
    }
    return out;
}

void judgement::add(const judged_task& task, const std::vector<double>& scores) {
    const double best = *std::min_element(task.seconds.begin(), task.seconds.end());
    std::vector<double> speeds;
    for (const double s : task.seconds) speeds.push_back(best / s);
    augur::top_k_score one(sums_.ks());
    one.add(std::span<const double>(scores), std::span<const double>(speeds), best);
    for (std::size_t k = 0; k < shares_.size(); ++k) shares_[k].push_back(one.score(k));
    sums_.add(one);
    correlations_.push_back(examples::spearman(scores, speeds));
    const auto order = fastest_first(task.seconds);
    const auto slice = (std::max)(order.size() / 20, std::size_t{1});
    const std::array<std::size_t, 2> begins{0, order.size() / 2 - slice / 2};
    for (std::size_t part = 0; part < begins.size(); ++part) {
        std::vector<double> finite;
        for (std::size_t i = begins[part]; i < begins[part] + slice; ++i)
            if (std::isfinite(scores[order[i]])) finite.push_back(scores[order[i]]);
        if (!finite.empty()) means_[part].push_back(examples::arithmetic(finite).mean);
    }
}

ranking judgement::numbers() const {
    return {
        examples::geometric(shares_[0]).mean, examples::geometric(shares_[1]).mean, sums_.score(0), sums_.score(1), examples::median(correlations_),
        examples::arithmetic(means_[0]).mean, examples::arithmetic(means_[1]).mean};
}

} // namespace tlm_offline
