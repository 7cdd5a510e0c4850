// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_PROGRAM_VECTOR_FILE_HPP
#define AUGUR_TESTS_PROGRAM_VECTOR_FILE_HPP

#include <cstdio>
#include <string>

#include <doctest/doctest.h>

/// The text of a file of tests/vectors.
inline std::string test_vector(const std::string& name) {
    std::string text;
    std::FILE* f = std::fopen((std::string(AUGUR_TEST_DIR "/vectors/") + name).c_str(), "rb");
    REQUIRE_MESSAGE(f != nullptr, name);
    for (int c = std::fgetc(f); c != EOF; c = std::fgetc(f)) text += static_cast<char>(c);
    std::fclose(f);
    return text;
}

#endif
