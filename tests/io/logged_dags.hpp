// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_IO_LOGGED_DAGS_HPP
#define AUGUR_TESTS_IO_LOGGED_DAGS_HPP

// The compute DAGs of logged kernels, as TVM printed them: task-dags.jsonl.gz of the real data.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <augur/io/byte_source.hpp>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "../record/logs.hpp"

namespace logged_dags {

inline std::filesystem::path file() { return logs::data() / "task-dags.jsonl.gz"; }

/// Workload keys with the texts of their DAGs, in the order of the file.
inline std::vector<std::pair<std::string, std::string>> read() {
    auto source = augur::byte_source::open(file().string());
    REQUIRE(source);
    std::string text;
    for (std::vector<char> block(std::size_t{1} << 20U);;) {
        const auto n = source->read(block.data(), block.size());
        REQUIRE(n);
        if (*n == 0) break;
        text.append(block.data(), *n);
    }
    std::vector<std::pair<std::string, std::string>> out;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        const auto line = nlohmann::json::parse(text.substr(at, end - at));
        at = end + 1;
        out.emplace_back(line["key"], line["dag"]);
    }
    return out;
}

/// The hash that TVM gives a DAG without its extents.
inline std::string hash_of(const std::string& key) { return nlohmann::json::parse(key)[0]; }

} // namespace logged_dags

#endif
