// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `tlp_versus_random` from outside: one small kernel, wrong arguments.
#include <doctest/doctest.h>

#ifdef AUGUR_TLP_VERSUS_RANDOM_PROGRAM // else there is no Eigen

#include <string>

#include "child_program.hpp"

namespace tlp_versus_random_test {

TEST_CASE("tlp_versus_random: random search has the untuned schedule as well, TLP's only trial here") {
    const scratch folder("tlp-versus-random");
    REQUIRE(wait_for(start(folder, AUGUR_TLP_VERSUS_RANDOM_PROGRAM,
                           {"--kernel", "dense:m=16,n=32,k=32", "--trials", "1", "--pool", "3", "--seeds", "1", "--threads", "1"})) == 0);
    const auto said = contents(folder / "out");
    CAPTURE(said);
    const std::string title = "geometric mean over 1 kernels: ";
    const auto at = said.find(title);
    REQUIRE(at != std::string::npos);
    CHECK(std::stod(said.substr(at + title.size())) >= 1); // random search has that schedule and three more
}

TEST_CASE("tlp_versus_random: every wrong argument is one sentence and exit code 2") {
    const scratch folder("tlp-versus-random");
    check_refusals(folder, AUGUR_TLP_VERSUS_RANDOM_PROGRAM,
                   {{{"--network", "vgg_16", "--kernel", "dense:m=16,n=32,k=32"}, "--network does not go with --kernel"},
                    {{"--network", "vgg_17"}, "network 'vgg_17' is unknown"},
                    {{"--trials", "8", "--pool", "23"}, "--pool must be at least three times --trials"}});
}

} // namespace tlp_versus_random_test

#endif
