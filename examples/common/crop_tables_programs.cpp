// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include <augur/core/json.hpp>
#include <augur/llvm/features_of_ir.hpp>
#include <augur/loopnest/process.hpp>
#include <augur/program/features_json.hpp>
#include <augur/record/replace_file.hpp>

#include "crop_tables.hpp"

namespace examples {

namespace {

namespace fs = std::filesystem;

augur::result<std::string> text_of_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return augur::error{augur::errc::not_found, path.string() + ": cannot be read"};
    return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

/// What a line of <task>.jsonl says that matters here.
struct measured_line {
    std::string id, file;
    double one_thread = 0, two_threads = 0;
};

bool read_line(augur::json_reader& in, measured_line& out) {
    std::string_view key;
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "id") in.read(out.id);
        else if (key == "ll") in.read(out.file);
        else if (key == "t1") in.read(out.one_thread);
        else if (key == "threads") {
            in.begin_object();
            while (in.next_member(key)) {
                const bool two = key == "2";
                double least = 0;
                in.begin_array();
                while (in.next_element()) {
                    double seconds = 0;
                    if (in.read(seconds) && (least == 0 || seconds < least)) least = seconds;
                }
                if (two) out.two_threads = least;
            }
        } else in.skip();
    }
    return in.finish();
}

/// Unpacks the archive of a task once.
augur::result<void> unpack(const fs::path& archive, const fs::path& to) {
    std::error_code why;
    if (fs::exists(to / ".whole", why)) return {};
    fs::create_directories(to, why);
    if (why) return augur::error{augur::errc::io, to.string() + ": " + why.message()};
    const auto done = augur::run_process({{"tar", "-xJf", archive.string(), "-C", to.string()}, "", 120});
    if (!done.ok()) return augur::error{augur::errc::io, archive.string() + ": tar could not unpack it: " + done.errors.substr(0, 200)};
    std::ofstream(to / ".whole") << '\n';
    return {};
}

} // namespace

augur::result<std::vector<measured_task>> gather_programs(const gather_options& o, progress_line& progress) {
    std::vector<fs::path> lists;
    std::error_code why;
    for (const auto& entry : fs::directory_iterator(o.data, why))
        if (entry.path().extension() == ".jsonl" && entry.path().stem().string().find(o.only) != std::string::npos) lists.push_back(entry.path());
    if (why) return augur::error{augur::errc::not_found, o.data + ": " + why.message()};
    if (lists.empty()) return augur::error{augur::errc::not_found, o.data + ": expected <task>.jsonl and <task>.ll.tar.xz, found none"};
    std::sort(lists.begin(), lists.end());
    std::vector<measured_task> tasks;
    for (const auto& list : lists) {
        auto& task = tasks.emplace_back();
        task.name = list.stem().string();
        const fs::path folder = fs::path(o.cache) / task.name;
        const fs::path archive = fs::path(o.data) / (task.name + ".ll.tar.xz");
        auto lines = text_of_file(list);
        if (!lines) return lines.why();
        std::size_t number = 0, done = 0;
        const auto count = static_cast<std::size_t>(std::count(lines->begin(), lines->end(), '\n'));
        for (std::string_view rest = *lines; !rest.empty() && done < o.most && !stop_requested().load();) {
            const auto line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix((std::min)(rest.size(), line.size() + 1));
            ++number;
            augur::json_reader in(line);
            measured_line m;
            if (!read_line(in, m)) return augur::error{augur::errc::parse, list.string() + ":" + std::to_string(number) + ": " + in.why().detail};
            if (m.id.find('/') != std::string::npos || m.file.find('/') != std::string::npos || !(m.one_thread > 0))
                return augur::error{augur::errc::invalid_argument, list.string() + ":" + std::to_string(number) + ": expected a name and a latency"};
            const fs::path kept = folder / (m.id + "." + std::to_string(o.threads) + ".features.json");
            augur::result<augur::program_features> features = augur::error{augur::errc::not_found, "not gathered"};
            if (const auto text = text_of_file(kept); text) {
                features = augur::features_from_json(*text);
            } else {
                if (auto ready = unpack(archive, folder); !ready) return ready.why();
                augur::ir_options how;
                how.threads = o.threads;
                how.trace.exact = std::uint64_t{1} << 23U;
                how.time_limit_seconds = 120;
                features = augur::features_of_ir_file((folder / m.file).string(), how);
                if (features)
                    if (auto written = augur::replace_file(kept.string(), augur::features_to_json(*features)); !written) return written.why();
            }
            if (features) task.programs.push_back({m.id, std::move(*features), m.one_thread, m.two_threads});
            else task.left_out.push_back(m.id + ": " + features.why().detail);
            ++done;
            progress.show(done, count, task.name, done == count);
        }
    }
    progress.clear();
    return tasks;
}

} // namespace examples
