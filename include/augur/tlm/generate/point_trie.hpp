// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_GENERATE_POINT_TRIE_HPP
#define AUGUR_TLM_GENERATE_POINT_TRIE_HPP

/// @file
/// Points that are not to come again, and the probability that they leave behind.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/tlm/generate/gumbel.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

/// The legal tokens of a choice.
struct token_choice {
    std::vector<token> tokens;
    std::vector<double> log_probabilities; ///< of each; together at most 1, the rest is not legal; none: they are not known
};

/// A trie of the tokens at which there is a choice. Behind each of its nodes it knows how much probability is left to points that have not come (Shi et
/// al. 2020, "Incremental sampling without replacement for sequence models"). What is not legal has none.
///
/// What is left behind a node is an upper bound until the probabilities of its tokens, and of those below, are known; 1 where no path has come. Sums are
/// those of what is left, in logarithms, so that nothing cancels when nearly all is spent.
///
/// Cost     of a path: one node a choice, and its tokens' log-probabilities are added up
/// Threads  one thread
class point_trie {
public:
    using node = std::uint32_t;
    static constexpr node root = 0, nowhere = (std::numeric_limits<node>::max)();
    struct step {
        std::shared_ptr<const token_choice> choice;
        token taken;
    };

    /// The node behind a token; `nowhere` if no path has come there.
    [[nodiscard]] node below(node at, token t) const {
        if (at == nowhere) return nowhere;
        const auto& all = nodes_[at].branches;
        const auto found = std::lower_bound(all.begin(), all.end(), t, before);
        return found != all.end() && found->first == t ? found->second : nowhere;
    }
    /// Log of the share of a node's probability that is left, at most 0; -infinity: nothing.
    [[nodiscard]] double log_left(node at) const { return at == nowhere ? 0 : nodes_[at].log_left; }
    /// Whether the log-probabilities of a node's choice are part of `log_left`.
    [[nodiscard]] bool is_known(node at) const { return at != nowhere && nodes_[at].known; }

    /// Takes out a point by the choices that lead to it.
    void spend(std::span<const step> path) {
        auto nodes = descend(path, path.size());
        nodes_[nodes.back()].spent = true;
        nodes_[nodes.back()].log_left = nothing;
        nodes.pop_back();
        update(path, nodes);
    }
    /// Learns the probabilities of choices that lead nowhere: the token of the last step does not count.   pre: a step
    void learn(std::span<const step> path) { update(path, descend(path, path.size() - 1)); }
    /// Forgets all probabilities, as when others are asked for; points that are spent stay so.
    void forget_probabilities() {
        for (auto& n : nodes_) {
            n.known = false;
            n.log_left = n.spent ? nothing : 0;
        }
    }

private:
    static constexpr double nothing = -std::numeric_limits<double>::infinity();
    using branch = std::pair<token, node>;
    struct entry {
        std::vector<branch> branches; ///< in the order of tokens
        double log_left = 0;
        bool known = false;
        bool spent = false; ///< no other point is behind it
    };
    std::vector<entry> nodes_ = std::vector<entry>(1);

    static bool before(const branch& b, token t) { return b.first < t; }

    /// The nodes of a path, the root first; makes those that are missing.
    std::vector<node> descend(std::span<const step> path, std::size_t steps) {
        std::vector<node> out{root};
        for (const auto& s : path.first(steps)) {
            const node at = out.back();
            node next = below(at, s.taken);
            if (next == nowhere) {
                next = static_cast<node>(nodes_.size());
                AUGUR_ASSERT(next != nowhere, "point_trie: size");
                nodes_.emplace_back();
                auto& all = nodes_[at].branches;
                all.insert(std::lower_bound(all.begin(), all.end(), s.taken, before), {s.taken, next});
            }
            out.push_back(next);
        }
        return out;
    }
    void update(std::span<const step> path, std::span<const node> nodes) {
        std::vector<double> left;
        for (std::size_t i = path.size(); i-- > 0;) {
            auto& n = nodes_[nodes[i]];
            const auto& choice = *path[i].choice;
            n.spent = n.branches.size() == choice.tokens.size() &&
                      std::all_of(n.branches.begin(), n.branches.end(), [&](const branch& b) { return nodes_[b.second].spent; });
            n.known = !choice.log_probabilities.empty();
            if (n.spent) n.log_left = nothing;
            if (n.spent || !n.known) continue;
            left.clear();
            for (std::size_t c = 0; c < choice.tokens.size(); ++c)
                left.push_back(choice.log_probabilities[c] + log_left(below(nodes[i], choice.tokens[c])));
            n.log_left = (std::min)(log_sum_exp(left), 0.0);
        }
    }
};

} // namespace augur::inline v0::tlm

#endif
