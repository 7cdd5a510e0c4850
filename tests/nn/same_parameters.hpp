// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_NN_SAME_PARAMETERS_HPP
#define AUGUR_TESTS_NN_SAME_PARAMETERS_HPP

#include <string_view>

/// Have two models of one shape equal parameters? Only those whose names begin with `only` are compared.
template <class Model>
[[nodiscard]] bool same_parameters(const Model& a, const Model& b, std::string_view only = "") {
    bool same = true;
    Model::visit([&](std::string_view name, const auto& x, const auto& y) { same = same && (!name.starts_with(only) || x == y); }, a, b);
    return same;
}

#endif
