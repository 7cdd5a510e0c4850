// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measured basic blocks: what their text means, against graphlets made by hand; the scores; the program `bhive` from outside.
#include <doctest/doctest.h>

#ifndef AUGUR_BHIVE_PROGRAM
TEST_CASE("bhive is not built: it needs the components program and io") {}
#else

#include "../../examples/papers/bhive/bhive.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>

#include "child_program.hpp"

namespace bhive_test {

namespace {

using examples::parse_x86;
using examples::x86_graphlet;

// "ialu.i32 load.f32x4(operand) | 0>1 | 1>0": instructions, edges, what is carried.
std::string shape_of(const std::string& text) {
    const auto block = x86_graphlet(text);
    REQUIRE_MESSAGE(block, (block ? "" : block.error().detail));
    std::string out;
    for (const auto& i : block->code.values()) {
        out += (out.empty() ? "" : " ") + std::string(to_string(i.op)) + "." + std::string(to_string(i.type));
        if (i.lanes > 1) out += "x" + std::to_string(i.lanes);
        if (i.fold != augur::fold_hint::none) out += "(" + std::string(to_string(i.fold)) + ")";
    }
    out += " |";
    for (std::uint32_t e = 0; e < block->code.edge_count(); ++e)
        out += " " + std::to_string(block->code.edge(e).source) + ">" + std::to_string(block->code.edge(e).target);
    out += " |";
    for (const auto& d : block->carried) out += " " + std::to_string(d.from) + ">" + std::to_string(d.to);
    return out;
}

int run(const scratch& folder, const std::string& arguments) {
    const std::string command =
        std::string("'") + AUGUR_BHIVE_PROGRAM + "' " + arguments + " > '" + (folder / "out") + "' 2> '" + (folder / "err") + "'";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

TEST_CASE("x86: operands are read as a disassembler writes them") {
    using examples::x86_operand;
    const auto i = parse_x86("lock vaddps ymm12,ymm3,YMMWORD PTR fs:[r13+rcx*8-0x10]");
    REQUIRE(i);
    CHECK(i->mnemonic == "vaddps");
    REQUIRE(i->operands.size() == 3);
    CHECK(i->operands[0] == x86_operand{x86_operand::form::reg, examples::vectors + 12, 32});
    CHECK(i->operands[2] == x86_operand{x86_operand::form::memory, -1, 32, 13, examples::rcx, 8, -16, true});
    const std::vector<std::pair<std::string, std::pair<int, int>>> registers{{"al", {0, 1}},  {"ah", {0, 1}},      {"spl", {4, 1}}, {"di", {7, 2}},
                                                                             {"r8b", {8, 1}}, {"r15w", {15, 2}},   {"r9d", {9, 4}}, {"esi", {6, 4}},
                                                                             {"rbx", {3, 8}}, {"xmm31", {47, 16}}, {"k7", {55, 8}}};
    for (const auto& [name, want] : registers) {
        const auto one = parse_x86("inc " + name);
        REQUIRE(one);
        CHECK(one->operands[0].reg == want.first);
        CHECK(one->operands[0].bytes == want.second);
    }
    CHECK(parse_x86("mov rax,0xffffffffffffffff")->operands[1].value == -1);
    for (const char* bad :
         {"", "   ", "add rax,", "add rax,[", "add rax,[]", "add rax,[rbx*3]", "add rax,[rbx+rcx+rdx]", "add r16,1", "mov eax,xmm32",
          "add rax,0x1ffffffffffffffff", "add rax,QWORD PTR", "Add rax,1", "add [rax-rbx],1", "\x01", "add rax,1x"})
        CHECK_FALSE(parse_x86(bad));
}

TEST_CASE("x86: blocks become the graphlets that a person would draw") {
    const std::vector<std::pair<std::string, std::string>> rows{
        {"add edx,eax ; cmp edx,0x133c", "ialu.i32 compare.i32 | 0>1 | 0>0"},
        {"mov rax,QWORD PTR [rax]", "load.i64 | | 0>0"},                                // a chain of pointers
        {"addps xmm0,XMMWORD PTR [rdi]", "load.f32x4(operand) fadd.f32x4 | 0>1 | 1>1"}, // two vertices, one instruction
        {"vaddps ymm0,ymm1,ymm2", "fadd.f32x8 | |"},                                    // AVX writes, SSE updates
        {"vfmadd231sd xmm0,xmm1,xmm2", "fma.f64 | | 0>0"},
        {"vxorps xmm0,xmm0,xmm0 ; addss xmm0,xmm1", "move.i64 fadd.f32 | |"},                           // zero is nobody's value
        {"xor eax,eax ; cmp ecx,edx ; sete al", "move.i64 compare.i32 select.i8 | 1>2 |"},              // flags
        {"mov rcx,rax ; add rcx,0x8 ; imul rax,rcx", "move.i64 ialu.i64 imul.i64 | 0>1 1>2 | 2>0 2>2"}, // the copy takes what the last round left
        {"add rax,0x8 ; mov rcx,rax ; sub rcx,rdx", "ialu.i64 move.i64 ialu.i64 | 0>1 0>2 | 0>0"},      // a copy is a name
        {"mov al,0x1 ; add rdx,rax", "ialu.i8 ialu.i64 | 0>1 | 0>0 1>1"},                               // the rest of rax stays
        {"mov eax,0x1 ; add rdx,rax", "ialu.i32 ialu.i64 | 0>1 | 1>1"},                                 // nothing of rax stays
        {"push rbx ; push rcx ; pop rdx ; pop rsi", "store.i64 store.i64 load.i64 load.i64 | 0>3 1>2 |"},
        {"add QWORD PTR [rdi],0x1", "load.i64(operand) ialu.i64 store.i64 | 0>1 1>2 | 2>0"}, // through memory, round by round
        {"add QWORD PTR [rdi],0x1 ; add rdi,0x8", "load.i64(operand) ialu.i64 store.i64 ialu.i64 | 0>1 1>2 | 3>0 3>2 3>3"}, // another address
        {"mov QWORD PTR [rsp+0x8],rax ; push rbx ; mov ecx,DWORD PTR [rsp+0x14]", "store.i64 store.i64 load.i32 | 0>2 |"},  // a part of it
        {"mov QWORD PTR [rdi],rax ; mov rcx,QWORD PTR [rsi]", "store.i64 load.i64 | |"},                                    // not known to be one
        {"lea rax,[rbx+rcx*4+0x8] ; lea rdx,[rbx+0x8]", "imul.i64 ialu.i64 | |"},
        {"tzcnt eax,ecx", "imul.i32 | |"},
        {"popcnt eax,ecx", "imul.i32 | | 0>0"}, // waits for what it overwrites
        {"div ecx", "idiv.i32 | | 0>0"},
        {"nop DWORD PTR [rax+rax*1+0x0] ; xchg ax,ax", "move.i64 move.i64 | |"},
        {"cvtsi2sd xmm0,DWORD PTR [rdi]", "load.f64(operand) convert.f64 | 0>1 | 1>1"},
        {"vpcmpeqb xmm0,xmm1,xmm2 ; vpmovmskb eax,xmm0", "compare.i32x4 shuffle.i32x4 | 0>1 |"},
        {"frobnicate rax", "unknown.i64 | | 0>0"},
    };
    for (const auto& [text, want] : rows) {
        const std::string block(text), expected(want);
        CAPTURE(block);
        CHECK(shape_of(block) == expected);
    }
    for (const char* odd :
         {"mov fs,rax ; mov rax,gs", "add rip,0x8", "lea mm1,[rax+0x8]", "lea rip,[k1+xmm0*1]", "pop fs ; push 0x1", "xchg k1,fs", "mov mm1,rax",
          "lea rax", "add", "push", "pop QWORD PTR [rax]", "div", "leave rax", "xor fs,fs", "nop", "mov 0x1,rax", "cmova 0x1", "vpxor xmm0"})
        CHECK(x86_graphlet(odd)); // no compiler writes these, but a file may
    const auto unknown = x86_graphlet("frobnicate rax ; add rax,rbx");
    REQUIRE(unknown);
    CHECK(unknown->unknown == std::vector<std::string>{"frobnicate"});
    CHECK(unknown->instructions == 2);
}

TEST_CASE("kendall_tau: as the sum over all pairs, ties and all") {
    std::mt19937 draw(7);
    for (const int values : {2, 5, 1000}) {
        std::vector<double> x, y;
        for (int i = 0; i < 200; ++i) {
            x.push_back(static_cast<double>(draw() % static_cast<unsigned>(values)));
            y.push_back(x.back() + static_cast<double>(draw() % static_cast<unsigned>(values)));
        }
        double sum = 0, of_x = 0, of_y = 0;
        for (std::size_t i = 0; i < x.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) {
                const auto sign = [](double d) { return d > 0 ? 1.0 : d < 0 ? -1.0 : 0.0; };
                const double a = sign(x[i] - x[j]), b = sign(y[i] - y[j]);
                sum += a * b, of_x += a * a, of_y += b * b;
            }
        CHECK(examples::kendall_tau(x, y) == doctest::Approx(sum / std::sqrt(of_x * of_y)).epsilon(1e-12));
    }
    CHECK(examples::kendall_tau({1, 2, 3}, {3, 2, 1}) == doctest::Approx(-1));
    CHECK(std::isnan(examples::kendall_tau({1, 1}, {1, 2})));
    const auto s = examples::score_blocks({1, 2, 8, 7}, {2, 2, 4, 0.5}, {0, 1, 2});
    CHECK(s.median_error == doctest::Approx(0.5));
    CHECK(s.error == doctest::Approx(0.5));
    CHECK(s.tau == doctest::Approx(2 / std::sqrt(6.0))); // two pairs rise, one is tied in the second list
}

TEST_CASE("bhive: a small file from its lines to the table; lines that are none are told by number") {
    const scratch folder("bhive-test");
    std::ofstream(folder / "blocks.tsv") << "#hex\tcycles\tblock\n"
                                         << "01c2\t100.0\tadd edx,eax\n"              // a chain of 1 cycle
                                         << "480fafc3\t300.0\timul rax,rbx\n"         // of 3
                                         << "4801c3\n"                                // line 4: no cycles
                                         << "4801c3\t-1\tadd rbx,rax\n"               // 5
                                         << "4801c3\t100.0\tadd rbx,[\n"              // 6
                                         << "xyz\t100.0\tadd rbx,rax\n"               // 7
                                         << "0f31\t2000.0\trdtsc ; add rax,rdx\n"     // nobody has told what that is
                                         << "488b00\t400.0\tmov rax,QWORD PTR [rax]"; // no end of line; 4 cycles of the first cache
    REQUIRE(run(folder, "--blocks '" + (folder / "blocks.tsv") + "' --mca skylake --worst 1") == 0);
    const auto out = contents(folder / "out"), err = contents(folder / "err");
    CAPTURE(out);
    CAPTURE(err);
    CHECK(contains(out, "4 blocks, 4 lines left out; 1 have an instruction of class unknown: rdtsc 1"));
    for (const char* line : {":4: expected", ":5: '-1' are no", ":6: '[' is no operand", ":7: 'xyz' is no machine code"}) CHECK(contains(err, line));
    CHECK(contains(out, "Crop's core                     0.183")); // (3 - 2) / sqrt(5 * 6): 1, 3, 4 and 1 cycles of 1, 3, 4 and 20
    CHECK(contains(out, "max(1, n / 4)"));
    CHECK(contains(out, "llvm-mca")); // a row, or that it is absent
    CHECK(contains(out, "8 20.00 ")); // the worst is the unknown one
    REQUIRE(run(folder, "--blocks '" + (folder / "blocks.tsv") + "' --most 2") == 0);
    CHECK(contains(contents(folder / "out"), "2 blocks;"));
    std::ofstream(folder / "none.tsv") << "\n#\n";
    CHECK(run(folder, "--blocks '" + (folder / "none.tsv") + "'") == 1);
    const std::vector<std::pair<std::string, std::string>> wrong{{"", "--blocks is needed"},
                                                                 {"--blocks /no/such", "/no/such"},
                                                                 {"--blocks x --machine /no/machine", "/no/machine"},
                                                                 {"--blocks x --uops /no/SKL.json", "/no/SKL.json"},
                                                                 {"--blocks x --most 0", "--most: expected a whole number"}};
    for (const auto& [arguments, says] : wrong) {
        const std::string expected(says);
        CAPTURE(expected);
        CHECK(run(folder, arguments) == 2);
        CHECK(contains(contents(folder / "err"), expected));
    }
}

} // namespace bhive_test

#endif
