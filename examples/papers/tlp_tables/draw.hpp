// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_TLP_TABLES_DRAW_HPP
#define AUGUR_EXAMPLES_PAPERS_TLP_TABLES_DRAW_HPP

/// @file
/// Which records a cell of the tables is trained on, and how its scores of the hold-out are judged.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <augur/tlp/train/samples.hpp>

#include "tables.hpp"
#include "recipe.hpp"

namespace examples {

using table_records = std::vector<std::uint32_t>;

/// A cell's data: for each head the records that are trained on and validated by.
struct drawn {
    std::vector<table_records> train, validation;
};

/// @param most  records a head; 0: no limit. Only the first head is validated: it is the one that is judged
[[nodiscard]] drawn draw(const table_data& set, const recipe& r, const std::vector<table_head>& heads, std::size_t most, std::uint64_t seed);

/// Samples are labelled relative to the least latency that was given to train on: who measured a part of a task does not know the least of all of it.
/// The authors take the file's.
[[nodiscard]] augur::tlp::label_options labels_of(const recipe& r);

/// Adds up the hold-out tasks of a platform into `out`: all together and by network, weighted by their latency; "mean of tasks", each weighing the
/// same; and "by program", weighted again, where a record counts as the best of those with its loop nest.
/// @param left_out  tasks that are not judged by, and why: they are named in `out`
void judge(const table_data& set, std::string_view platform, const table_scores& score, const std::map<std::uint32_t, std::string>& left_out,
           cell_score& out);

} // namespace examples

#endif
