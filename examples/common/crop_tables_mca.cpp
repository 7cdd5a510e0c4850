// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "crop_tables.hpp"

namespace examples {
augur::result<score_row> mca_row(const std::vector<measured_task>&, const augur::machine&, const std::string&, const std::string&, progress_line&) {
    return score_row{"llvm-mca x counts", true, {}, "not here yet"};
}
} // namespace examples
