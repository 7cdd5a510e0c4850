// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_SPACE_TOY_HPP
#define AUGUR_TESTS_SPACE_TOY_HPP

/// @file
/// A small space whose options depend on what was decided before, and a schedule type for it.

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/describe.hpp>
#include <augur/space/factorisation.hpp>

namespace toy {

struct schedule {
    std::vector<std::int64_t> numbers;
    void visit(auto& sink) const {
        for (const auto n : numbers) {
            sink.primitive("SP");
            sink.number(n);
        }
    }
    friend bool operator==(const schedule&, const schedule&) = default;
};

/// Two sketches. Sketch 0: tiles of two axes (the second fits what the first left: a joint limit), unroll. Sketch 1: one tile, a compute location
/// that has as many options as the tile says, and parallel, which sampling leaves at its rule.
struct space {
    std::int64_t extent = 36;
    std::int64_t budget = 24; ///< product of the two inner tiles, at most

    [[nodiscard]] std::vector<std::int64_t> tiles(std::int64_t limit) const {
        std::vector<std::int64_t> out;
        for (std::int64_t d = 1; d <= extent; ++d)
            if (extent % d == 0 && d <= limit) out.push_back(d);
        return out;
    }
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
        using kind = augur::decision_kind;
        if (p.empty()) return augur::decision{kind::sketch, 2, 0, true};
        if (p.size() == 1) return augur::decision{kind::tile_size, tiles(budget).size(), 0, true};
        const auto first = tiles(budget)[p[1]];
        if (p[0] == 0) {
            if (p.size() == 2) return augur::decision{kind::tile_size, tiles(budget / first).size(), 0, true};
            if (p.size() == 3) return augur::decision{kind::unroll, 4, 0, true};
            return std::nullopt;
        }
        if (p.size() == 2) return augur::decision{kind::compute_location, p[1] % 3 + 1, 0, true};
        if (p.size() == 3) return augur::decision{kind::parallel, 3, p[2] % 2 + 1, false};
        return std::nullopt;
    }
    [[nodiscard]] augur::result<schedule> realise(std::span<const std::uint64_t> p) const {
        if (p.size() < 4) return augur::error{augur::errc::illegal_schedule, "toy: expected 4 decisions"};
        schedule s;
        for (const auto v : p) s.numbers.push_back(static_cast<std::int64_t>(v));
        return s;
    }
};

/// The same tree with descriptions.
struct described_space : space {
    class cursor_type {
    public:
        explicit cursor_type(const space& s) : space_(&s) {}
        [[nodiscard]] std::optional<augur::decision> next() const { return space_->next(prefix_); }
        void choose(std::uint64_t value) { prefix_.push_back(value); }
        void describe(auto& sink) const {
            constexpr const char* names[] = {"sketch", "tile", "unroll", "location", "parallel"};
            const std::size_t n = prefix_.size();
            sink.primitive(n < 2 ? names[n] : prefix_[0] == 0 ? names[n - 1] : names[n + 1]);
            if (n == 2 && prefix_[0] == 0) sink.name("second");
        }
        [[nodiscard]] augur::decision_scale scale() const {
            if (next()->kind == augur::decision_kind::tile_size)
                return {augur::decision_scale::kind::factorisation, space_->extent, 1, space_->budget};
            return {next()->kind == augur::decision_kind::sketch ? augur::decision_scale::kind::categorical : augur::decision_scale::kind::ordinal};
        }
        void words(std::uint64_t value, auto& sink) const { sink.number(meaning(value)); }
        [[nodiscard]] std::optional<std::uint64_t> nearest(std::span<const augur::schedule_item> words) const {
            if (words.size() != 1 || words[0].type != augur::schedule_item::kind::integer) return std::nullopt;
            std::uint64_t best = 0;
            const auto distance = [&](std::uint64_t v) { return std::abs(meaning(v) - words[0].integer); };
            for (std::uint64_t v = 1; v < next()->options; ++v)
                if (distance(v) < distance(best)) best = v;
            return best;
        }

    private:
        const space* space_;
        augur::decision_vector prefix_;

        [[nodiscard]] std::int64_t meaning(std::uint64_t value) const {
            if (next()->kind == augur::decision_kind::tile_size) return space_->tiles(space_->budget)[value];
            return static_cast<std::int64_t>(value);
        }
    };
    [[nodiscard]] cursor_type cursor() const { return cursor_type(*this); }
};

struct task {
    std::string name = "toy";
    double times = 1;
    [[nodiscard]] std::string_view key() const { return name; }
    [[nodiscard]] double weight() const { return times; }
};

/// `levels` decisions of `width` options: a grid, for landscapes.
struct grid {
    std::uint64_t levels = 6;
    std::uint64_t width = 16;
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
        if (p.size() == levels) return std::nullopt;
        return augur::decision{augur::decision_kind::tile_size, width, 0, true};
    }
    [[nodiscard]] augur::result<schedule> realise(std::span<const std::uint64_t> p) const {
        schedule s;
        for (const auto v : p) s.numbers.push_back(static_cast<std::int64_t>(v));
        return s;
    }
};

} // namespace toy

#endif
