// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/metatune/super_graph.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/metatune/super_graph_text.hpp>

#include "../may_skip.hpp"
#include "../record/logs.hpp"
#include "candidates.hpp"

using namespace augur;

namespace {

using metatune::super_graph;

std::vector<candidates::candidate> some_candidates(random_engine& random, std::size_t n) {
    std::vector<candidates::candidate> list(n);
    for (auto& c : list) c = {random.below(2) == 0 ? "conv2d" : "dense", candidates::at_random(random)};
    return list;
}
super_graph union_of(const std::vector<candidates::candidate>& list) {
    super_graph graph;
    for (const auto& c : list) REQUIRE(graph.add(c.features, c.role));
    return graph;
}

/// The slots in words, as `candidates::names_of` has the loops.
std::vector<std::string> slot_names(const super_graph& graph) {
    std::vector<std::string> names;
    for (const auto& s : graph.slots())
        names.push_back((s.parent == metatune::loop_rows::no_parent ? s.role : names[s.parent]) + " / " + s.axis + " " + std::to_string(s.level) +
                        " " + std::to_string(s.repeat));
    return names;
}

/// What the row of a loop has in the columns of each access, by the definition of the features.
std::vector<float> touch_columns(const super_graph& graph, const iterator_features& f, const loop_features& loop) {
    const auto scaled = [](std::int64_t x) { return static_cast<float>((x < 0 ? -1 : 1) * std::log2(std::abs(static_cast<double>(x)) + 1)); };
    std::vector<float> columns;
    for (const auto& slot : graph.touches()) {
        std::vector<float> six(6);
        for (const auto& t : loop.touches) {
            std::uint32_t repeat = 0;
            for (std::uint32_t b = 0; b < t.buffer; ++b) repeat += f.buffers[b] == f.buffers[t.buffer] ? 1U : 0U;
            if (f.buffers[t.buffer] == slot.buffer && repeat == slot.repeat && t.access == slot.access)
                six = {scaled(t.stride), -1, scaled(t.count), scaled(t.reuse), scaled(t.thread_count), scaled(t.thread_reuse)};
        }
        columns.insert(columns.end(), six.begin(), six.end());
    }
    return columns;
}

void check_placed(const super_graph& graph, const candidates::candidate& c) {
    const auto rows = graph.place(c.features, c.role);
    REQUIRE(rows);
    CHECK(metatune::check(*rows)); // absent rows are 0, and parents are before their loops
    REQUIRE(static_cast<std::size_t>(rows->features.rows()) == graph.slots().size());
    REQUIRE(static_cast<std::size_t>(rows->features.cols()) == graph.columns());
    const auto slots = slot_names(graph), loops = candidates::names_of(c.features, c.role);
    const auto plain = metatune::rows_of(c.features);
    std::size_t present = 0;
    for (std::size_t s = 0; s < slots.size(); ++s) {
        const auto row = static_cast<nn::index>(s);
        const auto at = std::find(loops.begin(), loops.end(), slots[s]);
        CHECK(rows->parents[s] == graph.slots()[s].parent);
        CHECK(rows->present[s] == (at != loops.end() ? 1 : 0));
        if (at == loops.end()) {
            CHECK((rows->features.row(row).array() == 0).all());
            continue;
        }
        ++present;
        const auto i = at - loops.begin();
        const auto parent = rows->parents[s];
        if (parent != metatune::loop_rows::no_parent) CHECK(slots[parent] == loops[c.features.loops[static_cast<std::size_t>(i)].parent]);
        CHECK(rows->features.row(row).head(18) == plain.features.row(i).head(18));
        const auto touches = touch_columns(graph, c.features, c.features.loops[static_cast<std::size_t>(i)]);
        for (std::size_t t = 0; t < touches.size(); ++t) CHECK(rows->features(row, static_cast<nn::index>(18 + t)) == doctest::Approx(touches[t]));
    }
    CHECK(present == loops.size());
}

template <class T>
void not_made(errc code, std::string_view words, const result<T>& got) {
    REQUIRE(!got);
    CAPTURE(got.error().detail);
    CHECK(to_string(got.error().code) == to_string(code));
    CHECK(got.error().detail.find(words) != std::string::npos);
}

} // namespace

TEST_CASE("metatune super_graph: a union has each loop once, and gives each candidate its features back") {
    random_engine random(1);
    for (int round = 0; round < 60; ++round) {
        const auto list = some_candidates(random, 1 + random.below(8));
        const auto graph = union_of(list);
        std::set<std::string> expected;
        std::set<std::pair<std::pair<std::string, std::uint32_t>, std::uint32_t>> accesses;
        for (const auto& c : list) {
            for (const auto& name : candidates::names_of(c.features, c.role)) expected.insert(name);
            for (const auto& loop : c.features.loops)
                for (const auto& t : loop.touches) {
                    const auto& names = c.features.buffers;
                    const auto before = std::count(names.begin(), names.begin() + t.buffer, names[t.buffer]);
                    accesses.insert({{names[t.buffer], static_cast<std::uint32_t>(before)}, t.access});
                }
        }
        const auto slots = slot_names(graph);
        CHECK(std::set<std::string>(slots.begin(), slots.end()) == expected);
        CHECK(slots.size() == expected.size());
        CHECK(graph.touches().size() == accesses.size());
        CHECK(graph.columns() == 18 + 6 * accesses.size());
        for (const auto& c : list) check_placed(graph, c);
    }
}

TEST_CASE("metatune super_graph: the order of adding does not matter, and adding again changes nothing") {
    random_engine random(2);
    for (int round = 0; round < 100; ++round) {
        auto list = some_candidates(random, 6);
        const auto graph = union_of(list);
        random.shuffle(std::span(list));
        CHECK(union_of(list) == graph);
        list.insert(list.end(), list.begin(), list.begin() + 3);
        CHECK(union_of(list) == graph);
        CHECK(metatune::to_text(union_of(list)) == metatune::to_text(graph));
    }
}

TEST_CASE("metatune super_graph: the loops of three templates") {
    const auto list = candidates::of_all_templates();
    REQUIRE(list.size() == 7);
    const auto graph = union_of(list);
    std::map<std::string, std::size_t> of_role;
    for (const auto& name : slot_names(graph)) ++of_role[name.substr(0, name.find(" / "))];
    // x86: 3 that pad; 3 around and 2 that write back; kh, and 4 below it in two orders; 9 more of windows of one element
    CHECK(of_role == std::map<std::string, std::size_t>{{"conv2d_nchw.cuda", 21}, {"conv2d_NCHWc.x86", 26}, {"depthwise_conv2d_NCHWc.x86", 12}});
    std::vector<std::string> touches;
    for (const auto& t : graph.touches()) touches.push_back(t.buffer + std::to_string(t.access));
    CHECK(touches == std::vector<std::string>{"accumulator0", "accumulator1", "accumulator2", "data0", "data1", "image0", "kernel0", "output0"});
    CHECK(graph.columns() == 66);
    for (const auto& c : list) check_placed(graph, c);
    CHECK(graph.names().size() == 59);
    CHECK(graph.names()[0] == "conv2d_NCHWc.x86: n.ic_chunk.ih[0]");
    // one role for all: loops of equal names at equal places share a slot
    super_graph family;
    for (const auto& c : list) CHECK(family.add(c.features, "conv2d"));
    CHECK(family.slots().size() == 59 - 3); // the loops that pad on x86
}

TEST_CASE("metatune super_graph: as its comment shows it") {
    const auto made = candidates::of_all_templates();
    const auto example = [&](const auto* features) -> result<metatune::loop_rows> {
#include <snippets/metatune/super_graph.hpp.1.inc>
        return rows;
    };
    const auto rows = example(&made.front().features);
    REQUIRE(rows);
    CHECK(rows->present == std::vector<std::uint8_t>(21, 1));
}

TEST_CASE("metatune super_graph: without loops") {
    super_graph graph;
    CHECK(graph.add({}, "conv2d"));
    CHECK(graph == super_graph());
    const auto none = graph.place({}, "conv2d");
    REQUIRE(none);
    CHECK((none->features.rows() == 0 && none->features.cols() == 18));
    graph = union_of(candidates::of_all_templates());
    const auto rows = graph.place({}, "unknown");
    REQUIRE(rows);
    CHECK((rows->features.rows() == 59 && (rows->features.array() == 0).all()));
    CHECK(std::count(rows->present.begin(), rows->present.end(), 0) == 59);
}

TEST_CASE("metatune super_graph: loops and accesses that are not there are named") {
    const auto made = candidates::of_all_templates();
    super_graph graph;
    REQUIRE(graph.add(made[1].features, "x86"));
    not_made(errc::not_found, "no slot for the loop 'conv2d: n.ic_chunk.ih[0]', there are 13", graph.place(made[1].features, "conv2d"));
    auto f = made[1].features;
    const auto inner = std::find_if(f.loops.begin(), f.loops.end(), [](const auto& l) { return l.axis == "kh"; });
    REQUIRE(inner != f.loops.end());
    inner->axis = "kz";
    not_made(errc::not_found, "no slot for the loop 'x86: n.oc_chunk.oh[0]/ow[0]/ic[0]/kz[0]', there are 13", graph.place(f, "x86"));
    f = made[1].features;
    f.loops.push_back(f.loops[0]); // one more of the same name
    not_made(errc::not_found, "no slot for the loop 'x86: n.ic_chunk.ih[0]'", graph.place(f, "x86"));
    f = made[1].features;
    for (auto& b : f.buffers)
        if (b == "kernel") b = "kernels";
    not_made(errc::not_found, "no columns for access 0 of buffer 'kernels', there are 8 accesses", graph.place(f, "x86"));
}

TEST_CASE("metatune super_graph: features that no nest has, and too many of them") {
    const auto refused = [](errc code, std::string_view words, const iterator_features& f, std::string_view role = "r") {
        super_graph graph;
        REQUIRE(graph.add(candidates::of_all_templates()[0].features, "r"));
        const auto before = graph;
        not_made(code, words, graph.add(f, role));
        CHECK(graph == before);
    };
    iterator_features f;
    f.buffers = {"A", "B"};
    f.loops.resize(2);
    f.loops[1].parent = 1;
    refused(errc::invalid_argument, "loop 1 of the features: expected the loop around it", f);
    CHECK(!super_graph().place(f, "r"));
    f.loops[1].parent = 0;
    f.loops[1].touches.resize(1);
    f.loops[1].touches[0].buffer = 2;
    refused(errc::invalid_argument, "buffers that are there", f);
    f.loops[1].touches = {{1, 0, 0, 1, 1, 0, 0}, {0, 0, 0, 1, 1, 0, 0}};
    refused(errc::invalid_argument, "ordered by name", f);
    f.loops[1].touches = {{0, 0, 0, 1, 1, 0, 0}, {0, 0, 0, 1, 1, 0, 0}};
    refused(errc::invalid_argument, "ordered by name", f);
    f.loops[1].touches.clear();
    refused(errc::invalid_argument, "a name", f, "tab\t");
    refused(errc::invalid_argument, "a name", f, std::string(257, 'x'));
    f.loops[0].axis = "\xC3\xA4";
    refused(errc::invalid_argument, "a name", f);
    f.loops[0].axis = "";
    f.buffers[0] = std::string(1, '\0');
    refused(errc::invalid_argument, "a name", f);
    f.buffers.assign(257, "A");
    refused(errc::limit, "256", f);
    f.buffers = {"A"};
    for (std::uint32_t access = 0; access < 257; ++access) f.loops[0].touches.push_back({0, access, 0, 1, 1, 0, 0});
    refused(errc::limit, "256", f);
    f.loops.assign(4097, {});
    refused(errc::limit, "4096", f);
    f.loops.pop_back();
    super_graph graph;
    CHECK(graph.add(f, "r")); // without names: told by their order
    CHECK(graph.slots().size() == 4096);
    not_made(errc::limit, "4096", graph.add(f, "other"));
    CHECK(graph.slots().size() == 4096);
}

TEST_CASE("metatune super_graph: text, there and back") {
    random_engine random(3);
    CHECK(metatune::to_text({}) == R"({"format": "augur-super-graph", "version": 1, "touches": [], "slots": []})");
    for (int round = 0; round < 200; ++round) {
        const auto graph = union_of(some_candidates(random, random.below(6)));
        const auto back = metatune::parse_super_graph(metatune::to_text(graph));
        REQUIRE(back);
        CHECK(*back == graph);
    }
    iterator_features odd;
    odd.buffers = {R"(a"b\)"};
    odd.loops.resize(2);
    odd.loops[0].axis = R"(x"]}\)";
    odd.loops[0].level = odd.loops[1].level = 0xFFFFFFFF;
    odd.loops[0].touches.resize(1);
    super_graph graph;
    REQUIRE(graph.add(odd, R"({"role"})"));
    const auto back = metatune::parse_super_graph(metatune::to_text(graph));
    REQUIRE(back);
    CHECK(*back == graph);
}

TEST_CASE("metatune super_graph: malformed texts are errors") {
    const auto with = [](std::string_view touches, std::string_view slots) {
        return metatune::parse_super_graph(R"({"format": "augur-super-graph", "version": 1, "touches": [)" + std::string(touches) +
                                           R"(], "slots": [)" + std::string(slots) + "]}");
    };
    CHECK(with(R"(["A", 0, 0], ["A", 0, 1])", R"([-1, "r", "i", 0, 0], [-1, "r", "i", 0, 1], [0, "", "j", 0, 0], [1, "", "j", 0, 0])"));
    not_made(errc::parse, "1:1", metatune::parse_super_graph(""));
    not_made(errc::parse, "1:1", metatune::parse_super_graph("[]"));
    not_made(errc::version_mismatch, "got 2", metatune::parse_super_graph(R"({"format": "augur-super-graph", "version": 2})"));
    not_made(errc::version_mismatch, "got 'tlp'", metatune::parse_super_graph(R"({"format": "tlp", "version": 1})"));
    not_made(errc::parse, "'slots' is missing", metatune::parse_super_graph(R"({"format": "augur-super-graph", "version": 1, "touches": []})"));
    not_made(errc::parse, "twice", metatune::parse_super_graph(R"({"format": "augur-super-graph", "version": 1, "slots": [], "slots": []})"));
    not_made(errc::parse, "not known", metatune::parse_super_graph(R"({"format": "augur-super-graph", "version": 1, "slot": []})"));
    not_made(errc::parse, "expected another element", with(R"(["A", 0])", ""));
    not_made(errc::parse, "expected the end", with(R"(["A", 0, 0, 0])", ""));
    not_made(errc::parse, "expected a string", with("[0, 0, 0]", ""));
    not_made(errc::invalid_argument, "got -1", with(R"(["A", 0, -1])", ""));
    not_made(errc::invalid_argument, "got 4294967296", with(R"(["A", 0, 4294967296])", ""));
    not_made(errc::invalid_argument, "ordered", with(R"(["B", 0, 0], ["A", 0, 0])", ""));
    not_made(errc::invalid_argument, "ordered", with(R"(["A", 0, 0], ["A", 0, 0])", ""));
    not_made(errc::invalid_argument, "a name", with("[\"\xC3\xA4\", 0, 0]", ""));
    not_made(errc::invalid_argument, "its parent before it", with("", R"([0, "", "i", 0, 0])"));
    not_made(errc::invalid_argument, "got 4294967295", with("", R"([4294967295, "r", "i", 0, 0])"));
    not_made(errc::invalid_argument, "a role for outermost", with("", R"([-1, "r", "i", 0, 0], [0, "r", "i", 0, 0])"));
    not_made(errc::invalid_argument, "ordered by parent", with("", R"([-1, "r", "j", 0, 0], [-1, "r", "i", 0, 0])"));
    not_made(errc::invalid_argument, "ordered by parent", with("", R"([-1, "r", "i", 0, 0], [-1, "r", "i", 0, 0])"));
    not_made(errc::invalid_argument, "one repeat less", with("", R"([-1, "r", "i", 0, 1])"));
    not_made(errc::invalid_argument, "one repeat less", with("", R"([-1, "r", "i", 0, 0], [-1, "r", "i", 0, 2])"));
    std::string many = R"(["A", 0, 0])";
    for (int i = 1; i < 257; ++i) many += R"(, ["A", 0, )" + std::to_string(i) + "]";
    not_made(errc::limit, "256", with(many, ""));
    many = R"([-1, "r", "i", 0, 0])";
    for (int i = 1; i < 4097; ++i) many += R"(, [-1, "r", "i", 0, )" + std::to_string(i) + "]";
    not_made(errc::limit, "4096", with("", many));
}

TEST_CASE("metatune super_graph: no text crashes it, and what is read is a graph") {
    random_engine random(4);
    const auto list = candidates::of_all_templates();
    const std::string whole = metatune::to_text(union_of(list));
    const std::string small = metatune::to_text(union_of({{"r", list[6].features}}));
    const std::string_view letters = "0123456789[],\"-.{}: riuxA\\\x80";
    std::size_t good = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string text = round % 2 == 0 ? whole : small;
        for (std::size_t n = 1 + random.below(3); n-- > 0 && !text.empty();) {
            const std::size_t at = random.below(text.size());
            const auto end = static_cast<std::ptrdiff_t>((std::min)(text.size(), at + 1 + random.below(30)));
            const auto from = text.begin() + static_cast<std::ptrdiff_t>(at);
            switch (random.below(5)) {
            case 0: text.erase(from, text.begin() + end); break;
            case 1: text.insert(at, std::string(from, text.begin() + end)); break;
            case 2: text.resize(at + 1); break;
            default: *from = letters[random.below(letters.size())];
            }
        }
        const auto graph = metatune::parse_super_graph(text);
        if (!graph) continue;
        ++good;
        const auto again = metatune::parse_super_graph(metatune::to_text(*graph));
        REQUIRE(again);
        CHECK(*again == *graph);
        for (const auto& c : list)
            if (const auto rows = graph->place(c.features, c.role); rows) CHECK(metatune::check(*rows));
        auto more = *graph;
        CHECK(more.add(list[0].features, list[0].role));
        CHECK(more.place(list[0].features, list[0].role));
    }
    MESSAGE(good << " of 20000 texts are graphs");
    CHECK(good > 100);
}

TEST_CASE("metatune super_graph: records of AutoTVM" MAY_SKIP) {
    const auto folder = logs::data() / "autotvm";
    if (logs::data().empty() || !std::filesystem::is_directory(folder)) SKIP_CASE("no data (AUGUR_DATA)");
#ifdef AUGUR_TEST_SLOW
    const std::size_t every = 1;
#else
    const std::size_t every = 40;
#endif
    const auto graph = union_of(candidates::of_all_templates());
    std::map<std::string, std::size_t> seen;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (!entry.path().string().ends_with(".jsonl.gz")) continue;
        const logs::unpacked file(entry.path());
        std::string line(std::size_t{1} << 16U, '\0');
        for (std::size_t number = 0; std::fgets(line.data(), static_cast<int>(line.size()), file.pipe) != nullptr; ++number) {
            if (number % every != 0) continue;
            const auto record = parse_autotvm_line(std::string_view(line.c_str()));
            REQUIRE(record);
            const auto made = candidates::of(*record);
            if (!made) continue; // another template, or a configuration that tests/space/autotvm_nest.test.cpp has a word for
            const auto rows = graph.place(made->features, made->role);
            if (!rows) FAIL(to_string(rows.error()));
            CHECK(std::count(rows->present.begin(), rows->present.end(), 1) == static_cast<std::ptrdiff_t>(made->features.loops.size()));
            if (++seen[made->role] % 50 == 0) check_placed(graph, *made);
        }
    }
    for (const auto name : autotvm_template_names) {
        CAPTURE(name);
        CHECK(seen[std::string(name)] > 100);
        MESSAGE(name << ": " << seen[std::string(name)] << " records");
    }
}
