// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `tune` from outside: wrong arguments, Ctrl-C, kill -9, a second tuner, a full disk, a damaged log.
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <augur/core/random_engine.hpp>
#include <augur/record/log_reader.hpp>

#include "scratch.hpp"

namespace tune_test {

namespace {

using strings = std::vector<std::string>;

std::string contents(const std::string& path) {
    std::string text;
    if (std::FILE* f = std::fopen(path.c_str(), "r")) {
        char block[65536];
        for (std::size_t n = 0; (n = std::fread(block, 1, sizeof block, f)) > 0;) text.append(block, n);
        std::fclose(f);
    }
    return text;
}
void write_text(const std::string& path, const std::string& text) {
    std::FILE* const f = std::fopen(path.c_str(), "w");
    REQUIRE(f != nullptr);
    CHECK(std::fwrite(text.data(), 1, text.size(), f) == text.size());
    CHECK(std::fclose(f) == 0);
}

// One run of the program; its outputs go to files of the folder.
class process {
public:
    process(const scratch& folder, strings arguments, rlim_t largest_file = RLIM_INFINITY)
        : out_(folder / ("out" + std::to_string(next()))), err_(out_ + ".err") {
        arguments.insert(arguments.begin(), AUGUR_TUNE_PROGRAM);
        std::vector<char*> argv;
        for (auto& a : arguments) argv.push_back(a.data());
        argv.push_back(nullptr);
        pid_ = ::fork();
        REQUIRE(pid_ >= 0);
        if (pid_ != 0) return;
        const int out = ::open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), err = ::open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        const int null = ::open("/dev/null", O_RDONLY);
        ::dup2(null, 0);
        ::dup2(out, 1);
        ::dup2(err, 2);
        const rlimit limit{largest_file, largest_file};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    ~process() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        wait();
    }
    process(const process&) = delete;
    process& operator=(const process&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    void send(int signal) const { ::kill(pid_, signal); }
    // The exit code, or minus the signal.
    int wait() {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    [[nodiscard]] std::string out() const { return contents(out_); }
    [[nodiscard]] std::string err() const { return contents(err_); }

private:
    std::string out_, err_;
    pid_t pid_ = -1;
    static int next() {
        static int number = 0;
        return number++;
    }
};

// All records of a log; none is there twice, and their numbers have no gap.
std::size_t records(const std::string& path, std::size_t bad = 0) {
    auto reader = augur::log_reader::open(path);
    if (!reader) return 0;
    std::set<std::string> seen;
    std::size_t n = 0;
    for (augur::record r;; ++n) {
        const auto more = reader->next(r);
        REQUIRE(more);
        if (!*more) break;
        std::string steps;
        augur::json_writer out(steps);
        augur::write_steps(out, r.schedule);
        CHECK(seen.insert(r.task.workload_key + steps).second);
        if (bad == 0) CHECK(r.sequence == static_cast<std::int64_t>(n));
    }
    CHECK(reader->summary().bad == bad);
    return n;
}
bool wait_for_records(const std::string& path, std::size_t n) {
    for (int i = 0; i < 6000; ++i) {
        const auto text = contents(path);
        if (static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) >= 1 + 2 * n) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string tiny = "dense:m=16,n=32,k=16,bias";

strings collect(const scratch& folder, int n) { return {"--kernel", tiny, "--collect", std::to_string(n), "--log", folder / "log"}; }
strings with(strings arguments, const strings& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

#ifdef AUGUR_TEST_SLOW
constexpr int kills = 100;
#else
constexpr int kills = 4;
#endif

} // namespace

TEST_CASE("every wrong argument is one sentence and exit code 2") {
    const scratch folder("tune-test");
    write_text(folder / "text", "this is no log\n");
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);              // who opens it waits for ever
    REQUIRE(std::filesystem::create_directories(folder / "taken/net.c")); // a folder where a file is to be written
    write_text(folder / "noise", std::string("\x10\0\0\0\0\0\0\0{\"a\": [nonsense", 24));
    struct row {
        strings arguments;
        std::string says;
    };
    const std::vector<row> rows{
        {{}, "give --network or --kernel"},
        {{"resnet_18"}, "unexpected argument 'resnet_18'"},
        {{"--netwrok", "resnet_18"}, "unknown flag '--netwrok'"},
        {{"--"}, "unexpected argument '--'"},
        {{"--network"}, "--network needs a value"},
        {{"--network", "resnet_19"}, "network 'resnet_19' is unknown; known are resnet_18"},
        {{"--kernel", ""}, "kernel '' is unknown"},
        {{"--kernel", "conv4d:h=1"}, "kernel 'conv4d' is unknown"},
        {{"--kernel", "dense:m=1,n=2"}, "'k' is missing"},
        {{"--kernel", "dense:m=0,n=2,k=3"}, "'m' must be within"},
        {{"--kernel", "conv2d:h=4,w=4,c=3,f=4,k=9"}, "no output is left"},
        {{"--kernel", "dense:m=1,n=2,k=3;rm -rf"}, "--kernel: dense, column"},
        {{"--kernel", tiny, "--trials", "0"}, "--trials: expected a whole number from 1"},
        {{"--kernel", tiny, "--trials", "many"}, "got 'many'"},
        {{"--kernel", tiny, "--trials", "12.5"}, "got '12.5'"},
        {{"--kernel", tiny, "--trials", "99999999999999999999"}, "--trials: expected"},
        {{"--kernel", tiny, "--trials", "3", "--trials", "4"}, "--trials is given twice"},
        {{"--kernel", tiny, "--trials="}, "got ''"},
        {{"--kernel", tiny, "--seed", "-1"}, "--seed: expected"},
        {{"--kernel", tiny, "--threads", "0"}, "--threads: expected"},
        {{"--kernel", tiny, "--round", "0"}, "--round: expected"},
        {{"--kernel", tiny, "--first-round", "0"}, "--first-round: expected"},
        {{"--kernel", tiny, "--search", "annealing"}, "expected evolutionary|random|sa|descent|bo|tlm, got 'annealing'"},
        {{"--kernel", tiny, "--search", "random", "--model", "tlp"}, "--search random asks no model"},
        {{"--kernel", tiny, "--search", "evolutionary", "--model", "none"}, "needs a model"},
        {{"--kernel", tiny, "--scheduler", "fair"}, "expected gradient|even|inside|windowed"},
        {{"--kernel", tiny, "--resume"}, "--resume needs --log"},
        {{"--kernel", tiny, "--resume=yes", "--log", folder / "a"}, "--resume takes no value"},
        {{"--kernel", tiny, "--collect", "3"}, "--collect needs --log"},
        {{"--kernel", tiny, "--collect", "3", "--model", "tlp", "--log", folder / "a"}, "does not go with --model"},
        {{"--kernel", tiny, "--model", "none", "--save-model", folder / "m"}, "--save-model needs a search with a model"},
        {{"--kernel", tiny, "--model", folder / "none.safetensors"}, "none.safetensors"},
        {{"--kernel", tiny, "--model", folder / "noise"}, "noise"},
        {{"--kernel", tiny, "--model", "/dev/zero"}, "/dev/zero: expected a regular file, got a device"},
        {{"--kernel", tiny, "--model", folder / "pipe"}, "expected a regular file, got a FIFO"},
        {{"--kernel", tiny, "--log", folder / "pipe"}, "expected a regular file, got a FIFO"},
        {{"--kernel", tiny, "--report", folder / "pipe"}, "expected a regular file, got a FIFO"},
        {{"--kernel", tiny, "--model", "nest"}, "--model nest and --known go together"},
        {{"--kernel", tiny, "--model", "tlp", "--known", folder / "a"}, "--model nest and --known go together"},
        {{"--kernel", tiny, "--model", "tlp", "--weights", folder / "a"}, "--weights is for --model auto"},
        {{"--kernel", tiny, "--search", "random", "--known", folder / "a"}, "--search random learns nothing"},
        {{"--kernel", tiny, "--transfers", "2"}, "--transfers needs --transfer LOG"},
        {{"--kernel", tiny, "--transfers", "2", "--transfer", folder / "a", "--language", folder / "b"}, "measures no transferred schedule"},
        {{"--kernel", tiny, "--search", "sa", "--model", "none"}, "--search sa needs a model"},
        {{"--kernel", tiny, "--search", "bo", "--draft", "crop", "--machine", "epyc-zen4"}, "--draft is for the evolutionary search"},
        {{"--kernel", tiny, "--descend-after", "0"}, "--descend-after: expected a whole number"},
        {{"--kernel", tiny, "--collect", "3", "--save-model", folder / "m", "--log", folder / "a"}, "does not go with --save-model"},
        {{"--kernel", tiny, "--collect", "3", "--descend-after", "2", "--log", folder / "a"}, "does not go with --descend-after"},
        {{"--kernel", tiny, "--model", "auto", "--draft", "crop", "--machine", "epyc-zen4"}, "does not go with --model auto"},
        {{"--kernel", tiny, "--weights", folder / "none.safetensors"}, "none.safetensors"},
        {{"--kernel", tiny, "--model", "nest", "--known", folder / "a", "--log", folder / "./a"}, "--log and --known are the same file"},
        {{"--kernel", tiny, "--log", folder / "a", "--report", folder / "a"}, "--log and --report are the same file"},
        {{"--kernel", tiny, "--log", folder / "a", "--save-model", folder / "b/../a"}, "--log and --save-model are the same file"},
#ifdef AUGUR_EXAMPLES_NEST_MODELS
        {{"--kernel", tiny, "--model", "nest", "--known", folder / "none"}, "No such file"},
        {{"--kernel", tiny, "--model", "nest", "--known", folder / "text"}, "expected records of kernels on this machine"},
#endif
        {{"--kernel", tiny, "--log", folder / "text"}, "not a log of tuning records"},
        {{"--kernel", tiny, "--log", folder.path}, folder.path},
        {{"--kernel", tiny, "--log", folder / "no/such/log"}, "No such file"},
        {{"--kernel", tiny, "--report", folder / "no/such/report.html"}, "No such file"},
        {{"--kernel", tiny, "--compiler", "/no/such/cc"}, "cannot start '/no/such/cc'"},
        {{"--kernel", tiny, "--compiler", "false"}, "'false --version' failed"},
        {{"--kernel", tiny, "--whole"}, "--whole, --emit and --scheduler inside are for one --network"},
        {{"--network", "gpt2", "--kernel", tiny, "--whole"}, "without --kernel"},
        {{"--kernel", tiny, "--scheduler", "inside"}, "--whole, --emit and --scheduler inside are for one --network"},
        {{"--network", "gpt2", "--network", "resnet_18", "--emit", folder / "e"}, "for one --network"},
        {{"--network", "gpt2", "--no-search"}, "--no-search leaves nothing to do"},
        {{"--network", "gpt2", "--whole", "--collect", "3", "--log", folder / "a"}, "they do not go with --collect"},
        {{"--network", "gpt2", "--whole", "--no-search", "--trials", "3"}, "--no-search does not go with --trials"},
        {{"--network", "gpt2", "--whole", "--no-search", "--round", "3"}, "--no-search does not go with --round"},
        {{"--network", "gpt2", "--no-search", "--log", folder / "no_log", "--emit", folder / "out"}, "no_log: "},
        {{"--network", "gpt2", "--no-search", "--parameters", folder / "none"}, "none: "},
        {{"--network", "gpt2", "--no-search", "--parameters", folder / "noise"}, "noise: "},
        {{"--network", "gpt2", "--no-search", "--emit", folder / "text"}, "text: "},
        {{"--network", "gpt2", "--no-search", "--emit", folder / "taken"}, "net.c"},
        {{"--network", "gpt2", "--no-search", "--parameters", folder / "w", "--report", folder / "w"}, "--report and --parameters are the same file"},
        {{"--network", "gpt2", "--emit", folder / "e", "--parameters", folder / "e/net.weights"}, "--parameters and --emit are the same file"},
        {{"--\x1b[31m", "x"}, "unknown flag '--?[31m'"},
    };
    for (const auto& r : rows) {
        process p(folder, r.arguments);
        const int code = p.wait();
        const auto said = p.err();
        CAPTURE(r.says);
        CAPTURE(said);
        CHECK(code == 2);
        CHECK(contains(said, r.says));
        CHECK(std::count(said.begin(), said.end(), '\n') == 1);
        CHECK(p.out().empty());
    }
    CHECK(contents(folder / "text") == "this is no log\n");
    process help(folder, {"--help"});
    CHECK(help.wait() == 0);
    CHECK(contains(help.out(), "--collect N"));
}

TEST_CASE("killed at any moment, resumed to the end: each record once") {
    const scratch folder("tune-test");
    augur::random_engine rng(3);
    std::size_t before = 0;
    constexpr int trials = 8 * kills + 8;
    for (int i = 0; i < kills; ++i) {
        process p(folder, with(collect(folder, trials), {"--resume", "--round", "4"}));
        // Mostly after some records, now and then during the start.
        if (rng.below(4) != 0) REQUIRE(wait_for_records(folder / "log", before + 1));
        std::this_thread::sleep_for(std::chrono::milliseconds(rng.below(600)));
        p.send(SIGKILL);
        CHECK((p.wait() == -SIGKILL || before + 8 >= trials));
        const auto now = records(folder / "log");
        CHECK(now >= before);
        before = now;
    }
    process p(folder, with(collect(folder, trials), {"--resume"}));
    CHECK(p.wait() == 0);
    CAPTURE(p.err());
    CHECK(records(folder / "log") == trials);
    process again(folder, with(collect(folder, trials), {"--resume"}));
    CHECK(again.wait() == 0);
    CHECK(contains(again.out(), " 0 measured now, " + std::to_string(trials) + " taken from the log"));
    CHECK(records(folder / "log") == trials);
    process careless(folder, collect(folder, trials));
    CHECK(careless.wait() == 2);
    CHECK(contains(careless.err(), "or `resume`, to continue with them"));
}

TEST_CASE("one tuner a log; Ctrl-C ends it with a summary, twice at once") {
    const scratch folder("tune-test");
    {
        process first(folder, {"--kernel", tiny, "--kernel", "dense:m=16,n=48,k=16", "--trials", "5000", "--model", "none", "--log", folder / "log",
                               "--report", folder / "report.html"});
        REQUIRE(wait_for_records(folder / "log", 1));
        process second(folder, with(collect(folder, 5), {"--resume"}));
        CHECK(second.wait() == 2);
        CHECK(contains(second.err(), "process " + std::to_string(first.pid())));
        first.send(SIGINT);
        CHECK(first.wait() == 130);
        const auto said = first.out();
        CAPTURE(said);
        CHECK(contains(said, "tuned ms"));
        CHECK(contains(said, "interrupted"));
        CHECK(contains(said, "fused multiply-adds"));
        const auto report = contents(folder / "report.html");
        CHECK(contains(report, "<svg"));
        CHECK(contains(report, "</html>"));
        CHECK_FALSE(contains(report, "<script"));
        CHECK_FALSE(contains(report, "http"));
        CHECK(records(folder / "log") >= 1);
    }
    // The second signal must not wait for the round; it may come late (the run has ended orderly) or merge with the first, so it is tried again.
    int ended = 0;
    for (int attempt = 0; attempt < 20 && ended != -SIGTERM; ++attempt) {
        const auto before = records(folder / "log");
        process stubborn(folder, with(collect(folder, 5000), {"--resume"}));
        REQUIRE(wait_for_records(folder / "log", before + 1));
        stubborn.send(SIGTERM);
        std::this_thread::sleep_for(std::chrono::milliseconds(5 * (attempt % 4)));
        stubborn.send(SIGTERM);
        ended = stubborn.wait();
        CHECK((ended == -SIGTERM || ended == 130));
        CHECK(records(folder / "log") >= before + 1);
    }
    CHECK(ended == -SIGTERM);
}

TEST_CASE("limits of the machine that cannot be measured are reported as such, and the tuning goes on") {
    const scratch folder("tune-test");
    const auto cc = folder / "cc";
    write_text(cc, "#!/bin/sh\nfor a; do case \"$a\" in */b*.c) grep -q aug_peak_fma \"$a\" && exit 1;; esac; done\nexec cc \"$@\"\n");
    REQUIRE(::chmod(cc.c_str(), 0700) == 0);
    process p(folder, {"--kernel", tiny, "--trials", "4", "--model", "none", "--log", folder / "log", "--compiler", cc});
    CHECK(p.wait() == 0);
    CAPTURE(p.err());
    const auto said = p.out();
    CAPTURE(said);
    CHECK(contains(said, "limits not measured"));
    CHECK(contains(said, "peak: aug_peak_fma1: compile_error"));
    CHECK_FALSE(contains(said, "limits measured"));
    CHECK(contains(said, "tuned ms"));
    CHECK(records(folder / "log") == 5); // the untuned schedule, four trials
}

TEST_CASE("a full disk is told, and what was measured is kept") {
    const scratch folder("tune-test");
    constexpr std::size_t limit = std::size_t{4} << 20U; // of a file; the compiler's are smaller
    std::string filler = "# " + std::string(limit - 6000, 'x') + "\n";
    write_text(folder / "log", augur::log_header() + filler);
    {
        process p(folder, collect(folder, 100), limit);
        CHECK(p.wait() == 1);
        CAPTURE(p.err());
        CHECK(contains(p.err(), "cannot write a record"));
        CHECK(contains(p.out(), "ended by an error"));
    }
    const auto kept = records(folder / "log");
    CHECK(kept >= 1);
    CHECK(kept < 16);
    process on(folder, with(collect(folder, static_cast<int>(kept) + 4), {"--resume"}));
    CHECK(on.wait() == 0);
    CHECK(contains(on.out(), std::to_string(kept) + " taken from the log"));
    CHECK(records(folder / "log") == kept + 4);
}

TEST_CASE("a damaged log is resumed with what is whole in it, and says so") {
    const scratch folder("tune-test");
    {
        process p(folder, collect(folder, 6));
        REQUIRE(p.wait() == 0);
    }
    auto text = contents(folder / "log");
    const auto third = text.find("{\"i\"", text.find("{\"i\"", text.find("{\"i\"") + 1) + 1);
    text[third + 60] = '\x01';
    write_text(folder / "log", text.substr(0, text.size() - 25)); // and torn at the end
    process p(folder, with(collect(folder, 6), {"--resume"}));
    CHECK(p.wait() == 0);
    CAPTURE(p.out());
    CHECK(contains(p.out(), "4 taken from the log"));
    CHECK(contains(p.out(), "damaged"));
    CHECK(contains(p.out(), "unfinished record at the end"));
    CHECK(contains(p.out(), "2 measured now"));
}

} // namespace tune_test
