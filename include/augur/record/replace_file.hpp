// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_RECORD_REPLACE_FILE_HPP
#define AUGUR_RECORD_REPLACE_FILE_HPP

/// @file
/// Writing a file as a whole: a reader sees the old one or the new one, also after the machine has crashed. POSIX.

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <augur/core/error.hpp>
#include <augur/record/file_descriptor.hpp>

namespace augur::inline v0 {

namespace detail {

/// The calls that can fail in the middle; a test puts its own in their place.
struct replacement_calls {
    static ssize_t write(int fd, const char* from, std::size_t size) noexcept { return ::write(fd, from, size); }
    static int sync(int fd) noexcept { return ::fsync(fd); }
    static int rename(const char* from, const char* to) noexcept { return std::rename(from, to); }
};

} // namespace detail

/// A file that is written under another name beside its own, and takes its place when it is whole.
///
/// Until `commit` has renamed it the old file is as it was. What was not committed is removed; only a process that is killed leaves it, as
/// `<path>.<process>-<n>.part`.
/// Errors      io (no regular file is there, ...), not_found (the folder). After one, the replacement is of no more use
/// Threads     one thread an object; several may replace one file, the last commit stands
template <class Calls = detail::replacement_calls>
class basic_file_replacement {
public:
    [[nodiscard]] static result<basic_file_replacement> open(std::string path) {
        basic_file_replacement made(std::move(path));
        struct stat about{};
        if (::stat(made.path_.c_str(), &about) == 0 && !S_ISREG(about.st_mode))
            return detail::not_regular(made.path_, detail::type_of_file(about.st_mode)); // a rename would take the place of /dev/null
        for (int n = 0; !made.file_ && n < 100; ++n) { // another process, or another thread, may be writing as well
            made.part_ = made.path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(n) + ".part";
            made.file_ = detail::descriptor::open(made.part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY, 0644);
            if (!made.file_ && errno != EEXIST) break;
        }
        if (!made.file_) return detail::system_error(made.path_, "cannot make a new file in its folder");
        return made;
    }

    basic_file_replacement(basic_file_replacement&&) noexcept = default;
    basic_file_replacement& operator=(basic_file_replacement&&) noexcept = delete;
    ~basic_file_replacement() {
        if (file_) ::unlink(part_.c_str());
    }

    /// Writes all of `bytes` behind what was written.
    [[nodiscard]] result<void> write(std::string_view bytes) {
        while (!bytes.empty()) {
            errno = 0;
            const ssize_t n = Calls::write(file_.get(), bytes.data(), bytes.size());
            if (n < 0 && errno == EINTR) continue;
            if (n == 0) errno = ENOSPC;
            if (n <= 0) return detail::system_error(path_, "cannot write");
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
        return {};
    }
    /// Goes back to the front, to write a head once what it says is known.
    [[nodiscard]] result<void> rewind() {
        if (::lseek(file_.get(), 0, SEEK_SET) != 0) return detail::system_error(path_, "cannot seek");
        return {};
    }

    /// Brings the bytes to the disk, renames the file, and brings the name to the disk. When only the last step fails, the new file is in its place,
    /// and the error says that the name is not certain to survive a crash of the machine.
    [[nodiscard]] result<void> commit() {
        if (sync(file_.get()) != 0) return detail::system_error(path_, "the disk did not take what was written");
        if (Calls::rename(part_.c_str(), path_.c_str()) != 0) return detail::system_error(path_, "cannot rename to");
        file_ = detail::descriptor();
        const auto slash = path_.rfind('/');
        const auto folder = detail::descriptor::open(slash == std::string::npos ? "." : path_.substr(0, slash + 1).c_str(), O_RDONLY);
        if (!folder && errno == EACCES) return {};                             // may be written to, not opened: nothing to sync by
        if (folder && (sync(folder.get()) == 0 || errno == EINVAL)) return {}; // EINVAL: this file system has no sync for folders
        return detail::system_error(path_, "written, but the disk did not confirm its name");
    }

private:
    explicit basic_file_replacement(std::string path) : path_(std::move(path)) {}

    static int sync(int fd) {
        int done = -1;
        do done = Calls::sync(fd);
        while (done != 0 && errno == EINTR);
        return done;
    }

    std::string path_, part_;
    detail::descriptor file_; ///< while there is something to remove
};

using file_replacement = basic_file_replacement<>;

/// Makes `bytes` the content of a file, as above: durable when it returns. Errors: io, not_found (the folder).
template <class Calls = detail::replacement_calls>
[[nodiscard]] result<void> replace_file(const std::string& path, std::string_view bytes) {
    auto file = basic_file_replacement<Calls>::open(path);
    if (!file) return file.error();
    if (auto written = file->write(bytes); !written) return written;
    return file->commit();
}

} // namespace augur::inline v0

#endif
