// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/workload/concepts.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct archetype { // a key, and nothing else
    archetype() = default;
    archetype(const archetype&) = delete;
    [[nodiscard]] std::string_view key() const { return "dense"; }
};
struct full {
    [[nodiscard]] const std::string& key() const { return name; } // a reference: the view must not outlive a temporary
    [[nodiscard]] std::string_view target() const { return "llvm"; }
    [[nodiscard]] float weight() const { return 3; }
    [[nodiscard]] double flops() const { return 1e9; }
    [[nodiscard]] std::string_view kernel_class() const { return "conv2d"; }
    std::string name = "conv2d:1x64";
};
struct foreign { // somebody else's type
    int id;
};
struct no_key {
    [[nodiscard]] double weight() const { return 1; }
};
struct by_value {
    [[nodiscard]] std::string key() const { return "dense"; } // gone before a view of it
};
struct mutating {
    std::string_view key() { return {}; }
};

} // namespace

template <>
struct augur::task_traits<foreign> {
    static std::string_view key(const foreign& t) { return t.id == 1 ? "one" : "other"; }
};

static_assert(augur::task<archetype> && augur::task<full> && augur::task<foreign>);
static_assert(!augur::task<no_key> && !augur::task<mutating> && !augur::task<by_value> && !augur::task<int>);

TEST_CASE("task: what it does not say has its default, also where the traits are specialised") {
    const auto defaults = [](const auto& t) {
        CHECK(augur::task_target(t).empty());
        CHECK(augur::task_weight(t) == 1);
        CHECK(augur::task_flops(t) == 0);
        CHECK(augur::task_kernel_class(t).empty());
    };
    defaults(archetype());
    defaults(foreign{1});
    CHECK(augur::task_key(archetype()) == "dense");
    CHECK(augur::task_key(foreign{1}) == "one");
}

TEST_CASE("task: what it says is passed on") {
    const full t;
    CHECK(augur::task_key(t).data() == t.name.data());
    CHECK(augur::task_target(t) == "llvm");
    CHECK(augur::task_weight(t) == 3);
    CHECK(augur::task_flops(t) == 1e9);
    CHECK(augur::task_kernel_class(t) == "conv2d");
}

TEST_CASE("task_identity: target and key, and no two pairs of them are one") {
    struct named {
        std::string where, what;
        [[nodiscard]] std::string_view key() const { return what; }
        [[nodiscard]] std::string_view target() const { return where; }
    };
    const std::vector<named> all{{"", "a"},    {"a", ""},   {"a", "b\nc"}, {"a\nb", "c"}, {"1", "\na"},
                                 {"", "1\na"}, {"", "\na"}, {"11", "a"},   {"1", "1a"}};
    std::set<std::string> names;
    for (const auto& t : all) names.insert(augur::task_identity(t));
    CHECK(names.size() == all.size());
    CHECK(augur::task_identity(all[2]) == augur::task_identity(named(all[2])));
    CHECK(augur::task_identity(archetype()).ends_with("dense"));
    CHECK(augur::task_identity(foreign{2}).ends_with("other"));
}
