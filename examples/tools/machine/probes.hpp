// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_MACHINE_PROBES_HPP
#define AUGUR_EXAMPLES_TOOLS_MACHINE_PROBES_HPP

/// @file
/// The micro-benchmarks of instructions, as C for the system's compiler.
///
/// A probe is a loop of one step, written out many times. Chains of steps that wait for one another take the latency, many independent chains the
/// time between two starts. Behind each step stands an empty inline assembly that claims to change the value: without it a compiler folds a chain of
/// additions into one (so does LLVM's DAGCombine), with it nothing but the instruction itself is left.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/target/machine.hpp>

namespace examples {

/// A loop to be timed.
struct probe {
    std::string name;
    std::string type;  ///< C type of the values
    std::string first; ///< what they begin with
    std::string setup; ///< declarations before
    std::string step;  ///< one step of a chain; $ is its value, @ a place in `room`
    int chains = 1;
    int steps = 96; ///< in a round of the loop
};

/// "fadd.f32.16.latency"
[[nodiscard]] inline std::string probe_name(augur::instruction_class op, augur::element_type type, int lanes, bool latency) {
    return std::string(to_string(op)) + "." + std::string(to_string(type)) + "." + std::to_string(lanes) + (latency ? ".latency" : ".throughput");
}

/// C that all probes share. Times are of the monotonic clock; a chain of additions and logic, one cycle each, is timed beside every probe, so that
/// cycles are those of the clock at that moment.
inline constexpr std::string_view probe_prelude = R"(#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define HOLD_R(x) __asm__ volatile("" : "+r"(x))
#if defined(__x86_64__)
#include <immintrin.h>
#ifdef __AVX512F__
#define HOLD_V(x) __asm__ volatile("" : "+v"(x))
#define HOLD_K(x) __asm__ volatile("" : "+k"(x))
#else
#define HOLD_V(x) __asm__ volatile("" : "+x"(x))
#endif
#elif defined(__aarch64__)
#define HOLD_V(x) __asm__ volatile("" : "+w"(x))
#else
#define HOLD_V(x) __asm__ volatile("" : "+m"(x))
#endif
static double overhead, target = 1e5;
static int repeats = 21;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return 1e9 * (double)t.tv_sec + (double)t.tv_nsec; }
static int less(const void *a, const void *b) { double x = *(const double *)a, y = *(const double *)b; return (x > y) - (x < y); }
static void cycles(uint64_t n) {
    uint64_t x = 1, c = 3; HOLD_R(x); HOLD_R(c);
    for (uint64_t i = 0; i < n; ++i) {
#define TWO x += c; HOLD_R(x); x ^= c; HOLD_R(x);
#define TEN TWO TWO TWO TWO TWO
        TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
    }
}
static double timed(void (*f)(uint64_t), uint64_t n) { double t = now(); f(n); return now() - t - overhead; }
/* Prints: name, least and median time of a step, least time of a cycle; ns. */
static void measure(const char *name, void (*f)(uint64_t), double steps) {
    static double times[256], clock[256];
    uint64_t n = 1, m = (uint64_t)(target / 60) + 1;
    for (double t; (t = timed(f, n)) < target / 2 && n < (uint64_t)1 << 40;) n = t < target / 20 ? n * 10 : (uint64_t)((double)n * target / t) + 1;
    for (double end = now() + 5 * target; now() < end;) f(n);
    for (int r = 0; r < repeats; ++r) { times[r] = timed(f, n); clock[r] = timed(cycles, m); }
    qsort(times, (size_t)repeats, sizeof *times, less);
    qsort(clock, (size_t)repeats, sizeof *clock, less);
    printf("%s %.6g %.6g %.6g\n", name, times[0] / (double)n / steps, times[repeats / 2] / (double)n / steps, clock[0] / (double)m / 100);
    fflush(stdout);
}
static void begin(int argc, char **argv) {
    if (argc > 1 && atoi(argv[1])) repeats = 9, target = 4e4;
    overhead = 1e9;
    for (int i = 0; i < 1000; ++i) { double t = now(); t = now() - t; if (t < overhead) overhead = t; }
}
)";

/// Makes the probes of everything that a machine executes natively.
class probe_writer {
public:
    explicit probe_writer(const augur::machine& m) : machine_(m), x86_(m.architecture == "x86_64"), masks_(m.has("avx512vl")) {
        using enum augur::instruction_class;
        for (const auto t : {augur::element_type::f32, augur::element_type::f64, augur::element_type::i32, augur::element_type::i64}) {
            type_ = t;
            for (int bytes = 0; bytes <= m.vector_bytes; bytes = bytes == 0 ? 16 : 2 * bytes) {
                lanes_ = bytes == 0 ? 1 : bytes / static_cast<int>(bytes_of(t));
                bytes_ = bytes;
                arithmetic();
                memory();
                if (bytes > 0) vectors();
            }
        }
        lanes_ = 1;
        bytes_ = 0;
        functions();
        control();
        pairs();
    }

    /// The program: prints a line for each probe. Its argument: 1 for a quick run.
    [[nodiscard]] std::string source() const {
        std::string s(probe_prelude);
        for (const auto t : {augur::element_type::f32, augur::element_type::f64, augur::element_type::i32, augur::element_type::i64})
            for (int lanes = 1; lanes <= 16; lanes *= 2)
                s += "typedef " + c_name(t) + " " + name_of(t, lanes) +
                     (lanes == 1 ? "" : " __attribute__((vector_size(" + std::to_string(lanes * bytes_of(t)) + ")))") + ";\n";
        for (const auto t : {augur::element_type::f32, augur::element_type::f64, augur::element_type::i32, augur::element_type::i64})
            for (int lanes = 2; lanes * bytes_of(t) <= machine_.vector_bytes; lanes *= 2) { // the last lane first
                std::string order;
                for (int i = lanes; i-- > 0;) order += (order.empty() ? "" : ", ") + std::to_string(i);
                const auto turn = "#define TURN_" + name_of(t, lanes) + "(x) ";
                const auto ints = name_of(bytes_of(t) == 4 ? element_type::i32 : element_type::i64, lanes);
                s += "#ifdef __clang__\n" + turn + "__builtin_shufflevector(x, x, " + order + ")\n#else\n" + turn + "__builtin_shuffle(x, (" + ints +
                     "){" + order + "})\n#endif\n";
            }
        s += "static void *self = &self;\nstatic _Alignas(64) char room[16384];\nstatic _Alignas(64) int32_t numbers32[4096];\nstatic _Alignas(64) "
             "int64_t numbers64[4096];\n"
             "static __attribute__((noinline)) int64_t called(int64_t x) { HOLD_R(x); return x; }\n";
        std::string calls;
        for (std::size_t i = 0; i < probes_.size(); ++i) {
            const auto& p = probes_[i];
            const auto f = "f" + std::to_string(i);
            s += "static void " + f + "(uint64_t n) {\n    " + p.setup + "\n";
            for (int c = 0; c < p.chains; ++c) {
                const auto v = "v" + std::to_string(c);
                s += "    " + p.type + " " + v + " = " + p.first + "; " + hold(p.type, v) + "\n";
            }
            s += "    for (uint64_t i = 0; i < n; ++i) {\n";
            const int steps = (p.steps + p.chains - 1) / p.chains * p.chains;
            for (int k = 0; k < steps; ++k) {
                const auto v = "v" + std::to_string(k % p.chains);
                s += "        ";
                for (const char c : p.step) {
                    if (c == '$') s += v;
                    else if (c == '@') s += std::to_string(k * 64 % 4096); // a place in room
                    else s += c;
                }
                s += " " + hold(p.type, v) + "\n";
            }
            s += "    }\n";
            for (int c = 0; c < p.chains; ++c) s += "    " + hold(p.type, "v" + std::to_string(c)) + "\n";
            s += "}\n";
            calls += "    measure(\"" + p.name + "\", " + f + ", " + std::to_string(steps) + ");\n";
        }
        return s +
               "int main(int argc, char **argv) {\n    begin(argc, argv);\n    for (int i = 0; i < 4096; ++i) numbers32[i] = i, numbers64[i] = i;\n" +
               "    for (int pass = 0; pass < 3; ++pass) { /* what disturbs a minute disturbs all repeats */\n" + calls + "    }\n    return 0;\n}\n";
    }
    [[nodiscard]] const std::vector<probe>& probes() const noexcept { return probes_; }

private:
    using element_type = augur::element_type;
    using instruction_class = augur::instruction_class;

    const augur::machine& machine_;
    bool x86_, masks_;
    element_type type_ = element_type::f32;
    int lanes_ = 1;
    int bytes_ = 0; ///< of a vector; 0: a scalar
    std::vector<probe> probes_;

    static std::string c_name(element_type t) {
        return t == element_type::f32 ? "float" : t == element_type::f64 ? "double" : t == element_type::i32 ? "int32_t" : "int64_t";
    }
    static std::string name_of(element_type t, int lanes) { return std::string(to_string(t)) + "_" + std::to_string(lanes); }
    [[nodiscard]] static bool in_register(std::string_view type) { return type == "i32_1" || type == "i64_1"; }
    static std::string hold(const std::string& type, const std::string& v) { return (in_register(type) ? "HOLD_R(" : "HOLD_V(") + v + ");"; }
    [[nodiscard]] std::string here() const { return name_of(type_, lanes_); }
    [[nodiscard]] std::string all(std::string_view number) const {
        const auto n = std::string(number) + (type_ == element_type::f32 ? ".0f" : type_ == element_type::f64 ? ".0" : "");
        return bytes_ == 0 ? n : "(" + here() + "){} + " + n;
    }
    /// `name` with a value that no compiler knows.
    [[nodiscard]] std::string constant(const std::string& name, std::string_view number) const {
        return here() + " " + name + " = " + all(number) + "; " + hold(here(), name) + " ";
    }
    [[nodiscard]] std::string intrinsic(std::string_view what) const {
        const std::string suffix = type_ == element_type::f32   ? "ps"
                                   : type_ == element_type::f64 ? "pd"
                                   : type_ == element_type::i32 ? "epi32"
                                                                : "epi64";
        std::string name = bytes_ == 64 ? "_mm512_" : bytes_ == 32 ? "_mm256_" : "_mm_";
        for (const char c : what) { // * is the suffix
            if (c == '*') name += suffix;
            else name += c;
        }
        return name;
    }
    [[nodiscard]] std::string as_integers(const std::string& v) const {
        return (bytes_ == 64 ? "(__m512i)" : bytes_ == 32 ? "(__m256i)" : "(__m128i)") + v;
    }
    [[nodiscard]] std::string native(const std::string& v) const { return is_float(type_) ? v : as_integers(v); }

    void add(instruction_class op, bool latency, std::string setup, std::string step, int chains, int steps = 96) {
        probes_.push_back({probe_name(op, type_, lanes_, latency), here(), all("2"), std::move(setup), std::move(step), latency ? 1 : chains, steps});
    }
    void both(instruction_class op, const std::string& setup, const std::string& step, int chains = 12, int steps = 96) {
        add(op, true, setup, step, 1, steps);
        add(op, false, setup, step, chains, steps);
    }

    void arithmetic() {
        using enum augur::instruction_class;
        const auto one = constant("c", "1");
        if (is_float(type_)) {
            both(fadd, one, "$ = $ + c;");
            both(fmul, one, "$ = $ * c;");
            if (!x86_ || machine_.has("fma")) both(fma, one + constant("d", "1"), "$ = $ * c + d;");
            both(fdiv, constant("c", "3"), "$ = c / $;", 8, 24); // neither grows nor shrinks
            const std::string function = type_ == element_type::f32 ? "sqrtf(" : "sqrt(";
            const auto root = bytes_ == 0 ? function + "$)" : x86_ ? intrinsic("sqrt_*") + "($)" : "";
            if (!root.empty()) both(fsqrt, one, "$ = " + root + " + c;", 8, 24); // the addition is taken off afterwards
            if (bytes_ == 0 && x86_ && machine_.has("avx"))                      // a comparison and a choice of scalars may become a jump
                both(fminmax, one,
                     std::string("__asm__(\"vmaxs") + (type_ == element_type::f32 ? "s" : "d") + " %1, %0, %0\" : \"+x\"($) : \"x\"(c));");
            else if (bytes_ > 0 && x86_) both(fminmax, one, "$ = " + intrinsic("max_*") + "($, c);");
        } else {
            both(ialu, one, "$ += c;", bytes_ == 0 ? 8 : 12);
            // a multiplication of 64-bit integers in vectors is one instruction with AVX-512 DQ only
            if (bytes_ == 0 || type_ == element_type::i32 || machine_.has("avx512dq")) both(imul, one, "$ *= c;", bytes_ == 0 ? 8 : 12);
            if (bytes_ == 0) both(idiv, constant("c", "2000000011"), "$ = c / $;", 4, 24);
        }
    }

    void memory() {
        using enum augur::instruction_class;
        const auto place = "*(volatile " + here() + " *)(room + @)";
        probes_.push_back({probe_name(load, type_, lanes_, false), "i64_1", "0", "", "{ " + here() + " t = " + place + "; (void)t; }"});
        probes_.push_back({probe_name(store, type_, lanes_, false), "i64_1", "0", constant("c", "0"), place + " = c;"});
        // The address comes out of what was loaded, by way of a move between the register files for vectors, which is taken off afterwards.
        probe p{probe_name(load, type_, lanes_, true), "i64_1", "0", "", "", 1, 48};
        if (here() == "i64_1") { // a pointer to itself: no address to be added up
            p.first = "(i64_1)&self";
            p.step = "$ = *(volatile i64_1 *)$;";
        } else if (in_register(here())) {
            p.step = "$ = *(volatile " + here() + " *)(room + $);";
        } else {
            const auto bits = bytes_ == 0 ? (type_ == element_type::f32 ? "uint32_t w; memcpy(&w, &t, 4); $ = w;" : "memcpy(&$, &t, 8);")
                                          : "$ = ((" + name_of(element_type::i64, bytes_ / 8) + ")t)[0];";
            p.step = "{ " + here() + " t = *(volatile " + here() + " *)(room + $); HOLD_V(t); " + bits + " }";
        }
        probes_.push_back(std::move(p));
    }

    void vectors() {
        using enum augur::instruction_class;
        both(shuffle, "", "$ = TURN_" + here() + "($);");
        comparison();
        conversion();
        if (is_float(type_)) {
            std::string fold = here() + " x0 = $;"; // halves, added until one is left
            int k = 0;
            for (int n = lanes_ / 2; n >= 1; n /= 2, ++k) {
                const auto half = name_of(type_, n);
                const auto at = std::to_string(k), next = std::to_string(k + 1);
                fold += half + " h" + at + "[2]; memcpy(h" + at + ", &x" + at + ", sizeof h" + at + "); " + half + " x" + next + " = h" + at +
                        "[0] + h" + at + "[1];";
            }
            both(reduce, "", "{ " + fold + " $ = x" + std::to_string(k) + " - (" + here() + "){}; }", 8, 24); // the splat is taken off afterwards
        }
        if (!x86_ || !machine_.has("avx2")) return;
        const bool narrow = bytes_of(type_) == 4;
        const std::string table = narrow ? "numbers32" : "numbers64";
        const auto index = name_of(narrow ? element_type::i32 : element_type::i64, lanes_);
        const std::string by = narrow ? "i32gather_" : "i64gather_", scale = narrow ? "4" : "8";
        const auto pointer = narrow ? std::string("(const int *)") : std::string("(const long long *)");
        const auto element = type_;
        type_ = narrow ? element_type::i32 : element_type::i64; // what is gathered is the next index
        const auto gathered = bytes_ == 64 ? intrinsic(by + "*") + "(" + as_integers("$") + ", " + table + ", " + scale + ")"
                                           : intrinsic(by + "*") + "(" + pointer + table + ", " + as_integers("$") + ", " + scale + ")";
        probe p{probe_name(gather, element, lanes_, true), index, "(" + index + "){} + 16", "", "$ = (" + index + ")" + gathered + ";", 1, 24};
        for (int i = 0; i < lanes_; ++i) p.setup += (i == 0 ? "const " + index + " away = {" : ", ") + std::to_string(i * 16);
        p.setup += "};";
        p.first = "away";
        probes_.push_back(p);
        p.name = probe_name(gather, element, lanes_, false);
        p.chains = 8;
        probes_.push_back(p);
        if (masks_) {
            p.name = probe_name(scatter, element, lanes_, false);
            p.chains = 1;
            const auto scattered = narrow ? "i32scatter_*" : "i64scatter_*";
            p.step = intrinsic(scattered) + "(" + (narrow ? "(int *)room" : "(long long *)room") + ", " + as_integers("$") + ", " + as_integers("$") +
                     ", " + scale + ");";
            probes_.push_back(p);
        }
        type_ = element;
    }

    /// Comparisons into masks and selections by them, as this machine has masks.
    void comparison() {
        using enum augur::instruction_class;
        if (!x86_ || (!masks_ && !machine_.has("avx2"))) return;
        const auto one = constant("c", "1"), two = one + constant("d", "3");
        if (masks_) {
            const std::string mask = lanes_ <= 8 ? "__mmask8" : "__mmask16";
            const auto compared = intrinsic("cmp_*_mask") + "(" + native("$") + ", " + native("c") + ", 1)";
            both(select, one + mask + " k = 0x55; HOLD_K(k);",
                 "HOLD_K(k); $ = (" + here() + ")" + intrinsic("mask_blend_*") + "(k, " + native("$") + ", " + native("c") + ");");
            add(compare, true, two, // the selection is taken off afterwards
                "{ " + mask + " k = " + compared + "; HOLD_K(k); $ = (" + here() + ")" + intrinsic("mask_blend_*") + "(k, " + native("d") + ", " +
                    native("$") + "); }",
                1);
            add(compare, false, one, "{ " + mask + " k = " + compared + "; HOLD_K(k); }", 12);
            return;
        }
        const auto ints = name_of(bytes_of(type_) == 4 ? element_type::i32 : element_type::i64, lanes_);
        const std::string f = bytes_of(type_) == 4 ? "blendv_ps" : "blendv_pd";
        const std::string as = std::string(bytes_ == 32 ? "(__m256" : "(__m128") + (bytes_of(type_) == 4 ? ")" : "d)");
        const auto blended = [&](const std::string& a, const std::string& b, const std::string& m) {
            return "$ = (" + here() + ")" + intrinsic(f) + "(" + as + a + ", " + as + b + ", " + as + m + ");";
        };
        both(select, one + ints + " m = (" + ints + "){} - 1; HOLD_V(m);", "HOLD_V(m); " + blended("$", "c", "m"));
        add(compare, true, two, "{ " + ints + " m = $ > c; HOLD_V(m); " + blended("d", "$", "m") + " }", 1);
        add(compare, false, one, "{ " + ints + " m = $ > c; HOLD_V(m); }", 12);
    }

    /// From the type of the other kind and equal size, doubles from floats, 64-bit integers from 32-bit ones; latencies are half of there and back.
    void conversion() {
        const auto other = type_ == element_type::f32                                 ? element_type::i32
                           : type_ == element_type::i32 || type_ == element_type::f64 ? element_type::f32
                                                                                      : element_type::i32;
        if (type_ == element_type::i64 && x86_ && !masks_) return;
        const bool scalar = bytes_ == 0, halves = !scalar && bytes_of(type_) == 8;
        const auto from = name_of(other, halves && x86_ ? (std::max)(lanes_, 4) : lanes_); // two of four bytes are in a whole register
        const std::string whole = bytes_ == 64 ? "_mm512_" : bytes_ == 32 ? "_mm256_" : "_mm_";
        const bool floats = is_float(type_);
        const auto there = [&](const std::string& v) {
            if (scalar) return "(" + here() + ")" + v;
            if (!halves || !x86_) return "__builtin_convertvector(" + v + ", " + here() + ")";
            const auto bits = bytes_ == 64 ? "(__m256i)" : "(__m128i)";
            return "(" + here() + ")" + whole + (floats ? "cvtps_pd(" + v : "cvtepi32_epi64(" + std::string(bits) + v) + ")";
        };
        const auto back = [&](const std::string& v) {
            if (scalar) return "(" + from + ")" + v;
            if (!halves || !x86_) return "__builtin_convertvector(" + v + ", " + from + ")";
            return "(" + from + ")" + whole + (floats ? "cvtpd_ps(" + v : "cvtepi64_epi32(" + as_integers(v)) + ")";
        };
        add(instruction_class::convert, true, "", "{ " + from + " t = " + back("$") + "; " + hold(from, "t") + " $ = " + there("t") + "; }", 1, 48);
        probe p{probe_name(instruction_class::convert, type_, lanes_, false),
                from,
                scalar ? "2" : "(" + from + "){}",
                "",
                "{ " + here() + " t = " + there("$") + "; " + hold(here(), "t") + " }",
                scalar ? 8 : 12,
                96};
        probes_.push_back(std::move(p));
    }

    void functions() {
        using enum augur::instruction_class;
        struct function {
            instruction_class op;
            const char* name;
            const char* step; ///< & stands for the function
        };
        constexpr function list[] = {
            {exp, "exp", "$ = &(-$);"}, {log, "log", "$ = &($ + c);"},    {tanh, "tanh", "$ = &($);"},
            {erf, "erf", "$ = &($);"},  {pow, "pow", "$ = &($ + c, d);"},
        };
        for (const auto t : {element_type::f32, element_type::f64}) {
            type_ = t;
            for (const auto& f : list) {
                std::string step;
                for (const char* c = f.step; *c != '\0'; ++c) {
                    if (*c != '&') step += *c;
                    else step += std::string(f.name) + (t == element_type::f32 ? "f" : "");
                }
                both(f.op, constant("c", "3") + here() + " d = 0.7; HOLD_V(d);", step, 8, 16);
            }
            conversion();
        }
        type_ = element_type::i32;
        conversion();
        type_ = element_type::i64;
        both(call, "", "$ = called($);", 8, 16);
    }

    void control() {
        using enum augur::instruction_class;
        for (const auto t : {element_type::i32, element_type::i64}) {
            type_ = t;
            if (x86_) {
                const auto m = here() + " m = 1; HOLD_R(m);";
                add(select, false, constant("c", "1") + m,
                    "__asm__ volatile(\"test %1, %1\\n\\tcmovne %2, %0\" : \"+r\"($) : \"r\"(m), \"r\"(c) : \"cc\");", 8);
                for (const auto half : {compare, select}) // both together; half is taken for each
                    add(half, true, constant("c", "1"), "__asm__ volatile(\"cmp %1, %0\\n\\tcmovl %1, %0\" : \"+r\"($) : \"r\"(c) : \"cc\");", 1);
                add(compare, false, constant("c", "1"), "__asm__ volatile(\"cmp %1, %0\" : : \"r\"($), \"r\"(c) : \"cc\");", 8);
            }
        }
        type_ = element_type::i64;
        probes_.push_back({"branch", "i64_1", "0", "", "", 1, 1}); // the loop itself
        probes_.push_back({"nop", "i64_1", "0", "", "__asm__ volatile(\"nop\");", 1, 192});
        probes_.push_back({"between files", "i64_1", "0", "", "{ i64_2 t = {$, 0}; HOLD_V(t); $ = t[0]; }", 1, 48}); // there and back
        const auto wide = name_of(element_type::f32, static_cast<int>(machine_.vector_bytes / 4));
        probes_.push_back({"forward.vector", wide, "(" + wide + "){}", wide + " c = {}; HOLD_V(c);",
                           "*(volatile " + wide + " *)room = $; $ = *(volatile " + wide + " *)room; $ += c;", 1, 24});
        probes_.push_back(
            {"forward.integer", "i64_1", "0", "i64_1 c = 0; HOLD_R(c);", "*(volatile i64_1 *)room = $; $ = *(volatile i64_1 *)room; $ += c;", 1, 24});
    }

    /// Two kinds of instructions in turn: as slow as both together when they share their units, as the slower one when they do not.
    void pairs() {
        std::vector<probe> kinds;
        for (const auto& name : pair_names(machine_)) {
            const auto at = std::find_if(probes_.begin(), probes_.end(), [&](const probe& p) { return p.name == name; });
            if (at != probes_.end()) kinds.push_back(*at);
        }
        for (std::size_t a = 0; a < kinds.size(); ++a)
            for (std::size_t b = 0; b < a; ++b) {
                const auto& p = kinds[a];
                const auto& q = kinds[b];
                probe both{p.name + "+" + q.name,
                           p.type,
                           p.first,
                           p.setup,
                           p.step + " " + hold(p.type, "$") + " ",
                           in_register(p.type) && in_register(q.type) ? 5
                           : masks_                                   ? 10
                                                                      : 6,
                           50};
                std::string setup = q.setup, step = q.step; // the second kind has names of its own
                for (auto* text : {&setup, &step}) {
                    std::string out;
                    for (std::size_t i = 0; i < text->size(); ++i) {
                        const auto word = [&](char c) {
                            return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || (c >= 'A' && c <= 'Z');
                        };
                        const char c = (*text)[i];
                        const bool alone = (i == 0 || !word((*text)[i - 1])) && (i + 1 == text->size() || !word((*text)[i + 1]));
                        if (c == '$') out += "w$";
                        else if ((c == 'c' || c == 'd' || c == 'k') && alone) out += std::string(1, c) + "2";
                        else out += c;
                    }
                    *text = out;
                }
                both.setup += setup;
                for (int c = 0; c < both.chains; ++c)
                    both.setup += q.type + " wv" + std::to_string(c) + " = " + q.first + "; " + hold(q.type, "wv" + std::to_string(c)) + " ";
                both.step += step + " " + hold(q.type, "w$");
                probes_.push_back(std::move(both));
            }
    }

public:
    /// The kinds whose units are told apart.
    [[nodiscard]] static std::vector<std::string> pair_names(const augur::machine& m) {
        using enum augur::instruction_class;
        const int lanes = static_cast<int>(m.vector_bytes / 4);
        std::vector<std::string> names;
        for (const auto op : {fma, fadd, fmul, fminmax, compare, select, convert, shuffle})
            names.push_back(probe_name(op, augur::element_type::f32, lanes, false));
        for (const auto op : {ialu, imul}) names.push_back(probe_name(op, augur::element_type::i32, lanes, false));
        for (const auto op : {ialu, imul}) names.push_back(probe_name(op, augur::element_type::i64, 1, false));
        return names;
    }
};

} // namespace examples

#endif
