// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/target/machine.hpp>

#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

namespace machine_test {

using namespace augur;

TEST_CASE("machine: Ansor's eight numbers stand in the order of its log lines") {
    hardware_params h;
    h.num_cores = 20;
    CHECK(h.numbers() == std::array<std::int64_t, 8>{20, 64, 64, 0, 0, 0, 0, 0}); // as in TVM's CPU logs
}

TEST_CASE("machine: the text of /proc/cpuinfo") {
    machine m;
    detail::read_cpuinfo(
        "processor\t: 0\nmodel name\t: Some CPU \x01 X\nflags\t\t: fpu avx2 avx  fma\n\nprocessor\t: 1\nmodel name\t: Other\nflags\t\t: avx512f\n",
        m);
    CHECK(m.cpu_name == "Some CPU ? X");
    CHECK(m.features == std::vector<std::string>{"avx", "avx2", "fma", "fpu"});
    CHECK(m.vector_bytes == 32);
    machine wide;
    detail::read_cpuinfo("flags : fpu avx avx512f\n", wide);
    CHECK(wide.vector_bytes == 64);
    machine empty;
    detail::read_cpuinfo("", empty);
    CHECK(empty.vector_bytes == 16);
    detail::read_cpuinfo("flags", empty);
    detail::read_cpuinfo(":\n:::\nflags:", empty);
    CHECK(empty.features.empty());
}

TEST_CASE("machine: sizes and processor lists") {
    CHECK(detail::parse_size("48K\n") == 48 * 1024);
    CHECK(detail::parse_size("2M") == 2 * 1024 * 1024);
    CHECK(detail::parse_size("64") == 64);
    for (const char* bad : {"", "K", "-1", "12Q", "99999999999999999999"}) CHECK(detail::parse_size(bad) == 0);
    CHECK(detail::count_list("0") == 1);
    CHECK(detail::count_list("0-3,8\n") == 5);
    for (const char* bad : {"", "x", "3-1", "0-", "1,,2"}) CHECK(detail::count_list(bad) == 0);
}

TEST_CASE("machine: this one") {
    const auto m = detect_machine();
    CHECK(m.processors >= 1);
    CHECK(m.processors <= ::sysconf(_SC_NPROCESSORS_CONF));
    CHECK(m.hardware().num_cores == m.processors);
    CHECK(m.hardware(3).num_cores == 3);
    CHECK(m.hardware().cache_line_bytes >= 16);
    CHECK((m.vector_bytes == 16 || m.vector_bytes == 32 || m.vector_bytes == 64));
#ifdef __x86_64__
    // The compiler's own look at the processor (cpuid).
    __builtin_cpu_init();
    CHECK(m.has("avx512f") == (__builtin_cpu_supports("avx512f") != 0));
    CHECK(m.has("avx2") == (__builtin_cpu_supports("avx2") != 0));
#endif
    if (const auto* l1 = m.cache(1)) {
        if (const auto told = ::sysconf(_SC_LEVEL1_DCACHE_SIZE); told > 0) CHECK(l1->bytes == told);
        if (const auto* l2 = m.cache(2)) CHECK(l2->bytes >= l1->bytes);
    }
    const auto pages = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
    CHECK(m.memory.bytes >= pages * 9 / 10);
    CHECK(m.cache(99) == nullptr);
}

} // namespace machine_test
