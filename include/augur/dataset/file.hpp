// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_DATASET_FILE_HPP
#define AUGUR_DATASET_FILE_HPP

/// @file
/// Memory-mapped binary file of a data set: a cache that avoids parsing the logs again. POSIX.
///
/// The file is a header followed by the arrays of the data set in their memory layout, each padded with zeros to a multiple of 8 bytes. The header
/// has a magic number, version, byte order, schema (a hash of the names and element sizes of the arrays), file size, content hash, a number given by
/// the caller, the element count of each array, and a hash of the header. The file is not portable between byte orders.

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/dataset/detail/packed_ids.hpp>
#include <augur/dataset/primitive_table.hpp>
#include <augur/record/file_descriptor.hpp>
#include <augur/record/measurement.hpp>
#include <augur/record/replace_file.hpp>

namespace augur::inline v0 {

/// Values that the header of a file must have; an empty optional is not checked.
struct dataset_expectation {
    std::optional<std::uint64_t> content; ///< `content_hash` of the data set
    std::optional<std::uint64_t> origin;  ///< `origin` that was given to `write_dataset`
};

namespace detail {

/// XXH64 (Collet; github.com/Cyan4973/xxHash, doc/xxhash_spec.md), seed 0, incremental. A change within one aligned 8-byte word always changes the
/// hash.
class xxh64 {
public:
    void add(const void* from, std::size_t size) {
        const auto* bytes = static_cast<const unsigned char*>(from);
        length_ += size;
        while (size > 0) {
            if (held_ == 0 && size >= stripe) {
                eat(bytes);
                bytes += stripe;
                size -= stripe;
                continue;
            }
            const std::size_t n = (std::min)(size, stripe - held_);
            std::memcpy(hold_.data() + held_, bytes, n);
            bytes += n;
            size -= n;
            if ((held_ += n) == stripe) {
                eat(hold_.data());
                held_ = 0;
            }
        }
    }
    [[nodiscard]] std::uint64_t value() const {
        std::uint64_t h = p5;
        if (length_ >= stripe) {
            h = std::rotl(lane_[0], 1) + std::rotl(lane_[1], 7) + std::rotl(lane_[2], 12) + std::rotl(lane_[3], 18);
            for (const std::uint64_t l : lane_) h = (h ^ round(0, l)) * p1 + p4;
        }
        h += length_;
        std::size_t i = 0;
        for (; i + 8 <= held_; i += 8) h = std::rotl(h ^ round(0, word<std::uint64_t>(hold_.data() + i)), 27) * p1 + p4;
        if (i + 4 <= held_) {
            h = std::rotl(h ^ (word<std::uint32_t>(hold_.data() + i) * p1), 23) * p2 + p3;
            i += 4;
        }
        for (; i < held_; ++i) h = std::rotl(h ^ (hold_[i] * p5), 11) * p1;
        h = (h ^ (h >> 33U)) * p2;
        h = (h ^ (h >> 29U)) * p3;
        return h ^ (h >> 32U);
    }

private:
    static constexpr std::uint64_t p1 = 0x9E3779B185EBCA87ULL, p2 = 0xC2B2AE3D27D4EB4FULL, p3 = 0x165667B19E3779F9ULL, p4 = 0x85EBCA77C2B2AE63ULL,
                                   p5 = 0x27D4EB2F165667C5ULL;
    static constexpr std::size_t stripe = 32;

    static std::uint64_t round(std::uint64_t lane, std::uint64_t input) { return std::rotl(lane + input * p2, 31) * p1; }
    template <class T>
    static std::uint64_t word(const unsigned char* from) {
        T w;
        std::memcpy(&w, from, sizeof w);
        return w;
    }
    void eat(const unsigned char* from) {
        for (std::size_t i = 0; i < 4; ++i) lane_[i] = round(lane_[i], word<std::uint64_t>(from + 8 * i));
    }

    std::array<std::uint64_t, 4> lane_{p1 + p2, p2, 0, ~p1 + 1};
    std::array<unsigned char, stripe> hold_{};
    std::size_t held_ = 0;
    std::uint64_t length_ = 0;
};

inline constexpr std::size_t dataset_sections = 17;

/// Header of a data set file, as it is stored.
struct dataset_head {
    std::array<char, 8> magic{'A', 'U', 'G', 'U', 'R', 'S', 'E', 'T'};
    std::uint32_t version = 2; // version 1 had ids of four bytes
    std::uint32_t byte_order = 0x01020304;
    std::uint64_t schema = 0;
    std::uint64_t size = 0;                               ///< bytes of the file
    std::uint64_t content = 0;                            ///< hash of `counts` and of all bytes after the header
    std::uint64_t origin = 0;                             ///< number given by the caller
    std::array<std::uint64_t, dataset_sections> counts{}; ///< elements of each array
    std::uint64_t seal = 0;                               ///< hash of the fields above

    [[nodiscard]] std::uint64_t seal_of() const {
        xxh64 hash;
        hash.add(this, offsetof(dataset_head, seal));
        return hash.value();
    }
};
static_assert(std::has_unique_object_representations_v<dataset_head> && sizeof(dataset_head) % 8 == 0);

/// Arrays of a file in file order.
struct dataset_arrays {
    std::span<const std::uint64_t> report;
    std::span<const std::uint64_t> text_first;
    std::span<const char> text_bytes;
    std::span<const std::uint32_t> kinds;
    std::span<const std::uint32_t> item_first;
    std::span<const item_tag> tags;
    std::span<const std::int64_t> words;
    std::span<const std::uint64_t> name_first;
    std::span<const char> name_bytes;
    std::span<const std::uint64_t> source_first;
    std::span<const char> source_bytes;
    std::span<const task_row> tasks;
    std::span<const std::uint32_t> task_sources;
    std::span<const double> seconds;
    std::span<const outcome> status;
    std::span<const id_list> lists;
    std::span<const packed_id> ids;

    /// Calls `f(name, span)` for each array until f returns false. While a file is written, `lists` and `ids` are empty: `emit` computes them.
    template <class A, class F>
    static constexpr bool each(A& a, F&& f) {
        return f("report", a.report) && f("text_first", a.text_first) && f("text_bytes", a.text_bytes) && f("kinds", a.kinds) &&
               f("item_first", a.item_first) && f("tags", a.tags) && f("words", a.words) && f("name_first", a.name_first) &&
               f("name_bytes", a.name_bytes) && f("source_first", a.source_first) && f("source_bytes", a.source_bytes) && f("tasks", a.tasks) &&
               f("task_sources", a.task_sources) && f("seconds", a.seconds) && f("status", a.status) && f("lists", a.lists) && f("ids", a.ids);
    }
};
static_assert(std::has_unique_object_representations_v<task_row> && sizeof(id_list) == 8 && sizeof(outcome) == 1 && sizeof(item_tag) == 1);

using report_numbers = std::array<std::uint64_t, sizeof(dataset_report) / sizeof(std::uint64_t)>;

[[nodiscard]] constexpr std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) & ~std::uint64_t{7}; }

/// Header with the schema, counts and size of a file of `arrays`, with `lists` and `ids` elements in the last two arrays.
inline dataset_head head_of(const dataset_arrays& arrays, std::uint64_t lists, std::uint64_t ids) {
    dataset_head head;
    head.schema = fnv1a64("augur data set");
    head.size = sizeof head;
    std::size_t i = 0;
    dataset_arrays::each(arrays, [&]<class T>(std::string_view name, std::span<const T> s) {
        const std::uint64_t count = name == "lists" ? lists : name == "ids" ? ids : s.size();
        head.schema = fnv1a64(std::to_string(sizeof(T)), fnv1a64(name, head.schema));
        head.size += padded(count * sizeof(T));
        head.counts[i++] = count;
        return true;
    });
    return head;
}

/// Owner of a mapped file.
struct mapping {
    void* at = nullptr;
    std::size_t size = 0;
    mapping(void* from, std::size_t n) : at(from), size(n) {}
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping() {
        if (at != nullptr) ::munmap(at, size);
    }
};

} // namespace detail

/// Access to the private arrays of `dataset` and `primitive_table`. Internal to this header.
struct dataset_file_access {
    static detail::dataset_arrays arrays(const detail::dataset_store& s, std::span<const std::uint64_t> report) {
        const primitive_table& p = s.primitives;
        return {report,
                p.texts_.first(),
                p.texts_.bytes(),
                p.kinds_.view(),
                p.first_.view(),
                p.tags_.view(),
                p.words_.view(),
                s.names.first(),
                s.names.bytes(),
                s.sources.first(),
                s.sources.bytes(),
                s.tasks.view(),
                s.task_sources.view(),
                s.seconds.view(),
                s.status.view(),
                {},
                {}};
    }

    /// Calls `out(data, bytes)` for the file content after the header, in order, until `out` returns false.
    template <class Out>
    static bool emit(const dataset& data, const Out& out) {
        const detail::dataset_store& s = *data.store_;
        const auto report = std::bit_cast<detail::report_numbers>(s.report);
        const auto pad = [&](std::uint64_t bytes) {
            constexpr std::array<char, 8> zeros{};
            return out(zeros.data(), static_cast<std::size_t>(detail::padded(bytes) - bytes));
        };
        const detail::dataset_arrays all = arrays(s, report);
        return detail::dataset_arrays::each(all, [&]<class T>(std::string_view name, std::span<const T> a) {
            if (name == "lists") { // in the file the ids are in record order, in memory they can be in another order
                std::vector<detail::id_list> part;
                std::uint64_t place = 0;
                for (std::size_t r = 0; r < data.size(); ++r) {
                    part.push_back(detail::id_list::make(place, data.packed(r).size()));
                    place += part.back().length();
                    if (part.size() < 65536 && r + 1 < data.size()) continue;
                    if (!out(part.data(), part.size() * sizeof part[0])) return false;
                    part.clear();
                }
                return true;
            }
            if (name == "ids") {
                for (std::size_t r = 0; r < data.size(); ++r)
                    if (!out(data.packed(r).data(), data.packed(r).size_bytes())) return false;
                return pad(s.report.ids * sizeof(detail::packed_id));
            }
            return out(a.data(), a.size_bytes()) && pad(a.size_bytes());
        });
    }

    static detail::dataset_head head(const dataset& data) {
        const auto report = std::bit_cast<detail::report_numbers>(data.store_->report);
        return detail::head_of(arrays(*data.store_, report), data.size(), data.store_->report.ids);
    }

    /// Checks the consistency of the arrays, which a hash does not guarantee, and builds the data set. Error: parse.
    static result<dataset> adopt(const std::string& path, const detail::dataset_arrays& a, std::shared_ptr<const void> keep) {
        const auto wrong = [&](std::string message) { return error{errc::parse, path + ": " + std::move(message)}; };
        const auto rises = [](const auto& first, std::uint64_t end) {
            if (first.empty() || first.front() != 0 || first.back() != end) return false;
            for (std::size_t i = 1; i < first.size(); ++i)
                if (first[i] < first[i - 1]) return false;
            return true;
        };
        detail::dataset_store s;
        constexpr std::size_t report_size = std::tuple_size_v<detail::report_numbers>;
        if (a.report.size() != report_size)
            return wrong("expected " + std::to_string(report_size) + " numbers in the report, got " + std::to_string(a.report.size()));
        detail::report_numbers numbers;
        std::copy(a.report.begin(), a.report.end(), numbers.begin());
        s.report = std::bit_cast<dataset_report>(numbers);

        primitive_table& p = s.primitives;
        if (!rises(a.text_first, a.text_bytes.size()) || !detail::text_pool::lent(a.text_first, a.text_bytes, p.texts_))
            return wrong("expected distinct texts of primitives in ascending order of offset");
        if (!rises(a.name_first, a.name_bytes.size()) || !detail::text_pool::lent(a.name_first, a.name_bytes, s.names))
            return wrong("expected distinct names of tasks in ascending order of offset");
        if (!rises(a.source_first, a.source_bytes.size()) || !detail::text_pool::lent(a.source_first, a.source_bytes, s.sources))
            return wrong("expected distinct names of sources in ascending order of offset");
        if (!rises(a.item_first, a.words.size()) || a.tags.size() != a.words.size() || a.item_first.size() != a.kinds.size() + 1)
            return wrong("expected the items of the primitives in ascending order of offset");
        for (std::size_t i = 0; i < a.words.size(); ++i)
            if (a.tags[i] > detail::item_tag::name ||
                (a.tags[i] == detail::item_tag::name && static_cast<std::uint64_t>(a.words[i]) >= p.texts_.size()))
                return wrong("item " + std::to_string(i) + " of the primitives: expected a number or a name");
        p.kinds_ = detail::column<std::uint32_t>::lent(a.kinds);
        p.first_ = detail::column<std::uint32_t>::lent(a.item_first);
        p.tags_ = detail::column<detail::item_tag>::lent(a.tags);
        p.words_ = detail::column<std::int64_t>::lent(a.words);
        for (primitive_id id = 0; id < a.kinds.size(); ++id) {
            if (a.kinds[id] >= p.texts_.size()) return wrong("primitive " + std::to_string(id) + ": expected the index of a text as kind");
            const std::uint64_t h = primitive_table::hash(a.kinds[id], p.tags(id), p.words(id));
            if (p.find(h, a.kinds[id], p.tags(id), p.words(id)) != detail::hash_index::none)
                return wrong("primitive " + std::to_string(id) + ": expected distinct primitives, got a duplicate");
            p.index_.insert(h, id);
        }

        const std::uint64_t records = a.lists.size();
        if (a.seconds.size() != records || a.status.size() != records)
            return wrong("expected one latency and one outcome for each of " + std::to_string(records) + " records");
        std::uint64_t place = 0;
        for (std::size_t r = 0; r < records; ++r) {
            const bool ok = a.status[r] == outcome::ok;
            const bool latency = ok ? std::isfinite(a.seconds[r]) && a.seconds[r] > 0 : a.seconds[r] == std::numeric_limits<double>::infinity();
            if (a.status[r] > outcome::unstable || !latency)
                return wrong("record " + std::to_string(r) + ": the outcome and the latency contradict each other");
            if (a.lists[r].place() != place || a.lists[r].length() > a.ids.size() - place)
                return wrong("record " + std::to_string(r) + ": expected its primitives directly after those of the previous record");
            place += a.lists[r].length();
        }
        if (place != a.ids.size()) return wrong("expected " + std::to_string(place) + " primitive ids, got " + std::to_string(a.ids.size()));
        for (const detail::packed_id id : a.ids)
            if (id.get() >= a.kinds.size())
                return wrong("expected a primitive id below " + std::to_string(a.kinds.size()) + ", got " + std::to_string(id.get()));
        std::uint64_t record = 0, source = 0;
        for (std::size_t t = 0; t < a.tasks.size(); ++t) {
            const detail::task_row& row = a.tasks[t];
            if (row.key >= s.names.size() || row.target >= s.names.size() || row.first != record || row.last <= row.first || row.last > records ||
                row.first_source != source || row.last_source < source || row.last_source > a.task_sources.size())
                return wrong("task " + std::to_string(t) + ": expected its records and sources directly after those of the previous task");
            record = row.last;
            source = row.last_source;
        }
        if (record != records || source != a.task_sources.size()) return wrong("the last records or sources belong to no task");
        for (const std::uint32_t n : a.task_sources)
            if (n >= s.sources.size())
                return wrong("expected a source number below " + std::to_string(s.sources.size()) + ", got " + std::to_string(n));
        if (s.report.records != records || s.report.ids != a.ids.size() || s.report.primitives != a.kinds.size())
            return wrong("the counts of the report differ from the sizes of the arrays");

        s.tasks = detail::column<detail::task_row>::lent(a.tasks);
        s.task_sources = detail::column<std::uint32_t>::lent(a.task_sources);
        s.lists = detail::column<detail::id_list>::lent(a.lists);
        s.seconds = detail::column<double>::lent(a.seconds);
        s.status = detail::column<outcome>::lent(a.status);
        s.mapped_ids = a.ids.data();
        s.mapping = std::move(keep);
        return dataset(std::make_shared<const detail::dataset_store>(std::move(s)));
    }
};

/// Content hash of a data set: the same in memory and in a file, for any number of builders. Linear in the data set.
[[nodiscard]] inline std::uint64_t content_hash(const dataset& data) {
    const detail::dataset_head head = dataset_file_access::head(data);
    detail::xxh64 hash;
    hash.add(head.counts.data(), sizeof head.counts);
    dataset_file_access::emit(data, [&](const void* from, std::size_t n) { return hash.add(from, n), true; });
    return hash.value();
}

/// Writes a data set to a file with `file_replacement`: readers see the old file or the new file.
///
/// @param origin  identifies the input for `dataset_expectation`, for example a hash of the logs and the options
/// @return        content hash
/// @note          errors: io, not_found (the folder). On an error the old file is unchanged and the temporary file is removed, unless the error
///                says that the disk did not confirm the new name
[[nodiscard]] inline result<std::uint64_t> write_dataset(const std::string& path, const dataset& data, std::uint64_t origin = 0) {
    auto file = file_replacement::open(path);
    if (!file) return file.error();
    result<void> done;
    std::string buffer;
    constexpr std::size_t full = std::size_t{1} << 20U;
    buffer.reserve(full);
    const auto put = [&](const void* from, std::size_t size) {
        if (buffer.size() + size > full) {
            if (done = file->write(buffer); !done) return false;
            buffer.clear();
        }
        const std::string_view bytes(static_cast<const char*>(from), size);
        if (size < full) buffer += bytes;
        else done = file->write(bytes);
        return static_cast<bool>(done);
    };
    detail::xxh64 hash;
    detail::dataset_head head = dataset_file_access::head(data);
    head.origin = origin;
    put(&head, sizeof head); // reserves the space; the header is written again at the end
    hash.add(head.counts.data(), sizeof head.counts);
    dataset_file_access::emit(data, [&](const void* from, std::size_t n) {
        hash.add(from, n);
        return put(from, n);
    });
    head.content = hash.value();
    head.seal = head.seal_of();
    if (done) done = file->write(buffer);
    if (done) done = file->rewind();
    if (done) done = file->write({reinterpret_cast<const char*>(&head), sizeof head});
    if (done) done = file->commit();
    if (!done) return done.error();
    return head.content;
}

/// Maps a file read-only. Checks the content hash and every number before it is used, so that any damaged file is refused. Reads the whole file once
/// (about 1 s for 10 million records).
///
/// Errors: not_found, io, version_mismatch (not a data set; another version, schema or byte order; not the expected content or origin), parse
/// (damaged: the message says where). The file must not be truncated while it is mapped; `write_dataset` never truncates, it replaces the file.
[[nodiscard]] inline result<dataset> map_dataset(const std::string& path, const dataset_expectation& expected = {}) {
    const auto differs = [&](const char* field, std::uint64_t found, std::uint64_t wanted) {
        std::array<char, 128> text{};
        std::snprintf(text.data(), text.size(), ": expected %s %016llx, got %016llx", field, static_cast<unsigned long long>(wanted),
                      static_cast<unsigned long long>(found));
        return error{errc::version_mismatch, path + text.data()};
    };
    const auto damaged = [&](std::string message) { return error{errc::parse, path + ": " + std::move(message)}; };
    const auto opened = open_regular_file(path, O_RDONLY);
    if (!opened) return opened.error();
    const auto size = static_cast<std::uint64_t>(opened->about.st_size);

    detail::dataset_head head;
    if (size < sizeof head) return damaged("expected at least " + std::to_string(sizeof head) + " bytes, got " + std::to_string(size));
    if (size > std::numeric_limits<std::size_t>::max()) return error{errc::limit, path + ": does not fit into the address space"};
    void* const at = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, opened->file.get(), 0);
    if (at == MAP_FAILED) return errno_error(path, "cannot map");
    const auto keep = std::make_shared<const detail::mapping>(at, static_cast<std::size_t>(size));
    const char* const bytes = static_cast<const char*>(at);
    const detail::dataset_head ours = detail::head_of({}, 0, 0);
    std::memcpy(&head, bytes, sizeof head);
    if (head.magic != ours.magic) return error{errc::version_mismatch, path + ": expected a data set file, got another format"};
    if (head.byte_order != ours.byte_order) return differs("byte order", head.byte_order, ours.byte_order);
    if (head.version != ours.version) return differs("version", head.version, ours.version);
    if (head.schema != ours.schema) return differs("schema", head.schema, ours.schema);
    if (head.seal != head.seal_of()) return damaged("the header does not match its hash");
    if (head.size != size) return damaged("expected " + std::to_string(head.size) + " bytes, got " + std::to_string(size));
    if (expected.origin && head.origin != *expected.origin) return differs("origin", head.origin, *expected.origin);
    if (expected.content && head.content != *expected.content) return differs("content hash", head.content, *expected.content);

    detail::dataset_arrays arrays;
    std::uint64_t used = sizeof head;
    std::size_t i = 0;
    const bool fit = detail::dataset_arrays::each(arrays, [&]<class T>(std::string_view, std::span<const T>& s) {
        const std::uint64_t count = head.counts[i++];
        if (count > (size - used) / sizeof(T) || detail::padded(count * sizeof(T)) > size - used) return false;
        s = {reinterpret_cast<const T*>(bytes + used), static_cast<std::size_t>(count)};
        used += detail::padded(count * sizeof(T));
        return true;
    });
    if (!fit || used != size) return damaged("the sizes of the arrays do not add up to the " + std::to_string(size) + " bytes of the file");
    detail::xxh64 hash;
    hash.add(head.counts.data(), sizeof head.counts);
    hash.add(bytes + sizeof head, static_cast<std::size_t>(size) - sizeof head);
    if (hash.value() != head.content) return damaged("the content does not match its hash");
    return dataset_file_access::adopt(path, arrays, keep);
}

} // namespace augur::inline v0

#endif
