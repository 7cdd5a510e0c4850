// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_BHIVE_X86_GRAPHLET_HPP
#define AUGUR_EXAMPLES_PAPERS_BHIVE_X86_GRAPHLET_HPP

/// @file
/// A basic block of x86-64 code as a graphlet, and what each round of it takes from the one before.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/program/graph/graphlet.hpp>

#include "x86_classes.hpp"
#include "x86_text.hpp"

namespace examples {

struct x86_block {
    augur::graphlet code;
    std::vector<augur::dependence> carried; ///< from a round to the next one, by rising source
    std::size_t instructions = 0;
    std::vector<std::string> unknown; ///< mnemonics that nobody has told about
    bool loads = false, stores = false, vectors = false, divides = false;
    bool through_memory = false; ///< a load takes what a store of the block wrote
};

namespace detail {

/// Who makes a value: a vertex, and its round; -1: it was there before.
struct value_maker {
    int round = -1;
    std::uint32_t vertex = 0;
};

/// Walks through two rounds of a block: what the second one takes from the first is carried, what it takes from itself are the edges.
///
/// Registers are renamed: a copy is another name for the same value, and zeroing waits for nobody. Addresses are sums of values that nobody has
/// looked into and a constant, so that [rsp+8] is found again behind a push. Of two addresses with different values none is known to be the other.
class x86_walk {
public:
    explicit x86_walk(const std::vector<x86_instruction>& code) {
        made_.fill(nobody);
        for (std::size_t i = 0; i < names_.size(); ++i) names_[i] = {next_name_++, 0};
        for (round_ = 0; round_ < 2; ++round_) {
            now_ = 0;
            for (const auto& i : code) step(i);
        }
        out_.instructions = code.size();
    }
    x86_block take() && {
        for (auto* list : {&inner_, &carried_}) {
            std::sort(list->begin(), list->end());
            list->erase(std::unique(list->begin(), list->end()), list->end());
        }
        std::vector<augur::graphlet::new_edge> edges;
        for (const auto& [from, to] : inner_) edges.push_back({from, to, {}});
        for (const auto& [from, to] : carried_) out_.carried.push_back({from, to});
        out_.code = augur::graphlet(std::move(code_), std::move(edges));
        return std::move(out_);
    }

private:
    using op = augur::instruction_class;
    using type = augur::element_type;
    using fold = augur::fold_hint;

    using maker = value_maker;
    static constexpr maker nobody{};
    using makers = std::vector<maker>;
    /// What a register holds, as far as it is known: an unknown value and a constant.
    struct known {
        int name = 0;
        std::int64_t plus = 0;
    };
    struct place {
        int base = -1, index = -1, scale = 1;
        bool segment = false;
        std::int64_t from = 0, to = 0; ///< bytes

        [[nodiscard]] bool meets(const place& o) const noexcept {
            return base == o.base && index == o.index && scale == o.scale && segment == o.segment && from < o.to && o.from < to;
        }
    };
    struct written {
        place address;
        maker source;
    };

    maker add(op code, type t, std::uint32_t lanes, const makers& from, fold f = fold::none) {
        const maker m{round_, now_++};
        if (round_ == 0) code_.push_back({code, t, f, lanes});
        else
            for (const auto& s : from)
                if (s.round >= 0) (s.round == 0 ? carried_ : inner_).emplace_back(s.vertex, m.vertex);
        return m;
    }
    /// Registers that addresses are made of.
    static bool general(int reg) noexcept { return reg >= rax && reg < vectors; }
    [[nodiscard]] maker value_of(int reg) const { return reg == no_register ? nobody : made_[static_cast<std::size_t>(reg)]; }
    void write(int reg, maker m) {
        if (reg == no_register) return;
        made_[static_cast<std::size_t>(reg)] = m;
        if (general(reg)) names_[static_cast<std::size_t>(reg)] = {next_name_++, 0};
    }
    [[nodiscard]] place place_of(const x86_operand& o, int bytes) const {
        place p;
        p.segment = o.segment;
        auto from = static_cast<std::uint64_t>(o.value);
        const auto part = [&](int reg, int scale, int& name) {
            if (!general(reg)) return;
            const auto& k = names_[static_cast<std::size_t>(reg)];
            name = k.name;
            from += static_cast<std::uint64_t>(k.plus) * static_cast<std::uint64_t>(scale);
        };
        part(o.base, 1, p.base);
        part(o.index, o.scale, p.index);
        if (p.index >= 0) p.scale = o.scale;
        p.from = static_cast<std::int64_t>(from);
        p.to = static_cast<std::int64_t>(from + static_cast<std::uint64_t>(bytes));
        return p;
    }
    [[nodiscard]] makers address_of(const x86_operand& o) const { return {value_of(o.base), value_of(o.index)}; }
    maker load(const x86_operand& o, int bytes, type t, std::uint32_t lanes, fold f, makers from) {
        const auto address = place_of(o, bytes);
        const auto last = std::find_if(stores_.rbegin(), stores_.rend(), [&](const written& w) { return w.address.meets(address); });
        if (last != stores_.rend()) from.push_back(last->source), out_.through_memory = true;
        out_.loads = true;
        return add(op::load, t, lanes, from, f);
    }
    void store(const x86_operand& o, int bytes, type t, std::uint32_t lanes, makers from) {
        out_.stores = true;
        const auto source = add(op::store, t, lanes, from);
        const auto address = place_of(o, bytes);
        std::erase_if(stores_,
                      [&](const written& w) { return w.address.meets(address) && w.address.from >= address.from && w.address.to <= address.to; });
        stores_.push_back({address, source});
    }
    static type integer(int bytes) { return bytes == 1 ? type::i8 : bytes == 2 ? type::i16 : bytes == 4 ? type::i32 : type::i64; }
    static x86_operand stack() {
        x86_operand o;
        o.kind = x86_operand::form::memory;
        o.base = rsp;
        return o;
    }
    // Constants that are added keep the name: the value is known as before.
    void add_constant(int reg, maker m, std::int64_t plus) {
        const auto before = names_[static_cast<std::size_t>(reg)];
        write(reg, m);
        names_[static_cast<std::size_t>(reg)] = {
            before.name, static_cast<std::int64_t>(static_cast<std::uint64_t>(before.plus) + static_cast<std::uint64_t>(plus))};
    }
    void rename(int to, int from) {
        maker m = value_of(from);
        const auto v = add(op::move, type::i64, 1, {m});
        if (m.round >= 0 && m.round != round_) m = v; // a value of the round before has to come through this round
        const auto name = general(to) && general(from) ? names_[static_cast<std::size_t>(from)] : known{};
        write(to, m);
        if (general(to) && general(from)) names_[static_cast<std::size_t>(to)] = name;
    }

    void step(const x86_instruction& i) {
        if (by_name(i)) return;
        const auto found = x86_meaning_of(i.mnemonic);
        if (!found && round_ == 0) out_.unknown.push_back(i.mnemonic);
        compute(i, found.value_or(x86_meaning{}));
    }

    /// Instructions whose operands are not what the text says.
    bool by_name(const x86_instruction& i) {
        const auto n = i.operands.size();
        const auto& name = i.mnemonic;
        const bool memory = n > 0 && i.operands[0].is_memory();
        if (name == "push" && n == 1) {
            auto data = i.operands[0].is_register() ? value_of(i.operands[0].reg) : nobody;
            if (memory) data = load(i.operands[0], 8, type::i64, 1, fold::none, address_of(i.operands[0]));
            add_constant(rsp, value_of(rsp), -8);
            store(stack(), 8, type::i64, 1, {data, value_of(rsp)});
        } else if (name == "pop" && n == 1 && !memory) {
            const auto v = load(stack(), 8, type::i64, 1, fold::none, {value_of(rsp)});
            add_constant(rsp, value_of(rsp), 8);
            write(i.operands[0].reg, v);
        } else if (name == "leave") {
            rename(rsp, rbp);
            const auto v = load(stack(), 8, type::i64, 1, fold::none, {value_of(rsp)});
            add_constant(rsp, value_of(rsp), 8);
            write(rbp, v);
        } else if (name == "cdq" || name == "cqo" || name == "cwd") {
            write(rdx, add(op::ialu, type::i64, 1, {value_of(rax)}));
        } else if (name == "cdqe" || name == "cwde" || name == "cbw") {
            write(rax, add(op::ialu, type::i64, 1, {value_of(rax)}));
        } else if (n == 1 && (name == "mul" || name == "imul" || name == "div" || name == "idiv")) {
            const bool divides = name.ends_with("div");
            const auto& o = i.operands[0];
            makers from{value_of(rax), o.is_register() ? value_of(o.reg) : nobody};
            if (divides) from.push_back(value_of(rdx)), out_.divides = true;
            if (memory) from.push_back(load(o, o.bytes, integer(o.bytes), 1, fold::operand, address_of(o)));
            const auto v = add(divides ? op::idiv : op::imul, integer(o.bytes), 1, from);
            for (const int reg : {int{rax}, int{rdx}, int{flags}}) write(reg, v);
        } else if (name == "xchg" && n == 2 && i.operands[0].is_register() && i.operands[1].is_register()) {
            const int a = i.operands[0].reg, b = i.operands[1].reg;
            if (a == b) return add(op::move, type::i64, 1, {}), true;      // a nop
            const auto third = add(op::ialu, type::i64, 1, {value_of(a)}); // three micro-operations
            const auto first = add(op::ialu, type::i64, 1, {value_of(b)}), second = add(op::ialu, type::i64, 1, {third});
            write(a, first);
            write(b, second);
        } else {
            return false;
        }
        return true;
    }

    void compute(const x86_instruction& i, const x86_meaning& m) {
        const auto& all = i.operands;
        const bool vex = i.mnemonic.starts_with("v");
        const bool none = all.empty();
        const x86_operand first = none ? x86_operand{} : all[0];
        auto shape = m.shape;
        if (shape == x86_shape::updates && vex && all.size() >= 3 && m.op != op::fma) shape = x86_shape::writes;
        if (m.op == op::imul && m.kind == 'g' && all.size() == 3) shape = x86_shape::writes;
        const bool in_vector = std::any_of(all.begin(), all.end(), [](const x86_operand& o) { return o.is_vector(); });
        out_.vectors = out_.vectors || in_vector;
        out_.divides = out_.divides || m.op == op::fdiv || m.op == op::fsqrt;

        int width = 0, in_memory = 0; // bytes: of the widest vector, else of the first operand that says it; in memory
        for (const auto& o : all) {
            if (in_vector ? o.is_vector() : width == 0) width = (std::max)(width, o.bytes);
            if (o.is_memory()) in_memory = o.bytes;
        }
        if (m.kind == 's' || m.kind == 'd') in_memory = in_memory == 0 ? (m.kind == 's' ? 4 : 8) : in_memory;
        if (in_memory == 0) in_memory = width;
        const auto t = m.kind == 'g'                    ? integer(width)
                       : m.kind == 's' || m.kind == 'S' ? type::f32
                       : m.kind == 'd' || m.kind == 'D' ? type::f64
                                                        : type::i32;
        const auto lanes_in = [&](int bytes) {
            const auto one = static_cast<int>(augur::bytes_of(t));
            return m.kind == 'g' || m.kind == 's' || m.kind == 'd' ? 1U : static_cast<std::uint32_t>((std::max)(1, bytes / one));
        };
        const auto lanes = lanes_in(width);
        const auto memory_type = m.kind == 'g' && !in_vector ? integer(in_memory) : m.kind == 'g' ? type::f32 : t;

        if (m.op == op::move) { // takes its place in the front of the core, and no more
            add(op::move, type::i64, 1, {});
            return;
        }
        if (i.mnemonic == "lea") {
            lea(all);
            return;
        }
        const bool same = all.size() >= 2 && all.back().is_register() && all.back().reg != no_register && all[all.size() - 2] == all.back();
        const auto plain = vex ? std::string_view(i.mnemonic).substr(1) : std::string_view(i.mnemonic);
        if (same && (plain.starts_with("xor") || plain == "sub" || plain.starts_with("pxor") || plain.starts_with("psub")) && first.bytes >= 4) {
            add(op::move, type::i64, 1, {}); // zero, whatever was there
            write(first.reg, nobody);
            if (!in_vector) write(flags, nobody);
            return;
        }
        if (m.copies && all.size() == 2) {
            const auto& from = all[1];
            if (first.is_memory()) {
                makers needs = address_of(first);
                if (from.is_register()) needs.push_back(value_of(from.reg));
                store(first, in_memory, memory_type, lanes_in(in_memory), needs);
                return;
            }
            const bool part = first.is_register() && !in_vector && first.bytes < 4; // the rest of the register stays
            if (from.is_memory() && !part) {
                write(first.reg, load(from, in_memory, memory_type, lanes_in(in_memory), fold::none, address_of(from)));
                return;
            }
            if (from.is_register() && first.is_register() && !part && !m.both && (from.bytes >= 4 || from.bytes == 1)) {
                rename(first.reg, from.reg);
                return;
            }
            if (part) shape = x86_shape::updates;
        }

        makers from;
        for (std::size_t k = 0; k < all.size(); ++k) {
            const auto& o = all[k];
            const bool read = k > 0 || shape != x86_shape::writes;
            if (o.is_register() && (read || (o.bytes < 4 && o.reg < vectors))) from.push_back(value_of(o.reg));
            if (!o.is_memory()) continue;
            if (read && m.op == op::load) {
                load(o, 1, type::i64, 1, fold::none, address_of(o)); // a prefetch
                return;
            }
            const bool only_written = k == 0 && i.mnemonic.starts_with("set");
            if (read && !only_written) from.push_back(load(o, in_memory, memory_type, lanes_in(in_memory), fold::operand, address_of(o)));
        }
        if (m.needs_flags) from.push_back(value_of(flags));
        const auto v = add(m.op, t, lanes, from);
        if (m.sets_flags) write(flags, v);
        if (none || shape == x86_shape::reads) return;
        if (first.is_memory()) {
            makers needs = address_of(first);
            needs.push_back(v);
            store(first, in_memory, memory_type, lanes_in(in_memory), needs);
        } else if (first.is_register()) {
            const bool constant = all.size() == 2 && all[1].kind == x86_operand::form::number && first.bytes == 8 && general(first.reg);
            if (constant && i.mnemonic == "add") add_constant(first.reg, v, all[1].value);
            else if (constant && i.mnemonic == "sub")
                add_constant(first.reg, v, static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(all[1].value)));
            else write(first.reg, v);
        }
    }

    void lea(const std::vector<x86_operand>& all) {
        if (all.size() != 2 || !all[0].is_register()) {
            add(op::ialu, type::i64, 1, {});
            return;
        }
        const auto& a = all[1];
        const bool three = a.base != no_register && a.index != no_register && a.value != 0; // Intel's multiplier port does these, in its time
        const auto before = general(a.base) ? names_[static_cast<std::size_t>(a.base)] : known{};
        const auto v = add(three ? op::imul : op::ialu, integer(all[0].bytes), 1, address_of(a));
        write(all[0].reg, v);
        if (!general(a.base) || a.index != no_register || all[0].bytes != 8 || !general(all[0].reg)) return;
        names_[static_cast<std::size_t>(all[0].reg)] = {
            before.name, static_cast<std::int64_t>(static_cast<std::uint64_t>(before.plus) + static_cast<std::uint64_t>(a.value))};
    }

    x86_block out_;
    std::vector<augur::instruction> code_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> inner_, carried_;
    std::array<maker, x86_registers> made_{};
    std::array<known, 16> names_{};
    std::vector<written> stores_;
    int next_name_ = 1, round_ = 0; // name 0: none
    std::uint32_t now_ = 0;
};

} // namespace detail

/// The graphlet of a block, its instructions separated by " ; ". An instruction that nobody has told about is of class `unknown`, and named.
/// @note errors: parse, with the operand or word that is not understood; limit, more than 4096 instructions
inline augur::result<x86_block> x86_graphlet(std::string_view text) {
    std::vector<x86_instruction> code;
    for (bool more = true; more;) {
        const auto end = text.find(';');
        auto one = parse_x86(text.substr(0, end));
        if (!one) return one.error();
        code.push_back(*std::move(one));
        if (code.size() > 4096) return augur::error{augur::errc::limit, "more than 4096 instructions"};
        more = end != std::string_view::npos;
        if (more) text.remove_prefix(end + 1);
    }
    return detail::x86_walk(code).take();
}

} // namespace examples

#endif
