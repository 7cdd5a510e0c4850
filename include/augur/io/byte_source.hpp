// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_BYTE_SOURCE_HPP
#define AUGUR_IO_BYTE_SOURCE_HPP

/// @file
/// The bytes of a file, unpacked where it is packed: plain, gzip (RFC 1952) or Zstandard (RFC 8878). What it is, its first bytes say, not its name.
///
/// Needs zlib where AUGUR_HAS_ZLIB is defined and libzstd where AUGUR_HAS_ZSTD is; the CMake component `io` defines them. All units of one program
/// must agree.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#ifdef AUGUR_HAS_ZLIB
#include <zlib.h>
#endif
#ifdef AUGUR_HAS_ZSTD
#include <zstd.h>
#endif

#include <augur/core/error.hpp>
#include <augur/record/file_descriptor.hpp>

namespace augur::inline v0 {

/// How a file is packed.
enum class packing : std::uint8_t { none, gzip, zstd };

namespace detail {

/// A file as it lies on the disk, a block at a time.
struct packed_file {
    std::string path;
    descriptor file;
    std::vector<char> block = std::vector<char>(std::size_t{1} << 16U);
    std::size_t at = 0, end = 0; ///< what of the block is still to be used

    [[nodiscard]] std::string_view rest() const noexcept { return {block.data() + at, end - at}; }

    /// Reads a block behind what is left. False at the end of the file. Errors: io.
    [[nodiscard]] result<bool> more() {
        std::memmove(block.data(), block.data() + at, end - at);
        end -= std::exchange(at, 0);
        auto got = read_some(block.data() + end, block.size() - end);
        if (!got) return got.error();
        end += *got;
        return *got > 0;
    }
    [[nodiscard]] result<std::size_t> read_some(char* into, std::size_t most) const {
        ssize_t got = 0;
        do got = ::read(file.get(), into, most);
        while (got < 0 && errno == EINTR);
        if (got < 0) return system_error(path, "cannot read");
        return static_cast<std::size_t>(got);
    }
    [[nodiscard]] error damaged(std::string_view form, const char* why) const {
        return {errc::parse, path + ": damaged " + std::string(form) + ": " + (why != nullptr ? why : "unknown")};
    }
};

/// Unpacks. `read` gives up to `most` bytes, 0 at the end only; what stands before a damage is given before the error, which is then repeated.
struct decoder {
    virtual ~decoder() = default;
    virtual result<std::size_t> read(packed_file& in, char* into, std::size_t most) = 0;
};

struct plain_decoder final : decoder {
    result<std::size_t> read(packed_file& in, char* into, std::size_t most) override {
        if (in.at == in.end) return in.read_some(into, most);
        const auto n = (std::min)(most, in.end - in.at);
        std::memcpy(into, in.block.data() + in.at, n);
        in.at += n;
        return n;
    }
};

#ifdef AUGUR_HAS_ZLIB
class gzip_decoder final : public decoder {
public:
    gzip_decoder() { ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
    gzip_decoder(const gzip_decoder&) = delete;
    gzip_decoder& operator=(const gzip_decoder&) = delete;
    ~gzip_decoder() override {
        if (ready_) inflateEnd(&stream_);
    }

    result<std::size_t> read(packed_file& in, char* into, std::size_t most) override {
        if (!ready_) return error{errc::limit, in.path + ": no memory to unpack it"};
        std::size_t done = 0;
        while (done < most) {
            if (in.at == in.end) {
                const auto more = in.more();
                if (!more) return more.error();
                if (!*more) {
                    if (done > 0 || ended_) break;
                    return in.damaged("gzip", "the file ends too early");
                }
            }
            if (ended_) { // another member, or the zeros with which tapes are filled
                while (in.at < in.end && in.block[in.at] == '\0') ++in.at;
                if (in.at == in.end) continue;
                inflateReset(&stream_);
                ended_ = false;
            }
            constexpr std::size_t step = (std::numeric_limits<uInt>::max)();
            stream_.next_in = reinterpret_cast<Bytef*>(in.block.data() + in.at);
            stream_.avail_in = static_cast<uInt>(in.end - in.at);
            stream_.next_out = reinterpret_cast<Bytef*>(into + done);
            stream_.avail_out = static_cast<uInt>((std::min)(most - done, step));
            const uInt room = stream_.avail_out;
            const int status = inflate(&stream_, Z_NO_FLUSH);
            in.at = in.end - stream_.avail_in;
            done += room - stream_.avail_out;
            if (status == Z_STREAM_END) ended_ = true;
            else if (status == Z_NEED_DICT) return in.damaged("gzip", "it wants a dictionary");
            else if (status != Z_OK && status != Z_BUF_ERROR) {
                if (done > 0) break;
                return in.damaged("gzip", stream_.msg);
            }
        }
        return done;
    }

private:
    z_stream stream_{};
    bool ready_ = false;
    bool ended_ = false; ///< between two members
};
#endif

#ifdef AUGUR_HAS_ZSTD
class zstd_decoder final : public decoder {
public:
    zstd_decoder() {
        if (stream_ != nullptr) ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, 27); // 128 MiB, what the program zstd allows
    }

    result<std::size_t> read(packed_file& in, char* into, std::size_t most) override {
        if (stream_ == nullptr) return error{errc::limit, in.path + ": no memory to unpack it"};
        ZSTD_outBuffer out{into, most, 0};
        while (failure_ == nullptr && out.pos < out.size) {
            if (in.at < in.end || held_) {
                ZSTD_inBuffer from{in.block.data(), in.end, in.at};
                const std::size_t status = ZSTD_decompressStream(stream_.get(), &out, &from);
                in.at = from.pos;
                if (ZSTD_isError(status) != 0) {
                    failure_ = ZSTD_getErrorName(status);
                    break;
                }
                ended_ = status == 0;
                held_ = !ended_ && out.pos == out.size; // it may have more to give without more to read
            } else {
                const auto more = in.more();
                if (!more) return more.error();
                if (*more) continue;
                if (!ended_) failure_ = "the file ends too early";
                break;
            }
        }
        if (out.pos == 0 && failure_ != nullptr) return in.damaged("zstd", failure_);
        return out.pos;
    }

private:
    struct release {
        void operator()(ZSTD_DCtx* stream) const noexcept { ZSTD_freeDCtx(stream); }
    };
    std::unique_ptr<ZSTD_DCtx, release> stream_{ZSTD_createDCtx()};
    const char* failure_ = nullptr;
    bool ended_ = false, held_ = false;
};
#endif

} // namespace detail

/// Reads a file from its beginning to its end, once.
///
/// Memory     a block of 64 KiB and what the decoder holds, whatever the file unpacks to: gzip 44 KiB, zstd its window, at most 128 MiB
/// Threads    one thread a source
class byte_source {
public:
    /// Errors: not_found, io (no regular file, ...), unsupported (packed in a form that was left out of this build).
    [[nodiscard]] static result<byte_source> open(std::string path) {
        detail::packed_file in{std::move(path), detail::descriptor()};
        auto opened = detail::open_regular_file(in.path, O_RDONLY);
        if (!opened) return opened.error();
        in.file = std::move(opened->file);
        for (bool more = true; more && in.end < 4;) {
            const auto got = in.more();
            if (!got) return got.error();
            more = *got;
        }
        if (in.rest().starts_with("\x1f\x8b")) {
#ifdef AUGUR_HAS_ZLIB
            return byte_source(std::move(in), packing::gzip, std::make_unique<detail::gzip_decoder>());
#else
            return error{errc::unsupported, in.path + ": packed with gzip; augur was built without zlib (CMake option AUGUR_WITH_ZLIB)"};
#endif
        }
        if (is_zstd(in.rest())) {
#ifdef AUGUR_HAS_ZSTD
            return byte_source(std::move(in), packing::zstd, std::make_unique<detail::zstd_decoder>());
#else
            return error{errc::unsupported, in.path + ": packed with zstd; augur was built without it (CMake option AUGUR_WITH_ZSTD)"};
#endif
        }
        return byte_source(std::move(in), packing::none, std::make_unique<detail::plain_decoder>());
    }

    /// Up to `most` bytes; 0 at the end only. pre: most > 0
    /// Errors: io; parse (the packed form is damaged, or ends too early; what stood before has been given).
    [[nodiscard]] result<std::size_t> read(char* into, std::size_t most) { return decoder_->read(in_, into, most); }

    [[nodiscard]] packing form() const noexcept { return form_; }
    [[nodiscard]] const std::string& path() const noexcept { return in_.path; }

private:
    byte_source(detail::packed_file in, packing form, std::unique_ptr<detail::decoder> decoder)
        : in_(std::move(in)), form_(form), decoder_(std::move(decoder)) {}

    /// A frame, or one of the skippable frames that may stand in front of it.
    static bool is_zstd(std::string_view bytes) {
        if (bytes.size() < 4) return false;
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
        if (byte(0) == 0x28) return byte(1) == 0xB5 && byte(2) == 0x2F && byte(3) == 0xFD;
        return byte(0) >> 4U == 5 && byte(1) == 0x2A && byte(2) == 0x4D && byte(3) == 0x18;
    }

    detail::packed_file in_;
    packing form_;
    std::unique_ptr<detail::decoder> decoder_;
};

} // namespace augur::inline v0

#endif
