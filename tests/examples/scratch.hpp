// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_EXAMPLES_SCRATCH_HPP
#define AUGUR_TESTS_EXAMPLES_SCRATCH_HPP

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <doctest/doctest.h>
#include <unistd.h>

/// A folder that is gone in the end.
struct scratch {
    std::string path;
    explicit scratch(const std::string& name) {
        const char* parent = std::getenv("TMPDIR");
        path = std::string(parent != nullptr ? parent : "/tmp") + "/augur-" + name + "-XXXXXX";
        REQUIRE(::mkdtemp(path.data()) != nullptr);
    }
    ~scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;
    [[nodiscard]] std::string operator/(const std::string& name) const { return path + "/" + name; }
};

#endif
