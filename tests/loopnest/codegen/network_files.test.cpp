// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C of a network in a folder with nothing else in it, built by the compiler alone.
#include <augur/loopnest/codegen/network_files.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest.hpp>
#include <augur/loopnest/run/process.hpp>
#include <augur/loopnest/run/work_folder.hpp>

#include "small_network.hpp"

#include <doctest/doctest.h>

using namespace augur;
using namespace augur::loopnest;

namespace {

std::string floats_of_file(const std::string& path) {
    std::string text;
    if (std::FILE* f = std::fopen(path.c_str(), "rb")) {
        char block[4096];
        for (std::size_t n = 0; (n = std::fread(block, 1, sizeof block, f)) > 0;) text.append(block, n);
        std::fclose(f);
    }
    return text;
}

// A program in the folder.
process_result run_there(const std::string& folder, const std::string& command) {
    process_spec s;
    s.arguments = {"/bin/sh", "-c", "cd '" + folder + "' && " + command};
    s.wall_seconds = 120;
    return run_process(s);
}

std::string raw_bytes(const std::vector<float>& x) { return std::string(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float)); }

} // namespace

TEST_CASE("network files: built by a C compiler alone they compute the same bits, and refuse other weights") {
    const auto g = small_network();
    const auto tasks = tasks_of(g);
    runner_options options;
    options.threads = 2;
    auto programs = program_runner::create(options);
    if (!programs) FAIL(programs.error().detail);
    std::string command;
    for (const auto& word : programs->used_compiler().command) command += word + " ";
    for (const auto& flag : programs->used_compiler().flags) command += flag + " ";
    task_runner runner(std::move(*programs), c_options::of(detect_machine()));
    auto net = network_runner::create(runner, g, tasks);
    if (!net) FAIL(net.error().detail);
    std::vector<step_list> schedules;
    for (const auto& t : tasks) schedules.push_back(untuned_schedule(*t.dag(), 2));
    const auto p = net->program_of(schedules);
    if (!p) FAIL(p.error().detail);
    const auto constants = net->constants(*p);
    if (!constants) FAIL(constants.error().detail);
    REQUIRE(constants->size() == p->constants.size());

    auto made = work_folder::create({});
    REQUIRE(made);
    const auto& folder = made->path();
    const auto files = write_network_files(g, *p, command);
    CHECK(files.header.find("input  image 1x8x8x3") != std::string::npos);
    CHECK(files.header.find("output soft 8x8") != std::string::npos);
    const auto weights = packed_weights(*p, *constants);
    std::string inputs;
    for (const auto& b : p->program.buffers) {
        if (b.purpose != program_buffer::role::input) continue;
        std::vector<float> x(static_cast<std::size_t>(b.elements));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = program_input_value(b, static_cast<std::int64_t>(i));
        inputs += raw_bytes(x);
    }
    for (const auto& [name, text] : {std::pair<std::string, std::string>{"net.h", files.header},
                                     {"net.c", files.source},
                                     {"main.c", files.main},
                                     {"net.weights", weights},
                                     {"inputs", inputs},
                                     {"alone.c", "#include \"net.h\"\n#include \"net.h\"\nint main(void) { return NET_INPUTS - 2; }\n"}})
        REQUIRE(write_private_file(folder + "/" + name, text));

    const auto header = run_there(folder, "cc -std=c99 -pedantic -Wall -Wextra -Werror -o alone alone.c && ./alone");
    CAPTURE(header.errors);
    CHECK(header.ok());
    const auto built = run_there(folder, command + "-o net main.c net.c -lm -lpthread");
    CAPTURE(built.errors);
    REQUIRE(built.ok());
    const auto ran = run_there(folder, "./net 2 5 inputs outputs");
    CAPTURE(ran.errors);
    REQUIRE(ran.ok());
    CHECK(ran.output.starts_with("median "));
    CHECK(ran.output.find("5 runs, 2 threads") != std::string::npos);

    const auto right = runner.programs().make_expected_outputs(p->program);
    REQUIRE(right);
    const auto outputs = program_runner::read_reference(*right);
    REQUIRE(outputs);
    CHECK(floats_of_file(folder + "/outputs") == raw_bytes((*outputs)[0]) + raw_bytes((*outputs)[1]));

    const auto plain =
        run_there(folder, "cc -o plain main.c net.c -lm -lpthread && ./plain 1 2"); // vectors that the machine may not have are emulated
    CAPTURE(plain.errors);
    CHECK(plain.ok());
    const auto cpp = run_there(folder, "cc -c net.c && c++ -x c++ -std=c++20 -pedantic -Wall -Wextra -Werror -c alone.c -o alone.o && "
                                       "echo '#include \"net.h\"\nint main() { net_close(net_open(\"none\", 1)); }' > open.cpp && "
                                       "c++ -o open open.cpp net.o -lm -lpthread && ./open");
    CAPTURE(cpp.errors);
    CHECK(cpp.ok());
    // A process that may not have another thread: told, and not forgotten by the next call, which would wait for threads that there are not.
    REQUIRE(write_private_file(folder + "/few.c", R"SRC(#define _GNU_SOURCE
#include "net.h"
#include <errno.h>
#include <pthread.h>
int pthread_create(pthread_t *id, const pthread_attr_t *a, void *(*f)(void *), void *x) {
    (void)id, (void)a, (void)f, (void)x;
    return ENOMEM;
}
int main(void) {
    errno = 0;
    if (net_open("net.weights", 2) || errno != EAGAIN) return 1;
    return net_open("net.weights", 2) || errno != EINVAL ? 2 : 0;
}
)SRC"));
    const auto few = run_there(folder, "cc -o few few.c net.o -lm -lpthread && ./few");
    CAPTURE(few.errors);
    CHECK(few.ok());
    const auto symbols = run_there(folder, "cc -c net.c && nm -g --defined-only net.o | awk '{print $3}' | grep -v '^net_'");
    CHECK(symbols.output.empty());

    const auto refused = [&](const std::string& text, const std::string& arguments, const std::string& part) {
        REQUIRE(run_there(folder, "rm -f net.weights").ok());
        REQUIRE(write_private_file(folder + "/net.weights", text));
        const auto r = run_there(folder, "./net " + arguments);
        CAPTURE(r.errors);
        CHECK_FALSE(r.ok());
        CHECK(r.errors.find(part) != std::string::npos);
    };
    refused(weights.substr(0, weights.size() - 1), "1", "net: net.weights: Invalid argument");
    refused(weights + "x", "1", "net: net.weights: Invalid argument");
    auto other = weights;
    other[20] = other[20] == '0' ? '1' : '0'; // of another network
    refused(other, "1", "net: net.weights: Invalid argument");
    refused({}, "1", "net: net.weights: Invalid argument");
    refused(weights, "0", "Invalid argument");
    refused(weights, "1 1 main.c", "usage");
    refused(weights, "1 1 net.h out", "net: net.h: Invalid argument"); // too short for the inputs
    refused(weights, "1 1 none out", "net: none: No such file");
}
