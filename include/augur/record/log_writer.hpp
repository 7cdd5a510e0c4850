// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_RECORD_LOG_WRITER_HPP
#define AUGUR_RECORD_LOG_WRITER_HPP

/// @file
/// Append-only writer of tuning logs with an exclusive file lock and crash recovery. POSIX.

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/sysmacros.h>
#endif

#include <augur/core/error.hpp>
#include <augur/core/number.hpp>
#include <augur/record/file_descriptor.hpp>
#include <augur/record/line_reader.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/record/record.hpp>

namespace augur::inline v0 {

/// When the writer calls fsync. A crash of the program loses no record in any mode; a crash of the machine loses the records that are not synced.
enum class durability : std::uint8_t {
    none,  ///< never
    batch, ///< after every 32 records and in the destructor, which cannot report an error: call `flush` before
    each,  ///< before `append` returns
};

namespace detail {

/// System calls of the writer; tests replace them to inject failures.
struct file_calls {
    static ssize_t write(int fd, const char* from, std::size_t size) noexcept { return ::write(fd, from, size); }
    static int truncate(int fd, off_t size) noexcept { return ::ftruncate(fd, size); }
    static int sync(int fd) noexcept {
#if defined(__APPLE__)
        return ::fsync(fd);
#else
        return ::fdatasync(fd);
#endif
    }
};

/// Cuts a text to at most `most` bytes, not within a character.
inline void cut_utf8(std::string& text, std::size_t most) {
    if (text.size() <= most) return;
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
    text.resize(most);
}

/// Describes the process that holds the flock of a file. Linux only: a line of /proc/locks is one lock, such as
///     1: FLOCK  ADVISORY  WRITE 8561 fe:00:10960898 0 EOF
/// The id of a process in another container is not shown.
inline std::string lock_owner([[maybe_unused]] const struct stat& about) {
#if defined(__linux__)
    std::array<char, 64> file_id{};
    std::snprintf(file_id.data(), file_id.size(), "%02x:%02x:%llu", major(about.st_dev), minor(about.st_dev),
                  static_cast<unsigned long long>(about.st_ino));
    if (const auto locks = open_regular_file("/proc/locks", O_RDONLY)) {
        line_reader lines(locks->file.get());
        for (std::string_view line; lines.next(line) == line_reader::status::line;) {
            std::array<std::string_view, 6> fields{}; // number, kind, advisory or mandatory, access, process, device:inode
            for (auto& field : fields) {
                line.remove_prefix((std::min)(line.find_first_not_of(' '), line.size()));
                field = line.substr(0, line.find(' '));
                line.remove_prefix(field.size());
            }
            if (fields[1] != "FLOCK" || fields[5] != file_id.data()) continue;
            const auto pid = parse_int(fields[4]);
            if (pid && *pid > 0 && (::kill(static_cast<pid_t>(*pid), 0) == 0 || errno == EPERM)) return "process " + std::to_string(*pid);
        }
    }
#endif
    return "a process whose id is not known";
}

} // namespace detail

/// Appends records to a log.
///
/// Atomicity  a record is in the log with both its lines or not at all; a partial write is truncated away
/// Locking    flock on the log itself while it is open, without a lock file; the system releases the lock when the process ends in any way
/// Recovery   `open` truncates a torn record at the end of the log, which a killed writer left. It appends the newline that the last line lacks, and to a
///            log without one the augur header, even if no record follows; other bytes stay as they are
/// Threads    one thread per writer
template <class Calls = detail::file_calls>
class basic_log_writer {
public:
    /// Opens a log for appending; creates it if it does not exist. A TVM log can be continued. A file that is refused is not changed.
    /// Errors: busy (another process holds the lock; on Linux the message has its id), version_mismatch (not a log, or another version), not_found
    /// (the folder), io (not a regular file, ...), invalid_argument (it holds records, and is to be new).
    /// @param is_new  the log must not hold records
    [[nodiscard]] static result<basic_log_writer> open(const std::string& path, durability sync = durability::batch, bool is_new = false) {
        auto opened = open_regular_file(path, O_RDWR | O_APPEND | O_CREAT, 0644);
        if (!opened) return opened.error();
        if (auto locked = lock(*opened, path); !locked) return locked.error();
        basic_log_writer writer(path, std::move(opened->file), sync);
        if (auto ready = writer.prepare(is_new); !ready) return ready.error();
        return writer;
    }

    basic_log_writer(basic_log_writer&&) noexcept = default;
    basic_log_writer& operator=(basic_log_writer&&) noexcept = delete;
    ~basic_log_writer() {
        if (!file_) return;
        if (sync_ != durability::none && unsynced_ > 0) Calls::sync(file_.get());
    }

    /// Appends a record and returns the sequence number that the writer gave it. `record.sequence` is ignored. A reason beyond 64 KiB, such as the output
    /// of a compiler, is cut.
    /// Errors: invalid_argument (the record cannot be read back), io (the disk is full, ...): the record is not in the log. Exception: after the io
    /// error "written, but the disk did not confirm it" the record is in the log, and a crash of the machine can lose it.
    [[nodiscard]] result<std::int64_t> append(augur::record record) {
        record.sequence = next_sequence_;
        detail::cut_utf8(record.measured.reason, longest_reason);
        const std::string text = to_text(record);
        if (auto readable = reads_back(text, record); !readable)
            return error{errc::invalid_argument, path_ + ": the record cannot be read back: " + readable.error().detail};
        if (auto written = write(text); !written) return written.error();
        ++next_sequence_;
        ++unsynced_;
        if (sync_ == durability::each || (sync_ == durability::batch && unsynced_ >= 32)) {
            if (auto synced = flush(); !synced) return synced.error();
        }
        return record.sequence;
    }

    /// Syncs all records to the disk. Error: io; the records are in the log, and a crash of the machine can lose them. After an error all later calls fail:
    /// the system tells of lost pages once.
    [[nodiscard]] result<void> flush() {
        constexpr const char* lost = "written, but the disk did not confirm it";
        if (sync_failed_ != 0) errno = sync_failed_;
        else if (Calls::sync(file_.get()) == 0) return unsynced_ = 0, result<void>();
        sync_failed_ = errno;
        return errno_error(path_, lost);
    }

    [[nodiscard]] std::int64_t next_sequence() const noexcept { return next_sequence_; }
    /// Summary of the log before the first append.
    [[nodiscard]] const log_summary& found() const noexcept { return found_; }
    /// Bytes of a torn record that `open` removed.
    [[nodiscard]] std::uint64_t bytes_cut() const noexcept { return bytes_cut_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    static constexpr std::size_t longest_reason = std::size_t{1} << 16U;

    basic_log_writer(std::string path, file_descriptor file, durability sync) : path_(std::move(path)), file_(std::move(file)), sync_(sync) {}

    static result<void> lock(const regular_file& log, const std::string& path) {
        while (::flock(log.file.get(), LOCK_EX | LOCK_NB) != 0) { // locks the inode, so that links to the log share the lock
            if (errno == EINTR) continue;
            if (errno != EWOULDBLOCK) return errno_error(path, "cannot lock");
            return error{errc::busy, path + ": expected no other writer of the log, got " + detail::lock_owner(log.about)};
        }
        return {};
    }

    /// Reads the log, truncates a torn record, and writes the augur header if the log has none.
    result<void> prepare(bool is_new) {
        log_reader reader(path_, file_.get());
        for (augur::record record;;) {
            const auto more = reader.next(record);
            if (!more) return more.error();
            if (!*more) break;
        }
        found_ = reader.summary();
        next_sequence_ = found_.last_sequence + 1;
        const off_t end = ::lseek(file_.get(), 0, SEEK_END);
        if (end < 0) return errno_error(path_, "cannot seek");
        size_ = end;
        if (size_ > 0 && !found_.ours && found_.records == 0 && !(reader.torn_header() && reader.torn_at() == 0))
            return error{errc::version_mismatch, path_ + ": this is not a log of tuning records; it is left unchanged"};
        if (is_new && found_.records > 0)
            return error{errc::invalid_argument, path_ + " holds " + std::to_string(found_.records) + " records: expected another file"};
        if (size_ == 0 && sync_ != durability::none)
            if (auto named = sync_folder_of(path_); !named) return named;
        if (found_.torn) {
            bytes_cut_ = static_cast<std::uint64_t>(size_) - reader.torn_at();
            size_ = static_cast<off_t>(reader.torn_at());
            if (Calls::truncate(file_.get(), size_) != 0) return errno_error(path_, "cannot cut off a torn record");
        }
        std::string front;
        if (!found_.torn && reader.unended()) front += '\n';
        if (!found_.ours || size_ == 0) front += log_header();
        return front.empty() ? result<void>() : write(front);
    }

    static result<void> reads_back(const std::string& text, const augur::record& record) {
        const auto newline = text.find('\n');
        const auto again =
            parse_record(std::string_view(text).substr(0, newline), std::string_view(text).substr(newline + 1, text.size() - newline - 2));
        if (!again) return again.error();
        if (again->task != record.task || again->machine != record.machine || again->flags != record.flags || again->schedule != record.schedule)
            return error{errc::invalid_argument, "expected a task, a schedule, a machine and flags in UTF-8, got others back"};
        return {};
    }

    /// Appends all of `text`, or nothing.
    result<void> write(std::string_view text) {
        if (must_cut_ && Calls::truncate(file_.get(), size_) != 0) return errno_error(path_, "cannot cut off half a record");
        must_cut_ = false;
        if (const off_t end = ::lseek(file_.get(), 0, SEEK_END); end >= 0) size_ = end; // keeps lines that TVM appended: TVM takes no lock
        for (std::string_view rest = text; !rest.empty();) {
            errno = 0;
            const ssize_t n = Calls::write(file_.get(), rest.data(), rest.size());
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) {
                if (n == 0) errno = ENOSPC;
                const auto failure = errno_error(path_, "cannot write a record, it is not in the log");
                must_cut_ = rest.size() < text.size() && Calls::truncate(file_.get(), size_) != 0; // the next write tries again
                return failure;
            }
            rest.remove_prefix(static_cast<std::size_t>(n));
        }
        size_ += static_cast<off_t>(text.size());
        return {};
    }

    std::string path_;
    file_descriptor file_;
    durability sync_;
    off_t size_ = 0; ///< bytes of the log up to the end of its last complete record
    bool must_cut_ = false;
    std::int64_t next_sequence_ = 0;
    std::size_t unsynced_ = 0;
    int sync_failed_ = 0; ///< errno of the first sync that failed
    log_summary found_;
    std::uint64_t bytes_cut_ = 0;
};

using log_writer = basic_log_writer<>;

} // namespace augur::inline v0

#endif
