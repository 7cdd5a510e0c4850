// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/safetensors.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <augur/core/random_engine.hpp>
#include <doctest/doctest.h>

namespace nn = augur::nn;
using augur::errc;

namespace {

std::string with_header(const std::string& header, std::size_t data) {
    std::string file;
    for (unsigned i = 0; i < 8; ++i) file.push_back(static_cast<char>((header.size() >> (8 * i)) & 0xFFU));
    return file + header + std::string(data, '\0');
}

std::string tensor(const std::string& name, const std::string& type, const std::string& shape, const std::string& offsets) {
    return "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

std::string good_file() {
    nn::safetensors_writer out;
    out.metadata("who", "a \"test\"");
    const std::vector<float> a{1, 2, 3, 4, 5, 6};
    out.tensor("b.weight", std::array<std::uint64_t, 2>{2, 3}, a);
    out.tensor("a.bias", std::array<std::uint64_t, 1>{1}, std::span<const float>(a).first(1));
    out.tensor("none", std::array<std::uint64_t, 2>{0, 7}, {});
    return out.file();
}

} // namespace

TEST_CASE("safetensors: what is written is read") {
    const std::string file = good_file();
    const auto header = nn::parse_safetensors(file);
    REQUIRE(header);
    CHECK(header->data % 8 == 0);
    REQUIRE(header->find_metadata("who") != nullptr);
    CHECK(*header->find_metadata("who") == "a \"test\"");
    CHECK(header->tensors.size() == 3);
    std::vector<float> b(6);
    REQUIRE(nn::read_tensor(file, *header, "b.weight", std::array<std::uint64_t, 2>{2, 3}, b));
    CHECK(b == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(nn::read_tensor(file, *header, "b.weight", std::array<std::uint64_t, 2>{3, 2}, b).error().code == errc::shape_mismatch);
    CHECK(nn::read_tensor(file, *header, "c", std::array<std::uint64_t, 2>{3, 2}, b).error().code == errc::not_found);
}

TEST_CASE("safetensors: forms that others write") {
    CHECK(nn::parse_safetensors(with_header("{}", 0)));
    CHECK(nn::parse_safetensors(with_header("{}      ", 0)));
    CHECK(nn::parse_safetensors(with_header("{" + tensor("x", "F32", "[]", "[0,4]") + "}", 4)));      // a scalar
    CHECK(nn::parse_safetensors(with_header("{" + tensor("x", "BF16", "[2, 0]", "[0,0]") + "}", 0))); // nothing
    CHECK(nn::parse_safetensors(with_header("{" + tensor("x", "I64", "[1]", "[4,12]") + "," + tensor("y", "F32", "[1]", "[0,4]") + "}", 12)));
}

TEST_CASE("safetensors: every corruption has its error") {
    struct {
        const char* what;
        std::string file;
        errc code;
    } const cases[] = {
        {"empty", "", errc::parse},
        {"seven bytes", "1234567", errc::parse},
        {"length beyond the file", std::string("\x10\0\0\0\0\0\0\0{}", 10), errc::parse},
        {"length of 2^64-1", std::string(8, '\xff') + "{}", errc::limit},
        {"no header", with_header("", 0), errc::parse},
        {"space first", with_header(" {}", 0), errc::parse},
        {"array", with_header("[]", 0), errc::parse},
        {"text behind", with_header("{}x", 0), errc::parse},
        {"cut", with_header("{" + tensor("x", "F32", "[1]", "[0,4]"), 4), errc::parse},
        {"not UTF-8", with_header("{\"\xff\":1}", 0), errc::parse},
        {"unknown dtype", with_header("{" + tensor("x", "F31", "[1]", "[0,4]") + "}", 4), errc::parse},
        {"dtype a number", with_header("{\"x\":{\"dtype\":3,\"shape\":[1],\"data_offsets\":[0,4]}}", 4), errc::parse},
        {"unknown key", with_header("{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"more\":1}}", 4), errc::parse},
        {"old key", with_header("{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"offsets\":[0,4]}}", 4), errc::parse},
        {"missing key", with_header("{\"x\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4), errc::parse},
        {"key twice", with_header("{\"x\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4), errc::parse},
        {"tensor twice", with_header("{" + tensor("x", "F32", "[1]", "[0,4]") + "," + tensor("x", "F32", "[1]", "[4,8]") + "}", 8), errc::parse},
        {"metadata twice", with_header("{\"__metadata__\":{},\"__metadata__\":{}}", 0), errc::parse},
        {"metadata key twice", with_header("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0), errc::parse},
        {"metadata a number", with_header("{\"__metadata__\":{\"a\":1}}", 0), errc::parse},
        {"metadata nested", with_header("{\"__metadata__\":{\"a\":{}}}", 0), errc::parse},
        {"negative dimension", with_header("{" + tensor("x", "F32", "[-1]", "[0,4]") + "}", 4), errc::parse},
        {"fractional dimension", with_header("{" + tensor("x", "F32", "[1.5]", "[0,4]") + "}", 4), errc::parse},
        {"dimension beyond 2^63", with_header("{" + tensor("x", "F32", "[9223372036854775808]", "[0,4]") + "}", 4), errc::limit},
        {"product overflows to 0", with_header("{" + tensor("x", "F32", "[4294967296,4294967296]", "[0,0]") + "}", 0), errc::shape_mismatch},
        {"product overflows", with_header("{" + tensor("x", "F32", "[9223372036854775807,9223372036854775807]", "[0,4]") + "}", 4),
         errc::shape_mismatch},
        {"size against shape", with_header("{" + tensor("x", "F32", "[2]", "[0,4]") + "}", 4), errc::shape_mismatch},
        {"one offset", with_header("{" + tensor("x", "F32", "[1]", "[0]") + "}", 4), errc::parse},
        {"three offsets", with_header("{" + tensor("x", "F32", "[1]", "[0,4,8]") + "}", 4), errc::parse},
        {"end before begin", with_header("{" + tensor("x", "F32", "[1]", "[4,0]") + "}", 4), errc::parse},
        {"negative offset", with_header("{" + tensor("x", "F32", "[1]", "[-4,0]") + "}", 4), errc::parse},
        {"offset is text", with_header("{" + tensor("x", "F32", "[1]", "[\"0\",4]") + "}", 4), errc::parse},
        {"data missing", with_header("{" + tensor("x", "F32", "[1]", "[0,4]") + "}", 3), errc::shape_mismatch},
        {"data left over", with_header("{" + tensor("x", "F32", "[1]", "[0,4]") + "}", 5), errc::shape_mismatch},
        {"data without tensors", with_header("{}", 1), errc::shape_mismatch},
        {"hole", with_header("{" + tensor("x", "F32", "[1]", "[4,8]") + "}", 8), errc::shape_mismatch},
        {"hole between", with_header("{" + tensor("x", "F32", "[1]", "[0,4]") + "," + tensor("y", "F32", "[1]", "[8,12]") + "}", 12),
         errc::shape_mismatch},
        {"overlap", with_header("{" + tensor("x", "F32", "[2]", "[0,8]") + "," + tensor("y", "F32", "[2]", "[4,12]") + "}", 12),
         errc::shape_mismatch},
        {"same place", with_header("{" + tensor("x", "F32", "[1]", "[0,4]") + "," + tensor("y", "F32", "[1]", "[0,4]") + "}", 4),
         errc::shape_mismatch},
        {"dimension of 66 digits", with_header("{" + tensor("x", "F32", "[" + std::string(66, '1') + "]", "[0,4]") + "}", 4), errc::limit},
        {"depth", with_header("{\"x\":" + std::string(100, '[') + std::string(100, ']') + "}", 4), errc::parse},
    };
    nn::safetensors_limits few;
    few.tensors = 1;
    const auto crowded = nn::parse_safetensors(with_header("{\"__metadata__\":{\"a\":\"1\",\"b\":\"2\"}}", 0), few);
    REQUIRE(!crowded);
    CHECK(crowded.error().code == errc::limit);
    for (const auto& c : cases) {
        CAPTURE(std::string(c.what));
        const auto header = nn::parse_safetensors(c.file);
        REQUIRE(!header);
        CHECK(header.error().code == c.code);
        CHECK(header.error().detail.find("safetensors: ") == 0);
    }
    std::string many = "[1";
    for (int i = 0; i < 40; ++i) many += ",1";
    CHECK(nn::parse_safetensors(with_header("{" + tensor("x", "F32", many + "]", "[0,4]") + "}", 4)).error().code == errc::limit);
    CHECK(nn::parse_safetensors(with_header("{      }", 0), {.header = 4}).error().code == errc::limit);
}

TEST_CASE("safetensors: numbers that are not finite, and other types, are refused by name") {
    for (const std::uint32_t bits : {0x7FC00000U, 0x7F800000U, 0xFF800000U}) {
        nn::safetensors_writer out;
        const std::array<float, 2> values{1, std::bit_cast<float>(bits)};
        out.tensor("layer.weight", std::array<std::uint64_t, 1>{2}, values);
        const std::string file = out.file();
        const auto header = nn::parse_safetensors(file);
        REQUIRE(header);
        std::array<float, 2> to{};
        const auto r = nn::read_tensor(file, *header, "layer.weight", std::array<std::uint64_t, 1>{2}, to);
        CHECK(r.error().detail == "safetensors: tensor 'layer.weight' has a number that is not finite at element 1");
    }
    const std::string half = with_header("{" + tensor("x", "F16", "[2]", "[0,4]") + "}", 4);
    std::array<float, 1> to{};
    CHECK(nn::read_tensor(half, *nn::parse_safetensors(half), "x", std::array<std::uint64_t, 1>{2}, to).error().code == errc::version_mismatch);
}

TEST_CASE("safetensors: cut at every byte, every byte flipped: an error or a file, never worse") {
    const std::string file = good_file();
    for (std::size_t n = 0; n < file.size(); ++n) CHECK(!nn::parse_safetensors(std::string_view(file).substr(0, n)));
    augur::random_engine rng(1);
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < file.size(); ++i)
        for (int k = 0; k < 8; ++k) {
            std::string broken = file;
            broken[i] = static_cast<char>(rng.below(256));
            const auto header = nn::parse_safetensors(broken);
            if (!header) continue;
            ++accepted;
            for (const auto& t : header->tensors) CHECK(header->data + t.end <= broken.size());
        }
    CHECK(accepted > 0); // letters of names and the data may be anything
}

TEST_CASE("safetensors: files that cannot be opened") {
    CHECK(nn::load_bytes("/nowhere/at/all").error().code == errc::io);
    CHECK(!nn::load_bytes("/")); // a folder
    const auto endless = nn::load_bytes("/dev/zero");
    REQUIRE(!endless);
    CHECK(endless.error().code == errc::io);
    CHECK(endless.error().detail == "/dev/zero: expected a regular file, got a device");
}

TEST_CASE("safetensors: a header is checked against the size of its file before memory is taken for the data") {
    nn::safetensors_writer writer;
    const std::array<std::uint64_t, 1> shape{2};
    writer.tensor("a", shape, std::array{1.0F, 2.0F});
    const std::string good = writer.file();
    std::string name = (std::filesystem::temp_directory_path() / "augur-test-XXXXXX").string();
    const int made = ::mkstemp(name.data());
    REQUIRE(made >= 0);
    ::close(made);
    const auto load = [&](const std::string& front, std::uintmax_t size) {
        std::ofstream(name, std::ios::binary) << front;
        std::filesystem::resize_file(name, size); // a hole: no disk is taken
        return nn::load_bytes(name);
    };
    CHECK(*load(good, good.size()) == good);
    CHECK(load("", 0).error().code == errc::parse);
    const auto enormous = [&](const std::string& front, errc code) {
        const auto got = load(front, std::uintmax_t{8} << 30U);
        REQUIRE(!got);
        CHECK(got.error().code == code);
        CHECK(got.error().detail.starts_with(name + ": safetensors: "));
    };
    enormous(std::string(8, '\0'), errc::parse);
    enormous(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{", 9), errc::limit);
    enormous(good, errc::shape_mismatch); // more data than the tensors need
    std::filesystem::remove(name);
}
