// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_ANALYSE_FOLDS_HPP
#define AUGUR_LLVM_ANALYSE_FOLDS_HPP

/// @file
/// Fold hints of LLVM IR instructions: which instructions a code generator merges into others (address, memory operand, FMA, compare and branch).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/MemoryLocation.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/KnownBits.h>

#include <augur/llvm/analyse/classes.hpp>

namespace augur::inline v0::detail {

/// Memory access of a load, store, masked load or masked store. `pointer` is null for all other instructions, gathers and scatters included.
struct ir_access {
    const ::llvm::Value* pointer = nullptr;
    ::llvm::Type* type = nullptr;
    bool store = false;
};
inline ir_access access_of(const ::llvm::Instruction& i) {
    namespace ir = ::llvm;
    if (const auto* const l = ir::dyn_cast<ir::LoadInst>(&i)) return {l->getPointerOperand(), l->getType(), false};
    if (const auto* const s = ir::dyn_cast<ir::StoreInst>(&i)) return {s->getPointerOperand(), s->getValueOperand()->getType(), true};
    if (const auto* const c = ir::dyn_cast<ir::IntrinsicInst>(&i)) {
        if (c->getIntrinsicID() == ir::Intrinsic::masked_load) return {c->getArgOperand(0), c->getType(), false};
        if (c->getIntrinsicID() == ir::Intrinsic::masked_store) return {c->getArgOperand(1), c->getArgOperand(0)->getType(), true};
    }
    return {};
}

/// Computes the fold hints block by block. The function must not change during that time.
class ir_folds {
public:
    ir_folds(const ::llvm::DataLayout& layout, ::llvm::BatchAAResults& aliases, bool contract)
        : layout_(layout), aliases_(aliases), contract_(contract) {}

    void begin(const ::llvm::BasicBlock& block) {
        order_.clear();
        takes_operand_.clear();
        writes_.clear();
        std::uint32_t n = 0;
        for (const auto& i : block) {
            order_[&i] = n++;
            if (i.mayWriteToMemory() && !is_note(i)) writes_.push_back(&i);
        }
    }

    /// Classified instruction with its fold hint. A hint from `classify` is kept.   pre: `i` is in the block of `begin`; calls are in program order
    instruction hinted(const ::llvm::Instruction& i) {
        using ir_op = ::llvm::Instruction;
        instruction made = classify(i, layout_);
        if (made.fold != fold_hint::none && i.getOpcode() != ir_op::InsertElement) return made;
        switch (i.getOpcode()) {
        case ir_op::GetElementPtr:
            if (is_address(::llvm::cast<::llvm::GetElementPtrInst>(i))) made.fold = fold_hint::address;
            break;
        case ir_op::Add:
        case ir_op::Or:
            if (is_displacement(i)) made.fold = fold_hint::address;
            break;
        case ir_op::InsertElement:
            if (is_splat(::llvm::cast<::llvm::InsertElementInst>(i))) made.fold = fold_hint::splat;
            break;
        case ir_op::ShuffleVector:
            if (const auto* const from = ::llvm::dyn_cast<::llvm::InsertElementInst>(i.getOperand(0));
                from != nullptr && from->getParent() == i.getParent() && is_splat(*from))
                made.fold = fold_hint::splat;
            break;
        case ir_op::ICmp:
            if (i.hasOneUse() && ::llvm::isa<::llvm::BranchInst>(*i.user_begin()) && user_here(i) != nullptr) made.fold = fold_hint::compare_branch;
            break;
        case ir_op::FCmp:
            if (std::all_of(i.user_begin(), i.user_end(), [&](const ::llvm::User* u) {
                    const auto* const s = ::llvm::dyn_cast<::llvm::SelectInst>(u);
                    return s != nullptr && s->getCondition() == &i && is_min_max(*s);
                }))
                made.fold = fold_hint::always;
            break;
        case ir_op::FMul:
            if (const auto* const u = user_here(i); u != nullptr && (u->getOpcode() == ir_op::FAdd || u->getOpcode() == ir_op::FSub) &&
                                                    (contract_ || (i.hasAllowContract() && u->hasAllowContract())))
                made.fold = fold_hint::multiply_add;
            break;
        case ir_op::Load:
            if (is_operand(::llvm::cast<::llvm::LoadInst>(i), made)) made.fold = fold_hint::operand;
            break;
        default: break;
        }
        return made;
    }

private:
    /// The only user of `i` if it is in the same block and not a phi; else null.
    static const ::llvm::Instruction* user_here(const ::llvm::Instruction& i) {
        if (!i.hasOneUse()) return nullptr;
        const auto* const u = ::llvm::dyn_cast<::llvm::Instruction>(*i.user_begin());
        return u != nullptr && u->getParent() == i.getParent() && !::llvm::isa<::llvm::PHINode>(u) ? u : nullptr;
    }

    /// Does the address fit an addressing mode (base + constant + index scaled by 1, 2, 4 or 8), and do only memory accesses use it?
    [[nodiscard]] bool is_address(const ::llvm::GetElementPtrInst& gep) const {
        namespace ir = ::llvm;
        if (gep.use_empty()) return false;
        for (const auto& use : gep.uses()) {
            const auto* const user = ir::cast<ir::Instruction>(use.getUser());
            if (gep.getType()->isVectorTy()) {
                const auto* const call = ir::dyn_cast<ir::IntrinsicInst>(user);
                if (call == nullptr ||
                    (call->getIntrinsicID() != ir::Intrinsic::masked_gather && call->getIntrinsicID() != ir::Intrinsic::masked_scatter))
                    return false;
            } else if (access_of(*user).pointer != &gep || (ir::isa<ir::StoreInst>(user) && user->getOperand(0) == &gep)) {
                return false;
            }
        }
        unsigned variable = 0;
        for (auto at = ir::gep_type_begin(gep), end = ir::gep_type_end(gep); at != end; ++at) {
            if (ir::isa<ir::Constant>(at.getOperand())) continue;
            const auto scale = layout_.getTypeAllocSize(at.getIndexedType()).getKnownMinValue();
            if (++variable > 1 || !(scale == 1 || scale == 2 || scale == 4 || scale == 8)) return false;
        }
        return true;
    }

    /// Is `i` an addition of a constant whose only users are indices of such addresses? The constant then becomes their displacement. An `or` with
    /// bits that are known to be zero is an addition.
    [[nodiscard]] bool is_displacement(const ::llvm::Instruction& i) const {
        namespace ir = ::llvm;
        const auto* const n = ir::dyn_cast<ir::ConstantInt>(i.getOperand(1));
        if (n == nullptr || !i.getType()->isIntegerTy(64) || n->getValue().abs().ugt(1U << 27U) || i.use_empty()) return false;
        for (const auto* const u : i.users()) {
            const auto* const gep = ir::dyn_cast<ir::GetElementPtrInst>(u);
            if (gep == nullptr || gep->getPointerOperand() == &i || !is_address(*gep)) return false;
        }
        return i.getOpcode() == ir::Instruction::Add || n->getValue().isSubsetOf(ir::computeKnownBits(i.getOperand(0), layout_).Zero);
    }

    /// Is `i` the insertion of a loaded scalar into lane 0 that only zero-element splats of the block use? It becomes a broadcast load.
    static bool is_splat(const ::llvm::InsertElementInst& i) {
        namespace ir = ::llvm;
        const auto* const load = ir::dyn_cast<ir::LoadInst>(i.getOperand(1));
        const auto* const lane = ir::dyn_cast<ir::ConstantInt>(i.getOperand(2));
        if (load == nullptr || lane == nullptr || !lane->isZero() || !ir::isa<ir::UndefValue>(i.getOperand(0)) ||
            load->getParent() != i.getParent() || !load->hasOneUse() || i.use_empty())
            return false;
        return std::all_of(i.user_begin(), i.user_end(), [&](const ir::User* u) {
            const auto* const s = ir::dyn_cast<ir::ShuffleVectorInst>(u);
            return s != nullptr && s->getParent() == i.getParent() && s->getOperand(0) == &i && s->isZeroEltSplat();
        });
    }

    /// Can the load become the memory operand of its only user, an arithmetic instruction of the block? No instruction between them may write to the
    /// loaded memory. An instruction has at most one memory operand.
    [[nodiscard]] bool is_operand(const ::llvm::LoadInst& load, const instruction& classified) {
        namespace ir = ::llvm;
        if (load.isVolatile() || load.isAtomic() || (classified.lanes & (classified.lanes - 1)) != 0) return false;
        const auto* const user = user_here(load);
        if (user == nullptr || takes_operand_.count(user) > 0) return false;
        const bool second = user->getNumOperands() > 1 && user->getOperand(1) == &load;
        switch (user->getOpcode()) {
        case ir::Instruction::FAdd:
        case ir::Instruction::FMul:
        case ir::Instruction::Add:
        case ir::Instruction::Mul:
        case ir::Instruction::And:
        case ir::Instruction::Or:
        case ir::Instruction::Xor:
        case ir::Instruction::ICmp:
        case ir::Instruction::FCmp: break;
        case ir::Instruction::FSub:
        case ir::Instruction::FDiv:
        case ir::Instruction::Sub:
            if (!second) return false;
            break;
        case ir::Instruction::Call: {
            const auto* const call = ir::dyn_cast<ir::IntrinsicInst>(user);
            if (call == nullptr) return false;
            const auto op = class_of_intrinsic(*call);
            if (op != instruction_class::fma && op != instruction_class::fminmax && op != instruction_class::fsqrt) return false;
            break;
        }
        default: return false;
        }
        const auto from = order_.lookup(&load), to = order_.lookup(user);
        const auto location = ir::MemoryLocation::get(&load);
        auto w = std::upper_bound(writes_.begin(), writes_.end(), from, [&](std::uint32_t n, const auto* i) { return n < order_.lookup(i); });
        for (int queries = 0; w != writes_.end() && order_.lookup(*w) < to; ++w)
            if (++queries > 16 || ir::isModSet(aliases_.getModRefInfo(*w, location))) return false;
        takes_operand_.insert(user);
        return true;
    }

    const ::llvm::DataLayout& layout_;
    ::llvm::BatchAAResults& aliases_;
    bool contract_;
    ::llvm::DenseMap<const ::llvm::Instruction*, std::uint32_t> order_; ///< position in the block
    std::vector<const ::llvm::Instruction*> writes_;                    ///< instructions of the block that write memory, in order
    ::llvm::DenseSet<const ::llvm::Instruction*> takes_operand_;
};

} // namespace augur::inline v0::detail

#endif
