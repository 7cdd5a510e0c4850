// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_INSTRUMENT_COUNTERS_HPP
#define AUGUR_LLVM_INSTRUMENT_COUNTERS_HPP

/// @file
/// Instruments LLVM IR with execution counters and a memory trace. The cost is one addition per call and per branch with several successors, and one
/// shift and store per memory access.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <augur/llvm/analyse/graphlets.hpp>

namespace augur::inline v0::detail {

/// Write position of the trace buffer. Instrumented code writes line numbers at `next` and calls `flush` when `next` is beyond `limit`. The buffer
/// has room for `trace_slack` more numbers after `limit`.
struct trace_cell {
    std::uint64_t* next = nullptr;
    std::uint64_t* limit = nullptr;
};
inline constexpr std::size_t trace_slack = 4096;

/// Trace buffer and functions that the instrumented code uses, in the same process.
struct trace_hooks {
    trace_cell* cell = nullptr;
    void (*flush)() = nullptr;
    void (*range)(std::uint64_t address, std::uint64_t bytes) = nullptr;               ///< traces the lines of a memory range
    void (*copy)(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) = nullptr; ///< traces the lines of a copy
    unsigned line_bits = 6;                                                            ///< log2 of the cache line in bytes
};

/// Counter indices of a function: one for its calls and one for each edge out of a block with several successors. The counts of the other edges
/// follow from these (settle_counts).
struct ir_counters {
    std::size_t calls = 0;
    std::vector<std::ptrdiff_t> edges; ///< (ir_function::flow) counter of the edge; -1: none
    std::vector<std::size_t> copied;   ///< (ir_function::copies) counter of the copied bytes
};

/// Assigns counters to the functions of a module and inserts the instrumentation.
class ir_instrumenter {
public:
    ir_instrumenter(::llvm::Module& m, const trace_hooks& hooks)
        : layout_(m.getDataLayout()), hooks_(hooks), word_(::llvm::Type::getInt64Ty(m.getContext())),
          cold_(::llvm::MDBuilder(m.getContext()).createBranchWeights(1, 100000)) {}

    /// Number of counters of all functions so far.
    [[nodiscard]] std::size_t counters() const noexcept { return counters_; }

    /// Assigns counters to a function.
    ir_counters number(const ir_function& f) {
        ir_counters c;
        c.calls = counters_++;
        for (std::size_t i = 0; i < f.flow.size(); ++i) {
            const auto from = f.flow[i].source;
            const bool choice = (i > 0 && f.flow[i - 1].source == from) || (i + 1 < f.flow.size() && f.flow[i + 1].source == from);
            c.edges.push_back(choice ? static_cast<std::ptrdiff_t>(counters_++) : -1);
        }
        for (std::size_t i = 0; i < f.copies.size(); ++i) c.copied.push_back(counters_++);
        return c;
    }

    /// Inserts the counters and the trace into a function.
    /// @param counters  array of `counters()` elements
    void instrument(const ir_function& f, const ir_counters& c, std::uint64_t* counters) {
        place_ = counters;
        std::vector<::llvm::Instruction*> ends;
        for (auto* const b : f.places) ends.push_back(b->getTerminator());
        ::llvm::Instruction* const begin = &*f.places.front()->getFirstInsertionPt();
        std::vector<std::vector<::llvm::Instruction*>> code(f.places.size());
        for (std::size_t b = 0; b < f.places.size(); ++b)
            for (auto& i : *f.places[b])
                if (touches(i) || leaves(i)) code[b].push_back(&i);
        for (const auto& list : code) trace(list);
        for (std::size_t i = 0; i < f.copies.size(); ++i) {
            ::llvm::IRBuilder<> at(f.copies[i].code);
            auto* const bytes = ::llvm::cast<::llvm::AnyMemIntrinsic>(f.copies[i].code)->getLength();
            add(at, at.getInt64(c.copied[i]), at.CreateZExtOrTrunc(bytes, word_));
        }
        ::llvm::IRBuilder<> at(begin);
        add(at, at.getInt64(c.calls), at.getInt64(1));
        for (std::size_t i = 0; i < f.flow.size();) {
            std::size_t last = i;
            while (last + 1 < f.flow.size() && f.flow[last + 1].source == f.flow[i].source) ++last;
            if (last > i) count(*ends[f.flow[i].source], f, c, i, last);
            i = last + 1;
        }
    }

private:
    using builder = ::llvm::IRBuilder<>;

    /// Does the instruction access memory that is traced?
    static bool touches(const ::llvm::Instruction& i) {
        if (access_of(i).pointer != nullptr || ::llvm::isa<::llvm::AnyMemIntrinsic, ::llvm::AtomicRMWInst, ::llvm::AtomicCmpXchgInst>(i)) return true;
        const auto* const call = ::llvm::dyn_cast<::llvm::IntrinsicInst>(&i);
        return call != nullptr &&
               (call->getIntrinsicID() == ::llvm::Intrinsic::masked_gather || call->getIntrinsicID() == ::llvm::Intrinsic::masked_scatter);
    }
    /// Is it a call of a function that can write to the trace? `next` must be stored before such a call.
    static bool leaves(const ::llvm::Instruction& i) {
        return ::llvm::isa<::llvm::CallInst>(i) && !::llvm::isa<::llvm::IntrinsicInst>(i) && !::llvm::cast<::llvm::CallInst>(i).isInlineAsm();
    }

    ::llvm::Value* address(builder& at, const void* place, ::llvm::Type* element) const {
        return at.CreateIntToPtr(at.getInt64(reinterpret_cast<std::uint64_t>(place)), ::llvm::PointerType::getUnqual(element));
    }
    void add(builder& at, ::llvm::Value* counter, ::llvm::Value* n) const {
        auto* const place = at.CreateGEP(word_, address(at, place_, word_), counter);
        at.CreateStore(at.CreateAdd(at.CreateLoad(word_, place), n), place);
    }
    template <class... T>
    void call(builder& at, void (*function)(T...), std::initializer_list<::llvm::Value*> arguments) const {
        const std::vector<::llvm::Type*> types(sizeof...(T), word_);
        auto* const type = ::llvm::FunctionType::get(at.getVoidTy(), types, false);
        at.CreateCall(type, address(at, reinterpret_cast<const void*>(function), type), ::llvm::ArrayRef<::llvm::Value*>(arguments));
    }

    /// Adds one to the counter of the taken edge.
    void count(::llvm::Instruction& end, const ir_function& f, const ir_counters& c, std::size_t first, std::size_t last) const {
        builder at(&end);
        const auto counter_to = [&](const ::llvm::BasicBlock* to) -> ::llvm::Value* {
            std::size_t i = first;
            while (i < last && f.places[f.flow[i].target] != to) ++i;
            return at.getInt64(static_cast<std::uint64_t>(c.edges[i]));
        };
        ::llvm::Value* index = nullptr;
        if (auto* const s = ::llvm::dyn_cast<::llvm::SwitchInst>(&end)) {
            index = counter_to(s->getDefaultDest());
            for (auto& label : s->cases())
                index = at.CreateSelect(at.CreateICmpEQ(s->getCondition(), label.getCaseValue()), counter_to(label.getCaseSuccessor()), index);
        } else {
            auto& b = ::llvm::cast<::llvm::BranchInst>(end);
            index = at.CreateSelect(b.getCondition(), counter_to(b.getSuccessor(0)), counter_to(b.getSuccessor(1)));
        }
        add(at, index, at.getInt64(1));
    }

    /// Traces the accesses of a block in runs between calls that can write to the trace. Each run fits in the slack of the buffer.
    void trace(const std::vector<::llvm::Instruction*>& list) {
        for (std::size_t i = 0; i < list.size();) {
            if (leaves(*list[i]) || needs_call(*list[i])) {
                builder at(list[i]);
                if (!leaves(*list[i])) trace_by_call(at, *list[i]);
                ++i;
                continue;
            }
            std::size_t end = i;
            for (std::uint64_t lines = 0; end < list.size() && !leaves(*list[end]) && !needs_call(*list[end]); ++end)
                if ((lines += most_lines(*list[end])) > trace_slack / 2 && end > i) break;
            stretch(list, i, end);
            i = end;
        }
    }
    void stretch(const std::vector<::llvm::Instruction*>& list, std::size_t first, std::size_t end) {
        ::llvm::Type* const words = ::llvm::PointerType::getUnqual(word_);
        builder before(list[first]);
        auto* const full = before.CreateICmpUGT(before.CreateLoad(words, address(before, &hooks_.cell->next, words)),
                                                before.CreateLoad(words, address(before, &hooks_.cell->limit, words)));
        builder spill(::llvm::SplitBlockAndInsertIfThen(full, list[first], false, cold_));
        call(spill, hooks_.flush, {});
        builder at(list[first]);
        next_ = at.CreateLoad(words, address(at, &hooks_.cell->next, words));
        for (std::size_t i = first; i < end; ++i) {
            at.SetInsertPoint(list[i]);
            trace_access(at, *list[i]);
        }
        at.CreateStore(next_, address(at, &hooks_.cell->next, words));
    }

    [[nodiscard]] std::uint64_t bytes_of_type(::llvm::Type* t) const { return layout_.getTypeStoreSize(t).getKnownMinValue(); }
    [[nodiscard]] std::uint64_t line() const noexcept { return std::uint64_t{1} << hooks_.line_bits; }

    /// Is the access long or of unknown length, so that a hook traces it?
    [[nodiscard]] bool needs_call(const ::llvm::Instruction& i) const {
        if (::llvm::isa<::llvm::AnyMemIntrinsic>(i)) return true;
        const auto a = access_of(i);
        return a.pointer != nullptr && bytes_of_type(a.type) > 16 * line();
    }
    void trace_by_call(builder& at, ::llvm::Instruction& i) const {
        const auto number = [&](::llvm::Value* v) {
            return v->getType()->isPointerTy() ? at.CreatePtrToInt(v, word_) : at.CreateZExtOrTrunc(v, word_);
        };
        if (auto* const m = ::llvm::dyn_cast<::llvm::AnyMemTransferInst>(&i))
            call(at, hooks_.copy, {number(m->getRawDest()), number(m->getRawSource()), number(m->getLength())});
        else if (auto* const s = ::llvm::dyn_cast<::llvm::AnyMemSetInst>(&i))
            call(at, hooks_.range, {number(s->getRawDest()), number(s->getLength())});
        else {
            const auto a = access_of(i);
            call(at, hooks_.range, {number(const_cast<::llvm::Value*>(a.pointer)), at.getInt64(bytes_of_type(a.type))});
        }
    }

    [[nodiscard]] std::uint64_t most_lines(const ::llvm::Instruction& i) const {
        const auto a = access_of(i);
        if (a.pointer != nullptr) return bytes_of_type(a.type) / line() + 2;
        if (const auto* const call = ::llvm::dyn_cast<::llvm::IntrinsicInst>(&i)) return lanes_of(*call)->getNumElements();
        return 1;
    }
    static ::llvm::FixedVectorType* lanes_of(const ::llvm::IntrinsicInst& call) {
        const bool gather = call.getIntrinsicID() == ::llvm::Intrinsic::masked_gather;
        return ::llvm::cast<::llvm::FixedVectorType>(gather ? call.getType() : call.getArgOperand(0)->getType());
    }

    /// Writes the lines of one access at next_ and advances next_.
    void trace_access(builder& at, ::llvm::Instruction& i) {
        namespace ir = ::llvm;
        const auto put = [&](ir::Value* value, std::uint64_t place) {
            at.CreateAlignedStore(value, at.CreateConstGEP1_64(word_, next_, place), ir::Align(8));
        };
        if (auto* const call = ir::dyn_cast<ir::IntrinsicInst>(&i)) {
            if (access_of(i).pointer != nullptr) return masked(at, *call);
            // gather or scatter: one line per active lane
            const bool gather = call->getIntrinsicID() == ir::Intrinsic::masked_gather;
            auto* const mask = call->getArgOperand(gather ? 2 : 3);
            const auto lanes = lanes_of(*call)->getNumElements();
            auto* const wide = ir::FixedVectorType::get(word_, lanes);
            auto* const lines = at.CreateLShr(at.CreatePtrToInt(call->getArgOperand(gather ? 0 : 1), wide), hooks_.line_bits);
            if (all_on(mask)) {
                auto* const place = at.CreateBitCast(next_, ir::PointerType::getUnqual(wide));
                at.CreateAlignedStore(lines, place, ir::Align(8));
                next_ = at.CreateConstGEP1_64(word_, next_, lanes);
                return;
            }
            for (unsigned k = 0; k < lanes; ++k) {
                put(at.CreateExtractElement(lines, k), 0);
                next_ = at.CreateGEP(word_, next_, at.CreateZExt(at.CreateExtractElement(mask, k), word_));
            }
            return;
        }
        const auto a = access_of(i);
        ir::Value* const pointer = a.pointer != nullptr ? const_cast<ir::Value*>(a.pointer) : i.getOperand(0);
        const std::uint64_t bytes = a.pointer != nullptr ? bytes_of_type(a.type) : 1; // an atomic access is aligned and stays in one line
        const std::uint64_t aligned = ir::isa<ir::LoadInst>(i)    ? ir::cast<ir::LoadInst>(i).getAlign().value()
                                      : ir::isa<ir::StoreInst>(i) ? ir::cast<ir::StoreInst>(i).getAlign().value()
                                                                  : 1;
        auto* const from = at.CreatePtrToInt(pointer, word_);
        auto* const first = at.CreateLShr(from, hooks_.line_bits);
        const std::uint64_t unit = (std::min)(aligned, line()); // a power of two; an access of at most `unit` bytes does not cross a line
        if (bytes <= unit || (bytes > line() && unit == line())) {
            const std::uint64_t n = (bytes + line() - 1) / line();
            for (std::uint64_t k = 0; k < (std::max)(n, std::uint64_t{1}); ++k) put(k == 0 ? first : at.CreateAdd(first, at.getInt64(k)), k);
            next_ = at.CreateConstGEP1_64(word_, next_, (std::max)(n, std::uint64_t{1}));
            return;
        }
        lines_between(at, first, at.CreateLShr(at.CreateAdd(from, at.getInt64(bytes - 1)), hooks_.line_bits), (bytes - 2 + line()) / line() + 1);
    }
    /// Writes the lines from `first` to `last`, at most `most` lines.
    void lines_between(builder& at, ::llvm::Value* first, ::llvm::Value* last, std::uint64_t most) {
        for (std::uint64_t k = 0; k < most; ++k)
            at.CreateAlignedStore(k == 0 ? first : at.CreateAdd(first, at.getInt64(k)), at.CreateConstGEP1_64(word_, next_, k), ::llvm::Align(8));
        next_ = at.CreateGEP(word_, next_, at.CreateAdd(at.CreateSub(last, first), at.getInt64(1)));
    }

    static bool all_on(const ::llvm::Value* mask) {
        const auto* const known = ::llvm::dyn_cast<::llvm::Constant>(mask);
        return known != nullptr && known->isAllOnesValue();
    }
    /// Traces a masked load or store: the lines from the first to the last active lane, or nothing if no lane is active.
    void masked(builder& at, ::llvm::IntrinsicInst& call) {
        namespace ir = ::llvm;
        const auto a = access_of(call);
        auto* const mask = call.getArgOperand(call.getIntrinsicID() == ir::Intrinsic::masked_load ? 2 : 3);
        auto* const type = ir::cast<ir::FixedVectorType>(a.type);
        const auto lanes = type->getNumElements();
        const std::uint64_t each = bytes_of_type(type->getElementType()), most = (bytes_of_type(type) - 1 + line() - 1) / line() + 1;
        auto* const from = at.CreatePtrToInt(const_cast<ir::Value*>(a.pointer), word_);
        auto* const bits = at.getIntNTy(lanes);
        auto* const active = at.CreateBitCast(mask, bits);
        const auto count = [&](ir::Intrinsic::ID id) { // bytes of the inactive lanes before the first, or after the last active lane
            auto* const n = at.CreateIntrinsic(id, {bits}, {active, at.getFalse()});
            return at.CreateMul(at.CreateZExtOrTrunc(n, word_), at.getInt64(each));
        };
        auto* const first = at.CreateLShr(at.CreateAdd(from, count(ir::Intrinsic::cttz)), hooks_.line_bits);
        auto* const end = at.CreateSub(at.CreateAdd(from, at.getInt64(lanes * each - 1)), count(ir::Intrinsic::ctlz));
        auto* const before = next_;
        lines_between(at, first, at.CreateLShr(end, hooks_.line_bits), most);
        next_ = at.CreateSelect(at.CreateIsNull(active), before, next_);
    }

    const ::llvm::DataLayout& layout_;
    trace_hooks hooks_;
    ::llvm::Type* word_;
    ::llvm::MDNode* cold_;
    ::llvm::Value* next_ = nullptr;
    std::uint64_t* place_ = nullptr; ///< address of the counters
    std::size_t counters_ = 0;
};

} // namespace augur::inline v0::detail

#endif
