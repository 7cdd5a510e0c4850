// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_RECORD_REPLACE_FILE_HPP
#define AUGUR_RECORD_REPLACE_FILE_HPP

/// @file
/// Atomic file replacement by write, fsync and rename: readers see the old file or the new file, also after a crash of the machine. POSIX.

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

/// System calls of the replacement; tests replace them to inject failures.
struct replacement_calls {
    static ssize_t write(int fd, const char* from, std::size_t size) noexcept { return ::write(fd, from, size); }
    static int sync(int fd) noexcept { return ::fsync(fd); }
    static int rename(const char* from, const char* to) noexcept { return std::rename(from, to); }
};

} // namespace detail

/// Temporary file in the folder of `path` that replaces `path` on commit.
///
/// The old file is unchanged until `commit` renames the new file. The destructor removes a file that was not committed; a killed process leaves it
/// behind as `<path>.<process>-<n>.part`.
/// Errors      io (`path` is not a regular file, ...), not_found (the folder). The object is unusable after an error
/// Threads     one thread per object; several objects may replace one file, and the last commit wins
template <class Calls = detail::replacement_calls>
class basic_file_replacement {
public:
    [[nodiscard]] static result<basic_file_replacement> open(std::string path) {
        basic_file_replacement made(std::move(path));
        struct stat about{};
        if (::stat(made.path_.c_str(), &about) == 0 && !S_ISREG(about.st_mode))
            return detail::not_regular(made.path_, detail::type_of_file(about.st_mode)); // a rename would replace a device such as /dev/null
        // Another process or thread can have taken a name, also one that was killed: in containers all have one number.
        for (int n = 0; !made.file_ && n < 100'000; ++n) {
            made.part_ = made.path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(n) + ".part";
            made.file_ = file_descriptor::open(made.part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY, 0644);
            if (!made.file_ && errno != EEXIST) break;
        }
        if (!made.file_) return errno_error(made.path_, "cannot make a new file in its folder");
        return made;
    }

    basic_file_replacement(basic_file_replacement&&) noexcept = default;
    basic_file_replacement& operator=(basic_file_replacement&&) noexcept = delete;
    ~basic_file_replacement() {
        if (file_) ::unlink(part_.c_str());
    }

    /// Appends all of `bytes`.
    [[nodiscard]] result<void> write(std::string_view bytes) {
        while (!bytes.empty()) {
            errno = 0;
            const ssize_t n = Calls::write(file_.get(), bytes.data(), bytes.size());
            if (n < 0 && errno == EINTR) continue;
            if (n == 0) errno = ENOSPC;
            if (n <= 0) return errno_error(path_, "cannot write");
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
        return {};
    }
    /// Moves to the start of the file, to overwrite a header.
    [[nodiscard]] result<void> rewind() {
        if (::lseek(file_.get(), 0, SEEK_SET) != 0) return errno_error(path_, "cannot seek");
        return {};
    }

    /// Syncs the file, renames it and syncs the folder. If only the last step fails, the new file is in place, and the error says that a crash of the
    /// machine can undo the rename.
    [[nodiscard]] result<void> commit() {
        if (sync(file_.get()) != 0) return errno_error(path_, "cannot sync");
        if (Calls::rename(part_.c_str(), path_.c_str()) != 0) return errno_error(path_, "cannot rename to");
        file_ = file_descriptor();
        return sync_folder_of(path_, sync);
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
    file_descriptor file_; ///< open until the commit; the destructor then has nothing to remove
};

using file_replacement = basic_file_replacement<>;

/// Replaces a file by a new one with the content `bytes`, atomically. The new file has mode 0644 less the umask. A symbolic link is itself replaced; the
/// file that it names stays as it was. The new content is on the disk when the call returns. Errors: io, not_found (the folder).
template <class Calls = detail::replacement_calls>
[[nodiscard]] result<void> replace_file(const std::string& path, std::string_view bytes) {
    auto file = basic_file_replacement<Calls>::open(path);
    if (!file) return file.error();
    if (auto written = file->write(bytes); !written) return written;
    return file->commit();
}

} // namespace augur::inline v0

#endif
