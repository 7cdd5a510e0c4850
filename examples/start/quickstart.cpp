// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The main job in a few minutes: tunes three kernels of resnet_18 for this machine, with TLP choosing what to measure.
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "flags.hpp"
#include "program.hpp"

namespace {

augur::result<bool> read_flags(std::span<char* const> arguments, examples::job& out) {
    bool full = false, brief = false, help = false;
    std::string folder = "build/quickstart";
    auto& s = out.options;
    examples::flag_set flags;
    flags.add_switch("full", "all kernels of resnet_18: about ten times as long", full);
    flags.add_switch("short", "8 candidates a kernel: shows that it works, not what it can do", brief);
    flags.add_text("out", "FOLDER", "where log and report go; a tuning.jsonl that it holds is replaced; default build/quickstart", folder);
    flags.add_number("threads", "N", "threads that kernels use; default: all processors", s.threads, 1, 1024);
    flags.add_number("seed", "N", "of all random numbers; default 1", s.search.seed, 0, 9'223'372'036'854'775'807);
    flags.add_switch("help", "print this", help);
    if (auto read = flags.parse(arguments); !read) return read.error();
    if (help) {
        std::printf("usage: quickstart [flags]\n\n%s\nFor everything else: tune --help\n", flags.help().c_str());
        return false;
    }
    if (full && brief) return augur::error{augur::errc::invalid_argument, "--full and --short do not go together"};

    if (full) {
        s.work = *augur::find_network("resnet_18");
    } else {
        s.work.name = "three kernels of resnet_18";
        for (const char* text : {"conv2d:h=56,w=56,c=64,f=64,k=3,stride=1,pad=1,bias,relu", "conv2d:h=56,w=56,c=64,f=128,k=1,stride=2,bias",
                                 "dense:m=1,n=1000,k=512,bias"})
            if (auto added = s.work.add(augur::kernel::parse(text)); !added) return added.error();
    }
    s.search.trials = brief ? 8 : 48;
    s.search.scheduler = augur::scheduling::round_robin;
    s.compare_random = !full;

    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) return augur::error{augur::errc::io, "--out: cannot make '" + examples::shown(folder) + "': " + failed.message()};
    s.log = folder + "/tuning.jsonl";
    out.report = folder + "/report.html";
    std::filesystem::remove(s.log, failed); // each quickstart is a new one
    return true;
}

} // namespace

int main(int argc, char** argv) {
    examples::job job;
    const auto go = read_flags(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)), job);
    if (!go) return examples::complain("quickstart", go.error(), examples::misuse);
    return *go ? examples::run_job("quickstart", std::move(job)) : examples::done;
}
