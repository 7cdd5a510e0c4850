// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/io/autotvm_log.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/record/autotvm_line.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/space/autotvm_space.hpp>
#include <augur/tlp/vocabulary.hpp>
#include <doctest/doctest.h>

#include "../may_skip.hpp"
#include "../record/autotvm_lines.hpp"
#include "../record/logs.hpp"
#include "../search/threads.hpp"
#include "accounts.hpp"

namespace autotvm_log_test {

using namespace augur;

namespace {

void check_same(const std::string& text, std::size_t block = accounts::usual_block) {
    CAPTURE(text);
    CHECK(accounts::difference(accounts::autotvm_by_reader(text, {}, block), accounts::autotvm_by_lines(text)) == "");
}

#ifdef AUGUR_HAS_ZLIB
std::vector<std::int64_t> integers(json_reader& in) {
    std::vector<std::int64_t> out;
    in.begin_array();
    while (in.next_element()) in.read(out.emplace_back());
    return out;
}

/// The space of a convolution whose strides and paddings are lists, from the template's source in TVM (topi/cuda/conv2d_direct.py,
/// topi/x86/conv2d_avx_*.py). Empty for another template.
std::vector<autotvm_knob_space> convolution_space(const autotvm_line& line) {
    const bool gpu = line.name == "conv2d_nchw.cuda";
    if (!gpu && line.name != "conv2d_NCHWc.x86") return {};
    json_reader in(line.arguments);
    std::array<std::vector<std::int64_t>, 2> shapes;
    std::string_view text;
    in.begin_array();
    for (auto& shape : shapes)
        if (in.next_element() && in.begin_array() && in.next_element() && in.read(text) && in.next_element()) {
            shape = integers(in);
            in.next_element() && in.read(text);
            in.next_element();
        }
    in.next_element();
    const auto stride = integers(in);
    in.next_element();
    const auto padding = integers(in);
    if (!in.ok()) return {};
    const auto &data = shapes[0], &kernel = shapes[1];
    const std::int64_t height = (data[2] + padding[0] + padding[2] - kernel[2]) / stride[0] + 1;
    const std::int64_t width = (data[3] + padding[1] + padding[3] - kernel[3]) / stride[1] + 1;
    std::vector<autotvm_knob_space> knobs;
    const auto other = [&](std::string name, std::vector<std::vector<autotvm_value>> options) {
        knobs.push_back({std::move(name), autotvm_knob_kind::other, std::move(options)});
    };
    const std::int64_t one = 1, two = 2;
    if (gpu) {
        knobs = {autotvm_split_knob("tile_f", kernel[0], 4),  autotvm_split_knob("tile_y", height, 4),
                 autotvm_split_knob("tile_x", width, 4),      autotvm_split_knob("tile_rc", kernel[1], 2),
                 autotvm_split_knob("tile_ry", kernel[2], 2), autotvm_split_knob("tile_rx", kernel[3], 2)};
        other("auto_unroll_max_step", {{std::int64_t{0}}, {std::int64_t{512}}, {std::int64_t{1500}}});
        other("unroll_explicit", {{std::int64_t{0}}, {one}});
        return knobs;
    }
    autotvm_split_options tile;
    tile.policy = autotvm_split_policy::verbose;
    tile.filter = [](std::span<const std::int64_t> split) { return split.back() <= 64; };
    knobs = {autotvm_split_knob("tile_ic", kernel[1], 2), autotvm_split_knob("tile_oc", kernel[0], 2), autotvm_split_knob("tile_ow", width, 2, tile)};
    if (kernel[2] == 1 && kernel[3] == 1)
        other("tile_oh", height > 1 ? std::vector<std::vector<autotvm_value>>{{one}, {two}} : std::vector<std::vector<autotvm_value>>{{one}});
    else other("unroll_kw", {{std::string("true")}, {std::string("false")}});
    return knobs;
}
#endif

} // namespace

TEST_CASE("autotvm_log: every spelling is read, or refused, as by parse_autotvm_line") {
    std::vector<std::string> lines = autotvm_lines::usual();
    const auto odd = autotvm_lines::odd();
    lines.insert(lines.end(), odd.begin(), odd.end());
    const std::string known = autotvm_lines::usual()[0] + "\n" + autotvm_lines::usual()[1] + "\n";
    for (const auto& line : lines) {
        check_same(line);
        check_same(known + line + "\r\n" + known + line + "\n# remark\n\n");
    }
}

TEST_CASE("autotvm_log: every line cut at every byte, and with every byte changed, is read or refused with its place") {
    const std::string known = autotvm_lines::usual()[0] + "\n" + autotvm_lines::usual()[1] + "\n";
    for (const auto& line : autotvm_lines::usual())
        for (std::size_t n = 0; n < line.size(); ++n) {
            check_same(known + line.substr(0, n));
            check_same(line + "\n" + line.substr(0, n) + "\n" + line + "\n");
            std::string changed = line;
            changed[n] = static_cast<char>(static_cast<unsigned char>(changed[n]) ^ (1U << (n % 8)));
            check_same(line + "\n" + changed + "\n" + line + "\n");
        }
}

TEST_CASE("autotvm_log: logs of chance in blocks of any size") {
    auto rng = random_engine(2);
    auto lines = autotvm_lines::usual();
    const auto odd = autotvm_lines::odd();
    lines.insert(lines.end(), odd.begin(), odd.end());
    for (int round = 0; round < 500; ++round) {
        std::string text;
        for (auto n = rng.below(12); n > 0; --n) text += lines[rng.below(rng.below(2) == 0 ? 7 : lines.size())] + "\n";
        if (!text.empty() && rng.below(3) == 0) text.resize(rng.below(text.size()));
        check_same(text, 1 + rng.below(2000));
    }
}

TEST_CASE("autotvm_log: limits") {
    const auto lines = autotvm_lines::usual();
    log_read_options options;
    options.steps = 4;
    auto seen = accounts::autotvm_by_reader(lines[0] + "\n" + lines[1] + "\n" + lines[0] + "\n", options);
    CHECK(seen.records.size() == 2);
    REQUIRE(seen.bad.size() == 1);
    CHECK(seen.bad[0].ends_with("more knobs than the limit of 4"));
    options = {};
    options.limits.document = 300;
    seen = accounts::autotvm_by_reader(lines[0] + "\n" + lines[4] + "\n", options);
    CHECK(seen.bad[0] == "log:1:1: a line beyond the limit of 300 bytes");
    options = {};
    options.strict = true;
    accounts::account_sink<autotvm_config> to;
    const std::string text = lines[0] + "\ngarbage\n" + lines[0] + "\n";
    same::memory_source source{text};
    autotvm_log_reader<accounts::account_sink<autotvm_config>> reader("log", to, options);
    const auto done = reader.read(source);
    REQUIRE(!done);
    CHECK(done.error().detail == "log:2:1: expected an object, got 'g'");
}

TEST_CASE("autotvm_log: what repeats is parsed once, and any number of threads gives one data set") {
    const logs::folder tmp;
    std::vector<std::string> paths;
    auto rng = random_engine(3);
    const auto usual = autotvm_lines::usual();
    for (int file = 0; file < 5; ++file) {
        std::string text;
        for (int i = 0; i < 300; ++i) text += usual[rng.below(usual.size())] + "\n";
        paths.push_back(tmp / ("net" + std::to_string(file) + ".json").c_str());
        logs::write(paths.back(), text + "garbage\n");
    }
    CHECK(accounts::autotvm_by_reader(logs::read(paths[0])).steps < 30);
    const auto read = [&](auto executor) {
        dataset_builder builder;
        const auto reports = read_autotvm_logs(paths, executor, builder);
        REQUIRE(reports);
        for (const auto& report : *reports) CHECK((report.summary.records == 300 && report.summary.bad == 1));
        return std::move(builder).finish({.merge_equal = false});
    };
    const dataset one = read(serial_executor()), four = read(toy::threads{4});
    REQUIRE(one.size() == 1500);
    REQUIRE(four.size() == 1500);
    CHECK(one.source(3) == "net3");
    CHECK(one.tasks() == four.tasks());
    for (std::size_t r = 0; r < one.size(); ++r) {
        CHECK(hash_schedule(one.visit(r)) == hash_schedule(four.visit(r)));
        CHECK(one.status(r) == four.status(r));
        if (one.status(r) == outcome::ok) CHECK(one.seconds(r) == four.seconds(r));
    }
    // TLP's vocabulary: a column per kind of knob, the name of a knob as a word.
    tlp::vocabulary_builder counts;
    for (std::size_t r = 0; r < one.size(); ++r) counts.see(one.visit(r));
    const auto schema = counts.schema();
    REQUIRE(schema);
    CHECK(schema->kind_columns >= 4);
}

#ifdef AUGUR_HAS_ZLIB
TEST_CASE("autotvm_log: real logs" MAY_SKIP) {
    const auto folder = logs::data() / "autotvm";
    if (logs::data().empty() || !std::filesystem::is_directory(folder)) SKIP_CASE("no data (AUGUR_DATA)");
    // lines and failed records of each file, counted by zcat, wc and a JSON library
    const std::map<std::string, std::pair<std::size_t, std::size_t>> expected{{"arm_cortex_a72.mobilenet", {45792, 4406}},
                                                                              {"arm_cortex_a72.resnet-18", {46327, 6451}},
                                                                              {"cuda_gtx1650.resnet-18", {45909, 5909}},
                                                                              {"cuda_gtx1650.vgg-16", {45164, 8211}},
                                                                              {"cuda_rtx3080.resnet-18", {46111, 5963}},
                                                                              {"cuda_rtx3080.vgg-16", {49512, 8069}},
                                                                              {"k80_conv", {43624, 3760}},
                                                                              {"mi50_conv", {44000, 5139}},
                                                                              {"v100_conv", {44000, 3830}},
                                                                              {"x86_amd_3700x.mobilenet", {41884, 930}},
                                                                              {"x86_amd_3700x.resnet-18", {41436, 8}},
                                                                              {"x86_i7_3770.mobilenet", {48994, 1414}},
                                                                              {"x86_i7_3770.resnet-18", {41374, 23}}};
    serial_executor executor;
    std::size_t records = 0, numbered = 0;
    for (const auto& file : expected) {
        const std::string& name = file.first;
        const auto& counts = file.second;
        CAPTURE(name);
        const std::vector<std::string> paths{(folder / (name + ".jsonl.gz")).string()};
        dataset_builder builder;
        const auto reports = read_autotvm_logs(paths, executor, builder);
        REQUIRE(reports);
        CHECK((*reports)[0].summary.records == counts.first);
        CHECK((*reports)[0].summary.bad == 0);
        const dataset data = std::move(builder).finish({.merge_equal = false});
        CHECK(data.size() == counts.first);
        CHECK(data.report().failed == counts.second);
        records += data.size();

        // every hundredth line: the fast reader and the line parser agree, and the line is written again byte for byte
        const logs::unpacked unpacked(paths[0]);
        std::string sample;
        std::size_t number = 0;
        char* text = nullptr;
        std::size_t room = 0;
        for (ssize_t size = ::getline(&text, &room, unpacked.pipe); size > 0; size = ::getline(&text, &room, unpacked.pipe)) {
            if (number++ % 100 != 0) continue;
            const std::string_view whole(text, static_cast<std::size_t>(size));
            sample += whole;
            const auto line = parse_autotvm_line(whole.substr(0, whole.size() - 1));
            REQUIRE(line);
            CHECK(to_json(*line) == whole.substr(0, whole.size() - 1));
            if (const auto knobs = convolution_space(*line); !knobs.empty()) { // the index in the log is that of the configuration
                const auto space = autotvm_space::make(knobs);
                REQUIRE(space);
                CAPTURE(whole);
                const auto decisions = space->decide(line->config);
                CHECK(decisions);
                if (decisions) CHECK(*space->index_of(*decisions) == static_cast<std::uint64_t>(line->index));
                ++numbered;
            }
        }
        std::free(text);
        check_same(sample);
    }
    CHECK(records == 584'127);
    CHECK(numbered > 2000);
}
#endif

} // namespace autotvm_log_test
