// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/core/error.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

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

TEST_CASE("result: copies, moves and assignments keep the value or the error, and all that was made is destroyed") {
    const auto counted = std::make_shared<int>(5); // its count says how many values there are
    using shared = std::shared_ptr<int>;
    const error bad{errc::io, std::string(40, 'x')}; // longer than a string that holds its text in itself
    {
        result<shared> value{counted}, failed{bad};
        CHECK(counted.use_count() == 2);
        const auto copy = value;
        CHECK(counted.use_count() == 3);
        CHECK(*copy == counted);
        auto taken = std::move(value);
        CHECK(counted.use_count() == 3);
        CHECK(*taken == counted);

        value = failed; // error over value, value over error, each over its own kind
        CHECK(value.error().detail == bad.detail);
        failed = taken;
        CHECK(*failed == counted);
        taken = copy;
        CHECK(*taken == counted);
        CHECK(counted.use_count() == 4);
        value = error{errc::busy, "later"};
        CHECK(to_string(value.error()) == "busy: later");
        value = std::move(taken);
        CHECK(counted.use_count() == 4);
        auto& same = value;
        value = same;
        CHECK(**value == 5);
        CHECK(counted.use_count() == 4);
    }
    CHECK(counted.use_count() == 1);

    static_assert(!std::is_copy_constructible_v<result<std::unique_ptr<int>>> && !std::is_copy_assignable_v<result<std::unique_ptr<int>>>);
    static_assert(std::is_nothrow_move_constructible_v<result<std::unique_ptr<int>>>);
    std::vector<result<std::unique_ptr<int>>> grown;
    for (int i = 0; i < 9; ++i) grown.emplace_back(std::make_unique<int>(i));
    CHECK(**grown.front() == 0);
    CHECK(**grown.back() == 8);
}

TEST_CASE("result<void>: success or an error") {
    const result<void> good, bad = error{errc::io, "x.json: no such file"};
    CHECK(good.has_value());
    CHECK(!bad);
    CHECK(to_string(bad.error()) == "io: x.json: no such file");
    CHECK(*good.and_then([] { return half(4); }) == 2);
    CHECK(bad.and_then([] { return half(4); }).error().code == errc::io);
}
