// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/workload/class_levels.hpp>

#include <string>
#include <string_view>

#include <augur/workload/concepts.hpp>
#include <doctest/doctest.h>

using namespace augur;

namespace {

/// A task of a compiler that knows two levels of its own.
struct foreign_task {
    std::string name;
    augur::class_levels levels;
    [[nodiscard]] std::string_view key() const { return name; }
    [[nodiscard]] const augur::class_levels& class_levels() const { return levels; }
};
/// A task that cannot be edited.
struct other_task {
    std::string id, kind;
};

} // namespace

template <>
struct augur::task_traits<other_task> {
    static std::string_view key(const other_task& t) { return t.id; }
    static std::string_view kernel_class(const other_task& t) { return t.kind; }
};

TEST_CASE("class_levels: levels that are not known agree with none") {
    class_levels a, b;
    CHECK(!class_agreement(a, b).finest());
    a.set(class_level::operations, "conv_add").set(class_level::dag, "1");
    b.set(class_level::operations, "conv_add").set(class_level::dag, "2");
    const class_agreement both(a, b);
    CHECK(both.at(class_level::operations));
    CHECK(!both.at(class_level::canonical));
    CHECK(!both.at(class_level::dag));
    CHECK(both.finest() == class_level::operations);
    b.set(class_level::dag, "1");
    CHECK(class_agreement(a, b).finest() == class_level::dag);
    CHECK(to_string(class_level::workload) == "workload");
}

TEST_CASE("class_levels: of a task that says them, and of one that has a class and a key") {
    const foreign_task own{"k", class_levels().set(class_level::structure, "e2.0")};
    CHECK(task_class_levels(own).at(class_level::structure) == "e2.0");
    CHECK(task_class_levels(own).at(class_level::workload).empty());
    const auto levels = task_class_levels(other_task{"id", "dense"});
    CHECK(levels.at(class_level::prefix) == "dense");
    CHECK(levels.at(class_level::operations) == "dense");
    CHECK(levels.at(class_level::workload) == "id");
    CHECK(levels.at(class_level::structure).empty());
}
