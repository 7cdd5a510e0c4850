// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_INSTRUMENT_COUNTERS_HPP
#define AUGUR_LLVM_INSTRUMENT_COUNTERS_HPP

/// @file
/// Counters and a memory trace put into a function: what it costs is an addition where ways part, and a shift and a store where memory is used.

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

/// Where the trace goes. Instrumented code writes the numbers of lines at `next`, and calls `flush` beyond `limit`, behind which there is room for
/// `trace_slack` more.
struct trace_cell {
    std::uint64_t* next = nullptr;
    std::uint64_t* limit = nullptr;
};
inline constexpr std::size_t trace_slack = 4096;

/// What instrumented code calls and writes to, in the same process.
struct trace_hooks {
    trace_cell* cell = nullptr;
    void (*flush)() = nullptr;
    void (*range)(std::uint64_t address, std::uint64_t bytes) = nullptr;               ///< lines of so many bytes
    void (*copy)(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) = nullptr; ///< from line to line
    unsigned line_bits = 6;                                                            ///< of an address, within a line
};

/// Where the counts of a function are: that of its calls, then one for each way that has a choice; -1 for the others, which follow from these.
struct ir_counters {
    std::size_t calls = 0;
    std::vector<std::ptrdiff_t> ways; ///< by edge of ir_function::flow
    std::vector<std::size_t> copied;  ///< by ir_function::copies: bytes
};

class ir_instrumenter {
public:
    ir_instrumenter(::llvm::Module& m, const trace_hooks& hooks)
        : layout_(m.getDataLayout()), hooks_(hooks), word_(::llvm::Type::getInt64Ty(m.getContext())),
          cold_(::llvm::MDBuilder(m.getContext()).createBranchWeights(1, 100000)) {}

    /// How many counters all functions have so far.
    [[nodiscard]] std::size_t counters() const noexcept { return counters_; }

    /// Gives a function its counters.
    ir_counters number(const ir_function& f) {
        ir_counters c;
        c.calls = counters_++;
        for (std::size_t i = 0; i < f.flow.size(); ++i) {
            const auto from = f.flow[i].source;
            const bool choice = (i > 0 && f.flow[i - 1].source == from) || (i + 1 < f.flow.size() && f.flow[i + 1].source == from);
            c.ways.push_back(choice ? static_cast<std::ptrdiff_t>(counters_++) : -1);
        }
        for (std::size_t i = 0; i < f.copies.size(); ++i) c.copied.push_back(counters_++);
        return c;
    }

    /// @param counters  as many as `counters()`
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

    /// Does it use memory in a way that is traced?
    static bool touches(const ::llvm::Instruction& i) {
        if (access_of(i).pointer != nullptr || ::llvm::isa<::llvm::AnyMemIntrinsic, ::llvm::AtomicRMWInst, ::llvm::AtomicCmpXchgInst>(i)) return true;
        const auto* const call = ::llvm::dyn_cast<::llvm::IntrinsicInst>(&i);
        return call != nullptr &&
               (call->getIntrinsicID() == ::llvm::Intrinsic::masked_gather || call->getIntrinsicID() == ::llvm::Intrinsic::masked_scatter);
    }
    /// May it trace by itself? What was written must be accounted for before.
    static bool leaves(const ::llvm::Instruction& i) {
        return ::llvm::isa<::llvm::CallInst>(i) && !::llvm::isa<::llvm::IntrinsicInst>(i) && !::llvm::cast<::llvm::CallInst>(i).isInlineAsm();
    }

    ::llvm::Value* address(builder& at, const void* place, ::llvm::Type* of) const {
        return at.CreateIntToPtr(at.getInt64(reinterpret_cast<std::uint64_t>(place)), ::llvm::PointerType::getUnqual(of));
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

    /// Adds one to the counter of the way that is taken.
    void count(::llvm::Instruction& end, const ir_function& f, const ir_counters& c, std::size_t first, std::size_t last) const {
        builder at(&end);
        const auto counter_to = [&](const ::llvm::BasicBlock* to) -> ::llvm::Value* {
            std::size_t i = first;
            while (i < last && f.places[f.flow[i].target] != to) ++i;
            return at.getInt64(static_cast<std::uint64_t>(c.ways[i]));
        };
        ::llvm::Value* which = nullptr;
        if (auto* const s = ::llvm::dyn_cast<::llvm::SwitchInst>(&end)) {
            which = counter_to(s->getDefaultDest());
            for (auto& one : s->cases())
                which = at.CreateSelect(at.CreateICmpEQ(s->getCondition(), one.getCaseValue()), counter_to(one.getCaseSuccessor()), which);
        } else {
            auto& b = ::llvm::cast<::llvm::BranchInst>(end);
            which = at.CreateSelect(b.getCondition(), counter_to(b.getSuccessor(0)), counter_to(b.getSuccessor(1)));
        }
        add(at, which, at.getInt64(1));
    }

    /// The accesses of a block, in stretches between calls that may trace by themselves, each short enough for the slack.
    void trace(const std::vector<::llvm::Instruction*>& list) {
        for (std::size_t i = 0; i < list.size();) {
            if (leaves(*list[i]) || by_call(*list[i])) {
                builder at(list[i]);
                if (!leaves(*list[i])) trace_by_call(at, *list[i]);
                ++i;
                continue;
            }
            std::size_t end = i;
            for (std::uint64_t lines = 0; end < list.size() && !leaves(*list[end]) && !by_call(*list[end]); ++end)
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
            one(at, *list[i]);
        }
        at.CreateStore(next_, address(at, &hooks_.cell->next, words));
    }

    [[nodiscard]] std::uint64_t bytes_of_type(::llvm::Type* t) const { return layout_.getTypeStoreSize(t).getKnownMinValue(); }
    [[nodiscard]] std::uint64_t line() const noexcept { return std::uint64_t{1} << hooks_.line_bits; }

    /// Memory that is long, or whose length is not known here.
    [[nodiscard]] bool by_call(const ::llvm::Instruction& i) const {
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

    /// Writes the lines of one access at next_, and moves it on.
    void one(builder& at, ::llvm::Instruction& i) {
        namespace ir = ::llvm;
        const auto put = [&](ir::Value* value, std::uint64_t place) {
            at.CreateAlignedStore(value, at.CreateConstGEP1_64(word_, next_, place), ir::Align(8));
        };
        if (auto* const call = ir::dyn_cast<ir::IntrinsicInst>(&i)) {
            if (access_of(i).pointer != nullptr) return masked(at, *call);
            // a line for each lane that is on
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
        const std::uint64_t bytes = a.pointer != nullptr ? bytes_of_type(a.type) : 1; // an atomic one is aligned
        const std::uint64_t aligned = ir::isa<ir::LoadInst>(i)    ? ir::cast<ir::LoadInst>(i).getAlign().value()
                                      : ir::isa<ir::StoreInst>(i) ? ir::cast<ir::StoreInst>(i).getAlign().value()
                                                                  : 1;
        auto* const from = at.CreatePtrToInt(pointer, word_);
        auto* const first = at.CreateLShr(from, hooks_.line_bits);
        const std::uint64_t unit = (std::min)(aligned, line()); // a power of two, so it fits in a line as often as it fits in the bytes
        if (bytes <= unit || (bytes > line() && unit == line())) {
            const std::uint64_t n = (bytes + line() - 1) / line();
            for (std::uint64_t k = 0; k < (std::max)(n, std::uint64_t{1}); ++k) put(k == 0 ? first : at.CreateAdd(first, at.getInt64(k)), k);
            next_ = at.CreateConstGEP1_64(word_, next_, (std::max)(n, std::uint64_t{1}));
            return;
        }
        lines_between(at, first, at.CreateLShr(at.CreateAdd(from, at.getInt64(bytes - 1)), hooks_.line_bits), (bytes - 2 + line()) / line() + 1);
    }
    /// All lines from `first` to `last`, which are at most so many.
    void lines_between(builder& at, ::llvm::Value* first, ::llvm::Value* last, std::uint64_t most) {
        for (std::uint64_t k = 0; k < most; ++k)
            at.CreateAlignedStore(k == 0 ? first : at.CreateAdd(first, at.getInt64(k)), at.CreateConstGEP1_64(word_, next_, k), ::llvm::Align(8));
        next_ = at.CreateGEP(word_, next_, at.CreateAdd(at.CreateSub(last, first), at.getInt64(1)));
    }

    static bool all_on(const ::llvm::Value* mask) {
        const auto* const known = ::llvm::dyn_cast<::llvm::Constant>(mask);
        return known != nullptr && known->isAllOnesValue();
    }
    /// From the first lane that is on to the last one; nothing when there is none.
    void masked(builder& at, ::llvm::IntrinsicInst& call) {
        namespace ir = ::llvm;
        const auto a = access_of(call);
        auto* const mask = call.getArgOperand(call.getIntrinsicID() == ir::Intrinsic::masked_load ? 2 : 3);
        auto* const type = ir::cast<ir::FixedVectorType>(a.type);
        const auto lanes = type->getNumElements();
        const std::uint64_t each = bytes_of_type(type->getElementType()), most = (bytes_of_type(type) - 1 + line() - 1) / line() + 1;
        auto* const from = at.CreatePtrToInt(const_cast<ir::Value*>(a.pointer), word_);
        auto* const bits = at.getIntNTy(lanes);
        auto* const on = at.CreateBitCast(mask, bits);
        const auto count = [&](ir::Intrinsic::ID id) { // zeros in front of, or behind, the lanes that are on
            auto* const n = at.CreateIntrinsic(id, {bits}, {on, at.getFalse()});
            return at.CreateMul(at.CreateZExtOrTrunc(n, word_), at.getInt64(each));
        };
        auto* const first = at.CreateLShr(at.CreateAdd(from, count(ir::Intrinsic::cttz)), hooks_.line_bits);
        auto* const end = at.CreateSub(at.CreateAdd(from, at.getInt64(lanes * each - 1)), count(ir::Intrinsic::ctlz));
        auto* const before = next_;
        lines_between(at, first, at.CreateLShr(end, hooks_.line_bits), most);
        next_ = at.CreateSelect(at.CreateIsNull(on), before, next_);
    }

    const ::llvm::DataLayout& layout_;
    trace_hooks hooks_;
    ::llvm::Type* word_;
    ::llvm::MDNode* cold_;
    ::llvm::Value* next_ = nullptr;
    std::uint64_t* place_ = nullptr; ///< of the counters
    std::size_t counters_ = 0;
};

} // namespace augur::inline v0::detail

#endif
