// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/run/program_runner.hpp>

#include <atomic>
#include <cmath>
#include <csignal>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <doctest/doctest.h>

using namespace augur;

using namespace augur::loopnest;
using buffer_role = program_buffer::role;

namespace {

/// out[i] = in[i] * weight[i], with `before` in front of the function and `inside` at its beginning. `b` are the buffers.
generated_program multiply(const std::string& name, const std::string& inside = {}, const std::string& before = {}) {
    generated_program p;
    p.entry = name;
    p.source = before + "\nvoid " + name +
               "(float *const *b, void (*launch)(void (*)(void *, int64_t, int64_t), void *, int64_t)) {\n"
               "    volatile int64_t zero = 0, n = 1000; (void)zero;\n" +
               inside + "\n    for (int64_t i = 0; i < n; ++i) b[2][i] = b[0][i] * b[1][i];\n}\n";
    p.buffers = {{buffer_role::input, 1000, 1, -1, 1}, {buffer_role::weight, 1000, 2, 0, 3}, {buffer_role::output, 1000, 0, 0, 0}};
    return p;
}

std::vector<float> inputs_of(const program_buffer& b) {
    std::vector<float> v(static_cast<std::size_t>(b.elements));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = program_input_value(b, static_cast<std::int64_t>(i));
    return v;
}

std::vector<std::vector<float>> multiplied() {
    const auto p = multiply("x");
    auto a = inputs_of(p.buffers[0]);
    const auto w = inputs_of(p.buffers[1]);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] *= w[i];
    return {a};
}

runner_options quick() {
    runner_options o;
    o.threads = 2;
    o.timing.repeats = 3;
    o.timing.min_repeat_seconds = 0.001;
    o.wall_seconds = 2;
    return o;
}

program_runner runner_of(const runner_options& o) {
    auto r = program_runner::create(o);
    if (!r) FAIL(r.error().detail);
    return *std::move(r);
}

/// Processes whose name or arguments contain a text that this process does not have as an argument of its own.
std::string processes_with(const std::string& text) {
    std::string found;
    std::error_code bad;
    for (std::filesystem::directory_iterator it("/proc", bad), end; !bad && it != end; it.increment(bad)) {
        const auto name = it->path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos || name == std::to_string(::getpid())) continue;
        const auto all =
            augur::detail::read_small_file(it->path().string() + "/comm") + augur::detail::read_small_file(it->path().string() + "/cmdline");
        if (all.find(text) != std::string::npos) found += name + " ";
    }
    return found;
}

/// The name, of at most 15 characters, of a process that a candidate of this test starts: the same test may run twice on a machine.
std::string own_name(const char* prefix) { return prefix + std::to_string(::getpid()); }
std::string renamed(std::string text, const std::string& from, const std::string& to) {
    if (const auto at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
    return text;
}

/// Waits until something is so; false: it hangs.
template <class F>
bool comes(F so) {
    for (int i = 0; i < 6000; ++i, ::usleep(10000))
        if (so()) return true;
    return false;
}

struct hostile {
    const char* name;
    const char* inside;
    const char* before;
    outcome want;
    const char* reason; ///< part of it
};

constexpr char find_warden[] =
    "int fork(void); int setsid(void); int pause(void); int prctl(int, ...); int kill(int, int); int getppid(void); int usleep(unsigned);\n"
    "int snprintf(char *, uint64_t, const char *, ...); void *fopen(const char *, const char *); int fscanf(void *, const char *, ...);\n"
    "int fclose(void *);\nstatic int above(int p) { char t[64]; int q = 1 << 30; snprintf(t, 64, \"/proc/%d/stat\", p); void *f = fopen(t, \"r\");\n"
    "    if (f) { fscanf(f, \"%*d (%*[^)]) %*c %d\", &q); fclose(f); } return q; }";

// Each as an accident could look: of a code generator, of a schedule with wrong bounds, of a compiler.
constexpr hostile zoo[] = {
    {"fine", "", "", outcome::ok, ""},
    {"null_pointer", "*(volatile int *)zero = 1;", "", outcome::run_crash, "signal 11"},
    {"division", "zero = n / zero;", "", outcome::run_crash, "signal"},
    {"trap", "__builtin_trap();", "", outcome::run_crash, "signal"},
    {"abort", "abort();", "void abort(void);", outcome::run_crash, "signal 6"},
    {"exit_0", "exit(0);", "void exit(int);", outcome::run_exit, "exit code 0"},
    {"quick_exit_0", "_exit(0);", "void _exit(int);", outcome::run_exit, "exit code 0"},
    {"exit_3", "_exit(3);", "void _exit(int);", outcome::run_exit, "exit code 3"},
    {"endless", "while (!zero) {}", "", outcome::run_timeout, "time limit"},
    {"sleeps", "for (;;) pause();", "int pause(void);", outcome::run_timeout, "time limit"},
    {"thread_hangs", "launch(hang, 0, 2);", "static void hang(void *c, int64_t i, int64_t e) { volatile int one = 1; if (e == 2) while (one) {} }",
     outcome::run_timeout, "time limit"},
    {"ignores_term", "signal(15, (void (*)(int))1); signal(2, (void (*)(int))1); while (!zero) {}", "void (*signal(int, void (*)(int)))(int);",
     outcome::run_timeout, "time limit"},
    {"kills_itself", "kill(getpid(), 9);", "int kill(int, int); int getpid(void);", outcome::run_memory, "killed"},
    {"forks", "if (fork() == 0) for (;;) pause();", "int fork(void); int pause(void);", outcome::run_exit, "left"},
    {"stops_its_guard", "static int once; if (!once++) { kill(getppid(), 19); usleep(20000); }",
     "int kill(int, int); int getppid(void); int usleep(unsigned);", outcome::ok, ""},
    {"kills_its_guard", "if (fork() == 0) { setsid(); prctl(15, \"augdaemon\"); for (;;) pause(); } kill(getppid(), 9); for (;;) pause();",
     "int fork(void); int setsid(void); int pause(void); int prctl(int, ...); int kill(int, int); int getppid(void);", outcome::runner_error,
     "signal 9"},
    {"stops_the_warden", "static int once; if (!once++) { kill(above(getppid()), 19); usleep(20000); }", find_warden, outcome::ok, ""},
    {"kills_the_warden", "if (fork() == 0) { setsid(); prctl(15, \"augdaemon\"); for (;;) pause(); } kill(above(getppid()), 9); for (;;) pause();",
     find_warden, outcome::runner_error, "signal 9"},
    {"fork_returns", "fork();", "int fork(void);", outcome::run_exit, "left"},
    {"fork_bomb", "for (int k = 0; k < 7; ++k) fork(); for (;;) pause();", "int fork(void); int pause(void);", outcome::run_timeout, "left"},
    {"daemon", "if (fork() == 0) { setsid(); if (fork() == 0) { setsid(); prctl(15, \"augdaemon\"); for (;;) pause(); } _exit(0); } usleep(50000);",
     "int fork(void); int setsid(void); int pause(void); int prctl(int, ...); int usleep(unsigned); void _exit(int);", outcome::run_exit, "left"},
    {"own_group", "setpgid(0, 0); setsid(); if (fork() == 0) { setpgid(0, 0); prctl(15, \"augdaemon\"); while (!zero) {} } while (!zero) {}",
     "int fork(void); int setsid(void); int setpgid(int, int); int prctl(int, ...);", outcome::run_timeout, "left"},
    {"huge_malloc", "memset(malloc(100000000000), 1, 100000000000);", "void *malloc(uint64_t); void *memset(void *, int, uint64_t);",
     outcome::run_memory, "memory limit"},
    {"allocates_without_end", "for (;;) memset(malloc(1 << 22), 1, 1);", "void *malloc(uint64_t); void *memset(void *, int, uint64_t);",
     outcome::run_memory, "memory limit"},
    {"stack_overflow", "b[2][0] = (float)deep(1);",
     "__attribute__((noinline)) static int deep(int n) { volatile char here[4096]; here[n % 4096] = (char)n; return n + deep(n + 1) + here[n % "
     "4096]; }",
     outcome::run_crash, "signal 11"},
    {"closes_everything", "for (int f = 0; f < 300; ++f) close(f);", "int close(int);", outcome::run_exit, "without a result"},
    {"prints", "for (int i = 0; i < 100000; ++i) { puts(\"all work and no play\"); write(2, \"stderr\", 6); }",
     "int puts(const char *); long write(int, const void *, uint64_t);", outcome::ok, ""},
    {"writes_to_all", "for (int f = 0; f < 300; ++f) write(f, \"0123456789\", 10);", "long write(int, const void *, uint64_t);", outcome::run_exit,
     "without a result"},
    {"fills_the_disk",
     "char at[] = \"/tmp/augur-test-XXXXXX\"; int f = mkstemp(at); unlink(at); static char z[1 << 16]; for (;;) if (write(f, z, 1 << 16) < 0) "
     "abort();",
     "int mkstemp(char *); int unlink(const char *); long write(int, const void *, uint64_t); void abort(void);", outcome::run_crash, "signal"},
    {"nothing_written", "return;", "", outcome::wrong_result, "got nan"},
    {"one_missing", "n = 999;", "", outcome::wrong_result, "element 999: got nan"},
    {"wrong_at_17", "for (int64_t i = 0; i < n; ++i) b[2][i] = b[0][i] * b[1][i] + (i == 17); return;", "", outcome::wrong_result, "element 17"},
    {"wrong_later", "static int calls; if (++calls > 2) { b[2][5] = 7; return; }", "", outcome::wrong_result, "element 5"},
    {"nothing_later", "static int calls; if (++calls > 1) return;", "", outcome::wrong_result, "got nan"},
    {"one_too_many", "b[2][1000] = 1;", "", outcome::wrong_result, "outside buffer 2"},
    {"before_the_first", "b[2][-1] = 1;", "", outcome::wrong_result, "outside buffer 2"},
    {"far_too_many", "b[2][1024] = 1;", "", outcome::run_crash, "signal 11"},
    {"reads_far", "b[2][0] = b[0][1024];", "", outcome::run_crash, "signal 11"},
    {"writes_input", "b[0][3] = 1;", "", outcome::run_crash, "signal 11"},
    {"does_not_compile", "this is not C", "", outcome::compile_error, "error"},
    {"needs_what_is_not_there", "aug_not_there();", "void aug_not_there(void);", outcome::compile_error, "aug_not_there"},
};

std::atomic<bool> interrupted{false};

} // namespace

TEST_CASE("program_runner: every hostile candidate is classified, and the others go on") {
    auto options = quick();
    options.memory_bytes = std::uint64_t{256} << 20U;
    const auto parent = work_folder::create();
    REQUIRE(parent);
    options.folder = parent->path(); // so that only our own processes have this path in their arguments
    auto runner = runner_of(options);
    const auto right = runner.make_expected_outputs(multiplied());
    REQUIRE(right);
    std::vector<generated_program> programs;
    const auto stray = own_name("augd");
    for (const auto& h : zoo) programs.push_back(multiply("aug_" + std::string(h.name), renamed(h.inside, "augdaemon", stray), h.before));
    const auto done = runner.measure(programs, *right);
    REQUIRE(done.size() == std::size(zoo));
    for (std::size_t i = 0; i < done.size(); ++i) {
        INFO(zoo[i].name << ": " << to_string(done[i].status) << ": " << done[i].reason);
        CHECK(done[i].status == zoo[i].want);
        CHECK(done[i].reason.find(zoo[i].reason) != std::string::npos);
        CHECK(done[i].seconds.empty() != done[i].ok());
        CHECK(done[i].reason.empty() == done[i].ok());
        CHECK(done[i].reason.find("augur-work-") == std::string::npos); // the same failure reads the same in every run
        CHECK(done[i].timestamp > 0);
        CHECK(done[i].total_seconds > 0);
        MESSAGE(std::string(zoo[i].name) << " | " << std::string(to_string(done[i].status)) << " | " << done[i].reason);
    }
    CHECK(comes([&] { return processes_with(stray).empty() && processes_with(options.folder).empty(); }));
}

TEST_CASE("program_runner: with few descriptors a candidate is measured as ever, or the runner says so") {
    for (const rlim_t most : {rlim_t{8}, rlim_t{14}, rlim_t{20}, rlim_t{64}, rlim_t{100}, rlim_t{101}}) {
        CAPTURE(most);
        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            ::dup2(ends[1], 3);
            for (int fd = 4; fd < 1024; ++fd) ::close(fd);
            const rlimit few{most, most};
            ::setrlimit(RLIMIT_NOFILE, &few);
            auto o = quick();
            o.wall_seconds = 60;
            std::string said;
            {
                auto r = program_runner::create(o);
                const auto p = multiply("aug_1");
                if (!r) said = std::string(to_string(r.error().code)) + ": " + r.error().detail;
                else if (auto right = r->make_expected_outputs(multiplied()); !right) said = right.error().detail;
                else {
                    const auto m = r->measure(std::span(&p, 1), *right).front();
                    said = std::string(to_string(m.status)) + m.reason;
                }
            }
            ::_exit(::write(3, said.data(), said.size()) < 0 ? 1 : 0);
        }
        ::close(ends[1]);
        augur::file_descriptor from(ends[0]);
        std::string said;
        augur::loopnest::read_available(from, said, 1 << 16);
        int status = 0;
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
        if (most == 8)
            CHECK((said.starts_with("limit: C compiler: cannot start") && said.ends_with("Too many open files, the limit is 8 (ulimit -n)")));
        else CHECK(said == "ok");
    }
}

TEST_CASE("program_runner: inputs are what the header says, in aligned buffers of any size") {
    auto runner = runner_of(quick());
    generated_program copy;
    copy.entry = "aug_copy";
    copy.source =
        "void aug_copy(float *const *b, void (*launch)(void (*)(void *, int64_t, int64_t), void *, int64_t)) {\n"
        "    const int64_t n[3] = {1, 1000003, 77};\n    int bad = 0;\n    for (int k = 0; k < 6; ++k) bad |= ((uintptr_t)b[k] & 63) != 0;\n"
        "    for (int k = 0; k < 3; ++k) for (int64_t i = 0; i < n[k]; ++i) b[3 + k][i] = bad ? -100 : b[k][i];\n}\n";
    copy.buffers = {{buffer_role::input, 1, 11, -1, 1}, {buffer_role::weight, 1000003, 12, 0, 0.5}, {buffer_role::input, 77, 0xFFFFFFFFFFFFULL, 3, 5},
                    {buffer_role::output, 1, 0, 0, 0},  {buffer_role::output, 1000003, 0, 0, 0},    {buffer_role::output, 77, 0, 0, 0}};
    for (const bool huge : {true, false}) {
        auto o = quick();
        o.huge_pages = huge;
        auto with = runner_of(o);
        const auto right = with.make_expected_outputs(copy);
        if (!right) FAIL(right.error().detail);
        const auto got = program_runner::read_reference(*right);
        REQUIRE(got);
        REQUIRE(got->size() == 3);
        for (std::size_t k = 0; k < 3; ++k) CHECK((*got)[k] == inputs_of(copy.buffers[k]));
    }
    const auto many = inputs_of(copy.buffers[1]);
    double sum = 0;
    for (const float x : many) {
        sum += static_cast<double>(x);
        if (!(x >= 0 && x < 0.5F)) FAIL("outside [low, high)");
    }
    CHECK(sum / static_cast<double>(many.size()) == doctest::Approx(0.25).epsilon(0.002)); // 0.25 +- 0.144 / sqrt(n)
}

TEST_CASE("program_runner: launch covers every index once, with any number of threads, also from within itself") {
    generated_program p;
    p.entry = "aug_cover";
    p.source = "typedef void (*launch_t)(void (*)(void *, int64_t, int64_t), void *, int64_t);\n"
               "static launch_t again;\n"
               "static void inner(void *c, int64_t begin, int64_t end) { float *o = c; for (int64_t i = begin; i < end; ++i) o[i] += (float)i; }\n"
               "static void outer(void *c, int64_t begin, int64_t end) {\n"
               "    float *const *b = c;\n    for (int64_t i = begin; i < end; ++i) { for (int k = 0; k < 7; ++k) b[0][7 * i + k] = 1; again(inner, "
               "b[0] + 7 * i, 7); }\n}\n"
               "void aug_cover(float *const *b, launch_t launch) {\n    again = launch;\n    launch(outer, (void *)b, 0);\n"
               "    for (int r = 0; r < 50; ++r) launch(outer, (void *)b, 1 + r % 3);\n    launch(outer, (void *)b, 13);\n}\n";
    p.buffers = {{buffer_role::output, 91, 0, 0, 0}};
    std::vector<float> want(91);
    for (std::size_t i = 0; i < 91; ++i) want[i] = 1 + static_cast<float>(i % 7);
    for (const int threads : {1, 2, 3, 5, 16}) {
        auto o = quick();
        o.threads = threads;
        auto runner = runner_of(o);
        const auto right = runner.make_expected_outputs(std::vector<std::vector<float>>{want}, {0, 1e-9});
        REQUIRE(right);
        const auto m = runner.measure(std::span(&p, 1), *right).front();
        CAPTURE(threads);
        CAPTURE(m.reason);
        CHECK(m.ok());
    }
}

TEST_CASE("program_runner: packing is done once, before, and timed apart") {
    auto runner = runner_of(quick());
    auto p = multiply("aug_packs");
    p.source = "int usleep(unsigned);\nvoid aug_pack(float *const *b) { usleep(30000); for (int i = 0; i < 1000; ++i) b[3][999 - i] = b[1][i]; }\n"
               "void aug_packs(float *const *b, void (*launch)(void (*)(void *, int64_t, int64_t), void *, int64_t)) {\n"
               "    for (int i = 0; i < 1000; ++i) b[2][i] = b[0][i] * b[3][999 - i];\n}\n";
    p.pack_entry = "aug_pack";
    p.buffers.push_back({buffer_role::packed, 1000, 0, 0, 0});
    const auto right = runner.make_expected_outputs(multiplied());
    REQUIRE(right);
    const auto m = runner.measure(std::span(&p, 1), *right).front();
    CAPTURE(m.reason);
    REQUIRE(m.ok());
    CHECK(m.packing_seconds >= 0.03);
    CHECK(m.latency() < 0.01);
    p.source.replace(p.source.find("b[2][i] ="), 9, "b[3][i] ="); // a packed weight is constant
    CHECK(runner.measure(std::span(&p, 1), *right).front().status == outcome::run_crash);
}

TEST_CASE("program_runner: the tolerance") {
    auto runner = runner_of(quick());
    const auto p = multiply("aug_near");
    auto numbers = multiplied();
    const tolerance allowed{1e-4, 1e-3};
    const float step = 1e-4F + 1e-3F * std::fabs(numbers[0][500]);
    numbers[0][500] += step * 0.5F;
    auto right = runner.make_expected_outputs(numbers, allowed);
    REQUIRE(right);
    auto m = runner.measure(std::span(&p, 1), *right).front();
    CHECK(m.ok());
    CHECK(m.max_error == doctest::Approx(0.5).epsilon(0.01));
    numbers[0][500] += step;
    right = runner.make_expected_outputs(numbers, allowed);
    REQUIRE(right);
    m = runner.measure(std::span(&p, 1), *right).front();
    CHECK(m.status == outcome::wrong_result);
    CHECK(m.max_error == doctest::Approx(1.5).epsilon(0.01));
    CHECK(m.reason.find("element 500") != std::string::npos);
    CHECK(tolerance::of_reduction(4608).absolute < 1e-3);                     // one missing product of numbers around 0.5 is far outside
    CHECK(runner.measure(std::span(&p, 1), expected_outputs{}).front().ok()); // nothing to compare with
    const auto smaller = runner.make_expected_outputs(std::vector<std::vector<float>>{std::vector<float>(999)});
    REQUIRE(smaller);
    CHECK(runner.measure(std::span(&p, 1), *smaller).front().status == outcome::illegal_schedule);
}

TEST_CASE("program_runner: NaN and infinities are right where they are expected, and only there") {
    auto runner = runner_of(quick());
    const auto p =
        multiply("aug_special", "for (int64_t i = 0; i < 1000; ++i) b[2][i] = i == 7 ? NAN : i == 8 ? INFINITY : i == 9 ? -INFINITY : 1; return;");
    constexpr auto nan = std::numeric_limits<float>::quiet_NaN();
    constexpr auto infinity = std::numeric_limits<float>::infinity();
    std::vector<float> numbers(1000, 1.0F);
    numbers[7] = nan;
    numbers[8] = infinity;
    numbers[9] = -infinity;
    const auto measured = [&] {
        const auto right = runner.make_expected_outputs(std::vector<std::vector<float>>{numbers});
        REQUIRE(right);
        return runner.measure(std::span(&p, 1), *right).front();
    };
    CHECK(measured().ok());
    const auto wrong = [&](std::size_t at, float expected, const std::string& reason) {
        const auto before = std::exchange(numbers[at], expected);
        const auto m = measured();
        numbers[at] = before;
        CHECK(m.status == outcome::wrong_result);
        CHECK(m.max_error == infinity);
        CHECK(m.reason.find("element " + std::to_string(at) + ": " + reason) != std::string::npos);
    };
    wrong(6, nan, "got 1, expected nan");
    wrong(6, infinity, "got 1, expected inf");
    wrong(7, 1, "got nan, expected 1");
    wrong(8, 1, "got inf, expected 1");
    wrong(8, -infinity, "got inf, expected -inf");
    wrong(9, nan, "got -inf, expected nan");
}

TEST_CASE("program_runner: timing protocol") {
    auto options = quick();
    options.timing.repeats = 5;
    options.timing.min_repeat_seconds = 0.02;
    auto runner = runner_of(options);
    const auto p = multiply("aug_slow", "usleep(5000);", "int usleep(unsigned);");
    auto m = runner.measure(std::span(&p, 1), expected_outputs{}).front();
    REQUIRE(m.ok());
    CHECK(m.seconds.size() == 5);
    CHECK(m.latency() >= 0.005);
    CHECK(m.latency() < 0.1);
    CHECK(m.compile_cpu_seconds > 0);
    CHECK(m.run_cpu_seconds < 0.5);
    m = runner.measure(std::span(&p, 1), expected_outputs{}, 1e-5).front(); // far slower than the best
    REQUIRE(m.ok());
    CHECK(m.seconds.size() == 1);
    auto flush = options.timing;
    flush.flush_bytes = 1 << 20;
    REQUIRE(runner.set_timing(flush));
    CHECK(runner.measure(std::span(&p, 1), expected_outputs{}).front().seconds.size() == 5);
    flush.repeats = 65;
    CHECK_FALSE(runner.set_timing(flush));
    auto brief = options.timing;
    brief.repeats = 9;
    brief.enough_seconds = 0; // the first repeat takes more than that
    REQUIRE(runner.set_timing(brief));
    CHECK(runner.measure(std::span(&p, 1), expected_outputs{}).front().seconds.size() == 1);
}

TEST_CASE("program_runner: so many calls as it is told are not timed") {
    auto options = quick();
    options.wall_seconds = 20;
    options.timing.repeats = 1;
    options.timing.min_repeat_seconds = 0.06;
    // The first 61 calls take 3 ms, the others 30: the first call, 60 that warm up, then at most 21 that are timed.
    const auto p = multiply("aug_tires", "static int call; usleep(++call <= 61 ? 3000 : 30000);", "int usleep(unsigned);");
    for (const int warmups : {0, 60}) {
        CAPTURE(warmups);
        options.timing.warmups = warmups;
        auto runner = runner_of(options);
        const auto m = runner.measure(std::span(&p, 1), expected_outputs{}).front();
        REQUIRE(m.ok());
        CHECK((m.latency() >= 0.03) == (warmups == 60));
    }
}

TEST_CASE("program_runner: what is built once can be run in turns, and goes in the end") {
    auto options = quick();
    const auto parent = work_folder::create();
    REQUIRE(parent);
    options.folder = parent->path();
    auto runner = runner_of(options);
    const auto objects = [&] {
        int n = 0;
        for (const auto& f : std::filesystem::recursive_directory_iterator(options.folder)) n += f.path().extension() == ".so" ? 1 : 0;
        return n;
    };
    const auto right = runner.make_expected_outputs(multiplied());
    REQUIRE(right);
    const std::vector<generated_program> programs{multiply("aug_a"), multiply("aug_b", "this is not C"), multiply("aug_c", "n = 999;"),
                                                  multiply("aug_a"), multiply("not a name")};
    {
        const auto built = runner.build(programs);
        CHECK(built.size() == 5);
        CHECK(objects() >= 2); // two programs of one name cannot share one
        for (int turn = 0; turn < 2; ++turn) {
            const outcome want[] = {outcome::ok, outcome::compile_error, outcome::wrong_result, outcome::ok, outcome::illegal_schedule};
            for (std::size_t i = 0; i < programs.size(); ++i) {
                const auto m = runner.run(built, i, *right);
                INFO(turn << " " << i << ": " << to_string(m.status) << ": " << m.reason);
                CHECK(m.status == want[i]);
                CHECK(m.seconds.size() == (m.ok() ? 3U : 0U));
            }
        }
        const auto other = runner.make_expected_outputs(std::vector<std::vector<float>>{std::vector<float>(7)});
        REQUIRE(other);
        CHECK(runner.run(built, 0, *other).status == outcome::illegal_schedule); // outputs of other sizes
        CHECK(runner.run(built, 2, expected_outputs{}).ok());                    // nothing to compare with
    }
    CHECK(objects() == 0);
}

TEST_CASE("program_runner: malformed programs and options") {
    auto runner = runner_of(quick());
    std::vector<generated_program> bad(4, multiply("aug_x"));
    bad[0].entry = "aug x(); int";
    bad[1].pack_entry = "../../x";
    bad[2].buffers[0].elements = -1;
    bad[3].buffers[0].elements = std::numeric_limits<std::int64_t>::max();
    bad.push_back(multiply("aug_x"));
    bad.push_back(multiply("aug_x")); // the same name again
    bad.push_back(multiply("aug_big"));
    bad.back().buffers[0].elements = std::int64_t{1} << 36U; // 256 GiB
    const auto done = runner.measure(bad, expected_outputs{});
    for (std::size_t i = 0; i < 4; ++i) CHECK(done[i].status == outcome::illegal_schedule);
    CHECK(done[4].ok());
    CHECK(done[5].ok());
    CHECK(done[6].status == outcome::run_memory); // told before it is run
    CHECK(done[6].reason.find("262144 MiB, the machine has") != std::string::npos);
    CHECK(runner.measure({}, expected_outputs{}).empty());
    auto wrong = multiply("aug_y", "return;");
    auto broken = multiply("aug_z", "no C");
    CHECK(runner.make_expected_outputs(wrong)); // it is trusted, whatever it does
    const auto why = runner.make_expected_outputs(broken);
    REQUIRE_FALSE(why);
    CHECK(why.error().code == errc::invalid_argument);

    for (auto change : std::vector<void (*)(runner_options&)>{
             [](auto& o) { o.threads = -1; }, [](auto& o) { o.batch = 0; }, [](auto& o) { o.timing.repeats = 0; },
             [](auto& o) { o.wall_seconds = std::nan(""); }, [](auto& o) { o.timing.cutoff = 1; }, [](auto& o) { o.compile_jobs = -1; },
             [](auto& o) { o.timing.flush_bytes = -1; }, [](auto& o) { o.timing.min_repeat_seconds = 61; },
             [](auto& o) { o.timing.min_repeat_seconds = std::nan(""); }, [](auto& o) { o.timing.warmups = -1; },
             [](auto& o) { o.timing.warmups = 1001; }, [](auto& o) { o.timing.enough_seconds = -1; },
             [](auto& o) { o.timing.enough_seconds = std::nan(""); }, [](auto& o) { o.timing.cutoff = std::nan(""); }}) {
        auto o = quick();
        change(o);
        const auto r = program_runner::create(o);
        REQUIRE_FALSE(r);
        CHECK(r.error().code == errc::invalid_argument);
    }
    auto o = quick();
    o.folder = "/nonexistent";
    const auto r = program_runner::create(o);
    REQUIRE_FALSE(r);
    CHECK(r.error().code == errc::io);
}

TEST_CASE("program_runner: a signal stops it between and within candidates") {
    auto options = quick();
    options.wall_seconds = 1000;
    options.stop = &interrupted;
    interrupted = false;
    const auto parent = work_folder::create();
    REQUIRE(parent);
    options.folder = parent->path();
    auto runner = runner_of(options);
    const std::vector<generated_program> programs{
        multiply("aug_1"), multiply("aug_2", "kill(" + std::to_string(::getpid()) + ", 14); while (!zero) {}", "int kill(int, int);"),
        multiply("aug_3")};
    struct sigaction act{}, before{};
    act.sa_handler = [](int) { interrupted = true; };
    ::sigaction(SIGALRM, &act, &before);
    const auto done = runner.measure(programs, expected_outputs{});
    ::sigaction(SIGALRM, &before, nullptr);
    CHECK(done[1].status == outcome::runner_error);
    CHECK(done[1].reason == "interrupted");
    CHECK(done[2].reason == "interrupted");
    CHECK(comes([&] { return processes_with(options.folder).empty(); }));
    interrupted = false;
}

TEST_CASE("program_runner: when the host is killed its children go, and the next one removes the folder") {
    auto parent = work_folder::create();
    REQUIRE(parent);
    const auto orphan = own_name("augh");
    const pid_t host = ::fork();
    REQUIRE(host >= 0);
    if (host == 0) {
        auto o = quick();
        o.folder = parent->path();
        o.wall_seconds = 1000;
        auto r = program_runner::create(o);
        const std::vector<generated_program> programs{
            multiply("aug_1", "if (fork() == 0) { setsid(); prctl(15, \"" + orphan + "\"); for (;;) pause(); } while (!zero) {}",
                     "int fork(void); int setsid(void); int pause(void); int prctl(int, ...);")};
        if (r) (void)r->measure(programs, expected_outputs{});
        ::_exit(1);
    }
    REQUIRE(comes([&] { return !processes_with(orphan).empty(); })); // what the candidate started
    ::kill(host, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(host, &status, 0) == host);
    CHECK(comes([&] { return processes_with(parent->path() + "/augur-work-").empty() && processes_with(orphan).empty(); }));
}
