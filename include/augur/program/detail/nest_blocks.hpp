// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_DETAIL_NEST_BLOCKS_HPP
#define AUGUR_PROGRAM_DETAIL_NEST_BLOCKS_HPP

/// @file
/// Building blocks of the loop-nest code generator of `features_of_nest`: basic blocks, addresses of elements, and values held in registers.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <augur/program/detail/nest_memory.hpp>
#include <augur/program/features.hpp>
#include <augur/program/nest/options.hpp>
#include <augur/workload/loop_nest.hpp>

namespace augur::inline v0::detail {

/// State of the code generator for one function: its blocks, the loops that enclose the current position, and its memory accesses.
class nest_blocks {
protected:
    nest_blocks(const loop_nest_builder& nest, const nest_options& options) : nest_(nest), options_(options) {}

    enum class kind : std::uint8_t { rolled, fixed, lanes };
    struct open_loop {
        kind form;
        std::int64_t extent;
        std::int64_t value; ///< the iteration that is being written; `fixed` only
    };
    /// The address of an access as a function of rolled loops and lanes; the values of fixed loops are part of `offset`.
    struct place {
        std::uint32_t buffer = 0;
        element_type type = element_type::f32;
        std::int64_t offset = 0;
        std::vector<nest_digit> digits;

        friend bool operator==(const place&, const place&) = default;
    };
    /// A value that stays in registers across the iterations of a loop.
    struct held_value {
        place address;
        std::size_t depth;     ///< depth of the outermost loop across which the value is held
        std::size_t registers; ///< number of registers that the value takes
        std::int64_t lanes;
        bool loaded = false, stored = false, begins = false;
        bool active = true;
    };
    /// The source of an operand: a vertex of this block, or a held value.
    struct operand {
        bool local; ///< `index` is a vertex of this block; else it is a held value
        std::uint32_t index;
    };
    struct open_block {
        std::string name;
        std::uint64_t count = 0;
        std::vector<instruction> code;
        std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
        std::vector<dependence> wanted;                            ///< (held value, vertex that uses the value from before the block)
        std::vector<std::pair<std::uint32_t, std::uint32_t>> made; ///< (held value, vertex that defines its current value)
    };
    /// A control-flow edge between two blocks.
    struct control_path {
        std::uint32_t from, to; ///< blocks
        std::uint64_t count;    ///< times taken
    };

    const loop_nest_builder& nest_;
    const nest_options& options_;
    std::vector<open_loop> open_loops_;
    std::size_t outside_ = 0; ///< how many of `open_loops_` enclose the function
    std::vector<held_value> held_;
    std::vector<open_block> blocks_;
    std::vector<control_path> paths_;
    std::vector<std::pair<place, std::uint32_t>> seen_; ///< addresses that this block has loaded, and the vertices that hold the values
    nest_trace trace_;

    /// The block that is being written.
    [[nodiscard]] open_block& now() { return blocks_.back(); }
    [[nodiscard]] std::uint32_t current() const { return static_cast<std::uint32_t>(blocks_.size()) - 1; }
    void begin(std::uint64_t count, const char* name = "entry") {
        blocks_.push_back({name, count, {}, {}, {}, {}});
        seen_.clear();
    }
    std::uint32_t add(instruction i) {
        now().code.push_back(i);
        return static_cast<std::uint32_t>(now().code.size()) - 1;
    }
    void use(const operand& o, std::uint32_t user) {
        if (o.local) return now().edges.emplace_back(o.index, user), void();
        for (const auto& [value, vertex] : now().made)
            if (value == o.index) return now().edges.emplace_back(vertex, user), void();
        now().wanted.push_back({o.index, user});
    }
    void make(std::uint32_t value, const operand& o) {
        auto& made = now().made;
        const auto& held = held_[value];
        const auto lanes = static_cast<std::uint32_t>(held.lanes);
        const auto vertex = o.local ? o.index : add({instruction_class::move, held.address.type, fold_hint::always, lanes});
        const auto at = std::find_if(made.begin(), made.end(), [&](const auto& m) { return m.first == value; });
        if (at == made.end()) made.emplace_back(value, vertex);
        else at->second = vertex;
    }

    // ---- addresses ------------------------------------------------------------------------------------------------------------------------------

    [[nodiscard]] std::int64_t lanes() const {
        for (const auto& l : open_loops_)
            if (l.form == kind::lanes) return l.extent;
        return 1;
    }
    [[nodiscard]] place place_of(const nest_access& a) const {
        place p{a.buffer, a.type, a.offset, {}};
        for (auto d : a.digits) {
            const auto& l = open_loops_[d.loop];
            if (d.stride == 0 || l.extent <= d.divide || d.modulo == 1) continue;
            if (l.form == kind::fixed) {
                p.offset += d.at(l.value);
                continue;
            }
            if (d.modulo >= (l.extent - 1) / d.divide + 1) d.modulo = 0; // the quotient stays below the modulus
            p.digits.push_back(d);
        }
        std::sort(p.digits.begin(), p.digits.end(),
                  [](const nest_digit& x, const nest_digit& y) { return std::make_pair(x.loop, x.divide) < std::make_pair(y.loop, y.divide); });
        return p;
    }
    [[nodiscard]] bool varies(const place& p, std::size_t from, kind form) const {
        return std::any_of(p.digits.begin(), p.digits.end(), [&](const nest_digit& d) { return d.loop >= from && open_loops_[d.loop].form == form; });
    }
    /// The stride between adjacent lanes, in elements; 0: all lanes have one address. `first` is false when the stride is not constant.
    [[nodiscard]] std::pair<bool, std::int64_t> lane_step(const place& p) const {
        std::int64_t step = 0;
        for (const auto& d : p.digits) {
            if (open_loops_[d.loop].form != kind::lanes) continue;
            if (d.divide != 1 || d.modulo != 0) return {false, 0};
            step += d.stride;
        }
        return {true, step};
    }
    /// True when two addresses differ by a constant only.
    static bool alike(const place& a, const place& b) { return a.type == b.type && a.digits == b.digits; }
    [[nodiscard]] std::uint32_t held_at(const place& p) const {
        for (std::size_t i = held_.size(); i-- > 0;)
            if (held_[i].active && held_[i].address == p) return static_cast<std::uint32_t>(i);
        return nest_operation::none;
    }
    [[nodiscard]] std::size_t registers_of(const place& p) const {
        const auto width = lanes() * bytes_of(p.type);
        return static_cast<std::size_t>((std::max)(std::int64_t{1}, (width + options_.register_bytes - 1) / options_.register_bytes));
    }

    void touch(const place& p) {
        nest_trace::access a;
        const auto size = bytes_of(p.type);
        const auto [steady, step] = lane_step(p);
        a.buffer = p.buffer;
        a.offset = p.offset * size;
        a.bytes = size;
        for (auto d : p.digits) {
            d.stride *= size;
            if (open_loops_[d.loop].form == kind::rolled) d.loop = slot_of(d.loop), a.digits.push_back(d);
            else if (!steady || step != 1) a.lane_digits.push_back(d);
        }
        if (steady && step == 1) a.bytes = size * lanes();
        a.lanes = a.lane_digits.empty() ? 1 : lanes();
        trace_.touch(std::move(a));
    }
    /// The index of a loop in the trace, which counts rolled loops only.
    [[nodiscard]] std::uint32_t slot_of(std::uint32_t loop) const {
        std::uint32_t slot = 0;
        for (std::uint32_t i = 0; i < loop; ++i) slot += open_loops_[i].form == kind::rolled || i < outside_ ? 1U : 0U;
        return slot;
    }

    // ---- instructions ------------------------------------------------------------------------------------------------------------------------

    std::uint32_t load(const place& p) {
        touch(p);
        const auto [steady, step] = lane_step(p);
        const auto n = static_cast<std::uint32_t>(lanes());
        if (n == 1) return add({instruction_class::load, p.type, fold_hint::none, 1});
        if (steady && step == 0) {
            const auto one = add({instruction_class::load, p.type, fold_hint::none, 1});
            const auto all = add({instruction_class::shuffle, p.type, fold_hint::splat, n});
            now().edges.emplace_back(one, all);
            return all;
        }
        return add({steady && step == 1 ? instruction_class::load : instruction_class::gather, p.type, fold_hint::none, n});
    }
    void store(const place& p, const operand& value) {
        touch(p);
        const auto [steady, step] = lane_step(p);
        const auto n = static_cast<std::uint32_t>(lanes());
        auto from = value;
        const bool one = steady && step == 0;
        if (n > 1 && one) { // the lanes hold partial results
            const auto v = add({instruction_class::reduce, p.type, fold_hint::none, n});
            use(from, v);
            from = {true, v};
        }
        const auto op = n == 1 || one || (steady && step == 1) ? instruction_class::store : instruction_class::scatter;
        use(from, add({op, p.type, fold_hint::none, one ? 1 : n}));
    }

    // ---- result -----------------------------------------------------------------------------------------------------------------------------

    /// Sets fold hints: a load folds into its only user, and a multiplication into the addition that is its only user.
    static void hint(open_block& b) {
        std::vector<std::uint32_t> uses(b.code.size(), 0), user(b.code.size(), 0), memory(b.code.size(), 0);
        for (const auto& [from, to] : b.edges) ++uses[from], user[from] = to;
        for (const auto& [value, vertex] : b.made) uses[vertex] += 2; // a value that leaves the block must not fold
        for (std::size_t v = 0; v < b.code.size(); ++v) {
            if (uses[v] != 1) continue;
            auto& i = b.code[v];
            auto to = user[v];
            if (i.op == instruction_class::fmul && b.code[to].op == instruction_class::fadd && i.type == b.code[to].type &&
                i.lanes == b.code[to].lanes)
                i.fold = fold_hint::multiply_add;
            if (i.op != instruction_class::load) continue;
            if (b.code[to].fold == fold_hint::splat && uses[to] == 1) to = user[to]; // the user of the splat loads and broadcasts
            const auto op = b.code[to].op;
            if (op >= instruction_class::fadd && op <= instruction_class::compare && memory[to]++ == 0) i.fold = fold_hint::operand;
        }
    }

    function_features finish(std::string name, std::uint64_t count, std::uint64_t launches, bool parallel) {
        add({instruction_class::branch, element_type::i64, fold_hint::none, 1});
        function_features f;
        f.name = std::move(name);
        f.parallel = parallel;
        f.count = count;
        f.launches = launches;
        std::vector<control_flow_graph::new_edge> edges;
        for (const auto& w : paths_) {
            control_edge e{w.count, {}};
            for (const auto& used : blocks_[w.to].wanted)
                for (const auto& [value, vertex] : blocks_[w.from].made)
                    if (value == used.from) e.carried.push_back({vertex, used.to});
            std::sort(e.carried.begin(), e.carried.end(),
                      [](const dependence& a, const dependence& b) { return std::make_pair(a.from, a.to) < std::make_pair(b.from, b.to); });
            edges.push_back({w.from, w.to, std::move(e)});
        }
        std::vector<basic_block> made;
        for (auto& b : blocks_) {
            hint(b);
            std::vector<graphlet::new_edge> code;
            for (const auto& [from, to] : b.edges) code.push_back({from, to, {}});
            made.push_back({b.name, graphlet(std::move(b.code), std::move(code)), b.count});
        }
        f.flow = control_flow_graph(std::move(made), std::move(edges));
        return f;
    }
};

} // namespace augur::inline v0::detail

#endif
