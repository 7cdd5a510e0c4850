// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reader of TVM's DAG text on inputs that libFuzzer makes; tests/io/fuzz.sh builds and runs it. The first line is the workload key. What is read is a
// DAG that its check accepts and that has a class.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <augur/io/loopnest/tvm_dag.hpp>
#include <augur/loopnest/ir/dag_class.hpp>

namespace {

void check(bool so, const char* what) {
    if (so) return;
    std::fprintf(stderr, "%s\n", what);
    std::abort();
}

constexpr std::string_view seeds[] = {
    "[\"h\", [1, 7, 7, 8], [3, 3, 8, 4], [1, 1, 1, 4], [1, 7, 7, 4]]\n"
    "p0 = PLACEHOLDER [1, 7, 7, 8]\n"
    "pad_temp(i0, i1, i2, i3) = tir.if_then_else(((((i1 >= 1) && (i1 < 8)) && (i2 >= 1)) && (i2 < 8)), p0[i0, (i1 - 1), (i2 - 1), i3], 0f)\n"
    "p1 = PLACEHOLDER [3, 3, 8, 4]\n"
    "conv2d_nhwc(nn, yy, xx, ff) += (pad_temp[nn, (yy + ry), (xx + rx), rc]*p1[ry, rx, rc, ff])\n"
    "p2 = PLACEHOLDER [1, 1, 1, 4]\n"
    "T_add(ax0, ax1, ax2, ax3) = (conv2d_nhwc[ax0, ax1, ax2, ax3] + p2[ax0, 0, 0, ax3])\n"
    "T_relu(ax0, ax1, ax2, ax3) = max(T_add[ax0, ax1, ax2, ax3], 0f)\n",
    "[\"h\", [1, 8], [4, 8], [1, 4]]\n"
    "p0 = PLACEHOLDER [1, 8]\np1 = PLACEHOLDER [4, 8]\n"
    "T_matmul_NT(i, j) += (p0[i, k]*p1[j, k])\n"
    "T_tanh(ax0, ax1) = tanh(T_matmul_NT[ax0, ax1])\n",
};

} // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    if (seed % 500 < 2 && seeds[seed % 2].size() <= most) size = seeds[seed % 2].copy(reinterpret_cast<char*>(data), most);
    return LLVMFuzzerMutate(data, size, most);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto line = std::min(text.find('\n'), text.size());
    const auto read = augur::parse_tvm_dag(text.substr(std::min(line + 1, text.size())), text.substr(0, line));
    if (!read) {
        check(!read.error().detail.empty(), "an error without a reason");
        return 0;
    }
    check(read->dag.check().has_value(), "a DAG was read that its check refuses");
    const auto levels = augur::loopnest::class_levels_of(read->dag);
    check(!levels.at(augur::class_level::structure).empty() && levels == augur::loopnest::class_levels_of(read->dag), "the class of a DAG");
    return 0;
}
