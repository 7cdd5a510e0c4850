// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TRANSFER_WORKLOAD_DISTANCE_HPP
#define AUGUR_TRANSFER_WORKLOAD_DISTANCE_HPP

/// @file
/// How far a kernel is from one that has a schedule, as TVM shares schedules between shapes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>

namespace augur::inline v0::transfer {

/// A TVM workload key: the hash of the DAG and the arguments, lists flattened: keys of TVM 0.7 and of 0.12 of one kernel are equal.
struct workload_arguments {
    struct argument {
        std::int64_t number = 0;
        std::string word; ///< a text argument behind a leading '"', e.g. `"float32`, so that it is never empty; empty: the argument is `number`
        friend bool operator==(const argument&, const argument&) = default;
    };
    std::string dag; ///< md5 of TVM's text, or the name of a template
    std::vector<argument> arguments;

    /// Reads `["<dag>", 1, 56, [3, 3], "float32"]`: whole numbers, texts, and lists of them.
    /// Errors: parse (also for a real number, a boolean or null), limit; with the column
    [[nodiscard]] static result<workload_arguments> parse(std::string_view key) {
        json_reader in(key);
        workload_arguments out;
        std::string_view name;
        in.begin_array();
        if (!in.next_element() || !in.read(name)) {
            in.fail(errc::parse, "expected the hash of a DAG");
            return in.error();
        }
        out.dag = name;
        out.read_list(in);
        if (!in.finish()) return in.error();
        return out;
    }

private:
    void read_list(json_reader& in) {
        while (in.next_element()) {
            if (in.peek() == json_kind::array) {
                in.begin_array();
                read_list(in);
            } else if (in.peek() == json_kind::string) {
                std::string_view word;
                if (in.read(word)) arguments.push_back({0, "\"" + std::string(word)});
            } else {
                argument a;
                if (in.read(a.number)) arguments.push_back(std::move(a));
            }
        }
    }
};

/// TVM's distance factor: the product of target / candidate over the arguments; nullopt unless the DAGs and the numbers of arguments are equal, the whole
/// numbers of the candidate divide those of the target and have their signs, and the other arguments are equal. TVM ranks candidates by latency times factor.
///
/// Source  TVM, pull requests 7317 and 7344 (python/tvm/auto_scheduler/utils.py, calc_workload_dis_factor)
[[nodiscard]] inline std::optional<double> workload_distance(const workload_arguments& target, const workload_arguments& candidate) {
    if (target.dag != candidate.dag || target.arguments.size() != candidate.arguments.size()) return std::nullopt;
    double factor = 1;
    for (std::size_t i = 0; i < target.arguments.size(); ++i) {
        const auto &t = target.arguments[i], &c = candidate.arguments[i];
        if (t == c) continue;
        if (!t.word.empty() || !c.word.empty() || t.number == 0 || c.number == 0 || (t.number < 0) != (c.number < 0) || c.number == -1 ||
            t.number % c.number != 0)
            return std::nullopt;
        factor *= static_cast<double>(t.number) / static_cast<double>(c.number);
    }
    return factor;
}

} // namespace augur::inline v0::transfer

#endif
