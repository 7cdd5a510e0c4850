// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "headroom.hpp"

#include <algorithm>
#include <limits>

#include <augur/core/json.hpp>
#include <augur/core/json_object.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/core/whole_file.hpp>

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::array<std::string_view, 9> member_names{"kernel", "label", "network", "machine", "limit", "bound", "untuned", "searches", "picks"};
constexpr std::array<std::string_view, 6> search_names{"guide", "winner", "seconds", "latencies", "choosing", "asked"};

void write_latencies(augur::json_writer& out, std::span<const double> latencies) {
    out.begin_array();
    for (const double l : latencies) out.value_6(l); // infinity becomes null
    out.end_array();
}

bool read_latencies(augur::json_reader& in, std::vector<double>& out) {
    in.begin_array();
    while (in.next_element()) {
        double l = infinity;
        if (in.peek() == augur::json_kind::null) in.read_null();
        else in.read(l);
        out.push_back(l);
    }
    return in.ok();
}

bool read_searches(augur::json_reader& in, kernel_record& r) {
    in.begin_array();
    while (in.next_element()) {
        std::string_view name;
        guided_search s;
        std::size_t guide = guides.size();
        augur::detail::json_members members(in, search_names);
        for (std::size_t i = 0; members.next(i);) {
            if (i == 0 && in.read(name) && (guide = find_guide(name)) == guides.size())
                return in.fail(augur::errc::parse, "expected a guide, got '" + std::string(name) + "'");
            if (i == 1) in.read(s.winner);
            if (i == 2) in.read(s.seconds);
            if (i == 3) read_latencies(in, s.latencies);
            if (i == 4) in.read(s.choosing);
            if (std::int64_t asked = 0; i == 5 && in.read(asked) && asked > 0) s.asked = static_cast<std::size_t>(asked);
        }
        if (!members.need(0b1111)) return false; // the last two are optional
        if (!r.searches[guide].latencies.empty()) return in.fail(augur::errc::parse, "a guide twice");
        r.searches[guide] = std::move(s);
    }
    return in.ok();
}

} // namespace

std::string guide_names() {
    std::string out;
    for (const auto& g : guides) out.append(out.empty() ? "" : ", ").append(g.name);
    return out;
}

std::size_t find_guide(std::string_view name) {
    return static_cast<std::size_t>(std::find_if(guides.begin(), guides.end(), [&](const guide& g) { return g.name == name; }) - guides.begin());
}

double kernel_record::best() const {
    double least = untuned > 0 ? untuned : infinity;
    for (const auto& s : searches)
        for (const double l : s.latencies) least = (std::min)(least, l);
    for (const double l : picks) least = (std::min)(least, l);
    return (std::min)(least, best_elsewhere);
}

std::string to_line(const kernel_record& r) {
    std::string text;
    augur::json_writer out(text);
    out.begin_object();
    out.key("kernel").value(r.kernel).key("label").value(r.label).key("network").value(r.network);
    out.key("machine").raw(augur::to_text(r.machine));
    out.key("limit").value_6(r.limit).key("bound").value(r.bound).key("untuned").value_6(r.untuned);
    out.key("searches").begin_array();
    for (std::size_t g = 0; g < guides.size(); ++g) {
        const auto& s = r.searches[g];
        if (s.latencies.empty()) continue;
        out.begin_object().key("guide").value(guides[g].name).key("winner").value_6(s.winner).key("seconds").value_6(s.seconds).key("latencies");
        write_latencies(out, s.latencies);
        if (s.choosing > 0) out.key("choosing").value_6(s.choosing);
        if (s.asked > s.latencies.size()) out.key("asked").value(static_cast<std::int64_t>(s.asked));
        out.end_object();
    }
    out.end_array().key("picks");
    write_latencies(out, r.picks);
    out.end_object();
    return text + "\n";
}

augur::result<std::vector<kernel_record>> read_records(const std::string& path) {
    const auto text = augur::read_whole_file(path, std::size_t{1} << 30U);
    if (!text) return text.error();
    std::vector<kernel_record> out;
    std::size_t line = 1;
    for (std::size_t at = 0, end = 0; at < text->size(); at = end + 1, ++line) {
        end = (std::min)(text->find('\n', at), text->size());
        augur::json_reader in(std::string_view(*text).substr(at, end - at), {}, line);
        kernel_record r;
        augur::detail::json_members members(in, member_names);
        for (std::size_t i = 0; members.next(i);) {
            if (i == 0) in.read(r.kernel);
            if (i == 1) in.read(r.label);
            if (i == 2) in.read(r.network);
            if (i == 3) augur::detail::read_identity(in, r.machine);
            if (i == 4) in.read(r.limit);
            if (i == 5) in.read(r.bound);
            if (i == 6) in.read(r.untuned);
            if (i == 7) read_searches(in, r);
            if (i == 8) read_latencies(in, r.picks);
        }
        members.need(0b111111111);
        if (!in.finish()) return augur::error{in.error().code, path + ":" + in.error().detail};
        out.push_back(std::move(r));
    }
    return out;
}
