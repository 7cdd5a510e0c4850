// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_DETAIL_CONVOLUTION_WRITER_HPP
#define AUGUR_SPACE_DETAIL_CONVOLUTION_WRITER_HPP

/// @file
/// Writes loops and statements of a convolution to a sink of loop nests.

#include <cstdint>
#include <string_view>
#include <utility>

#include <augur/space/detail/nest_index.hpp>
#include <augur/target/machine_instructions.hpp>
#include <augur/workload/loop_nest.hpp>

namespace augur::inline v0::detail {

/// The nest that is written: which loops are open, and what the statements have in common.
template <class Sink>
class convolution_writer {
public:
    enum buffer : std::uint32_t { data, kernel, accumulator, output, image };

    convolution_writer(Sink& sink, element_type type, double share) : sink_(sink), type_(type), share_(share) {}

    void add_buffer(std::string_view name, std::int64_t elements) {
        name_next(sink_, name);
        sink_.buffer(elements * bytes_of(type_));
    }
    nest_index loop(std::string_view axis, std::uint32_t level, std::int64_t extent, nest_annotation annotation = nest_annotation::serial) {
        name_next(sink_, axis, level);
        sink_.begin_loop(extent, annotation);
        return {depth_++, extent};
    }
    void end(std::uint32_t loops) {
        depth_ -= loops;
        while (loops-- > 0) sink_.end_loop();
    }
    void multiply_add(const nest_index& sum, const nest_index& of_data, const nest_index& of_kernel) {
        nest_statement s;
        s.share = share_;
        auto cell = access(accumulator, sum);
        cell.begins = true;
        const auto before = s.load(std::move(cell));
        const auto left = s.load(access(data, of_data)), right = s.load(access(kernel, of_kernel));
        const auto product = s.add(instruction_class::fmul, type_, {left, right});
        s.store(access(accumulator, sum), s.add(instruction_class::fadd, type_, {before, product}));
        sink_.statement(std::move(s));
    }
    void write_back(const nest_index& sum, const nest_index& of_output) {
        nest_statement s;
        s.share = share_;
        s.store(access(output, of_output), s.load(access(accumulator, sum)));
        sink_.statement(std::move(s));
    }
    void pad(const nest_index& of_data, const nest_index& of_image, std::int64_t offset) {
        nest_statement s;
        auto from = access(image, of_image);
        from.offset = offset;
        s.store(access(data, of_data), s.load(std::move(from)));
        sink_.statement(std::move(s));
    }

private:
    Sink& sink_;
    element_type type_;
    double share_;
    std::uint32_t depth_ = 0;

    [[nodiscard]] nest_access access(buffer b, const nest_index& index) const { return {b, type_, 0, index.digits(), false}; }
};

} // namespace augur::inline v0::detail

#endif
