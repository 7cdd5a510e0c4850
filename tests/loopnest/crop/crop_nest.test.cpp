// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/crop/crop_nest.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <augur/crop/predictor.hpp>
#include <augur/target/machine_presets.hpp>

#include <doctest/doctest.h>

#include "kernels.hpp"
#include "random_schedule.hpp"

using namespace augur;

using namespace augur::loopnest;

namespace {

/// What a program did: by buffer how often it was read, and which elements; what was written.
struct account {
    std::vector<double> reads;
    std::vector<std::set<std::int64_t>> read, written;
    double multiplications = 0, divisions = 0; ///< a quotient by a constant is a product with its reciprocal, as the C writer has it
    explicit account(std::size_t buffers) : reads(buffers), read(buffers), written(buffers) {}
};

/// The lowered kernel in the order of the interpreter, element by element; conditions of values are taken to be met, as the adapter does.
class lowered_walk {
public:
    lowered_walk(const lowered_kernel& k, account& out) : kernel_(k), out_(out), values_(k.terms) {
        for (const auto n : k.roots) enter(k.nests[n], 0);
    }

private:
    const lowered_kernel& kernel_;
    account& out_;
    augur::loopnest::detail::term_values values_;

    void value(const lowered_expr& e) {
        if (e.op == expr_op::read && e.buffer != lowered_nest::result_buffer) {
            ++out_.reads[static_cast<std::size_t>(e.buffer)];
            out_.read[static_cast<std::size_t>(e.buffer)].insert(values_.evaluate(e.index));
        }
        const bool by_constant = e.op == expr_op::div && e.operands[1].op == expr_op::constant;
        if (e.op == expr_op::mul || by_constant) ++out_.multiplications;
        else if (e.op == expr_op::div) ++out_.divisions;
        for (std::size_t i = e.op == expr_op::select ? 1 : 0; i < e.operands.size(); ++i) value(e.operands[i]);
    }
    void enter(const lowered_nest& n, std::size_t depth) {
        step(n, depth);
        if (n.epilogue && depth == n.first_reduce()) finish(n, depth);
    }
    void finish(const lowered_nest& n, std::size_t depth) {
        if (depth == n.loops.size()) {
            for (const auto& g : n.guards)
                if (values_.evaluate(g) < 0) return;
            return value(*n.epilogue);
        }
        const auto& l = n.loops[depth];
        for (std::int64_t i = 0; i < (l.reduce ? 1 : l.extent); ++i) {
            if (l.term >= 0) values_.set(l.term, i);
            finish(n, depth + 1);
        }
    }
    void step(const lowered_nest& n, std::size_t depth) {
        if (depth == n.loops.size()) {
            for (const auto& g : n.guards)
                if (values_.evaluate(g) < 0) return;
            value(n.value);
            out_.written[static_cast<std::size_t>(n.buffer)].insert(values_.evaluate(n.index));
            return;
        }
        const auto& l = n.loops[depth];
        for (std::int64_t i = 0; i < l.extent; ++i) {
            if (l.term >= 0) values_.set(l.term, i);
            for (const auto a : l.attached) enter(kernel_.nests[a], 0);
            enter(n, depth + 1);
        }
    }
};

/// The nest that the adapter shows, element by element.
class nest_walk {
public:
    nest_walk(const loop_nest_builder& n, account& out) : nest_(n), out_(out) { enter(0); }

private:
    const loop_nest_builder& nest_;
    account& out_;
    std::vector<std::int64_t> values_;

    void enter(std::uint32_t node) {
        for (const auto c : nest_.nodes()[node].children) {
            const auto& n = nest_.nodes()[c];
            if (!n.is_loop()) {
                statement(nest_.statements()[n.statement]);
                continue;
            }
            values_.push_back(0);
            for (values_.back() = 0; values_.back() < n.extent; ++values_.back()) enter(c);
            values_.pop_back();
        }
    }
    void statement(const nest_statement& s) {
        std::uint32_t own = nest_operation::none; // the buffer that results are in
        for (const auto& o : s.operations)
            if (o.op == instruction_class::store) own = s.accesses[o.access].buffer;
        for (const auto& o : s.operations) {
            if (o.op == instruction_class::fmul) out_.multiplications += s.share;
            if (o.op == instruction_class::fdiv) out_.divisions += s.share;
            if (o.access == nest_operation::none) continue;
            const auto& a = s.accesses[o.access];
            if (a.buffer >= out_.reads.size()) continue; // partial sums
            std::int64_t at = a.offset;
            for (const auto& d : a.digits) at += d.at(values_[d.loop]);
            if (o.op == instruction_class::store) {
                out_.written[a.buffer].insert(at);
            } else if (a.buffer != own) {
                out_.reads[a.buffer] += s.share;
                out_.read[a.buffer].insert(at);
            }
        }
    }
};

bool functions_in(const lowered_expr& e) {
    return e.op == expr_op::exp || e.op == expr_op::tanh || e.op == expr_op::erf ||
           std::any_of(e.operands.begin(), e.operands.end(), [](const lowered_expr& o) { return functions_in(o); });
}

} // namespace

TEST_CASE("lowered candidates as loop nests: iterations, multiplications, divisions and elements are those of the interpreter") {
    int exact = 0, all = 0;
    for (const auto& text : small_kernels) {
        CAPTURE(std::string(text));
        const auto dag = dag_of(text);
        augur::random_engine rng(fnv1a64(text));
        for (int i = 0; i < 8; ++i) {
            CAPTURE(i);
            const auto s = random_schedule::sample(dag, rng, i < 2 ? 0 : 20);
            const auto k = lower(s);
            REQUIRE(k);
            account want(k->buffers.size()), got(k->buffers.size());
            const auto fused = augur::loopnest::detail::with_epilogues(*k); // the adapter shows what the generated code does
            lowered_walk(fused, want);
            loop_nest_builder nest;
            crop_nest{&*k, {}}.visit(nest);
            nest_walk(nest, got);
            const bool functions = std::any_of(fused.nests.begin(), fused.nests.end(), [](const lowered_nest& n) {
                return functions_in(n.value) || (n.epilogue && functions_in(*n.epilogue));
            });
            bool elements = true;
            for (std::size_t b = 0; b < k->buffers.size(); ++b) {
                CAPTURE(b);
                CHECK(got.reads[b] == doctest::Approx(want.reads[b]).epsilon(1e-9));
                const bool guarded = std::any_of(fused.nests.begin(), fused.nests.end(), [](const lowered_nest& n) { return !n.guards.empty(); });
                if (!guarded && (got.read[b] != want.read[b] || got.written[b] != want.written[b])) elements = false;
            }
            if (!functions) {
                CHECK(got.multiplications == doctest::Approx(want.multiplications).epsilon(1e-9));
                CHECK(got.divisions == doctest::Approx(want.divisions).epsilon(1e-9));
            }
            exact += elements ? 1 : 0;
            ++all;
            const auto p = crop_features(*k);
            REQUIRE_MESSAGE(p, (p ? "" : p.error().detail));
            const auto predicted = crop::predict(*p, epyc_zen4());
            REQUIRE_MESSAGE(predicted, (predicted ? "" : predicted.error().detail));
            CHECK(predicted->seconds > 0);
        }
    }
    MESSAGE(exact, " of ", all, " nests touch the very elements");
    CHECK(exact >= all * 9 / 10); // the others have remainders of sums, whose carries the digits leave out
}
