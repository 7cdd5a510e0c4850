// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_RECORD_LOGS_HPP
#define AUGUR_TESTS_RECORD_LOGS_HPP

// What the tests of this room share: records, files, and where real logs are.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <augur/record/record.hpp>

namespace logs {

/// A folder that is there as long as the object; in memory where that is possible, for the tests that write thousands of files.
struct folder {
    std::filesystem::path path;
    folder() {
        const char* const memory = "/dev/shm";
        const auto parent = ::access(memory, W_OK | X_OK) == 0 ? std::filesystem::path(memory) : std::filesystem::temp_directory_path();
        std::string name = (parent / "augur-test-XXXXXX").string();
        path = ::mkdtemp(name.data());
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() { std::filesystem::remove_all(path); }
    [[nodiscard]] std::string operator/(const char* name) const { return (path / name).string(); }
};

inline std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}
inline void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes; }

/// A machine of which only the compiler is known.
inline augur::machine_identity compiled_by(const char* compiler) {
    augur::machine_identity id;
    id.compiler = compiler;
    return id;
}

/// The i-th of many different records, failed ones among them.
inline augur::record record(std::int64_t i) {
    augur::record r;
    r.task.workload_key = "[\"dense\", [1, " + std::to_string(64 + i) + "]]";
    r.task.target = "llvm -keys=cpu";
    r.task.hardware = {8, 64, 64, 0, 0, 0, 0, 0};
    r.task.layout_rewrite = 2;
    r.schedule.steps = {augur::split_step{2, 0, 512, {8, i + 1}, true}, augur::annotate_step{2, 0, augur::loop_annotation::parallel}};
    r.measured.status = i % 3 == 2 ? augur::outcome::run_crash : augur::outcome::ok;
    if (r.measured.ok()) r.measured.seconds = {1.0 / static_cast<double>(3 + i), 2e-5};
    else r.measured.reason = "signal 11\n\"in\" the kernel";
    r.measured.total_seconds = 0.1 * static_cast<double>(i);
    r.measured.timestamp = 1700000000 + i;
    r.machine = {"AuthenticAMD", "26", "2", "AMD EPYC", "x86-64-v4", "8", "L1 48K, L2 1M, L3 32M", "cc 12.2.0"};
    r.flags = "-O3 -march=native";
    r.sequence = i;
    return r;
}

/// The folder of real logs: $AUGUR_DATA, else beside the repository. Empty when there is none.
inline std::filesystem::path data() {
    const char* const named = std::getenv("AUGUR_DATA");
    const std::filesystem::path path = named != nullptr ? named : std::filesystem::path(AUGUR_TEST_DIR) / "../../shared/data";
    return std::filesystem::is_directory(path) ? path : std::filesystem::path();
}

/// The log files of TVM in a data folder.
inline std::vector<std::filesystem::path> ansor_files() {
    std::vector<std::filesystem::path> files;
    for (const char* name : {"ansor-x86-24core", "ansor-gpu", "ansor-misc"}) {
        if (data().empty() || !std::filesystem::is_directory(data() / name)) continue;
        for (const auto& entry : std::filesystem::directory_iterator(data() / name))
            if (entry.path().string().ends_with(".jsonl.gz")) files.push_back(entry.path());
    }
    return files;
}

/// A packed file, read through gzip.
struct unpacked {
    std::FILE* pipe;
    explicit unpacked(const std::filesystem::path& path) : pipe(::popen(("gzip -dc '" + path.string() + "'").c_str(), "r")) {}
    unpacked(const unpacked&) = delete;
    unpacked& operator=(const unpacked&) = delete;
    ~unpacked() { ::pclose(pipe); }
    [[nodiscard]] int fd() const { return ::fileno(pipe); }
};

} // namespace logs

#endif
