// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_DATASET_PRIMITIVE_TABLE_HPP
#define AUGUR_DATASET_PRIMITIVE_TABLE_HPP

/// @file
/// Interning table of schedule primitives: each distinct primitive is stored once and has an id.
///
/// The table keeps all names and numbers exactly, before a vocabulary or a sequence length is chosen. In real logs one primitive in two hundred is
/// distinct. A schedule is therefore a short list of ids, and the feature row of a primitive is computed once.

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/schedule/concepts.hpp>

namespace augur::inline v0 {

/// Index of a primitive in its table.
using primitive_id = std::uint32_t;

namespace detail {

/// Array that owns its elements or is a view of memory that outlives it (a mapped file). The first `mutable_values` of a view copies its elements.
template <class T>
class column {
public:
    column() = default;
    explicit column(std::vector<T> values) : owned_(std::move(values)) {}
    [[nodiscard]] static column lent(std::span<const T> values) {
        column c;
        c.lent_ = values;
        return c;
    }

    [[nodiscard]] std::span<const T> view() const noexcept { return lent_.empty() ? std::span<const T>(owned_) : lent_; }
    [[nodiscard]] std::size_t size() const noexcept { return view().size(); }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return view()[i]; }
    [[nodiscard]] std::vector<T>& mutable_values() {
        if (!lent_.empty()) owned_.assign(lent_.begin(), lent_.end());
        lent_ = {};
        return owned_;
    }

private:
    std::vector<T> owned_;
    std::span<const T> lent_;
};

/// Hash table from a 64-bit hash to a 32-bit number: open addressing, load factor at most 1/2. The caller stores the elements and compares them.
class hash_index {
public:
    static constexpr std::uint32_t none = 0xFFFFFFFFU; ///< not found

    /// Number that was inserted with this hash and for which `same(number)` is true; `none` if there is none.
    template <class Same>
    [[nodiscard]] std::uint32_t find(std::uint64_t hash, const Same& same) const {
        if (slots_.empty()) return none;
        const auto tag = static_cast<std::uint32_t>(hash >> 32U);
        for (std::size_t i = tag & (slots_.size() - 1); slots_[i].number != none; i = (i + 1) & (slots_.size() - 1))
            if (slots_[i].tag == tag && same(slots_[i].number)) return slots_[i].number;
        return none;
    }
    void insert(std::uint64_t hash, std::uint32_t number) {
        if (2 * (used_ + 1) > slots_.size()) {
            std::vector<slot> old(slots_.empty() ? 16 : 2 * slots_.size());
            std::swap(old, slots_);
            for (const slot& s : old)
                if (s.number != none) place(s);
        }
        place({static_cast<std::uint32_t>(hash >> 32U), number});
        ++used_;
    }
    /// Removes all and keeps the memory.
    void clear() {
        std::fill(slots_.begin(), slots_.end(), slot{});
        used_ = 0;
    }

private:
    struct slot {
        std::uint32_t tag = 0;
        std::uint32_t number = none;
    };
    void place(slot s) {
        std::size_t i = s.tag & (slots_.size() - 1);
        while (slots_[i].number != none) i = (i + 1) & (slots_.size() - 1);
        slots_[i] = s;
    }
    std::vector<slot> slots_;
    std::size_t used_ = 0;
};

/// Interned strings, numbered from 0.
class text_pool {
public:
    text_pool() : first_(std::vector<std::uint64_t>{0}) {}

    /// Makes `to` a view of the arrays. False if two strings are equal.
    /// pre: `first` is non-decreasing from 0 to bytes.size()
    [[nodiscard]] static bool lent(std::span<const std::uint64_t> first, std::span<const char> bytes, text_pool& to) {
        to.first_ = column<std::uint64_t>::lent(first);
        to.bytes_ = column<char>::lent(bytes);
        to.index_ = {};
        for (std::uint32_t i = 0; i < to.size(); ++i) {
            if (to.find(to[i]) != hash_index::none) return false;
            to.index_.insert(hash(to[i]), i);
        }
        return true;
    }

    [[nodiscard]] std::size_t size() const noexcept { return first_.size() - 1; }
    [[nodiscard]] std::string_view operator[](std::size_t i) const noexcept {
        const auto first = first_.view();
        return {bytes_.view().data() + first[i], static_cast<std::size_t>(first[i + 1] - first[i])};
    }
    [[nodiscard]] std::uint32_t find(std::string_view text) const {
        return index_.find(hash(text), [&](std::uint32_t i) { return (*this)[i] == text; });
    }
    /// Returns the number of `text` and adds `text` if it is new.
    [[nodiscard]] std::uint32_t intern(std::string_view text) {
        if (const auto at = find(text); at != hash_index::none) return at;
        const auto number = static_cast<std::uint32_t>(size());
        auto& bytes = bytes_.mutable_values();
        bytes.insert(bytes.end(), text.begin(), text.end());
        first_.mutable_values().push_back(bytes.size());
        index_.insert(hash((*this)[number]), number);
        return number;
    }
    [[nodiscard]] std::span<const std::uint64_t> first() const noexcept { return first_.view(); }
    [[nodiscard]] std::span<const char> bytes() const noexcept { return bytes_.view(); }

private:
    [[nodiscard]] static std::uint64_t hash(std::string_view text) { return mix64(fnv1a64(text)); }

    column<std::uint64_t> first_; ///< (n + 1) offset of each string in `bytes_`
    column<char> bytes_;
    hash_index index_;
};

/// Type of an item of a primitive.
enum class item_tag : std::uint8_t { integer = 0, real = 1, name = 2 };

} // namespace detail

/// Table of distinct primitives. A primitive is a kind and a sequence of items: 64-bit integers, doubles (compared by their bits) and names.
///
/// Two primitives are equal if a visit makes the same calls for both. Ids count from 0 in order of first appearance.
///
/// Threads     const calls are thread-safe
class primitive_table {
public:
    primitive_table() : first_(std::vector<std::uint32_t>{0}) {}

    [[nodiscard]] std::size_t size() const noexcept { return kinds_.size(); }
    [[nodiscard]] std::string_view kind(primitive_id id) const { return texts_[kinds_[id]]; }

    /// Number of items after the kind.
    [[nodiscard]] std::size_t items(primitive_id id) const { return first_[id + 1] - first_[id]; }

    /// Makes the same calls to `sink` as the visit of the original schedule. Linear in the items, without allocation. The views are valid until the
    /// table changes.
    template <schedule_sink K>
    void visit(primitive_id id, K& sink) const {
        sink.primitive(kind(id));
        const auto tags = tags_.view();
        const auto words = words_.view();
        for (std::size_t i = first_[id], end = first_[id + 1]; i < end; ++i) switch (tags[i]) {
            case detail::item_tag::integer: sink.number(words[i]); break;
            case detail::item_tag::real: sink.number(std::bit_cast<double>(words[i])); break;
            case detail::item_tag::name: sink.name(texts_[static_cast<std::size_t>(words[i])]); break;
            }
    }

    /// Bytes of the primitives, without the hash index.
    [[nodiscard]] std::size_t bytes() const noexcept {
        return kinds_.view().size_bytes() + first_.view().size_bytes() + tags_.view().size_bytes() + words_.view().size_bytes() +
               texts_.first().size_bytes() + texts_.bytes().size_bytes();
    }

private:
    friend class primitive_interner;
    friend struct dataset_file_access;

    [[nodiscard]] static std::uint64_t hash(std::uint32_t kind, std::span<const detail::item_tag> tags, std::span<const std::int64_t> words) {
        std::uint64_t h = kind;
        for (std::size_t i = 0; i < words.size(); ++i)
            h = (std::rotl(h, 23) ^ (static_cast<std::uint64_t>(words[i]) + static_cast<std::uint64_t>(tags[i]))) * 0x9FB21C651E98DF25ULL;
        return mix64(h ^ words.size());
    }
    [[nodiscard]] std::span<const detail::item_tag> tags(primitive_id id) const { return tags_.view().subspan(first_[id], items(id)); }
    [[nodiscard]] std::span<const std::int64_t> words(primitive_id id) const { return words_.view().subspan(first_[id], items(id)); }
    [[nodiscard]] primitive_id find(std::uint64_t h, std::uint32_t kind, std::span<const detail::item_tag> tags_of,
                                    std::span<const std::int64_t> words_of) const {
        return index_.find(h, [&](primitive_id id) {
            return kinds_[id] == kind && items(id) == words_of.size() && std::equal(words_of.begin(), words_of.end(), words(id).begin()) &&
                   std::equal(tags_of.begin(), tags_of.end(), tags(id).begin());
        });
    }

    detail::text_pool texts_;               ///< kinds and names
    detail::column<std::uint32_t> kinds_;   ///< (n) index into `texts_`
    detail::column<std::uint32_t> first_;   ///< (n + 1) offset of the items of each primitive in `tags_` and `words_`
    detail::column<detail::item_tag> tags_; ///< (items) type
    detail::column<std::int64_t> words_;    ///< (items) an integer, the bits of a double, or an index into `texts_`
    detail::hash_index index_;
};

/// Schedule sink that interns each primitive and appends its id, so that a reader need not build a schedule object.
///
/// Call `finish` at the end of each schedule. Allocates only for new primitives.
///
/// Threads     one thread per table
class primitive_interner {
public:
    /// Appends to `ids`. Both arguments must outlive the interner.
    primitive_interner(primitive_table& table, std::vector<primitive_id>& ids) : table_(&table), ids_(&ids) {}

    void primitive(std::string_view kind) {
        close();
        open_ = true;
        kind_ = table_->texts_.intern(kind);
    }
    void number(std::integral auto n) { put(detail::item_tag::integer, static_cast<std::int64_t>(n)); }
    void number(double d) { put(detail::item_tag::real, std::bit_cast<std::int64_t>(d)); }
    void name(std::string_view text) { put(detail::item_tag::name, table_->texts_.intern(text)); }

    /// Ends the schedule; the interner is then ready for the next schedule.
    /// Errors: illegal_schedule (an item before the first primitive), limit (2^32 primitives or items). On an error `ids` can hold a part of the
    /// schedule.
    [[nodiscard]] result<void> finish() {
        close();
        if (std::exchange(orphan_, false))
            return error{errc::illegal_schedule, "expected a visit that begins with primitive(), got a number or a name first"};
        if (std::exchange(full_, false)) return error{errc::limit, "more than 2^32 - 2 primitives or items in one table"};
        return {};
    }

private:
    void put(detail::item_tag tag, std::int64_t word) {
        orphan_ = orphan_ || !open_;
        tags_.push_back(tag);
        words_.push_back(word);
    }
    void close() {
        if (open_ && !orphan_) {
            const std::uint64_t h = primitive_table::hash(kind_, tags_, words_);
            primitive_id id = table_->find(h, kind_, tags_, words_);
            if (id == detail::hash_index::none) id = append(h);
            if (id != detail::hash_index::none) ids_->push_back(id);
        }
        open_ = false;
        tags_.clear();
        words_.clear();
    }
    primitive_id append(std::uint64_t h) {
        constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max() - 1;
        primitive_table& t = *table_;
        if (t.size() >= most || words_.size() > most - t.words_.size() || t.texts_.size() >= most) {
            full_ = true;
            return detail::hash_index::none;
        }
        const auto id = static_cast<primitive_id>(t.size());
        t.kinds_.mutable_values().push_back(kind_);
        t.tags_.mutable_values().insert(t.tags_.mutable_values().end(), tags_.begin(), tags_.end());
        t.words_.mutable_values().insert(t.words_.mutable_values().end(), words_.begin(), words_.end());
        t.first_.mutable_values().push_back(static_cast<std::uint32_t>(t.words_.size()));
        t.index_.insert(h, id);
        return id;
    }

    primitive_table* table_;
    std::vector<primitive_id>* ids_;
    std::uint32_t kind_ = 0;
    std::vector<detail::item_tag> tags_; ///< items of the current primitive
    std::vector<std::int64_t> words_;
    bool open_ = false, orphan_ = false, full_ = false;
};
static_assert(schedule_sink<primitive_interner>);

/// Appends the primitive ids of a schedule to `ids` and adds new primitives to the table.
/// Errors: those of `primitive_interner::finish`; `ids` is then unchanged.
template <schedule S>
[[nodiscard]] result<void> intern(primitive_table& table, const S& s, std::vector<primitive_id>& ids) {
    const std::size_t before = ids.size();
    primitive_interner sink(table, ids);
    schedule_traits<S>::visit(s, sink);
    auto done = sink.finish();
    if (!done) ids.resize(before);
    return done;
}

/// Schedule view of a list of ids. The table and the ids must outlive the view.
struct interned_schedule {
    const primitive_table* table;
    std::span<const primitive_id> ids;

    template <schedule_sink K>
    void visit(K& sink) const {
        for (const primitive_id id : ids) table->visit(id, sink);
    }
};
static_assert(schedule<interned_schedule>);

} // namespace augur::inline v0

#endif
