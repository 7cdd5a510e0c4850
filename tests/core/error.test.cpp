// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/core/error.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>

namespace {

using augur::errc;
using augur::error;
using augur::result;

result<int> half(int x) {
    if (x % 2 != 0) return error{errc::invalid_argument, "expected an even number, got " + std::to_string(x)};
    return x / 2;
}

} // namespace

TEST_CASE("result: a value or an error") {
    const auto good = half(8), bad = half(7);
    CHECK(good.has_value());
    CHECK(*good == 4);
    CHECK(good.value_or(-1) == 4);
    CHECK(!bad.has_value());
    CHECK(bad.value_or(-1) == -1);
    CHECK(bad.error().code == errc::invalid_argument);
    CHECK(to_string(bad.error()) == "invalid_argument: expected an even number, got 7");
    CHECK(half(5).value_or(3) == 3);
}

TEST_CASE("result: and_then and transform go on with the value and pass the error on") {
    CHECK(*half(8).and_then(half) == 2);
    CHECK(half(6).and_then(half).error().detail == "expected an even number, got 3"); // the second call's
    CHECK(half(7).and_then(half).error().detail == "expected an even number, got 7");
    CHECK(*half(8).transform([](int x) { return std::to_string(x); }) == "4");
    CHECK(!half(7).transform([](int x) { return std::to_string(x); }));

    // a value that can only be moved is moved
    result<std::unique_ptr<int>> only{std::make_unique<int>(3)};
    auto moved = std::move(only).transform([](std::unique_ptr<int> p) { return *p + 1; });
    CHECK(*moved == 4);
}

TEST_CASE("result<void>: success or an error") {
    const result<void> good, bad = error{errc::io, "x.json: no such file"};
    CHECK(good.has_value());
    CHECK(!bad);
    CHECK(to_string(bad.error()) == "io: x.json: no such file");
    CHECK(*good.and_then([] { return half(4); }) == 2);
    CHECK(bad.and_then([] { return half(4); }).error().code == errc::io);
}
