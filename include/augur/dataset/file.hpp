// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_DATASET_FILE_HPP
#define AUGUR_DATASET_FILE_HPP

/// @file
/// Memory-mapped binary file of a data set: a cache that avoids parsing the logs again. POSIX.
///
/// The file is a header followed by the arrays of the data set in their memory layout, each padded with zeros to a multiple of 8 bytes. The header
/// has a magic number, version, byte order, schema (a hash of the names and element sizes of the arrays), file size, content hash, a number given by
/// the caller, the element count of each array, and a hash of the header. A data set without machine identities is written as version 2, which has no
/// array for them; its tasks read as unknown. The file is not portable between byte orders.

#include <algorithm>
#include <array>
#include <bit>
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
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <augur/core/error.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/dataset/detail/file_format.hpp>
#include <augur/dataset/detail/packed_ids.hpp>
#include <augur/dataset/detail/xxh64.hpp>
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
                {},
                s.task_machines.view()};
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
        const bool written = detail::dataset_arrays::each(all, [&]<class T>(std::string_view name, std::span<const T> a) {
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
        const auto machines = all.task_machines;
        return written && (machines.empty() || (out(machines.data(), machines.size_bytes()) && pad(machines.size_bytes())));
    }

    static detail::dataset_head head(const dataset& data) {
        const auto report = std::bit_cast<detail::report_numbers>(data.store_->report);
        return detail::head_of(arrays(*data.store_, report), data.size(), data.store_->report.ids,
                               data.store_->task_machines.size() == 0 ? detail::dataset_version : detail::dataset_version_with_machines);
    }

    /// Checks the consistency of the arrays, which a hash does not guarantee, and builds the data set. Error: parse.
    static result<dataset> adopt(const std::string& path, const detail::dataset_arrays& a, std::shared_ptr<const void> keep) {
        detail::dataset_store s;
        std::string fault = adopt_report(a, s.report);
        if (fault.empty()) fault = adopt_texts(a, s);
        if (fault.empty()) fault = adopt_primitives(a, s.primitives);
        if (fault.empty()) fault = detail::fault_of_records(a);
        if (fault.empty()) fault = detail::fault_of_tasks(a, s.names.size(), s.sources.size());
        if (fault.empty() && (s.report.records != a.lists.size() || s.report.ids != a.ids.size() || s.report.primitives != a.kinds.size()))
            fault = "the counts of the report differ from the sizes of the arrays";
        if (!fault.empty()) return error{errc::parse, path + ": " + fault};

        s.tasks = detail::column<detail::task_row>::lent(a.tasks);
        s.task_sources = detail::column<std::uint32_t>::lent(a.task_sources);
        s.task_machines = detail::column<std::uint32_t>::lent(a.task_machines);
        s.lists = detail::column<detail::id_list>::lent(a.lists);
        s.seconds = detail::column<double>::lent(a.seconds);
        s.status = detail::column<outcome>::lent(a.status);
        s.mapped_ids = a.ids.data();
        s.mapping = std::move(keep);
        return dataset(std::make_shared<const detail::dataset_store>(std::move(s)));
    }

private:
    // Each of these functions checks some arrays and fills the part of the store that they belong to. It returns the fault; empty: none.

    static std::string adopt_report(const detail::dataset_arrays& a, dataset_report& report) {
        constexpr std::size_t report_size = std::tuple_size_v<detail::report_numbers>;
        if (a.report.size() != report_size)
            return "expected " + std::to_string(report_size) + " numbers in the report, got " + std::to_string(a.report.size());
        detail::report_numbers numbers;
        std::copy(a.report.begin(), a.report.end(), numbers.begin());
        report = std::bit_cast<dataset_report>(numbers);
        return {};
    }

    /// Do the offsets `first` ascend from 0 to `end`?
    template <class T>
    static bool rises(std::span<const T> first, std::uint64_t end) {
        return !first.empty() && first.front() == 0 && first.back() == end && std::is_sorted(first.begin(), first.end());
    }

    static std::string adopt_texts(const detail::dataset_arrays& a, detail::dataset_store& s) {
        if (!rises(a.text_first, a.text_bytes.size()) || !detail::text_pool::lent(a.text_first, a.text_bytes, s.primitives.texts_))
            return "expected distinct texts of primitives in ascending order of offset";
        if (!rises(a.name_first, a.name_bytes.size()) || !detail::text_pool::lent(a.name_first, a.name_bytes, s.names))
            return "expected distinct names of tasks in ascending order of offset";
        if (!rises(a.source_first, a.source_bytes.size()) || !detail::text_pool::lent(a.source_first, a.source_bytes, s.sources))
            return "expected distinct names of sources in ascending order of offset";
        return {};
    }

    /// pre: `p` has its texts
    static std::string adopt_primitives(const detail::dataset_arrays& a, primitive_table& p) {
        if (!rises(a.item_first, a.words.size()) || a.tags.size() != a.words.size() || a.item_first.size() != a.kinds.size() + 1)
            return "expected the items of the primitives in ascending order of offset";
        for (std::size_t i = 0; i < a.words.size(); ++i)
            if (a.tags[i] > detail::item_tag::name ||
                (a.tags[i] == detail::item_tag::name && static_cast<std::uint64_t>(a.words[i]) >= p.texts_.size()))
                return "item " + std::to_string(i) + " of the primitives: expected a number or a name";
        p.kinds_ = detail::column<std::uint32_t>::lent(a.kinds);
        p.first_ = detail::column<std::uint32_t>::lent(a.item_first);
        p.tags_ = detail::column<detail::item_tag>::lent(a.tags);
        p.words_ = detail::column<std::int64_t>::lent(a.words);
        for (primitive_id id = 0; id < a.kinds.size(); ++id) {
            if (a.kinds[id] >= p.texts_.size()) return "primitive " + std::to_string(id) + ": expected the index of a text as kind";
            const std::uint64_t h = primitive_table::hash(a.kinds[id], p.tags(id), p.words(id));
            if (p.find(h, a.kinds[id], p.tags(id), p.words(id)) != detail::hash_index::none)
                return "primitive " + std::to_string(id) + ": expected distinct primitives, got a duplicate";
            p.index_.insert(h, id);
        }
        return {};
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
    std::memcpy(&head, bytes, sizeof head);
    const bool machines = head.version == detail::dataset_version_with_machines;
    const detail::dataset_head ours = detail::head_of({}, 0, 0, machines ? head.version : detail::dataset_version);
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
    const auto take = [&]<class T>(std::span<const T>& s, std::uint64_t count) {
        if (count > (size - used) / sizeof(T) || detail::padded(count * sizeof(T)) > size - used) return false;
        s = {reinterpret_cast<const T*>(bytes + used), static_cast<std::size_t>(count)};
        used += detail::padded(count * sizeof(T));
        return true;
    };
    const bool fit = detail::dataset_arrays::each(arrays, [&](std::string_view, auto& s) { return take(s, head.counts[i++]); }) &&
                     (!machines || take(arrays.task_machines, arrays.tasks.size()));
    if (!fit || used != size) return damaged("the sizes of the arrays do not add up to the " + std::to_string(size) + " bytes of the file");
    detail::xxh64 hash;
    hash.add(head.counts.data(), sizeof head.counts);
    hash.add(bytes + sizeof head, static_cast<std::size_t>(size) - sizeof head);
    if (hash.value() != head.content) return damaged("the content does not match its hash");
    return dataset_file_access::adopt(path, arrays, keep);
}

} // namespace augur::inline v0

#endif
