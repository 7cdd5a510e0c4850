// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_BYTE_SOURCE_HPP
#define AUGUR_IO_BYTE_SOURCE_HPP

/// @file
/// Sequential reader of plain, gzip (RFC 1952) and Zstandard (RFC 8878) files. The first bytes of a file determine its format, not its name.
///
/// AUGUR_HAS_ZLIB enables gzip and needs zlib; AUGUR_HAS_ZSTD enables Zstandard and needs libzstd. The CMake component `io` defines both. All
/// translation units of a program must have the same definitions.

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

/// Compression format of a file.
enum class packing : std::uint8_t { none, gzip, zstd };

namespace detail {

/// Compressed bytes of a file, read in blocks.
struct packed_file {
    std::string path;
    file_descriptor file;
    std::vector<char> block = std::vector<char>(std::size_t{1} << 16U);
    std::size_t at = 0, end = 0; ///< range of unused bytes in the block

    [[nodiscard]] std::string_view rest() const noexcept { return {block.data() + at, end - at}; }

    /// Appends bytes of the file to the unused bytes. False at the end of the file. Error: io.
    [[nodiscard]] result<bool> more() {
        std::memmove(block.data(), block.data() + at, end - at);
        end -= std::exchange(at, 0);
        auto got = read_some(block.data() + end, block.size() - end);
        if (!got) return got.error();
        end += *got;
        return *got > 0;
    }
    [[nodiscard]] result<std::size_t> read_some(char* target, std::size_t most) const {
        ssize_t got = 0;
        do got = ::read(file.get(), target, most);
        while (got < 0 && errno == EINTR);
        if (got < 0) return errno_error(path, "cannot read");
        return static_cast<std::size_t>(got);
    }
    [[nodiscard]] error damaged(std::string_view format, const char* reason) const {
        return {errc::parse, path + ": damaged " + std::string(format) + ": " + (reason != nullptr ? reason : "unknown")};
    }
};

/// Decompressor. `read` gives at most `most` bytes; 0 only at the end. It gives all bytes before a damaged place first; then every call returns the
/// error.
struct decoder {
    virtual ~decoder() = default;
    virtual result<std::size_t> read(packed_file& in, char* target, std::size_t most) = 0;
};

struct plain_decoder final : decoder {
    result<std::size_t> read(packed_file& in, char* target, std::size_t most) override {
        if (in.at == in.end) return in.read_some(target, most);
        const auto n = (std::min)(most, in.end - in.at);
        std::memcpy(target, in.block.data() + in.at, n);
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

    result<std::size_t> read(packed_file& in, char* target, std::size_t most) override {
        if (!ready_) return error{errc::limit, in.path + ": not enough memory for the decompressor"};
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
            if (ended_) { // another member follows, or zero padding (tape blocks)
                while (in.at < in.end && in.block[in.at] == '\0') ++in.at;
                if (in.at == in.end) continue;
                inflateReset(&stream_);
                ended_ = false;
            }
            constexpr std::size_t step = (std::numeric_limits<uInt>::max)();
            stream_.next_in = reinterpret_cast<Bytef*>(in.block.data() + in.at);
            stream_.avail_in = static_cast<uInt>(in.end - in.at);
            stream_.next_out = reinterpret_cast<Bytef*>(target + done);
            stream_.avail_out = static_cast<uInt>((std::min)(most - done, step));
            const uInt room = stream_.avail_out;
            const int status = inflate(&stream_, Z_NO_FLUSH);
            in.at = in.end - stream_.avail_in;
            done += room - stream_.avail_out;
            if (status == Z_STREAM_END) ended_ = true;
            else if (status == Z_NEED_DICT) return in.damaged("gzip", "expected a stream without a preset dictionary");
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
        if (stream_ != nullptr) ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, 27); // 128 MiB, as the zstd program
    }

    result<std::size_t> read(packed_file& in, char* target, std::size_t most) override {
        if (stream_ == nullptr) return error{errc::limit, in.path + ": not enough memory for the decompressor"};
        ZSTD_outBuffer out{target, most, 0};
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
                held_ = !ended_ && out.pos == out.size; // the decoder can have more output without more input
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

/// Reads a file once from the beginning to the end.
///
/// Memory     a block of 64 KiB and the decoder state, whatever the decompressed size: 44 KiB for gzip; the window for zstd, at most 128 MiB
/// Threads    one thread per source
class byte_source {
public:
    /// Errors: not_found, io (not a regular file, ...), unsupported (a compression format that this build does not have).
    [[nodiscard]] static result<byte_source> open(std::string path) {
        detail::packed_file in{std::move(path), file_descriptor()};
        auto opened = open_regular_file(in.path, O_RDONLY);
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
            return error{errc::unsupported,
                         in.path + ": expected a file that is not compressed with gzip; augur was built without zlib (CMake option AUGUR_WITH_ZLIB)"};
#endif
        }
        if (is_zstd(in.rest())) {
#ifdef AUGUR_HAS_ZSTD
            return byte_source(std::move(in), packing::zstd, std::make_unique<detail::zstd_decoder>());
#else
            return error{errc::unsupported,
                         in.path +
                             ": expected a file that is not compressed with zstd; augur was built without libzstd (CMake option AUGUR_WITH_ZSTD)"};
#endif
        }
        return byte_source(std::move(in), packing::none, std::make_unique<detail::plain_decoder>());
    }

    /// Reads at most `most` bytes; returns 0 only at the end. pre: most > 0
    /// Errors: io; parse (the compressed data is damaged or ends early; all bytes before that place have been given).
    [[nodiscard]] result<std::size_t> read(char* target, std::size_t most) { return decoder_->read(in_, target, most); }

    [[nodiscard]] packing form() const noexcept { return form_; }
    [[nodiscard]] const std::string& path() const noexcept { return in_.path; }

private:
    byte_source(detail::packed_file in, packing form, std::unique_ptr<detail::decoder> decoder)
        : in_(std::move(in)), form_(form), decoder_(std::move(decoder)) {}

    /// Does the file begin with a Zstandard frame or a skippable frame?
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
