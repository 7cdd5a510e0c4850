// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/run/compile.hpp>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <augur/loopnest/run/process.hpp>
#include <augur/loopnest/run/program_runner.hpp>
#include <augur/target/isa_level.hpp>

#include <doctest/doctest.h>

using namespace augur;

using namespace augur::loopnest;

namespace {

work_folder folder() {
    auto f = work_folder::create();
    if (!f) FAIL(f.error().detail);
    return *std::move(f);
}

std::string script(const work_folder& at, const std::string& text) {
    const std::string path = at.path() + "/fake-cc";
    REQUIRE(write_private_file(path, "#!/bin/sh\n" + text));
    REQUIRE(::chmod(path.c_str(), 0700) == 0);
    return path;
}

generated_program plain(const std::string& entry, const std::string& before = {}) {
    generated_program p;
    p.entry = entry;
    p.source =
        before + "void " + entry + "(float *const *b, void (*launch)(void (*)(void *, int64_t, int64_t), void *, int64_t)) { b[0][0] = 1.0f; }\n";
    return p;
}

} // namespace

TEST_CASE("compile: the system's compiler, its identity and its flags") {
    const auto at = folder();
    const auto cc = find_compiler({}, at);
    REQUIRE(cc);
    CHECK_FALSE(cc->identity.empty());
    CHECK(cc->identity.find('\n') == std::string::npos);
    CHECK_FALSE(cc->flags.empty());
    const auto user = find_compiler({.command = " cc\t-O1 ", .flags = {"-O3", "-fno-math-errno"}}, at);
    REQUIRE(user);
    CHECK(user->command == std::vector<std::string>{"cc", "-O1"});
    CHECK(user->flags == std::vector<std::string>{"-O3", "-fno-math-errno"});
}

TEST_CASE("compile: a compiler that is missing or broken is an error that says so") {
    const auto at = folder();
    const auto missing = find_compiler({.command = "/nonexistent/cc", .flags = {}}, at);
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == errc::not_found);
    CHECK(missing.error().detail.find("/nonexistent/cc") != std::string::npos);
    const auto broken = find_compiler({.command = "false", .flags = {}}, at);
    REQUIRE_FALSE(broken);
    CHECK(broken.error().code == errc::invalid_argument);
    const auto shell = find_compiler({.command = "cc;touch /tmp/never", .flags = {}}, at); // one word with a semicolon, no shell
    REQUIRE_FALSE(shell);
    CHECK(shell.error().code == errc::not_found);

    const auto cc = script(at, "[ \"$1\" = --version ] && echo fake 1.0 && exit 0\necho 'fake: error: no' >&2\nexit 1\n");
    const auto fake = find_compiler({.command = cc, .flags = {}}, at);
    REQUIRE(fake); // takes no flag at all
    CHECK(fake->identity == "fake 1.0");
    CHECK(fake->flags.empty());
    CHECK(fake->isa.empty()); // it does not tell
    const auto runner = build_runner(*fake, at);
    REQUIRE_FALSE(runner);
    CHECK(runner.error().detail.find("fake: error: no") != std::string::npos);
}

TEST_CASE("compile: only flags that the compiler takes are kept") {
    const auto at = folder();
    const auto cc = script(at, "for a in \"$@\"; do [ \"$a\" = -fvect-cost-model=dynamic ] && exit 1; done\nexec cc \"$@\"\n");
    const auto found = find_compiler({.command = cc, .flags = {}}, at);
    REQUIRE(found);
    auto want = default_compile_flags();
    std::erase(want, "-fvect-cost-model=dynamic");
    for (const auto& flag : found->flags) CHECK(std::find(want.begin(), want.end(), flag) != want.end());
    CHECK(std::find(found->flags.begin(), found->flags.end(), "-O2") != found->flags.end());
    // the user's own are kept, whatever the level
    for (const auto level : {isa_level::native, isa_level::x86_64_v2}) {
        const auto own = find_compiler({.command = "cc", .flags = {"-O1", "-fno-such-flag"}, .isa = level}, at);
        REQUIRE(own);
        CHECK(std::find(own->flags.begin(), own->flags.end(), "-fno-such-flag") != own->flags.end());
    }
}

TEST_CASE("compile: the flags of an ISA level make the compiler define what the level has") {
    const auto at = folder();
    struct {
        isa_level level;
        const char* has;
        const char* lacks;
    } const expected[] = {{isa_level::x86_64_v2, "__SSE4_2__", "__AVX__"},
                          {isa_level::x86_64_v3, "__FMA__", "__AVX512F__"},
                          {isa_level::x86_64_v4, "__AVX512VL__", "__AVX512VNNI__"}};
    for (const auto& e : expected) {
        if (!detect_machine(e.level)) continue;
        for (const auto& flags : {std::vector<std::string>{}, std::vector<std::string>{"-O1"}}) {
            const auto cc = find_compiler({.command = "", .flags = flags, .isa = e.level}, at);
            REQUIRE(cc);
            auto check = plain("aug_a", "#if !defined(" + std::string(e.has) + ") || defined(" + e.lacks + ")\n#error another level\n#endif\n");
            process_spec job;
            job.arguments = cc->command;
            job.arguments.insert(job.arguments.end(), cc->flags.begin(), cc->flags.end());
            const auto source = at.path() + "/level.c";
            (void)::unlink(source.c_str());
            REQUIRE(write_private_file(source, std::string(program_prelude) + check.source));
            for (const auto& a : {std::string("-fsyntax-only"), source}) job.arguments.push_back(a);
            const auto r = run_process(job);
            CAPTURE(r.errors);
            CHECK(r.ok());
            CHECK((flags.empty() || cc->flags.back() == "-O1"));
        }
    }
#ifdef __x86_64__
    const auto level = [&](std::vector<std::string> flags, isa_level l = isa_level::native) { // the code, not the option, decides
        const auto cc = find_compiler({.command = "", .flags = std::move(flags), .isa = l}, at);
        REQUIRE(cc);
        return cc->isa;
    };
    CHECK(level({"-O2"}) == "x86-64");
    CHECK(level({"-O2", "-mavx2", "-mfma"}) == "x86-64-v3");
    CHECK(level({"-O2", "-mavx512f"}) == "x86-64-v4");
    CHECK(level({}, isa_level::x86_64_v2) == "x86-64-v2");
    CHECK(level({}, isa_level::x86_64_v3) == "x86-64-v3");
    CHECK(level({"-mno-avx"}, isa_level::x86_64_v4) == "x86-64-v2");
    if (detect_machine(isa_level::x86_64_v4)) CHECK(level({}) == "x86-64-v4");
#endif
    const auto old = script(at, "for a in \"$@\"; do case $a in -march=*) exit 1;; esac; done\nexec cc \"$@\"\n");
    CHECK(find_compiler({.command = old, .flags = {}}, at)); // native: the flag is omitted
    const auto refused = find_compiler({.command = old, .flags = {}, .isa = isa_level::x86_64_v3}, at);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::unsupported);
    CHECK(refused.error().detail.find("-march=x86-64-v3") != std::string::npos);
    runner_options foreign;
    foreign.compiler.isa = detect_machine(isa_level::aarch64) ? isa_level::x86_64_v2 : isa_level::aarch64;
    const auto runner = program_runner::create(foreign);
    REQUIRE_FALSE(runner);
    CHECK(runner.error().code == errc::unsupported);
}

TEST_CASE("compile: batches, errors, limits") {
    const auto at = folder();
    const auto cc = find_compiler({}, at);
    REQUIRE(cc);
    const auto runner = build_runner(*cc, at);
    REQUIRE(runner);
    CHECK_FALSE(build_runner(*cc, at)); // its files are there already and are not written over
    const auto a = plain("aug_a"), b = plain("aug_b"), wrong = plain("aug_c", "int x = \"\n#error told so\n"), hot = plain("aug_d");
    const auto big = plain("aug_e", "char aug_big[100 << 20] = {1};\n");
    const std::vector<std::vector<const generated_program*>> batches{{&a, &b}, {&a, &wrong}, {&big}};
    compile_limits limits;
    limits.file_bytes = 16 << 20;
    const auto done = compile_batches(*cc, *runner, at, batches, 0, limits, 2);
    REQUIRE(done.size() == 3);
    CHECK(done[0].ok);
    CHECK(done[0].cpu_seconds > 0);
    CHECK_FALSE(done[1].ok);
    CHECK_FALSE(done[1].timed_out);
    CHECK_FALSE(done[1].ours);
    CHECK(done[1].reason.find("error") != std::string::npos);
    CHECK(done[1].reason.size() <= 400);
    CHECK_FALSE(done[2].ok);
    CHECK_FALSE(done[2].ours);

    void* object = ::dlopen(done[0].object.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(object != nullptr);
    CHECK(::dlsym(object, "aug_a") != nullptr);
    CHECK(::dlsym(object, "aug_b") != nullptr);
    ::dlclose(object);
    CHECK(::access(done[1].object.c_str(), F_OK) != 0);

    std::atomic<bool> stop{true};
    const auto halted = compile_batches(*cc, *runner, at, batches, 10, limits, 2, &stop);
    for (const auto& h : halted) CHECK(h.stopped);
}

TEST_CASE("compile: what a compiler puts into files for a while is in the work folder") {
    const auto at = folder();
    const auto other = folder();
    const char* set = std::getenv("TMPDIR");
    const std::string kept = set != nullptr ? set : "";
    ::setenv("TMPDIR", other.path().c_str(), 1);
    const auto cc = find_compiler({.command = script(at, "echo $TMPDIR >> ${0%/*}/told\nexec cc \"$@\"\n"), .flags = {}}, at);
    REQUIRE(cc);
    const auto runner = build_runner(*cc, at);
    REQUIRE(runner);
    const auto one = plain("aug_a");
    const std::vector<std::vector<const generated_program*>> batches{{&one}};
    CHECK(compile_batches(*cc, *runner, at, batches, 0, {}, 1).front().ok);
    set != nullptr ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
    std::ifstream told(at.path() + "/told");
    int lines = 0;
    for (std::string line; std::getline(told, line); ++lines) CHECK(line == at.path());
    CHECK(lines >= 4); // version, flags, runner, batch
}

TEST_CASE("compile: a compiler that hangs ends at its limit, with what it started") {
    const auto at = folder();
    const auto seconds = std::to_string(1'000'000'000 + ::getpid()); // that no other process sleeps
    const auto slow = script(at, "for a in \"$@\"; do case \"$a\" in */b*.c) grep -q HANG \"$a\" && { setsid sleep " + seconds + " & sleep " +
                                     seconds + "; };; esac; done\nexec cc \"$@\"\n");
    const auto cc = find_compiler({.command = slow, .flags = {"-O1"}}, at);
    REQUIRE(cc);
    const auto runner = build_runner(*cc, at);
    REQUIRE(runner);
    const auto good = plain("aug_a"), hangs = plain("aug_b", "/* HANG */\n");
    const std::vector<std::vector<const generated_program*>> batches{{&good}, {&hangs}};
    compile_limits limits;
    limits.wall_seconds = 20; // that of the good one, too
    const auto done = compile_batches(*cc, *runner, at, batches, 0, limits, 2);
    CHECK(done[0].ok);
    CHECK(done[1].timed_out);
    process_spec look;
    const auto not_itself = seconds.substr(0, 9) + "[" + seconds.substr(9) + "]";
    look.arguments = {"sh", "-c", "grep -alz " + not_itself + " /proc/[0-9]*/cmdline 2>/dev/null | head -3"};
    CHECK(run_process(look).output == "");
}

TEST_CASE("compile: the C program of the runner compiles alone and without a warning") {
    const auto at = folder();
    const auto cc = find_compiler({}, at);
    REQUIRE(cc);
    const std::string source = at.path() + "/source.c";
    REQUIRE(write_private_file(source, augur::loopnest::detail::runner_source()));
    process_spec job;
    job.arguments = cc->command;
    for (const char* a : {"-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wno-sign-conversion", "-Wshadow"})
        job.arguments.emplace_back(a);
    job.arguments.push_back(source);
    const auto r = run_process(job);
    CHECK(r.ok());
    CHECK(r.errors.empty());
}
