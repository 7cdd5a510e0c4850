// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_DATASET_DETAIL_PACKED_IDS_HPP
#define AUGUR_DATASET_DETAIL_PACKED_IDS_HPP

/// @file
/// Compact storage of primitive id lists: three bytes per id, in blocks with stable addresses.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include <augur/dataset/primitive_table.hpp>

namespace augur::inline v0 {

namespace detail {

/// Primitive id in three bytes, little-endian. A GPU schedule of about 37 steps takes 111 bytes instead of 148.
struct packed_id {
    static constexpr std::size_t most = std::size_t{1} << 24U; ///< number of distinct ids

    std::array<std::uint8_t, 3> bytes; // without a value, so that a new block of `id_blocks` touches no page
    static packed_id pack(primitive_id id) noexcept {
        return {{static_cast<std::uint8_t>(id), static_cast<std::uint8_t>(id >> 8U), static_cast<std::uint8_t>(id >> 16U)}};
    }
    [[nodiscard]] primitive_id get() const noexcept { return bytes[0] | primitive_id{bytes[1]} << 8U | primitive_id{bytes[2]} << 16U; }
    friend bool operator==(const packed_id&, const packed_id&) = default;
};
static_assert(sizeof(packed_id) == 3 && std::is_trivially_default_constructible_v<packed_id>);

/// Id lists in consecutive blocks with stable addresses. No list crosses a block border. A block of 2^20 ids is much longer than a usual list, so
/// that little space is wasted.
class id_blocks {
public:
    static constexpr unsigned shift = 20;
    static constexpr std::size_t block = std::size_t{1} << shift;

    /// Reserves space for `n` ids and returns its place.   pre: n < block
    [[nodiscard]] std::uint64_t reserve(std::size_t n) {
        if ((used_ & (block - 1)) + n > block) used_ = (used_ / block + 1) * block;
        const std::uint64_t at = used_;
        used_ += n;
        while (blocks_.size() * block <= used_) blocks_.emplace_back(new packed_id[block]); // pages that are never written take no memory
        return at;
    }
    [[nodiscard]] packed_id* at(std::uint64_t place) { return blocks_[static_cast<std::size_t>(place >> shift)].get() + (place & (block - 1)); }
    [[nodiscard]] const packed_id* at(std::uint64_t place) const {
        return blocks_[static_cast<std::size_t>(place >> shift)].get() + (place & (block - 1));
    }
    /// Restarts the allocation at place 0. The blocks and their ids stay until `shrink`, so that lists can be moved towards the front.
    void rewind() { used_ = 0; }
    void shrink() { blocks_.resize((std::min)(blocks_.size(), static_cast<std::size_t>(used_ >> shift) + 1)); }

private:
    std::vector<std::unique_ptr<packed_id[]>> blocks_;
    std::uint64_t used_ = 0;
};

/// Place and length of an id list in 64 bits.
struct id_list {
    static constexpr unsigned length_bits = 20;
    static constexpr std::uint64_t longest = (std::uint64_t{1} << length_bits) - 1;         ///< largest length
    static constexpr std::uint64_t farthest = (std::uint64_t{1} << (64 - length_bits)) - 1; ///< largest place

    std::uint64_t bits = 0;
    static id_list make(std::uint64_t place, std::size_t length) { return {(place << length_bits) | length}; }
    [[nodiscard]] std::uint64_t place() const { return bits >> length_bits; }
    [[nodiscard]] std::size_t length() const { return static_cast<std::size_t>(bits & longest); }
};

} // namespace detail

/// Unpacked primitive ids of a record in schedule order. An owning contiguous range that converts to a span.
class primitive_ids {
public:
    explicit primitive_ids(std::span<const detail::packed_id> packed) : size_(packed.size()) {
        if (size_ > near_.size()) far_.resize(size_);
        primitive_id* const to = size_ > near_.size() ? far_.data() : near_.data();
        std::transform(packed.begin(), packed.end(), to, [](detail::packed_id id) { return id.get(); });
    }
    primitive_ids(const primitive_ids&) = delete; // a temporary result; 264 bytes and a vector
    primitive_ids& operator=(const primitive_ids&) = delete;

    [[nodiscard]] const primitive_id* data() const noexcept { return size_ > near_.size() ? far_.data() : near_.data(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(primitive_id); }
    [[nodiscard]] const primitive_id* begin() const noexcept { return data(); }
    [[nodiscard]] const primitive_id* end() const noexcept { return data() + size_; }
    [[nodiscard]] primitive_id operator[](std::size_t i) const noexcept { return data()[i]; }

private:
    std::array<primitive_id, 64> near_{}; ///< storage of a schedule of at most 64 primitives, which is the usual case
    std::vector<primitive_id> far_;       ///< storage of a longer schedule
    std::size_t size_;
};

} // namespace augur::inline v0

#endif
