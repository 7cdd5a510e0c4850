// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/schedule/meta_schedule_trace.hpp>

#include <fstream>
#include <iterator>
#include <string>

#include <augur/core/json.hpp>
#include <augur/core/number.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/schedule/meta_schedule_trace_json.hpp>
#include <doctest/doctest.h>

namespace meta_schedule_trace_test {

using namespace augur;

static_assert(schedule<meta_schedule_trace>);

namespace {

/// A visit as the words of a TLM sentence.
struct word_sink {
    std::string text;
    void primitive(std::string_view kind) { text.append(kind) += ' '; }
    void number(std::integral auto n) { append_number(text, n), text += ' '; }
    void number(double d) { append_number(text, d), text += ' '; }
    void name(std::string_view s) { text.append(s) += ' '; }
};

} // namespace

TEST_CASE("meta_schedule_trace: a visit gives the words of TLM's sentence") {
    std::ifstream file(AUGUR_TEST_DIR "/vectors/tlm_meta_sentence.json");
    const std::string json{std::istreambuf_iterator<char>(file), {}};
    json_reader in(json);
    std::string record, sentence;
    std::string_view key;
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "record_line") in.read(record);
        else if (key == "text") in.read(sentence);
        else in.skip();
    }
    REQUIRE(in.finish());
    json_reader line(record); // [0, [trace, ...]]
    std::int64_t workload = 0;
    meta_schedule_trace trace;
    REQUIRE((line.begin_array() && line.next_element() && line.read(workload) && line.next_element() && line.begin_array() && line.next_element()));
    REQUIRE(read_meta_schedule_trace(line, trace));
    REQUIRE(trace.instructions.size() == 24);

    // TLM writes decisions behind the instructions and replaces the value of meta_schedule.parallel by 1.
    std::string decisions;
    auto prompt = trace;
    for (std::size_t i = 0; i < prompt.instructions.size(); ++i) {
        auto& instruction = prompt.instructions[i];
        if (!instruction.attributes.empty() && instruction.attributes[0] == trace_value{std::string("meta_schedule.parallel")})
            instruction.inputs[1].data = std::int64_t{1};
        if (!instruction.decision) continue;
        word_sink words;
        detail::visit_trace_value(*instruction.decision, words);
        append_number(decisions, i);
        decisions += " " + words.text;
        instruction.decision.reset();
    }
    word_sink words;
    prompt.visit(words);
    CHECK(sentence.find(" " + words.text) != std::string::npos);
    CHECK(words.text.starts_with("GetBlock T_matmul_NT main b0 GetBlock"));
    CHECK(words.text.ends_with("EnterPostproc "));
    CHECK(sentence.find("PPT " + decisions) != std::string::npos);
}

TEST_CASE("meta_schedule_trace: JSON that TVM writes is written again byte for byte, and every change of it changes the hash") {
    const std::string json = R"([[["SamplePerfectTile",["l2"],[2,16],["v4","v5"]],["Annotate",["b0","\"S\""],["m",[0.25,[]],null,{"a":[1]}],[]],)"
                             R"(["X",[1e-07],[-3],[]]],[[0,[32,4]],[1,0]]])";
    const auto trace = parse_meta_schedule_trace(json);
    REQUIRE(trace);
    CHECK(testing::check_schedule(*trace));
    std::string written = to_json(*trace);
    CHECK(*parse_meta_schedule_trace(written) == *trace);
    CHECK(written.find("0.25") != std::string::npos);
    std::size_t changes = 0;
    for (std::size_t n = 0; n < json.size(); ++n) {
        if (json[n] < '1' || json[n] > '8') continue;
        std::string other = json;
        ++other[n];
        const auto changed = parse_meta_schedule_trace(other);
        if (!changed) continue; // the index of an instruction
        CAPTURE(other);
        CHECK(hash_schedule(*changed) != hash_schedule(*trace));
        CHECK(!(*changed == *trace));
        ++changes;
    }
    CHECK(changes > 10);
}

} // namespace meta_schedule_trace_test
