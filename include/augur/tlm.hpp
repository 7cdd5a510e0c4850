// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_HPP
#define AUGUR_TLM_HPP

/// @file
/// TLM (Zhai et al. 2024): a causal language model over the decisions of a schedule. All public headers of the component `augur::tlm`.

#include <augur/tlm/ansor_marks.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/generate/generation.hpp>
#include <augur/tlm/generate/generator.hpp>
#include <augur/tlm/generate/gpt2_session.hpp>
#include <augur/tlm/generate/gumbel.hpp>
#include <augur/tlm/generate/next_token.hpp>
#include <augur/tlm/generate/point_trie.hpp>
#include <augur/tlm/generate/token_probabilities.hpp>
#include <augur/tlm/generate/token_walk.hpp>
#include <augur/tlm/generate/unconstrained.hpp>
#include <augur/tlm/generative_search.hpp>
#include <augur/tlm/gpt2.hpp>
#include <augur/tlm/online.hpp>
#include <augur/tlm/sentence.hpp>
#include <augur/tlm/train/trainer.hpp>
#include <augur/tlm/tvm_sentence.hpp>
#include <augur/tlm/vocabulary.hpp>
#include <augur/tlm/weights_file.hpp>

#endif
