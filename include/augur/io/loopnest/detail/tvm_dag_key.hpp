// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_LOOPNEST_DETAIL_TVM_DAG_KEY_HPP
#define AUGUR_IO_LOOPNEST_DETAIL_TVM_DAG_KEY_HPP

/// @file
/// Reads the output shape of a compute DAG from the workload key of its TVM task.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/io/loopnest/detail/tvm_dag_lexer.hpp>
#include <augur/loopnest/ir/dag.hpp>

namespace augur::inline v0::detail {

/// Sets the extents of the last operation from the key of a DAG, `["<hash>", placeholder shapes..., output shape]`; the shapes can be nested or flat.
/// The key of a registered function has arbitrary arguments; it sets the extents only if its numbers have that form.
///
/// Errors: those of `json_reader`; shape_mismatch (an extent outside 1..2^31, or a hash key of another DAG).   pre: the last operation is the output
inline result<void> read_result_shape(std::string_view key, loopnest::compute_dag& dag) {
    json_reader in(key);
    std::vector<std::int64_t> numbers;
    std::string_view name;
    bool shapes = true;
    if (in.begin_array() && (in.next_element() || in.fail(errc::parse, "expected a name, got an empty array"))) in.read(name);
    const bool hash = name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    const auto number = [&] {
        json_number n;
        if (in.peek() != json_kind::number) shapes = false, in.skip();
        else if (in.read(n)) shapes = shapes && n.is_integer, numbers.push_back(n.integer);
    };
    while (in.next_element()) {
        if (in.peek() != json_kind::array) number();
        else if (in.begin_array())
            while (in.next_element()) number();
    }
    if (!in.finish()) return error{in.error().code, "workload key: " + in.error().detail};
    std::vector<std::int64_t> known;
    for (const auto& op : dag.ops)
        if (op.placeholder())
            for (const auto& a : op.axes) known.push_back(a.extent);
    auto& result = dag.ops.back().axes;
    if (shapes && numbers.size() == known.size() + result.size() && std::equal(known.begin(), known.end(), numbers.begin())) {
        for (std::size_t a = 0; a < result.size(); ++a) {
            const auto extent = numbers[known.size() + a];
            if (extent < 1 || extent > tvm_max_integer)
                return error{errc::shape_mismatch, "workload key: expected extents in 1..2^31, got " + std::to_string(extent)};
            result[a].extent = extent;
        }
    } else if (hash) {
        return error{errc::shape_mismatch, "workload key: expected the extents of the placeholders and " + std::to_string(result.size()) +
                                               " of the result, got others: it is not the key of this DAG"};
    }
    return {};
}

} // namespace augur::inline v0::detail

#endif
