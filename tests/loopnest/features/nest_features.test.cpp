// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/features/nest_features.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <augur/loopnest/schedule/space.hpp>
#include <augur/space/walk.hpp>

#include "dags.hpp"
#include "kernels.hpp"
#include "random_schedule.hpp"

using namespace augur;

using namespace augur::loopnest;
using namespace augur::loopnest::testing_dags;

namespace {

/// The features of one state by name, logarithms undone.
class by_name {
public:
    explicit by_name(const loop_state& s, const nest_target& on = {}) : values_(nest_feature_count) {
        nest_extractor extractor(on);
        const auto done = extractor.extract(s, values_);
        REQUIRE_MESSAGE(static_cast<bool>(done), done.error().detail);
    }
    [[nodiscard]] double operator[](const std::string& name) const {
        const auto at = std::find(names().begin(), names().end(), name);
        REQUIRE_MESSAGE(at != names().end(), name);
        return static_cast<double>(values_[static_cast<std::size_t>(at - names().begin())]);
    }
    /// y of log2(1 + y)
    [[nodiscard]] double count(const std::string& name) const { return std::exp2((*this)[name]) - 1; }
    [[nodiscard]] const std::vector<float>& all() const { return values_; }
    static const std::vector<std::string>& names() {
        static const auto list = nest_feature_names();
        return list;
    }

private:
    std::vector<float> values_;
};

doctest::Approx near(double x) { return doctest::Approx(x).epsilon(2e-5); }

/// C(n,32) = A(n,128) B(128,32): i by 4, j by 8, k by 16; loops i0 j0 k0 k1 i1 j1; i0 parallel, j1 a vector, unrolled up to 64.
loop_state tiled_matmul(std::int64_t n) {
    loop_state s(matmul(n, 32, 128));
    const std::vector<transform_step> steps{split_step{2, 0, n, {4}},
                                            split_step{2, 2, 32, {8}},
                                            split_step{2, 4, 128, {16}},
                                            reorder_step{2, {0, 2, 4, 5, 1, 3}},
                                            annotate_step{2, 0, loop_annotation::parallel},
                                            annotate_step{2, 5, loop_annotation::vectorize},
                                            pragma_step{2, 0, "auto_unroll_max_step$64"}};
    for (const auto& step : steps) {
        const auto done = s.apply(step);
        REQUIRE_MESSAGE(static_cast<bool>(done), done.error().detail);
    }
    return s;
}

nest_target small_target() {
    nest_target on;
    on.cores = 10;
    on.cache_bytes = {2048, 16384, 65536};
    return on;
}

/// The value of a sum when loop t has the value `loops[t]`.
std::int64_t value_of(const term_table& terms, const affine& a, const std::vector<std::int64_t>& loops) {
    std::int64_t sum = a.constant;
    for (const auto& [t, f] : a.terms) {
        const auto& x = terms[t];
        std::int64_t v = 0;
        if (x.type == term_table::term::kind::loop) v = loops[static_cast<std::size_t>(t)];
        else {
            const auto of = value_of(terms, x.operand, loops);
            v = x.type == term_table::term::kind::quotient ? floor_div(of, x.divisor) : of - x.divisor * floor_div(of, x.divisor);
        }
        sum += f * v;
    }
    return sum;
}

/// Distinct elements and lines that an access touches while the loops from `depth` run, those outside at 0; every iteration is made.
std::pair<double, double> enumerated(const term_table& terms, const std::vector<affine>& index, const std::vector<std::int64_t>& shape,
                                     const std::vector<augur::loopnest::detail::nest_loop>& loops, std::size_t depth) {
    std::set<std::int64_t> elements, lines;
    std::vector<std::int64_t> at(terms.size(), 0);
    for (;;) {
        std::int64_t flat = 0;
        for (std::size_t q = 0; q < index.size(); ++q) flat = flat * shape[q] + value_of(terms, index[q], at);
        elements.insert(flat);
        lines.insert(floor_div(flat, 16));
        std::size_t k = loops.size();
        for (; k > depth; --k) {
            auto& v = at[static_cast<std::size_t>(loops[k - 1].term)];
            if (++v < static_cast<std::int64_t>(loops[k - 1].extent)) break;
            v = 0;
        }
        if (k == depth) return {static_cast<double>(elements.size()), static_cast<double>(lines.size())};
    }
}

} // namespace

TEST_CASE("nest features: a matmul tiled by hand") {
    const by_name f(tiled_matmul(64), small_target());

    CHECK(f["stage0.there"] == 1);
    CHECK(f["stage1.there"] == 0);
    CHECK(f.count("stage0.log_operations") == near(2 * 64 * 32 * 128));
    CHECK(f.count("stage0.log_repeats") == near(1));
    CHECK(f.count("stage0.log_parallel") == near(16));
    CHECK(f["stage0.core_load"] == near(0.8)); // 16 parts in two rounds of 10
    CHECK(f.count("stage0.log_vector") == near(8));
    CHECK(f["stage0.vector_innermost"] == 1);
    CHECK(f["stage0.vector_fill"] == 1);
    CHECK(f["stage0.log_unroll_limit"] == near(std::log2(65)));
    CHECK(f.count("stage0.log_unrolled") == near(32)); // with k1 512
    CHECK(f.count("stage0.log_inner_space") == near(32));
    CHECK(f.count("stage0.log_register_tile") == near(32));
    CHECK(f.count("stage0.log_inner_reduce") == near(128));
    CHECK(f["stage0.loops"] == 6);
    CHECK(f["stage0.loops_around"] == 0);
    CHECK(f["stage0.adds"] == 1);
    CHECK(f["stage0.muls"] == 1);
    CHECK(f["stage0.reads"] == 2);
    CHECK(f["stage0.at_root"] == 1);

    const std::array<double, 6> extents{8, 4, 16, 8, 4, 16}; // from the inside
    const std::array<double, 6> reduces{0, 0, 1, 1, 0, 0};
    // lines of C, A and B that the 1, 2, ... innermost loops touch; rows of C and B have 2 lines, those of A 8
    const std::array<double, 6> lines{1 + 1 + 1, 4 + 4 + 1, 4 + 4 + 16, 4 + 32 + 128, 8 + 32 + 256, 128 + 512 + 256};
    for (std::size_t q = 0; q < 6; ++q) {
        CAPTURE(q);
        const auto n = "." + std::to_string(q);
        CHECK(f.count("stage0.log_loop_extent" + n) == near(extents[q]));
        CHECK(f["stage0.loop_reduces" + n] == reduces[q]);
        CHECK(f["stage0.loop_annotation" + n] == (q == 0 ? 2 : q == 5 ? 3 : 0));
        CHECK(f.count("stage0.log_inner_bytes" + n) == near(64 * lines[q]));
    }

    // C, then A (8192 elements), then B (4096)
    const std::array<double, 3> innermost{1, 0, 1}, second{32, 128, 0}, whole{128, 512, 256}, inner{4, 32, 128};
    for (std::size_t q = 0; q < 3; ++q) {
        CAPTURE(q);
        const auto n = "." + std::to_string(q);
        CHECK(std::exp2(f["stage0.log_stride_innermost" + n]) - 1 == near(innermost[q]));
        CHECK(std::exp2(f["stage0.log_stride_second" + n]) - 1 == near(second[q]));
        CHECK(std::exp2(f["stage0.log_lines" + n]) - 1 == near(whole[q]));
        CHECK(std::exp2(f["stage0.log_inner_lines" + n]) - 1 == near(inner[q]));
    }

    // 2 KiB hold k1 i1 j1 (24 lines), 16 KiB k0 as well (164), 64 KiB all. C stays over the rounds of k0, A over those of j0.
    const std::array<double, 3> fitting{3, 4, 6}, rounds{512, 64, 1};
    const std::array<double, 3> traffic{64 * 4 + 512 * 4 + 512 * 16, 64 * 4 + 16 * 32 + 64 * 128, 128 + 512 + 256};
    for (std::size_t c = 0; c < 3; ++c) {
        CAPTURE(c);
        const auto n = "." + std::to_string(c);
        CHECK(f.count("stage0.log_fitting_loops" + n) == near(fitting[c]));
        CHECK(f.count("stage0.log_fitting_rounds" + n) == near(rounds[c]));
        CHECK(f.count("stage0.log_flops_a_line" + n) == near(524288 / traffic[c]));
    }
    const double compute = 524288.0 / 4 / 8; // 4 lanes on 8 busy cores
    const std::array<double, 3> memory{traffic[0] * 4 / 8, traffic[1] * 12 / 8, traffic[2] * 40 / 8};
    CHECK(f.count("stage0.log_compute_cycles") == near(compute));
    CHECK(f.count("stage0.log_cache_cycles") == near(memory[0] + memory[1]));
    CHECK(f.count("stage0.log_cycles") == near(compute + memory[0] + memory[1] + memory[2]));
    CHECK(std::exp2(f["total.log_compute_cycles"]) == near((1 + compute) / 524288));
    for (std::size_t c = 0; c < 3; ++c) CHECK(std::exp2(f["total.log_memory_cycles." + std::to_string(c)]) == near((1 + memory[c]) / 524288));
    CHECK(std::exp2(f["total.log_cycles"]) == near((1 + compute + memory[0] + memory[1] + memory[2]) / 524288));

    CHECK(f["total.stages"] == 1);
    CHECK(f["total.roots"] == 1);
    CHECK(f["total.scalar_share"] == 0);
    CHECK(f["total.serial_share"] == 0);
    CHECK(f["total.log_repeats"] == 0);
    CHECK(f["total.parallel_stages"] == 1);
    CHECK(f.count("total.log_least_parallel") == near(16));
    CHECK(f.count("total.log_most_parallel") == near(16));
    CHECK(f["total.steps"] == 7);
    CHECK(f.count("total.log_iterations") == near(262144));
}

TEST_CASE("nest features: footprints equal those counted where the box is exact, and are never below the elements counted") {
    augur::random_engine rng(5);
    const auto extent = [&](std::uint64_t most) { return static_cast<std::int64_t>(2 + rng.below(most - 1)); };
    for (int round = 0; round < 60; ++round) {
        CAPTURE(round);
        term_table terms;
        std::vector<augur::loopnest::detail::nest_loop> loops;
        const auto loop = [&](std::int64_t e) {
            loops.push_back({terms.loop(e), static_cast<double>(e)});
            return term_table::value(loops.back().term);
        };
        // Rows and columns in tiles, a window that slides by one, a fused loop taken apart, and a loop that moves nothing. Rows of 16 and 32, so that
        // runs begin lines; those of 16 are whole with wide = 8.
        const auto tile = extent(4), rows = extent(3), taps = extent(3), other = extent(3);
        const auto wide = std::array<std::int64_t, 3>{3, 8, 10}[rng.below(3)];
        const auto i0 = loop(rows), i1 = loop(tile), r = loop(taps), j0 = loop(2), j1 = loop(wide), fused = loop(2 * other), still = loop(2);
        const std::vector<std::int64_t> shape{rows * tile + taps - 1, 2 * other, wide > 8 ? 32 : 16};
        const auto high = terms.quotient(fused, other), low = terms.remainder(fused, other);
        const auto check = [&](const std::vector<affine>& index, const std::vector<std::int64_t>& in, bool exact) {
            augur::loopnest::detail::nest_footprints box;
            box.begin(loops, terms.size(), 16);
            box.open();
            for (std::size_t q = in.size(); q-- > 0;) box.dimension(terms, &index[q], static_cast<double>(in[q]));
            box.close();
            for (std::size_t d = 0; d <= loops.size(); ++d) {
                CAPTURE(d);
                const auto [elements, lines] = enumerated(terms, index, in, loops, d);
                CHECK(box.elements(0, d) >= elements);
                if (!exact) continue;
                CHECK(box.elements(0, d) == elements);
                CHECK(box.lines(0, d) == lines);
            }
            for (std::size_t k = 0; k < loops.size(); ++k) CHECK(box.varies(0, k) == (loops[k].term != still.terms[0].first));
        };

        rng.shuffle(std::span<augur::loopnest::detail::nest_loop>(loops));
        const auto in_order = [&](const affine& outer, const affine& inner) { // boxes have no gaps when a tile's inner loop is inside its outer one
            const auto at = [&](const affine& a) {
                return std::find_if(loops.begin(), loops.end(),
                                    [&](const augur::loopnest::detail::nest_loop& l) { return l.term == a.terms[0].first; });
            };
            if (at(inner) < at(outer)) std::iter_swap(at(inner), at(outer));
        };
        check({i0 * tile + i1 * 2 + r, high + low, j0 * wide + j1 - r}, {3 * shape[0], 3 * shape[1], 96}, false);
        in_order(i0, i1);
        in_order(i1, r);
        in_order(i0, i1);
        in_order(j0, j1);
        check({i0 * tile + i1 + r, fused, j0 * wide + j1}, shape, true);
        check({i0 * tile + i1 + r, high, low, j0 * wide + j1}, {shape[0], 2, other, shape[2]}, true);
    }
}

TEST_CASE("nest features: an index that is no sum may be any element") {
    term_table terms;
    const std::vector<augur::loopnest::detail::nest_loop> loops{{terms.loop(4), 4}, {terms.loop(8), 8}};
    const auto inner = term_table::value(1);
    augur::loopnest::detail::nest_footprints box;
    box.begin(loops, terms.size(), 16);
    box.open();
    box.dimension(terms, &inner, 8);
    box.dimension(terms, nullptr, 20);
    box.close();
    CHECK(box.elements(0, 0) == 160);
    CHECK(box.elements(0, 1) == 160);
    CHECK(box.elements(0, 2) == 20);
    CHECK(box.lines(0, 2) == 20); // 20 rows of 8
    CHECK(box.varies(0, 0));
    CHECK(box.stride(0, 0) == 8);
}

TEST_CASE("nest features: laws") {
    SUBCASE("twice the parallel extent is twice the work, and nothing inside changes") {
        const by_name one(tiled_matmul(64)), two(tiled_matmul(128));
        for (std::size_t i = 0; i < nest_feature_count; ++i) {
            const auto& name = by_name::names()[i];
            CAPTURE(name);
            const auto is = [&](std::string_view part) { return name.find(part) != std::string::npos; };
            const double a = static_cast<double>(one.all()[i]), b = static_cast<double>(two.all()[i]);
            if (is("operations") || name == "stage0.log_parallel" || name == "stage0.log_loop_extent.5" || is("iterations") || is("_parallel") ||
                name == "stage0.log_fitting_rounds.0") {
                CHECK((std::exp2(b) - 1) == near(2 * (std::exp2(a) - 1)));
            } else if (is("core_load")) { // 16 of 24, then 32 of 48
                CHECK(a == b);
            } else if (is("stride") || is("inner_lines") || is("inner_space") || is("inner_reduce") || is("unroll") || is("loop_") || is("vector") ||
                       is("repeats") || is("share") || is("adds") || is("muls")) {
                CHECK(a == b);
            }
        }
    }
    SUBCASE("the extents of all loops make the iterations; of a graph as it stands those are the points") {
        for (const auto text : small_kernels) {
            CAPTURE(text);
            const auto dag = dag_of(text);
            const by_name f{loop_state(dag)};
            double points = 0;
            std::vector<double> stages;
            for (const auto& op : dag->ops) {
                if (op.placeholder()) continue;
                double p = 1;
                for (std::size_t a = 0; a < op.axis_count(); ++a) p *= static_cast<double>(op.axis(a).extent);
                points += p;
            }
            CHECK(f.count("total.log_iterations") == near(points));
            CHECK(f["total.log_repeats"] == 0);
            CHECK(f["total.serial_share"] == 1);
            for (const std::string group : {"stage0.", "stage1.", "stage2."}) {
                if (f[group + "there"] == 0 || f[group + "loops"] > 6) continue;
                double logs = 0;
                for (int q = 0; q < 6; ++q) {
                    const double e = f.count(group + "log_loop_extent." + std::to_string(q));
                    logs += e > 0.5 ? std::log2(e) : 0;
                }
                const double flops = (std::max)(f[group + "adds"] + f[group + "muls"] + 4 * f[group + "special"], 1.0);
                CHECK(std::exp2(logs) * flops == near(f.count(group + "log_operations")));
            }
        }
    }
    SUBCASE("no traffic is below the tensors, and a larger cache never takes more") {
        augur::random_engine rng(3);
        const auto dag = conv2d_nhwc_bias_relu(14, 14, 16, 32, 3, 1, 1);
        const auto space = ansor_space::create(dag);
        REQUIRE(space);
        for (int i = 0; i < 50; ++i) {
            const auto s = space->state(sample_path(*space, rng).values);
            REQUIRE(s);
            const by_name f(*s);
            double fits = 0;
            for (int c = 0; c < 3; ++c) {
                const auto more = f["stage0.log_fitting_loops." + std::to_string(c)];
                CHECK(more >= fits);
                fits = more;
            }
            double least = 0; // lines of the tensors, each fetched once
            for (int q = 0; q < 3; ++q) least += f.count("stage0.log_lines." + std::to_string(q));
            double flops_a_line = 0;
            for (int c = 0; c < 3; ++c) {
                const double more = f.count("stage0.log_flops_a_line." + std::to_string(c));
                CHECK(more >= flops_a_line * (1 - 1e-4));
                flops_a_line = more;
                CHECK(f.count("stage0.log_operations") / more >= least * (1 - 1e-4));
            }
            CHECK(f["total.log_repeats"] >= 0);
            CHECK(f["stage0.core_load"] > 0);
            CHECK(f["stage0.core_load"] <= 1);
        }
    }
}

TEST_CASE("nest features: names are printable, distinct, and as many as the numbers") {
    const auto names = nest_feature_names();
    CHECK(names.size() == nest_feature_count);
    CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
    for (const auto& n : names)
        for (const char c : n) CHECK((c > ' ' && c < 127));
    for (std::size_t i = 0; i < nest_stage_feature_count; ++i)
        CHECK(names[i].substr(7) == names[nest_stage_feature_count + i].substr(7)); // the groups are alike
    CHECK(names.front() == "stage0.there");
    CHECK(names[nest_feature_stages * nest_stage_feature_count] == "total.stages");
    CHECK(names.back() == "total.log_iterations");
}

TEST_CASE("nest features: every number of every program is finite, whatever the extractor saw before") {
#ifdef AUGUR_TEST_SLOW
    constexpr int sampled = 500, fuzzed = 500;
#else
    constexpr int sampled = 20, fuzzed = 6;
#endif
    nest_extractor kept;
    std::vector<float> a(nest_feature_count), b(nest_feature_count);
    const auto check = [&](const loop_state& s) {
        REQUIRE(kept.extract(s, a));
        CHECK(std::all_of(a.begin(), a.end(), [](float x) { return std::isfinite(x); }));
        auto bounds = bound(s);
        REQUIRE(bounds);
        nest_extractor fresh;
        fresh.extract(s, *bounds, b);
        CHECK(a == b);
        fresh.extract(s, *bounds, b); // the table of terms has grown by the reads
        CHECK(a == b);
    };
    for (const auto text : small_kernels) {
        CAPTURE(text);
        const auto dag = dag_of(text);
        ansor_options options;
        options.num_cores = 24;
        const auto space = ansor_space::create(dag, options);
        REQUIRE(space);
        augur::random_engine rng(11);
        for (int i = 0; i < sampled; ++i) {
            const auto s = space->state(sample_path(*space, rng).values);
            REQUIRE(s);
            check(*s);
        }
        for (int i = 0; i < fuzzed; ++i) check(random_schedule::sample(dag, rng, 16));
    }
}

TEST_CASE("nest features: the longest loops") {
    const std::int64_t longest = std::int64_t{1} << 40;
    compute_dag d;
    const int in = d.input("A", {longest});
    const int copy = d.compute("B", {{"i", longest}}, ex::read(in, {ax(0)}));
    d.compute("C", {{"i", 4}}, ex::read(copy, {ax(1)}), {{"k", longest}}, reducer::sum);
    loop_state s(share(std::move(d)));
    REQUIRE(s.apply(compute_at_step{1, 2, 0})); // 4 times 2^40, and so is C
    const by_name f(s);
    CHECK(f["stage0.log_operations"] == near(42));
    CHECK(f["stage1.log_operations"] == near(42));
    CHECK(f["total.log_repeats"] == near(std::log2(8.0 / 5)));
    CHECK(f["stage0.log_lines.0"] == near(36)); // of B
    for (const float x : f.all()) CHECK(std::isfinite(x));
}

TEST_CASE("nest features: a state without bounds is refused and leaves the numbers alone") {
    loop_state s(matmul(8, 8, 8));
    REQUIRE(s.apply(split_step{2, 0, 8, {0}}));
    nest_extractor extractor;
    std::vector<float> out(nest_feature_count, 7);
    const auto done = extractor.extract(s, out);
    REQUIRE_FALSE(done);
    CHECK(done.error().code == errc::illegal_schedule);
    CHECK(std::all_of(out.begin(), out.end(), [](float x) { return x == 7; }));
}

TEST_CASE("nest features: targets") {
    hardware_params h;
    h.num_cores = 6;
    h.vector_unit_bytes = 32;
    const auto logged = nest_target::make(h);
    auto narrow = h;
    narrow.cache_line_bytes = 1; // a log may say anything
    CHECK(nest_target::make(narrow).line_bytes == 64);
    CHECK(logged.cores == 6);
    CHECK(logged.vector_lanes == 8);
    CHECK(logged.cache_bytes == nest_target().cache_bytes);

    machine m;
    m.processors = 16;
    m.vector_bytes = 64;
    m.clock_hz = 2e9;
    m.caches = {{1, 49152, 64, 2, 12}, {2, 2097152, 64, 2, 16, 14, 32}, {3, 32 << 20, 64, 16, 16}}; // two processors a core, eight cores
    m.memory.core_bytes_per_second = 16e9;
    const auto t = nest_target::make(m, 8);
    CHECK(t.cores == 8);
    CHECK(t.vector_lanes == 16);
    CHECK(t.cache_bytes == std::array<double, 3>{49152, 2097152, 4 << 20});
    CHECK(t.line_cycles == std::array<double, 3>{2, 12, 8}); // 64 / 32; the third level's is not known; 64 * 2e9 / 16e9

    m.caches.pop_back();
    CHECK(nest_target::make(m).cache_bytes == std::array<double, 3>{49152, 2097152, 2097152});
    CHECK(nest_target::make(machine()).cache_bytes == nest_target().cache_bytes);
}
