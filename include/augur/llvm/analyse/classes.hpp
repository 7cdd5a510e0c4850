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

/// Instruction class, type, lanes and context-free fold hint of an IR instruction. The hint `always` means that the instruction costs nothing. The
/// caller handles called functions and memory intrinsics.
inline instruction classify(const ::llvm::Instruction& i, const ::llvm::DataLayout& layout) {
    using op = instruction_class;
    namespace ir = ::llvm;
    const auto make = [&](op code, ir::Type* t, fold_hint fold = fold_hint::none) {
        auto made = on_type(code, t, layout);
        made.fold = fold;
        return made;
    };
    ir::Type* const type = i.getType();
    switch (i.getOpcode()) {
    case ir::Instruction::FAdd:
    case ir::Instruction::FSub:
    case ir::Instruction::FNeg: return make(op::fadd, type);
    case ir::Instruction::FMul: return make(op::fmul, type);
    case ir::Instruction::FDiv: return make(op::fdiv, type);
    case ir::Instruction::FRem: return make(op::call, type);
    case ir::Instruction::Add:
    case ir::Instruction::Sub:
    case ir::Instruction::And:
    case ir::Instruction::Or:
    case ir::Instruction::Xor:
    case ir::Instruction::Shl:
    case ir::Instruction::LShr:
    case ir::Instruction::AShr:
    case ir::Instruction::GetElementPtr: return make(op::ialu, type);
    case ir::Instruction::Mul: {
        const auto* const n = ir::dyn_cast<ir::ConstantInt>(i.getOperand(1));
        return make(n != nullptr && n->getValue().isPowerOf2() ? op::ialu : op::imul, type);
    }
    case ir::Instruction::UDiv:
    case ir::Instruction::SDiv:
    case ir::Instruction::URem:
    case ir::Instruction::SRem: return make(class_of_division(ir::cast<ir::BinaryOperator>(i)), type);
    case ir::Instruction::ICmp:
    case ir::Instruction::FCmp: return make(op::compare, i.getOperand(0)->getType());
    case ir::Instruction::Select: return make(is_min_max(ir::cast<ir::SelectInst>(i)) ? op::fminmax : op::select, type);
    case ir::Instruction::Trunc:
        if (!type->isVectorTy() && type->getIntegerBitWidth() != 32) return make(op::convert, type, fold_hint::always); // the low part of a register
        return make(op::convert, type, type->isVectorTy() ? fold_hint::none : fold_hint::extend);
    case ir::Instruction::ZExt:
    case ir::Instruction::SExt: {
        ir::Type* const from = i.getOperand(0)->getType();
        return make(op::convert, type, from->isIntegerTy(32) && type->isIntegerTy(64) ? fold_hint::extend : fold_hint::none);
    }
    case ir::Instruction::FPTrunc:
    case ir::Instruction::FPExt:
    case ir::Instruction::FPToSI:
    case ir::Instruction::FPToUI:
    case ir::Instruction::SIToFP:
    case ir::Instruction::UIToFP: return make(op::convert, type);
    case ir::Instruction::BitCast:
        // A cast between integer and floating-point scalars moves the value to the other register file.
        return make(op::move, type,
                    type->isVectorTy() == i.getOperand(0)->getType()->isVectorTy() &&
                            type->isFloatingPointTy() != i.getOperand(0)->getType()->isFloatingPointTy()
                        ? fold_hint::none
                        : fold_hint::always);
    case ir::Instruction::PHI:
    case ir::Instruction::PtrToInt:
    case ir::Instruction::IntToPtr:
    case ir::Instruction::AddrSpaceCast:
    case ir::Instruction::Freeze:
    case ir::Instruction::ExtractValue:
    case ir::Instruction::InsertValue:
    case ir::Instruction::Fence: return make(op::move, type, fold_hint::always);
    case ir::Instruction::Alloca: return make(op::ialu, type, ir::cast<ir::AllocaInst>(i).isStaticAlloca() ? fold_hint::always : fold_hint::none);
    case ir::Instruction::InsertElement: {
        const bool first = ir::isa<ir::UndefValue>(i.getOperand(0)) && ir::isa<ir::Constant>(i.getOperand(2)) &&
                           ir::cast<ir::Constant>(i.getOperand(2))->isNullValue(); // a scalar is the first lane of its register
        return make(op::shuffle, type, first && element_of(type->getScalarType()) >= element_type::f16 ? fold_hint::always : fold_hint::none);
    }
    case ir::Instruction::ExtractElement: {
        const auto* const lane = ir::dyn_cast<ir::ConstantInt>(i.getOperand(1));
        return make(op::shuffle, i.getOperand(0)->getType(),
                    lane != nullptr && lane->isZero() && type->isFloatingPointTy() ? fold_hint::always : fold_hint::none);
    }
    case ir::Instruction::ShuffleVector: {
        const auto& s = ir::cast<ir::ShuffleVectorInst>(i);
        int offset = 0;
        const bool low = s.isIdentity() || (s.isExtractSubvectorMask(offset) && offset == 0) || s.isIdentityWithPadding();
        return make(op::shuffle, type, low ? fold_hint::always : fold_hint::none);
    }
    case ir::Instruction::Load: return make(op::load, type);
    case ir::Instruction::Store: return make(op::store, i.getOperand(0)->getType());
    case ir::Instruction::Br:
        return make(op::branch, type, ir::cast<ir::BranchInst>(i).isConditional() ? fold_hint::none : fold_hint::always); // else it falls through
    case ir::Instruction::Unreachable: return make(op::branch, type, fold_hint::always);
    case ir::Instruction::Switch:
    case ir::Instruction::Ret: return make(op::branch, type);
    case ir::Instruction::Call: {
        const auto& call = ir::cast<ir::CallInst>(i);
        if (const auto* const known = ir::dyn_cast<ir::IntrinsicInst>(&call)) {
            const auto code = class_of_intrinsic(*known);
            const bool writes = code == op::store || code == op::scatter, sums = code == op::reduce;
            return make(code, writes ? call.getArgOperand(0)->getType() : sums ? call.getArgOperand(call.arg_size() - 1)->getType() : type);
        }
        const auto* const f = call.getCalledFunction();
        if (f != nullptr && f->isDeclaration()) return make(class_of_function(to_view(f->getName())), type);
        if (call.isInlineAsm()) return make(op::move, type, fold_hint::always); // prepare_module accepts only empty assembly
        return make(f != nullptr ? op::branch : op::call, type);
    }
    default: return make(op::unknown, type);
    }
}

} // namespace augur::inline v0::detail

#endif
