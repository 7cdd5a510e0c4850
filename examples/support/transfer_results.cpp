// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "transfer_results.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/core/whole_file.hpp>

namespace examples {

namespace {

/// All of the visited fields, in the order of the file, but for those that older files lack.
template <class R, class F>
bool fields(R& r, F&& f) {
    return f("network", r.network) && f("kernel", r.kernel) && f("label", r.label) && f("machine", r.machine) && f("chooser", r.chooser) &&
           f("uses", r.uses) && f("untuned", r.untuned) && f("latency", r.latency) && f("full", r.full) && f("of_three", r.of_three) &&
           f("measurements", r.measurements) && f("adapted", r.adapted) && f("logs", r.logs) && f("source", r.source);
}

struct field_writer {
    augur::json_writer& out;
    bool operator()(std::string_view name, const std::string& text) const { return out.key(name).value(text), true; }
    bool operator()(std::string_view name, std::size_t n) const { return out.key(name).value(static_cast<std::int64_t>(n)), true; }
    bool operator()(std::string_view name, double x) const { return out.key(name).value(std::isfinite(x) ? x : -1.0), true; } // -1: it failed
};
struct field_reader {
    augur::json_reader& in;
    [[nodiscard]] bool at(std::string_view name) const {
        std::string_view key;
        return in.next_member(key) && (key == name || in.fail(augur::errc::parse, "expected the field " + std::string(name)));
    }
    bool operator()(std::string_view name, std::string& text) const { return at(name) && in.read(text); }
    bool operator()(std::string_view name, std::size_t& n) const {
        std::int64_t value = 0;
        if (!at(name) || !in.read(value)) return false;
        if (value < 0) return in.fail(augur::errc::parse, "expected a number from 0");
        n = static_cast<std::size_t>(value);
        return true;
    }
    bool operator()(std::string_view name, double& x) const {
        if (!at(name) || !in.read(x)) return false;
        if (x < 0) x = std::numeric_limits<double>::infinity();
        return true;
    }
};

/// The rest of a line: the fields that older files lack, or nothing.
bool read_rest(augur::json_reader& in, transfer_result& r) {
    std::string_view key;
    if (!in.next_member(key)) return in.ok();
    std::int64_t needed = 0;
    if (key != "needed" || !in.read(needed) || needed < 0) return in.fail(augur::errc::parse, "expected the field needed, a number from 0");
    r.needed = static_cast<std::size_t>(needed);
    return field_reader{in}("seconds", r.seconds) && (!in.next_member(key) || in.fail(augur::errc::parse, "a field too many"));
}

} // namespace

std::string to_line(const transfer_result& r) {
    std::string text;
    augur::json_writer out(text);
    out.begin_object();
    fields(r, field_writer{out});
    out.key("needed").value(static_cast<std::int64_t>(r.needed));
    out.key("seconds").value(r.seconds);
    out.end_object();
    return text;
}

augur::result<std::vector<transfer_result>> read_results(const std::string& path) {
    const auto text = augur::read_whole_file(path, std::size_t{1} << 30U);
    if (!text) return text.error();
    std::vector<transfer_result> out;
    std::size_t number = 0;
    for (std::size_t from = 0; from < text->size();) {
        const auto end = (std::min)(text->find('\n', from), text->size());
        augur::json_reader in(std::string_view(*text).substr(from, end - from), {}, ++number);
        transfer_result r;
        if (!in.begin_object() || !fields(r, field_reader{in}) || !read_rest(in, r) || !in.finish())
            return augur::error{augur::errc::parse, path + ": " + in.error().detail};
        out.push_back(std::move(r));
        from = end + 1;
    }
    return out;
}

} // namespace examples
