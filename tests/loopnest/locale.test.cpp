// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text that a machine reads is the same in a program that has called setlocale.
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/loopnest/codegen/c_writer.hpp>
#include <augur/loopnest/run/program_runner.hpp>
#include <augur/record/record.hpp>
#include <augur/target/machine_file.hpp>
#include <augur/target/machine_presets.hpp>

#include <doctest/doctest.h>

#include "../may_skip.hpp"
#include "kernels.hpp"

using namespace augur;
using namespace augur::loopnest;

namespace {

/// A locale with a decimal comma while it lives: the machine's, else one made in a scratch folder.
class decimal_comma {
public:
    decimal_comma() {
        if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) {
            folder_ = std::filesystem::temp_directory_path() / ("augur_locale_" + std::to_string(getpid()));
            std::filesystem::create_directories(folder_);
            const auto make = "localedef -i de_DE -f UTF-8 '" + (folder_ / "de_DE.UTF-8").string() + "' >/dev/null 2>&1";
            if (std::system(make.c_str()) != 0) MESSAGE("localedef made no locale de_DE.UTF-8");
            setenv("LOCPATH", folder_.c_str(), 1);
            std::setlocale(LC_ALL, "de_DE.UTF-8");
        }
    }
    ~decimal_comma() {
        std::setlocale(LC_ALL, "C");
        if (folder_.empty()) return;
        unsetenv("LOCPATH");
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    decimal_comma(const decimal_comma&) = delete;
    decimal_comma& operator=(const decimal_comma&) = delete;

    [[nodiscard]] static bool on() {
        char text[16];
        std::snprintf(text, sizeof text, "%.1f", 1.5);
        return std::string(text) == "1,5";
    }

private:
    std::filesystem::path folder_;
};

/// Everything that is written for a machine, one text each.
std::vector<std::string> texts() {
    std::vector<std::string> out;
    for (const auto& text : small_kernels) {
        const auto k = lower(loop_state(dag_of(text)));
        REQUIRE(k);
        out.push_back(write_c(*k).source);
    }
    out.push_back(machine_to_json(epyc_zen4()));
    ansor_line line;
    line.task.workload_key = R"(["dense", 1])";
    line.task.target = "llvm";
    line.costs = {1.5e-3, 0.25};
    line.all_cost = 1.75;
    out.push_back(to_json(line));
    record record = to_record(line);
    out.push_back(to_text(record));
    json_writer json(out.emplace_back());
    json.begin_array().value(0.1).value(-1e300).value(1.5).value_6(2.5e-7).end_array();
    append_number_hex(out.emplace_back(), 0.1);
    return out;
}

} // namespace

TEST_CASE("locale: code, logs, JSON and machine files do not depend on it" MAY_SKIP) {
    const auto plain = texts();
    for (std::size_t i = 0; i < small_kernels.size(); ++i) CHECK(plain[i].find("0x1,") == std::string::npos);
    std::vector<std::string> german;
    {
        const decimal_comma locale;
        if (!decimal_comma::on()) SKIP_CASE("this machine has no locale with a decimal comma and can make none");
        german = texts();

        const auto m = machine_from_json(plain[small_kernels.size()]);
        REQUIRE(m);
        CHECK(m->clock_hz == epyc_zen4().clock_hz);
        CHECK(m->memory.latency == epyc_zen4().memory.latency);
        const auto line = parse_ansor_line(plain[small_kernels.size() + 1]);
        REQUIRE(line);
        CHECK(line->costs == std::vector<double>{1.5e-3, 0.25});
        const auto& two = plain[small_kernels.size() + 2];
        const auto end = two.find('\n');
        const auto record = parse_record(two.substr(0, end), two.substr(end + 1, two.find('\n', end + 1) - end - 1));
        CHECK(record);
        for (const auto& [text, value] :
             {std::pair{"1.5", 1.5}, {"-2.25e-3", -2.25e-3}, {"3.14159265358979323846264338327950288", 0x1.921fb54442d18p+1}}) {
            json_reader in(text);
            double got = 0;
            CHECK((in.read(got) && in.finish()));
            CHECK(got == value);
            CHECK(parse_double(text) == value);
            CHECK(augur::detail::parse_double_by_strtod(text) == value); // where the library has no from_chars
        }
        CHECK(!parse_double("1,5"));

        runner_options options; // the compiler is told the same in such a host
        options.threads = 1;
        options.timing.repeats = 1;
        options.timing.min_repeat_seconds = 0;
        auto runner = program_runner::create(options);
        if (!runner) FAIL(runner.error().detail);
        const auto dag = dag_of("dense:m=3,n=5,k=8,bias,gelu");
        const auto reference = runner->make_expected_outputs(evaluated(*dag).second);
        REQUIRE(reference);
        const auto k = lower(loop_state(dag));
        REQUIRE(k);
        const std::vector<generated_program> programs{write_c(*k)};
        const auto measured = runner->measure(programs, *reference);
        CAPTURE(measured.front().reason);
        CHECK(to_string(measured.front().status) == to_string(outcome::ok));
    }
    REQUIRE(german.size() == plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) CHECK(german[i] == plain[i]);
}
