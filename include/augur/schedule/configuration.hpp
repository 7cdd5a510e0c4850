// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SCHEDULE_CONFIGURATION_HPP
#define AUGUR_SCHEDULE_CONFIGURATION_HPP

/// @file
/// The schedule of a kernel with tunable parameters, e.g. a CUDA kernel with a block size: a list of named values.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/number.hpp>
#include <augur/schedule/concepts.hpp>

namespace augur::inline v0 {

/// The value of a tunable parameter. An integer and a real are different values, also 1 and 1.0. pre: a real is finite
using tuning_value = std::variant<std::int64_t, double, std::string>;

/// A value as text, e.g. for a table.
[[nodiscard]] inline std::string to_string(const tuning_value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    std::string out;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) append_number(out, *integer);
    else append_number(out, *std::get_if<double>(&value));
    return out;
}

/// A tunable parameter with the value that it has in one configuration.
struct tuning_parameter {
    std::string name;
    tuning_value value;

    friend bool operator==(const tuning_parameter&, const tuning_parameter&) = default;
};

/// The values of all parameters of a kernel. A schedule: each parameter is visited as a primitive of its name, followed by its value.
struct configuration {
    std::vector<tuning_parameter> parameters;

    friend bool operator==(const configuration&, const configuration&) = default;
};

/// `block_size_x=16 tile_size=2`
[[nodiscard]] inline std::string to_string(const configuration& c) {
    std::string out;
    for (const tuning_parameter& p : c.parameters) {
        if (!out.empty()) out += ' ';
        out.append(p.name).append("=").append(to_string(p.value));
    }
    return out;
}

template <>
struct schedule_traits<configuration> {
    template <schedule_sink Sink>
    static void visit(const configuration& c, Sink& k) {
        for (const tuning_parameter& p : c.parameters) {
            k.primitive(p.name);
            if (const auto* integer = std::get_if<std::int64_t>(&p.value)) k.number(*integer);
            else if (const auto* real = std::get_if<double>(&p.value)) k.number(*real);
            else k.name(*std::get_if<std::string>(&p.value));
        }
    }

    /// Rebuilds a configuration; the task is not used. Error `parse`: items that are no pairs of a name and a value.
    template <class Task>
    static result<configuration> rebuild(const Task&, std::span<const schedule_item> items) {
        using kind = schedule_item::kind;
        configuration out;
        for (std::size_t i = 0; i < items.size(); i += 2) {
            if (items[i].type != kind::primitive || i + 1 == items.size() || items[i + 1].type == kind::primitive)
                return error{errc::parse, "configuration: expected the name of parameter " + std::to_string(i / 2) +
                                              " and one value of it, the items are another sequence"};
            const schedule_item& item = items[i + 1];
            if (item.type == kind::real && !std::isfinite(item.real))
                return error{errc::parse, "configuration: expected a finite value of parameter " + std::to_string(i / 2)};
            tuning_parameter& p = out.parameters.emplace_back(tuning_parameter{items[i].text, item.integer});
            if (item.type == kind::real) p.value = item.real;
            else if (item.type == kind::name) p.value = item.text;
        }
        return out;
    }
};

} // namespace augur::inline v0

#endif
