// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matrix product as the loops of *your* compiler, predicted for machines that are not here. Nothing is compiled, nothing is run.
#include <cstdio>

#include <augur/crop/predictor.hpp>
#include <augur/program/nest/features_of_nest.hpp>
#include <augur/program/nest/options.hpp>
#include <augur/target/machine_presets.hpp>

namespace mycc { // a compiler that knows nothing of augur
struct product {
    long long m, n, k;
    bool tiled; ///< 4 x 32 results in registers; else one after the other
};
} // namespace mycc

template <> // 1. say what its loops are: C(m,n) += A(m,k) B(k,n), floats
struct augur::loop_nest_traits<mycc::product> {
    static void visit(const mycc::product& p, auto& sink) {
        using enum nest_annotation;
        for (const long long bytes : {p.m * p.k * 4, p.k * p.n * 4, p.m * p.n * 4}) sink.buffer(bytes);
        const long long rows = p.tiled ? 4 : 1, columns = p.tiled ? 2 : 1, lanes = 16;
        sink.begin_loop(p.m / rows, parallel);
        sink.begin_loop(p.n / columns / lanes, serial);
        sink.begin_loop(p.k, serial);
        sink.begin_loop(rows, unrolled);
        sink.begin_loop(columns, unrolled);
        sink.begin_loop(lanes, vectorized);
        constexpr auto f32 = element_type::f32;
        // loops from the outermost: 0 rows of tiles, 1 columns of tiles, 2 k, 3 row, 4 column, 5 lane
        const nest_access a{0, f32, 0, {{0, rows * p.k}, {3, p.k}, {2, 1}}}, b{1, f32, 0, {{2, p.n}, {1, columns * lanes}, {4, lanes}, {5, 1}}};
        nest_access c{2, f32, 0, {{0, rows * p.n}, {3, p.n}, {1, columns * lanes}, {4, lanes}, {5, 1}}};
        c.begins = true; // a sum that begins with 0 in a register
        nest_statement s;
        const auto sum = s.load(c);
        const auto product = s.add(instruction_class::fmul, f32, {s.load(a), s.load(b)});
        c.begins = false;
        s.store(c, s.add(instruction_class::fadd, f32, {sum, product}));
        sink.statement(s);
        for (int i = 0; i < 6; ++i) sink.end_loop();
    }
};

int main() {
    using namespace augur;
    const machine target = epyc_zen4();
    double seconds[2][2]{};
    for (const bool tiled : {false, true}) {
        const auto features = features_of_nest(mycc::product{512, 512, 512, tiled}, nest_options::of(target)); // 2. once for all with such registers
        if (!features) return std::puts(features.error().detail.c_str()), 1;
        for (const int threads : {1, 2}) { // 3. for any of these machines
            const auto p = crop::predict(*features, target, threads);
            if (!p) return std::puts(p.error().detail.c_str()), 1;
            seconds[tiled ? 1 : 0][threads - 1] = p->seconds;
            std::printf("%-6s %d threads: %7.3f ms, %5.1f GFLOP/s, limited by %s\n", tiled ? "tiled" : "naive", threads, p->seconds * 1e3,
                        2.0 * 512 * 512 * 512 / p->seconds * 1e-9, crop::limit_text(p->limited_by, p->unit).c_str());
        }
    }
    return seconds[1][0] < seconds[0][0] && seconds[1][1] < seconds[1][0] ? 0 : 1; // it runs as a test, so it checks itself
}
