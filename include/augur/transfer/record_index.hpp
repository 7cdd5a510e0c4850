// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TRANSFER_RECORD_INDEX_HPP
#define AUGUR_TRANSFER_RECORD_INDEX_HPP

/// @file
/// The records of many kernels, and which of them are nearest to a kernel.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/transfer/workload_distance.hpp>
#include <augur/workload/class_levels.hpp>

namespace augur::inline v0::transfer {

/// A record of another kernel, and how near that kernel is.
struct near_record {
    std::uint64_t record = 0;
    std::size_t kernel = 0;                      ///< as `record_index::add_kernel` has numbered it
    class_level level = class_level::operations; ///< the finest level at which the kernels agree
    std::optional<double> distance;              ///< TVM's factor, if there is one
    double latency = 0;                          ///< of the record, seconds

    /// Finer agreement first; then those with a distance factor, by latency times factor; then the others by latency; then by number.
    friend bool operator<(const near_record& a, const near_record& b) noexcept {
        if (a.level != b.level) return a.level > b.level;
        if (a.distance.has_value() != b.distance.has_value()) return a.distance.has_value();
        const double x = a.latency * a.distance.value_or(1), y = b.latency * b.distance.value_or(1);
        return x != y ? x < y : a.record < b.record;
    }
};

/// Finds the records of a kernel's class that are nearest to it, without looking at those of other classes. It keeps the fastest records of each kernel, so
/// its size does not grow with the log.
///
/// ```cpp
/// augur::transfer::record_index index;
/// for (const auto& k : kernels) {
///     const auto number = index.add_kernel(k.levels, k.arguments);
///     for (const auto& r : k.records) index.add_record(number, r.offset, r.latency); // where the record is in its log
/// }
/// for (const auto& r : index.nearest(target.levels, target.arguments, 16)) read_record(r.record);
/// ```
///
/// Threads  const member functions may run at the same time
class record_index {
public:
    /// @param kept  records of each kernel, the fastest; `nearest` gives no more of one kernel
    explicit record_index(std::size_t kept = 16) : kept_(kept) { AUGUR_ASSERT(kept > 0, "record_index: expected to keep records"); }

    /// The number of the kernel, from 0.
    std::size_t add_kernel(class_levels levels, workload_arguments arguments) {
        for (std::size_t l = 0; l < by_class_.size(); ++l)
            if (const auto& text = levels.at(static_cast<class_level>(l)); !text.empty()) by_class_[l][text].push_back(kernels_.size());
        kernels_.push_back({std::move(levels), std::move(arguments), {}});
        return kernels_.size() - 1;
    }

    /// @param record  any number, with which the caller finds it again
    /// pre: kernel < number of kernels; latency is no NaN
    void add_record(std::size_t kernel, std::uint64_t record, double latency) {
        AUGUR_ASSERT(kernel < kernels_.size(), "record_index::add_record: no such kernel");
        auto& records = kernels_[kernel].records;
        const std::pair entry(latency, record);
        if (records.size() == kept_ && !(entry < records.back())) return;
        records.insert(std::upper_bound(records.begin(), records.end(), entry), entry);
        if (records.size() > kept_) records.pop_back();
    }

    /// At most `count` records of kernels that agree with a kernel at `level`, the nearest first. Its own workload is left out.
    ///
    /// Cost  linear in the kernels of the class
    [[nodiscard]] std::vector<near_record> nearest(const class_levels& levels, const workload_arguments& arguments, std::size_t count,
                                                   class_level level = class_level::operations) const {
        std::vector<near_record> out;
        const auto& classes = by_class_[static_cast<std::size_t>(level)];
        const auto found = classes.find(levels.at(level));
        if (found == classes.end() || count == 0) return out;
        for (const auto k : found->second) {
            const auto& kernel = kernels_[k];
            const class_agreement agreement(kernel.levels, levels);
            if (agreement.at(class_level::workload)) continue;
            const auto distance = workload_distance(arguments, kernel.arguments);
            for (const auto& [latency, record] : kernel.records) {
                const near_record r{record, k, *agreement.finest(), distance, latency};
                if (out.size() == count && !(r < out.back())) break; // the others of this kernel are slower
                out.insert(std::upper_bound(out.begin(), out.end(), r), r);
                if (out.size() > count) out.pop_back();
            }
        }
        return out;
    }

    [[nodiscard]] std::size_t kernels() const noexcept { return kernels_.size(); }

private:
    struct kernel_records {
        class_levels levels;
        workload_arguments arguments;
        std::vector<std::pair<double, std::uint64_t>> records; ///< latency and number, fastest first
    };
    std::size_t kept_;
    std::vector<kernel_records> kernels_;
    std::array<std::unordered_map<std::string, std::vector<std::size_t>>, class_level_names.size()> by_class_; ///< by level and its text
};

} // namespace augur::inline v0::transfer

#endif
