// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/core/hash.hpp>

#include <string>

#include <doctest/doctest.h>

using namespace augur;

// Both are written to files: another value would make every log, data set and checkpoint unreadable.
TEST_CASE("fnv1a64: the published vectors") {
    CHECK(fnv1a64("") == 0xCBF29CE484222325ULL); // draft-eastlake-fnv, appendix C
    CHECK(fnv1a64("a") == 0xAF63DC4C8601EC8CULL);
    CHECK(fnv1a64("foobar") == 0x85944171F73967E8ULL);
    CHECK(fnv1a64("bar", fnv1a64("foo")) == fnv1a64("foobar"));
    CHECK(fnv1a64("hello") == 0xA430D84680AABD0BULL); // of an implementation in Python, like the next
    std::string all;
    for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
    CHECK(fnv1a64(all) == 0x4242DC5249C33625ULL);
    static_assert(fnv1a64("foobar") == 0x85944171F73967E8ULL);
}

TEST_CASE("crc32: what zlib says") {
    CHECK(crc32("") == 0);
    CHECK(crc32("123456789") == 0xCBF43926U); // the check value of CRC-32/ISO-HDLC
    CHECK(crc32("a") == 0xE8B7BE43U);         // Python's zlib.crc32, like the next
    CHECK(crc32("foobar") == 0x9EF61F95U);
    std::string all;
    for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
    CHECK(crc32(all) == 0x29058C73U);
    for (std::size_t cut = 0; cut <= all.size(); ++cut) CHECK(crc32(all.substr(cut), crc32(all.substr(0, cut))) == 0x29058C73U);
    static_assert(crc32("123456789") == 0xCBF43926U);
}
