// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `tune --whole` and `tune --emit` from outside: the table, and C that a compiler alone builds.
#include "child_program.hpp"

#include <cstdlib>
#include <string>

namespace whole_test {

TEST_CASE("tune: a network as one program, its table and its C") {
    const scratch folder("whole-test");
    const int code =
        wait_for(start(folder, AUGUR_TUNE_PROGRAM, {"--network", "gpt2:tokens=2,past=3", "--no-search", "--emit", folder / "net", "--threads", "2"}));
    const auto said = contents(folder / "out");
    CAPTURE(said);
    CAPTURE(contents(folder / "err"));
    REQUIRE(code == 0);
    for (const char* part :
         {"alone ms", "inside ms", "limit ms", "copies", "sum over uses", "naive nests on one thread", "live at once", "net.weights"})
        CHECK(contains(said, part));
    const auto at = said.find("build it there: ");
    REQUIRE(at != std::string::npos);
    const auto build = said.substr(at + 16, said.find('\n', at) - at - 16);
    const auto command = "cd '" + folder / "net' && " + build + " && ./net 2 3 > out";
    CHECK(std::system(command.c_str()) == 0);
    CHECK(contains(contents(folder / "net/out"), "3 runs, 2 threads"));
    CHECK(contains(contents(folder / "net/net.h"), "input  attention.past_key 12x3x64"));
}

TEST_CASE("tune: a search that weighs the kernels by their times inside") {
    const scratch folder("whole-test");
    const int code = wait_for(start(folder, AUGUR_TUNE_PROGRAM,
                                    {"--network", "gpt2:tokens=2,past=3", "--scheduler", "inside", "--trials", "2", "--model", "none", "--no-limits",
                                     "--threads", "1", "--compiler", quick_compiler, "--log", folder / "log"}));
    const auto said = contents(folder / "out");
    CAPTURE(said);
    CAPTURE(contents(folder / "err"));
    REQUIRE(code == 0);
    CHECK(contains(said, "random: "));
    CHECK(contains(said, "sum over uses"));
    CHECK_FALSE(contains(said, "limits measured"));
}

} // namespace whole_test
