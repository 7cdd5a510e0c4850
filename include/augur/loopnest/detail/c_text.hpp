// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_C_TEXT_HPP
#define AUGUR_LOOPNEST_DETAIL_C_TEXT_HPP

/// @file
/// C text output of the C writer: blocks, loops, names and offsets.
///
/// All names are generated from numbers. A pointer or a quotient is declared in the outermost block in which its operands are known, so inner
/// loops contain only increments.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/number.hpp>
#include <augur/loopnest/codegen/c_options.hpp>
#include <augur/loopnest/detail/epilogue.hpp>
#include <augur/loopnest/lower/lower.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

class c_text {
protected:
    c_text(lowered_kernel k, const c_options& o) : kernel_(with_epilogues(std::move(k))), options_(o) {}

    /// Declarations and statements of one C block; declarations are written first.
    struct scope {
        std::vector<int> loops; ///< terms defined by the loop of this block
        std::string declarations;
        std::string code;
        std::vector<std::pair<affine, std::string>> sums;       ///< pointers and quotients declared here: (terms, name)
        std::vector<int> buffers;                               ///< buffer of each element of `sums`; -1 for an integer
        std::vector<std::pair<std::string, std::string>> texts; ///< other declarations made here: (text, name)
        std::vector<int> arrays;                                ///< stack buffers declared here
    };
    lowered_kernel kernel_;
    const c_options& options_;
    std::string functions_;     ///< outlined bodies of parallel loops
    std::vector<scope> scopes_; ///< outermost first
    std::size_t barrier_ = 0;   ///< index of the first scope of the current function
    int names_ = 0;
    bool inside_parallel_ = false;
    std::vector<std::pair<int, std::int64_t>> fixed_; ///< terms with a fixed value at the current position

    std::size_t written_ = 0; ///< bytes of code in all open blocks and functions

    /// True if the source exceeds its limit; nothing more is written then.
    [[nodiscard]] bool too_long() const noexcept { return written_ > options_.max_source_bytes; }

    std::vector<int> locals_; ///< stack buffers in scope, outermost first

    std::string fresh(const char* prefix) { return prefix + std::to_string(names_++); }
    void line(std::string_view text) {
        if (too_long()) return;
        scopes_.back().code.append(text).append("\n");
        written_ += text.size() + 1;
    }
    void open(std::vector<int> loops) { scopes_.push_back({std::move(loops), {}, {}, {}, {}, {}, {}}); }
    std::string close() {
        auto s = std::move(scopes_.back());
        scopes_.pop_back();
        if (!too_long()) written_ -= s.code.size(); // the caller writes the code again in the enclosing block
        return s.declarations + s.code;
    }
    static std::string number(double v) {
        if (std::isnan(v)) return "__builtin_nanf(\"\")";
        if (std::isinf(v)) return v > 0 ? "__builtin_inff()" : "(-__builtin_inff())";
        std::string text;
        append_number_hex(text, v);
        return text + "f";
    }

    /// Substitutes the fixed terms and simplifies.
    affine known(const affine& a) {
        return kernel_.terms.substitute(a, [&](int t) {
            for (const auto& [term, value] : fixed_)
                if (term == t) return affine(value);
            return term_table::value(t);
        });
    }

    /// The outermost open block in which all loops of `a` are defined.
    std::size_t home(const affine& a) {
        for (std::size_t s = scopes_.size(); s-- > barrier_ + 1;) {
            const auto& defines = scopes_[s].loops;
            if (kernel_.terms.depends(a, [&](int t) { return std::find(defines.begin(), defines.end(), t) != defines.end(); })) return s;
        }
        return barrier_;
    }

    /// The inner one of block `known_at` and the block that declares `buffer` on the stack: addresses in the buffer can be computed there.
    std::size_t home(int buffer, std::size_t known_at) {
        for (std::size_t s = scopes_.size(); s-- > known_at + 1;)
            if (const auto& arrays = scopes_[s].arrays; std::find(arrays.begin(), arrays.end(), buffer) != arrays.end()) return s;
        return known_at;
    }

    std::string term_text(int t) {
        const auto x = kernel_.terms[t];
        if (x.type == term_table::term::kind::loop) return "t" + std::to_string(t);
        const auto value = term_table::value(t);
        auto& s = scopes_[home(value)];
        for (std::size_t i = 0; i < s.sums.size(); ++i)
            if (s.buffers[i] == -1 && s.sums[i].first == value) return s.sums[i].second;
        const bool quotient = x.type == term_table::term::kind::quotient;
        const bool natural = kernel_.terms.range(x.operand).low >= 0;
        const auto dividend = sum_text(x.operand);
        const auto divisor = std::to_string(x.divisor);
        auto name = fresh("q");
        auto& target = scopes_[home(value)]; // looked up again: sum_text may have added declarations
        target.declarations += "const int64_t " + name + " = " +
                               (natural ? "(int64_t)((uint64_t)(" + dividend + ") " + (quotient ? "/ " : "% ") + divisor + "u)"
                                        : std::string(quotient ? "aug_div(" : "aug_mod(") + dividend + ", " + divisor + ")") +
                               ";\n";
        target.sums.emplace_back(value, name);
        target.buffers.push_back(-1);
        return name;
    }

    std::string sum_text(const affine& a) {
        std::string out = std::to_string(a.constant);
        for (const auto& [t, f] : a.terms)
            out += (f < 0 ? " - " : " + ") + term_text(t) + (f == 1 || f == -1 ? "" : " * " + std::to_string(f < 0 ? -f : f));
        return out;
    }

    /// The address of an element as `name[constant]`. The pointer `name` holds the variable part of the offset and is declared in the outermost block
    /// in which that part is known.
    std::pair<std::string, std::int64_t> address(int buffer, const affine& offset) {
        affine moving = offset;
        moving.constant = 0;
        if (moving.is_constant()) return {"b" + std::to_string(buffer), offset.constant};
        moving.constant = (std::max)(std::int64_t{0}, -kernel_.terms.range(moving).low); // no pointer before the first element
        const auto rest = offset.constant - moving.constant;
        {
            const auto& s = scopes_[home(buffer, home(moving))];
            for (std::size_t i = 0; i < s.sums.size(); ++i)
                if (s.buffers[i] == buffer && s.sums[i].first == moving) return {s.sums[i].second, rest};
        }
        const auto text = sum_text(moving);
        auto& s = scopes_[home(buffer, home(moving))];
        auto name = fresh("p");
        s.declarations += "float *const " + name + " = b" + std::to_string(buffer) + " + (" + text + ");\n";
        s.sums.emplace_back(moving, name);
        s.buffers.push_back(buffer);
        return {name, rest};
    }

    /// A name for the expression `text`, declared once in block `at`; all its operands must be known there.
    std::string named(std::size_t at, const std::string& type, const std::string& text) {
        auto& s = scopes_[at];
        for (const auto& [t, name] : s.texts)
            if (t == text) return name;
        auto name = fresh("c");
        s.declarations += type + " " + name + " = " + text + ";\n";
        s.texts.emplace_back(text, name);
        return name;
    }

    void declare_buffers() {
        for (std::size_t i = 0; i < kernel_.buffers.size(); ++i)
            if (kernel_.buffers[i].type != lowered_buffer::kind::local)
                scopes_.back().declarations +=
                    "float *const b" + std::to_string(i) + " = b[" + std::to_string(i) + "]; (void)b" + std::to_string(i) + ";\n";
    }

    /// Declares a stack buffer in the innermost block, among the declarations: declarations of addresses in it follow.
    void declare_local(int buffer) {
        auto& s = scopes_.back();
        s.declarations += "float b" + std::to_string(buffer) + "[" + std::to_string(kernel_.buffers[static_cast<std::size_t>(buffer)].elements) +
                          "] __attribute__((aligned(64)));\n";
        s.arrays.push_back(buffer);
        locals_.push_back(buffer);
    }

    /// The head of a block that runs under `condition`; empty if there is none. Its reads may not become masked loads (AUG_BRANCH in the prelude).
    static std::string branch(const std::string& condition) { return condition.empty() ? "" : "if (" + condition + " && AUG_BRANCH) "; }

    void block(const std::function<void()>& f) {
        open({});
        f();
        const auto body = close();
        line("{\n" + body + "}");
    }

    /// A loop of `extent` iterations with the body that `f` writes; a plain block if it runs once.
    void loop(int term, std::int64_t extent, bool parallel, const std::function<void()>& f) {
        if (term < 0) return block(f);
        const auto t = "t" + std::to_string(term);
        if (!parallel || inside_parallel_) {
            open({term});
            f();
            const auto body = close();
            return line("for (int64_t " + t + " = 0; " + t + " < " + std::to_string(extent) + "; ++" + t + ") {\n" + body + "}");
        }
        std::vector<int> outer;
        for (std::size_t s = barrier_; s < scopes_.size(); ++s) outer.insert(outer.end(), scopes_[s].loops.begin(), scopes_[s].loops.end());
        const auto id = fresh("_") + "_" + std::to_string(options_.id);
        const auto outer_barrier = std::exchange(barrier_, scopes_.size());
        inside_parallel_ = true;
        open(outer);
        scopes_.back().declarations += "const struct aug_context" + id + " *c = context;\nfloat *const *b = c->b;\n";
        declare_buffers();
        std::string give_terms;
        std::string give_locals;
        for (std::size_t i = 0; i < outer.size(); ++i) {
            const auto name = "t" + std::to_string(outer[i]);
            scopes_.back().declarations += "const int64_t " + name + " = c->t[" + std::to_string(i) + "];\n";
            give_terms += name + ", ";
        }
        for (std::size_t i = 0; i < locals_.size(); ++i) {
            const auto name = "b" + std::to_string(locals_[i]);
            scopes_.back().declarations += "float *const " + name + " = c->l[" + std::to_string(i) + "];\n";
            give_locals += name + ", ";
        }
        open({term});
        f();
        auto body = close();
        line("for (int64_t " + t + " = begin; " + t + " < end; ++" + t + ") {\n" + body + "}");
        body = close();
        barrier_ = outer_barrier;
        inside_parallel_ = false;
        if (too_long()) return;
        written_ += body.size();
        functions_ += "struct aug_context" + id + " { float *const *b; int64_t t[" + std::to_string(outer.size() + 1) + "]; float *l[" +
                      std::to_string(locals_.size() + 1) + "]; };\nstatic void aug_body" + id + "(void *context, int64_t begin, int64_t end) {\n" +
                      body + "}\n";
        line("{ struct aug_context" + id + " c = {b, {" + give_terms + "0}, {" + give_locals + "0}}; launch(aug_body" + id + ", &c, " +
             std::to_string(extent) + "); }");
    }

    [[nodiscard]] bool depends_on(const affine& a, const std::vector<int>& terms) const {
        return kernel_.terms.depends(a, [&](int t) { return std::find(terms.begin(), terms.end(), t) != terms.end(); });
    }
};

} // namespace detail

} // namespace augur::inline v0::loopnest

#endif
