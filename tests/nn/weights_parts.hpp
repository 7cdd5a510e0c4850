// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_NN_WEIGHTS_PARTS_HPP
#define AUGUR_TESTS_NN_WEIGHTS_PARTS_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

/// A weights file taken apart, so that anything can be done to it.
struct weights_parts {
    nlohmann::ordered_json header;
    std::string data;

    explicit weights_parts(const std::string& file) {
        std::uint64_t length = 0;
        std::memcpy(&length, file.data(), 8);
        header = nlohmann::ordered_json::parse(file.substr(8, length));
        data = file.substr(8 + length);
    }
    [[nodiscard]] std::string file() const {
        const std::string text = header.dump();
        const std::uint64_t length = text.size();
        std::string all(8, '\0');
        std::memcpy(all.data(), &length, 8);
        return all + text + data;
    }
    void meta(const char* key, const std::string& from, const std::string& to) {
        std::string text = header["__metadata__"][key];
        const auto at = text.find(from);
        REQUIRE(at != std::string::npos);
        header["__metadata__"][key] = text.replace(at, from.size(), to);
    }
    void put(const char* tensor, float value, std::size_t element = 0) {
        std::memcpy(data.data() + header[tensor]["data_offsets"][0].get<std::size_t>() + 4 * element, &value, 4);
    }
    /// Behind all others.
    void add(const char* tensor, std::vector<std::uint64_t> shape, std::size_t bytes, const char* type = "F32") {
        header[tensor] = {{"dtype", type}, {"shape", shape}, {"data_offsets", {data.size(), data.size() + bytes}}};
        data.append(bytes, '\0');
    }
};

#endif
