// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_RECORD_FILE_DESCRIPTOR_HPP
#define AUGUR_RECORD_FILE_DESCRIPTOR_HPP

/// @file
/// RAII owner of a POSIX file descriptor, and an open that accepts regular files only.

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <augur/core/error.hpp>
#include <augur/core/whole_file.hpp>

namespace augur::inline v0 {

/// Owns a POSIX file descriptor and closes it. Move-only.
///
/// Threads    one thread per object
class file_descriptor {
public:
    file_descriptor() = default;
    /// Takes ownership of `fd`; -1: owns none.
    explicit file_descriptor(int fd) noexcept : fd_(fd) {}
    file_descriptor(file_descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    file_descriptor& operator=(file_descriptor&& other) noexcept {
        if (this != &other) reset(std::exchange(other.fd_, -1));
        return *this;
    }
    ~file_descriptor() { reset(); }
    /// Closes the owned descriptor and takes ownership of `fd`; -1: owns none.
    void reset(int fd = -1) noexcept {
        if (fd_ >= 0) ::close(fd_);
        fd_ = fd;
    }
    /// The number of the owned descriptor; -1: none.
    [[nodiscard]] int get() const noexcept { return fd_; }
    /// True if a descriptor is owned.
    explicit operator bool() const noexcept { return fd_ >= 0; }

    /// open(2) with O_CLOEXEC; retries on EINTR. On failure the result owns nothing and errno is set.
    [[nodiscard]] static file_descriptor open(const char* path, int flags, unsigned mode = 0) noexcept {
        int fd = -1;
        do fd = ::open(path, flags | O_CLOEXEC, mode);
        while (fd < 0 && errno == EINTR);
        return file_descriptor(fd);
    }

private:
    int fd_ = -1;
};

/// Error "path: action: strerror(errno)". Code: not_found for ENOENT, else io.
[[nodiscard]] inline error errno_error(std::string_view path, std::string_view action) {
    const int number = errno;
    return {number == ENOENT ? errc::not_found : errc::io, std::string(path) + ": " + std::string(action) + ": " + std::strerror(number)};
}

/// Syncs the folder of a file, so that its name survives a crash of the machine. A folder that cannot be read, or whose file system does not sync folders,
/// is no error.
/// @param sync  fsync or what stands for it
template <class Sync>
[[nodiscard]] result<void> sync_folder_of(const std::string& path, Sync sync) {
    const auto slash = path.rfind('/');
    const auto folder = file_descriptor::open(slash == std::string::npos ? "." : path.substr(0, slash + 1).c_str(), O_RDONLY);
    if (!folder && errno == EACCES) return {};
    if (folder && (sync(folder.get()) == 0 || errno == EINVAL)) return {};
    return errno_error(path, "written, but the disk did not confirm its name");
}
[[nodiscard]] inline result<void> sync_folder_of(const std::string& path) {
    return sync_folder_of(path, [](int fd) {
        int done = -1;
        do done = ::fsync(fd);
        while (done != 0 && errno == EINTR);
        return done;
    });
}

namespace detail {

/// File type of an st_mode.
inline std::filesystem::file_type type_of_file(mode_t mode) noexcept {
    using std::filesystem::file_type;
    return S_ISREG(mode)    ? file_type::regular
           : S_ISDIR(mode)  ? file_type::directory
           : S_ISFIFO(mode) ? file_type::fifo
           : S_ISCHR(mode)  ? file_type::character
           : S_ISBLK(mode)  ? file_type::block
           : S_ISSOCK(mode) ? file_type::socket
                            : file_type::unknown;
}

} // namespace detail

/// Open regular file and its fstat result.
struct regular_file {
    file_descriptor file;
    struct stat about{};
};

/// Opens a regular file; creates it when `flags` has O_CREAT. The file type is checked before open(2), because opening a device can have effects, and
/// again after it, because the path can change in between. O_NONBLOCK is added, so that a FIFO never blocks.
///
/// @param flags  of open(2); O_CLOEXEC and O_NOCTTY are added
/// @param mode   permissions of a new file, less the umask
/// @note errors: not_found; io (not a regular file: the message names its type)
[[nodiscard]] inline result<regular_file> open_regular_file(const std::string& path, int flags, unsigned mode = 0) {
    regular_file made;
    if (::stat(path.c_str(), &made.about) == 0 && !S_ISREG(made.about.st_mode))
        return detail::not_regular(path, detail::type_of_file(made.about.st_mode));
    made.file = file_descriptor::open(path.c_str(), flags | O_NOCTTY | O_NONBLOCK, mode);
    if (!made.file) return errno_error(path, "cannot open");
    if (::fstat(made.file.get(), &made.about) != 0) return errno_error(path, "cannot stat");
    if (!S_ISREG(made.about.st_mode)) return detail::not_regular(path, detail::type_of_file(made.about.st_mode));
    return made;
}

} // namespace augur::inline v0

#endif
