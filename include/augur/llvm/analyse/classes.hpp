// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_ANALYSE_CLASSES_HPP
#define AUGUR_LLVM_ANALYSE_CLASSES_HPP

/// @file
/// Maps an LLVM IR instruction to Crop's instruction class, element type and number of lanes. folds.hpp adds the fold hints.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/Support/Casting.h>

#include <augur/program/concepts.hpp>

namespace augur::inline v0::detail {

inline std::string_view to_view(::llvm::StringRef s) noexcept { return {s.data(), s.size()}; }

inline element_type element_of(::llvm::Type* t) noexcept {
    if (t->isHalfTy()) return element_type::f16;
    if (t->isBFloatTy()) return element_type::bf16;
    if (t->isFloatTy()) return element_type::f32;
    if (t->isFloatingPointTy()) return element_type::f64;
    if (!t->isIntegerTy()) return element_type::i64;
    const unsigned bits = t->getIntegerBitWidth();
    return bits == 1    ? element_type::i1
           : bits <= 8  ? element_type::i8
           : bits <= 16 ? element_type::i16
           : bits <= 32 ? element_type::i32
                        : element_type::i64;
}

/// Instruction of class `op` on values of type `t`. A lane of more than 64 bits counts as several lanes.
inline instruction on_type(instruction_class op, ::llvm::Type* t, const ::llvm::DataLayout& layout) {
    constexpr std::uint64_t most = 65536;
    std::uint64_t lanes = 1;
    if (auto* const v = ::llvm::dyn_cast<::llvm::FixedVectorType>(t)) {
        lanes = v->getNumElements();
        t = v->getElementType();
    }
    if (t->isSized() && !t->isFloatingPointTy() && !t->isPointerTy() && (!t->isIntegerTy() || t->getIntegerBitWidth() > 64))
        lanes *= (layout.getTypeStoreSize(t).getKnownMinValue() + 7) / 8;
    return {op, element_of(t), fold_hint::none, static_cast<std::uint32_t>(std::clamp(lanes, std::uint64_t{1}, most))};
}

/// Instruction class of a C library function. The prefix `__` and the suffixes `f`, `l` and `_finite` are ignored. Unknown functions are `call`.
inline instruction_class class_of_function(std::string_view name) noexcept {
    if (name.starts_with("__")) name.remove_prefix(2);
    if (name.ends_with("_finite")) name.remove_suffix(7);
    using op = instruction_class;
    constexpr std::array<std::pair<std::string_view, op>, 22> known{{
        {"exp", op::exp},      {"exp2", op::exp},      {"exp10", op::exp},    {"expm1", op::exp},         {"log", op::log},  {"log2", op::log},
        {"log10", op::log},    {"log1p", op::log},     {"tanh", op::tanh},    {"erf", op::erf},           {"erfc", op::erf}, {"pow", op::pow},
        {"sqrt", op::fsqrt},   {"fabs", op::fminmax},  {"fmin", op::fminmax}, {"fmax", op::fminmax},      {"fma", op::fma},  {"floor", op::convert},
        {"ceil", op::convert}, {"trunc", op::convert}, {"rint", op::convert}, {"nearbyint", op::convert},
    }};
    for (const auto& [text, known_class] : known) {
        if (!name.starts_with(text)) continue;
        const auto rest = name.substr(text.size());
        if (rest.empty() || rest == "f" || rest == "l") return known_class;
    }
    return op::call;
}

/// Instruction class of an intrinsic call; `unknown` if it is not in the table.
inline instruction_class class_of_intrinsic(const ::llvm::IntrinsicInst& call) {
    using op = instruction_class;
    namespace id = ::llvm::Intrinsic;
    switch (call.getIntrinsicID()) {
    case id::fma:
    case id::fmuladd: return op::fma;
    case id::sqrt: return op::fsqrt;
    case id::fabs:
    case id::copysign:
    case id::minnum:
    case id::maxnum:
    case id::minimum:
    case id::maximum: return op::fminmax;
    case id::floor:
    case id::ceil:
    case id::trunc:
    case id::rint:
    case id::nearbyint:
    case id::round:
    case id::roundeven:
    case id::lround:
    case id::llround:
    case id::lrint:
    case id::llrint:
    case id::fptosi_sat:
    case id::fptoui_sat: return op::convert;
    case id::exp:
    case id::exp2: return op::exp;
    case id::log:
    case id::log2:
    case id::log10: return op::log;
    case id::pow:
    case id::powi: return op::pow;
    case id::sin:
    case id::cos: return op::call;
    case id::smin:
    case id::smax:
    case id::umin:
    case id::umax:
    case id::abs:
    case id::ctpop:
    case id::ctlz:
    case id::cttz:
    case id::bswap:
    case id::bitreverse:
    case id::fshl:
    case id::fshr:
    case id::sadd_sat:
    case id::uadd_sat:
    case id::ssub_sat:
    case id::usub_sat:
    case id::sadd_with_overflow:
    case id::uadd_with_overflow:
    case id::ssub_with_overflow:
    case id::usub_with_overflow: return op::ialu;
    case id::smul_with_overflow:
    case id::umul_with_overflow: return op::imul;
    case id::vector_reduce_add:
    case id::vector_reduce_mul:
    case id::vector_reduce_and:
    case id::vector_reduce_or:
    case id::vector_reduce_xor:
    case id::vector_reduce_smin:
    case id::vector_reduce_smax:
    case id::vector_reduce_umin:
    case id::vector_reduce_umax:
    case id::vector_reduce_fadd:
    case id::vector_reduce_fmul:
    case id::vector_reduce_fmin:
    case id::vector_reduce_fmax: return op::reduce;
    case id::masked_load:
    case id::masked_expandload: return op::load;
    case id::masked_store:
    case id::masked_compressstore: return op::store;
    case id::masked_gather: return op::gather;
    case id::masked_scatter: return op::scatter;
    default: return op::unknown;
    }
}

/// Does the intrinsic generate no machine instruction on any target? (debug information, hints to the optimiser)
inline bool is_note(const ::llvm::Instruction& i) {
    const auto* const call = ::llvm::dyn_cast<::llvm::IntrinsicInst>(&i);
    if (call == nullptr) return false;
    namespace id = ::llvm::Intrinsic;
    switch (call->getIntrinsicID()) {
    case id::dbg_declare:
    case id::dbg_label:
    case id::dbg_value:
    case id::assume:
    case id::lifetime_start:
    case id::lifetime_end:
    case id::invariant_start:
    case id::invariant_end:
    case id::launder_invariant_group:
    case id::strip_invariant_group:
    case id::experimental_noalias_scope_decl:
    case id::sideeffect:
    case id::donothing:
    case id::var_annotation:
    case id::ptr_annotation:
    case id::annotation:
    case id::expect:
    case id::prefetch: return true;
    default: return false;
    }
}

/// Is the select a minimum or maximum, `a < b ? a : b`? Vector units have one instruction for it.
inline bool is_min_max(const ::llvm::SelectInst& s) {
    const auto* const c = ::llvm::dyn_cast<::llvm::FCmpInst>(s.getCondition());
    if (c == nullptr || c->isEquality() || !c->isRelational()) return false;
    const auto *const a = c->getOperand(0), *const b = c->getOperand(1);
    return (s.getTrueValue() == a && s.getFalseValue() == b) || (s.getTrueValue() == b && s.getFalseValue() == a);
}

/// Instruction class of an integer division: a division by a constant compiles to a multiplication, by a power of two to a shift.
inline instruction_class class_of_division(const ::llvm::BinaryOperator& i) {
    const ::llvm::Value* divisor = i.getOperand(1);
    if (const auto* const c = ::llvm::dyn_cast<::llvm::Constant>(divisor); c != nullptr && divisor->getType()->isVectorTy())
        divisor = c->getSplatValue();
    const auto* const n = divisor != nullptr ? ::llvm::dyn_cast<::llvm::ConstantInt>(divisor) : nullptr;
    if (n == nullptr) return instruction_class::idiv;
    return n->getValue().isPowerOf2() ? instruction_class::ialu : instruction_class::imul;
}

/// Instruction class of a call; a call of a defined function is a branch. Memory intrinsics (memcpy) are `unknown`.
inline instruction_class class_of_call(const ::llvm::CallInst& call) {
    if (const auto* const known = ::llvm::dyn_cast<::llvm::IntrinsicInst>(&call)) return class_of_intrinsic(*known);
    const auto* const f = call.getCalledFunction();
    if (f != nullptr) return f->isDeclaration() ? class_of_function(to_view(f->getName())) : instruction_class::branch;
    return call.isInlineAsm() ? instruction_class::move : instruction_class::call;
}

/// Instruction classes of the opcodes whose class does not depend on operands.
inline constexpr auto opcode_classes = std::to_array<std::pair<unsigned, instruction_class>>({
    {::llvm::Instruction::FAdd, instruction_class::fadd},
    {::llvm::Instruction::FSub, instruction_class::fadd},
    {::llvm::Instruction::FNeg, instruction_class::fadd},
    {::llvm::Instruction::FMul, instruction_class::fmul},
    {::llvm::Instruction::FDiv, instruction_class::fdiv},
    {::llvm::Instruction::FRem, instruction_class::call},
    {::llvm::Instruction::Add, instruction_class::ialu},
    {::llvm::Instruction::Sub, instruction_class::ialu},
    {::llvm::Instruction::And, instruction_class::ialu},
    {::llvm::Instruction::Or, instruction_class::ialu},
    {::llvm::Instruction::Xor, instruction_class::ialu},
    {::llvm::Instruction::Shl, instruction_class::ialu},
    {::llvm::Instruction::LShr, instruction_class::ialu},
    {::llvm::Instruction::AShr, instruction_class::ialu},
    {::llvm::Instruction::GetElementPtr, instruction_class::ialu},
    {::llvm::Instruction::Alloca, instruction_class::ialu},
    {::llvm::Instruction::ICmp, instruction_class::compare},
    {::llvm::Instruction::FCmp, instruction_class::compare},
    {::llvm::Instruction::Trunc, instruction_class::convert},
    {::llvm::Instruction::ZExt, instruction_class::convert},
    {::llvm::Instruction::SExt, instruction_class::convert},
    {::llvm::Instruction::FPTrunc, instruction_class::convert},
    {::llvm::Instruction::FPExt, instruction_class::convert},
    {::llvm::Instruction::FPToSI, instruction_class::convert},
    {::llvm::Instruction::FPToUI, instruction_class::convert},
    {::llvm::Instruction::SIToFP, instruction_class::convert},
    {::llvm::Instruction::UIToFP, instruction_class::convert},
    {::llvm::Instruction::BitCast, instruction_class::move},
    {::llvm::Instruction::PHI, instruction_class::move},
    {::llvm::Instruction::PtrToInt, instruction_class::move},
    {::llvm::Instruction::IntToPtr, instruction_class::move},
    {::llvm::Instruction::AddrSpaceCast, instruction_class::move},
    {::llvm::Instruction::Freeze, instruction_class::move},
    {::llvm::Instruction::ExtractValue, instruction_class::move},
    {::llvm::Instruction::InsertValue, instruction_class::move},
    {::llvm::Instruction::Fence, instruction_class::move},
    {::llvm::Instruction::InsertElement, instruction_class::shuffle},
    {::llvm::Instruction::ExtractElement, instruction_class::shuffle},
    {::llvm::Instruction::ShuffleVector, instruction_class::shuffle},
    {::llvm::Instruction::Load, instruction_class::load},
    {::llvm::Instruction::Store, instruction_class::store},
    {::llvm::Instruction::Br, instruction_class::branch},
    {::llvm::Instruction::Unreachable, instruction_class::branch},
    {::llvm::Instruction::Switch, instruction_class::branch},
    {::llvm::Instruction::Ret, instruction_class::branch},
});

/// Instruction class of an IR instruction; `unknown` if its opcode is not in the table.
inline instruction_class class_of(const ::llvm::Instruction& i) {
    namespace ir = ::llvm;
    switch (i.getOpcode()) {
    case ir::Instruction::Mul: {
        const auto* const n = ir::dyn_cast<ir::ConstantInt>(i.getOperand(1));
        return n != nullptr && n->getValue().isPowerOf2() ? instruction_class::ialu : instruction_class::imul;
    }
    case ir::Instruction::UDiv:
    case ir::Instruction::SDiv:
    case ir::Instruction::URem:
    case ir::Instruction::SRem: return class_of_division(ir::cast<ir::BinaryOperator>(i));
    case ir::Instruction::Select: return is_min_max(ir::cast<ir::SelectInst>(i)) ? instruction_class::fminmax : instruction_class::select;
    case ir::Instruction::Call: return class_of_call(ir::cast<ir::CallInst>(i));
    default: break;
    }
    for (const auto& [opcode, known_class] : opcode_classes)
        if (opcode == i.getOpcode()) return known_class;
    return instruction_class::unknown;
}

/// The type that an instruction of class `op` works on: that of its operand if its result has none or another one, else that of its result.
inline ::llvm::Type* operated_type(const ::llvm::Instruction& i, instruction_class op) {
    switch (i.getOpcode()) {
    case ::llvm::Instruction::ICmp:
    case ::llvm::Instruction::FCmp:
    case ::llvm::Instruction::Store:
    case ::llvm::Instruction::ExtractElement: return i.getOperand(0)->getType();
    default: break;
    }
    const auto* const call = ::llvm::dyn_cast<::llvm::IntrinsicInst>(&i);
    if (call == nullptr) return i.getType();
    if (op == instruction_class::store || op == instruction_class::scatter) return call->getArgOperand(0)->getType();
    if (op == instruction_class::reduce) return call->getArgOperand(call->arg_size() - 1)->getType();
    return i.getType();
}

/// Fold hint of a conversion of register contents: the low part of a register costs nothing; addresses and memory operands extend 32 bits to 64.
inline fold_hint fold_of_cast(const ::llvm::CastInst& i) {
    ::llvm::Type *const type = i.getType(), *const source = i.getOperand(0)->getType();
    switch (i.getOpcode()) {
    case ::llvm::Instruction::Trunc:
        if (type->isVectorTy()) return fold_hint::none;
        return type->getIntegerBitWidth() == 32 ? fold_hint::extend : fold_hint::always;
    case ::llvm::Instruction::ZExt:
    case ::llvm::Instruction::SExt: return source->isIntegerTy(32) && type->isIntegerTy(64) ? fold_hint::extend : fold_hint::none;
    case ::llvm::Instruction::BitCast: // between integer and floating-point scalars the value moves to the other register file
        return type->isVectorTy() == source->isVectorTy() && type->isFloatingPointTy() != source->isFloatingPointTy() ? fold_hint::none
                                                                                                                      : fold_hint::always;
    case ::llvm::Instruction::PtrToInt:
    case ::llvm::Instruction::IntToPtr:
    case ::llvm::Instruction::AddrSpaceCast: return fold_hint::always;
    default: return fold_hint::none;
    }
}

/// Does a shuffle of lanes cost nothing? A scalar is the first lane of its register, and a narrow vector the first lanes.
inline bool is_free_shuffle(const ::llvm::Instruction& i) {
    namespace ir = ::llvm;
    if (const auto* const s = ir::dyn_cast<ir::ShuffleVectorInst>(&i)) {
        int offset = 0;
        return s->isIdentity() || (s->isExtractSubvectorMask(offset) && offset == 0) || s->isIdentityWithPadding();
    }
    if (ir::isa<ir::ExtractElementInst>(i)) {
        const auto* const lane = ir::dyn_cast<ir::ConstantInt>(i.getOperand(1));
        return lane != nullptr && lane->isZero() && i.getType()->isFloatingPointTy();
    }
    const auto* const lane = ir::dyn_cast<ir::Constant>(i.getOperand(2));
    return ir::isa<ir::UndefValue>(i.getOperand(0)) && lane != nullptr && lane->isNullValue() &&
           element_of(i.getType()->getScalarType()) >= element_type::f16;
}

/// Fold hint of an instruction without its context; folds.hpp adds those of the context.
inline fold_hint context_free_fold(const ::llvm::Instruction& i) {
    namespace ir = ::llvm;
    if (const auto* const cast = ir::dyn_cast<ir::CastInst>(&i)) return fold_of_cast(*cast);
    bool is_free = false;
    switch (i.getOpcode()) {
    case ir::Instruction::PHI:
    case ir::Instruction::Freeze:
    case ir::Instruction::ExtractValue:
    case ir::Instruction::InsertValue:
    case ir::Instruction::Fence:
    case ir::Instruction::Unreachable: is_free = true; break;
    case ir::Instruction::Alloca: is_free = ir::cast<ir::AllocaInst>(i).isStaticAlloca(); break;
    case ir::Instruction::InsertElement:
    case ir::Instruction::ExtractElement:
    case ir::Instruction::ShuffleVector: is_free = is_free_shuffle(i); break;
    case ir::Instruction::Br: is_free = !ir::cast<ir::BranchInst>(i).isConditional(); break; // it falls through
    case ir::Instruction::Call: is_free = ir::cast<ir::CallInst>(i).isInlineAsm(); break;    // prepare_module accepts only empty assembly
    default: break;
    }
    return is_free ? fold_hint::always : fold_hint::none;
}

/// Instruction class, type, lanes and context-free fold hint of an IR instruction. The hint `always` means that the instruction costs nothing. The
/// caller handles called functions and memory intrinsics.
inline instruction classify(const ::llvm::Instruction& i, const ::llvm::DataLayout& layout) {
    const auto op = class_of(i);
    auto made = on_type(op, operated_type(i, op), layout);
    made.fold = context_free_fold(i);
    return made;
}

} // namespace augur::inline v0::detail

#endif
