// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs in LLVM IR that somebody measured: their lines, their archives, their features.
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
#include <augur/core/whole_file.hpp>
#include <augur/llvm/features_of_ir.hpp>
#include <augur/loopnest/run/process.hpp>
#include <augur/program/features_json.hpp>
#include <augur/record/replace_file.hpp>
#include <augur/schedule/steps_json.hpp>

#include "crop_tables.hpp"

namespace examples {

namespace {

namespace fs = std::filesystem;

augur::result<std::string> text_of_file(const fs::path& path) { return augur::read_whole_file(path.string(), std::size_t{1} << 32U); }

/// What a line of <task>.jsonl says that matters here.
struct measured_line {
    std::string id, file;
    augur::step_list steps;
    double one_thread = 0, two_threads = 0; ///< seconds; 0: not measured
};

/// The schedule of a record as Ansor writes it: [task, [stages, steps]].
bool read_schedule(augur::json_reader& in, augur::step_list& out) {
    const auto more = [&] { return in.next_element() || in.fail(augur::errc::parse, "steps: expected [task, [stages, steps]]"); };
    if (!in.begin_array() || !more() || !in.skip() || !more() || !in.begin_array() || !more() || !in.skip() || !more()) return false;
    return augur::read_steps(in, out) && !in.next_element() && !in.next_element() && in.ok();
}

bool read_line(augur::json_reader& in, measured_line& out) {
    std::string_view key;
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "id") in.read(out.id);
        else if (key == "ll") in.read(out.file);
        else if (key == "steps") read_schedule(in, out.steps);
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
    const auto done = augur::loopnest::run_process({{"tar", "-xJf", archive.string(), "-C", to.string()}, "", 120});
    if (!done.ok()) return augur::error{augur::errc::io, archive.string() + ": tar could not unpack it: " + done.errors.substr(0, 200)};
    std::ofstream(to / ".whole") << '\n';
    return {};
}

} // namespace

augur::result<augur::program_features> kept_features(const std::string& kept, const std::string& ir, augur::ir_options how) {
    if (const auto text = text_of_file(kept); text) return augur::features_from_json(*text);
    how.trace.exact = std::uint64_t{1} << 23U;
    how.time_limit_seconds = 120;
    auto features = augur::features_of_ir_file(ir, how);
    if (features)
        if (auto written = augur::replace_file(kept, augur::features_to_json(*features)); !written) return written.error();
    return features;
}

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
        measured_task task;
        task.name = list.stem().string();
        const fs::path folder = fs::path(o.cache) / task.name;
        const fs::path archive = fs::path(o.data) / (task.name + ".ll.tar.xz");
        auto lines = text_of_file(list);
        if (!lines) return lines.error();
        std::size_t number = 0, done = 0;
        const auto count = static_cast<std::size_t>(std::count(lines->begin(), lines->end(), '\n'));
        for (std::string_view rest = *lines; !rest.empty() && done < o.most && !stop_requested().load();) {
            const auto line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix((std::min)(rest.size(), line.size() + 1));
            ++number;
            augur::json_reader in(line);
            measured_line m;
            if (!read_line(in, m)) return augur::error{augur::errc::parse, list.string() + ":" + std::to_string(number) + ": " + in.error().detail};
            if (m.id.find('/') != std::string::npos || m.file.find('/') != std::string::npos || !(m.one_thread > 0) || m.steps.steps.empty())
                return augur::error{augur::errc::invalid_argument,
                                    list.string() + ":" + std::to_string(number) + ": expected a name, a latency and a schedule"};
            const double seconds = o.threads == 1 ? m.one_thread : m.two_threads;
            if (!(seconds > 0)) continue; // not with so many threads
            if (auto ready = unpack(archive, folder); !ready) return ready.error();
            const std::string ir = (folder / m.file).string();
            augur::ir_options how;
            how.threads = o.threads;
            auto features = kept_features((folder / (m.id + "." + std::to_string(o.threads) + ".features.json")).string(), ir, how);
            if (features) task.programs.push_back({m.id, std::move(*features), seconds, {seconds}, std::move(m.steps), ir, {}});
            else task.left_out.push_back(m.id + ": " + features.error().detail);
            ++done;
            progress.show(done, count, task.name, done == count);
        }
        if (!task.programs.empty()) tasks.push_back(std::move(task));
        else
            for (const auto& text : task.left_out) std::fprintf(stderr, "left out: %s\n", text.c_str());
    }
    progress.clear();
    if (tasks.empty() && !stop_requested().load())
        return augur::error{augur::errc::not_found,
                            o.data + ": no task was measured with " + std::to_string(o.threads) + " threads, or none has features"};
    return tasks;
}

} // namespace examples
