// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_WORK_FOLDER_HPP
#define AUGUR_LOOPNEST_RUN_WORK_FOLDER_HPP

/// @file
/// Private folders for the files of child processes, and files in them. Linux and POSIX.

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <augur/core/error.hpp>
#include <augur/record/file_descriptor.hpp>

namespace augur::inline v0::loopnest {

/// A private folder (mode 0700), removed with its owner. `create` also removes the folders of killed owners below the same parent.
///
/// Move-only. The lock on its file `lock` shows that the owner is alive.
class work_folder {
public:
    /// Creates a folder below `parent`; empty: TMPDIR, else /tmp.   errors: io
    static result<work_folder> create(std::string parent = {}) {
        if (parent.empty()) {
            const char* set = std::getenv("TMPDIR");
            parent = set != nullptr && *set != '\0' ? set : "/tmp";
        }
        std::error_code ignored;
        std::string absolute = std::filesystem::absolute(parent, ignored).string();
        if (ignored) return error{errc::io, "work folder: cannot resolve '" + parent + "'"};
        sweep(absolute);
        std::string path = absolute + "/augur-work-XXXXXX";
        if (::mkdtemp(path.data()) == nullptr)
            return error{errc::io, "work folder: mkdtemp below '" + absolute + "' failed: " + std::strerror(errno)};
        work_folder made;
        made.path_ = std::move(path);
        made.lock_ = file_descriptor::open((made.path_ + "/lock").c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
        if (!made.lock_ || ::flock(made.lock_.get(), LOCK_EX | LOCK_NB) != 0)
            return error{errc::io, "work folder: cannot lock '" + made.path_ + "': " + std::strerror(errno)};
        return made;
    }

    work_folder(work_folder&& other) noexcept : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
    work_folder& operator=(work_folder&& other) noexcept {
        if (this != &other) {
            remove();
            path_ = std::exchange(other.path_, {});
            lock_ = std::move(other.lock_);
        }
        return *this;
    }
    work_folder(const work_folder&) = delete;
    work_folder& operator=(const work_folder&) = delete;
    ~work_folder() { remove(); }

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    work_folder() = default;
    void remove() noexcept {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
        path_.clear();
        lock_.reset();
    }
    static void sweep(const std::string& parent) {
        std::error_code bad;
        std::vector<std::string> dead;
        for (std::filesystem::directory_iterator entry(parent, bad), end; !bad && entry != end; entry.increment(bad)) {
            const std::string path = entry->path().string();
            struct stat s{};
            if (entry->path().filename().string().rfind("augur-work-", 0) != 0) continue;
            if (::lstat(path.c_str(), &s) != 0 || !S_ISDIR(s.st_mode) || s.st_uid != ::geteuid()) continue;
            // A newer folder may not be locked yet: it may be between mkdtemp and the lock.
            if (std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()) - s.st_mtime < 10) continue;
            const std::string name = path + "/lock";
            const auto lock = file_descriptor::open(name.c_str(), O_RDWR | O_NOFOLLOW);
            const bool none = !lock && ::access(name.c_str(), F_OK) != 0 && errno == ENOENT; // killed while it was made or removed
            if (none || (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0)) dead.push_back(path);
        }
        for (const auto& path : dead) std::filesystem::remove_all(path, bad);
    }

    std::string path_;
    file_descriptor lock_;
};

/// Writes a new file that only its owner can read.   errors: io
inline result<void> write_private_file(const std::string& path, std::string_view bytes) {
    const auto fd = file_descriptor::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    bool good = static_cast<bool>(fd);
    while (good && !bytes.empty()) {
        const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        good = n > 0;
        if (good) bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    if (!good) return error{errc::io, "cannot write '" + path + "': " + std::strerror(errno)};
    return {};
}

} // namespace augur::inline v0::loopnest

#endif
