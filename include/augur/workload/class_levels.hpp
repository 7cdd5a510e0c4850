// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_CLASS_LEVELS_HPP
#define AUGUR_WORKLOAD_CLASS_LEVELS_HPP

/// @file
/// Kernel classes at six levels: how much two kernels have in common, from the same first operation to the same computation.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace augur::inline v0 {

/// Levels of a kernel class, the coarsest first.
enum class class_level : std::uint8_t {
    prefix,     ///< the first operation, which kernels have in common whose sequences share a prefix (section 4.2, "across-class")
    operations, ///< the sequence of operations: the classes of Transfer-Tuning (section 4.2)
    canonical,  ///< that sequence with commuting element-wise operations in one order
    structure,  ///< the stages: kind, number of space and reduce axes, and which stages each one reads
    dag,        ///< the compute DAG but for its extents: kernel size, stride and formulas are equal
    workload,   ///< the computation: extents, too
};
inline constexpr std::array<std::string_view, 6> class_level_names{"prefix", "operations", "canonical", "structure", "dag", "workload"};
[[nodiscard]] constexpr std::string_view to_string(class_level l) noexcept { return class_level_names[static_cast<std::size_t>(l)]; }

/// The class of a kernel at each level, a text. Two kernels agree at a level if their texts are equal; an empty text is not known and agrees with none.
///
/// Which levels agree depends on the kernels: the structure may be equal where the sequence of operations is not (an addition in place of a product).
class class_levels {
public:
    [[nodiscard]] const std::string& at(class_level l) const noexcept { return texts_[static_cast<std::size_t>(l)]; }
    class_levels& set(class_level l, std::string text) {
        texts_[static_cast<std::size_t>(l)] = std::move(text);
        return *this;
    }
    friend bool operator==(const class_levels&, const class_levels&) = default;

private:
    std::array<std::string, class_level_names.size()> texts_;
};

/// Which levels two kernels agree at.
class class_agreement {
public:
    class_agreement(const class_levels& a, const class_levels& b) {
        for (std::size_t i = 0; i < agree_.size(); ++i) {
            const auto l = static_cast<class_level>(i);
            agree_[i] = !a.at(l).empty() && a.at(l) == b.at(l);
        }
    }
    [[nodiscard]] bool at(class_level l) const noexcept { return agree_[static_cast<std::size_t>(l)]; }
    /// The finest level that agrees; nullopt: none does.
    [[nodiscard]] std::optional<class_level> finest() const noexcept {
        for (std::size_t i = agree_.size(); i > 0; --i)
            if (agree_[i - 1]) return static_cast<class_level>(i - 1);
        return std::nullopt;
    }

private:
    std::array<bool, class_level_names.size()> agree_{};
};

} // namespace augur::inline v0

#endif
