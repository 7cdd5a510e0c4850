// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_RUN_ENTRY_HPP
#define AUGUR_LLVM_RUN_ENTRY_HPP

/// @file
/// Generates the call of the traced program, with plain arguments or with TVM's packed calling conventions, and infers the trip count of parallel
/// loop bodies.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <augur/llvm/run/watched_run.hpp>

namespace augur::inline v0::detail {

/// DLTensor of DLPack (dlpack.h).
struct dl_tensor {
    void* data;
    std::int32_t device_type, device_id;
    std::int32_t ndim;
    std::uint8_t code, bits;
    std::uint16_t lanes;
    std::int64_t* shape;
    std::int64_t* strides;
    std::uint64_t byte_offset;
};

/// Calling conventions of TVM's packed functions.
enum class packed_form : std::uint8_t {
    none,
    c,   ///< int f(TVMValue* args, int* type_codes, int num_args, TVMValue* ret, int* ret_code, void* handle)
    ffi, ///< int f(void* handle, TVMFFIAny* args, int num_args, TVMFFIAny* ret)
};
inline packed_form packed_form_of(const ::llvm::Function& f) {
    const auto is = [&](std::initializer_list<bool> pointers) {
        if (f.arg_size() != pointers.size() || !f.getReturnType()->isIntegerTy(32)) return false;
        auto p = pointers.begin();
        for (const auto& a : f.args())
            if (*p++ ? !a.getType()->isPointerTy() : !a.getType()->isIntegerTy(32)) return false;
        return true;
    };
    if (is({true, true, false, true, true, true})) return packed_form::c;
    if (is({true, true, false, true})) return packed_form::ffi;
    return packed_form::none;
}

/// Memory that the arguments of the call point to. It must live while the program runs.
struct call_memory {
    struct any {
        std::int32_t type_index = 0, zero = 0;
        void* pointer = nullptr;
    };
    std::vector<std::unique_ptr<dl_tensor>> tensors;
    std::vector<std::vector<std::int64_t>> shapes;
    std::vector<void*> values;
    std::vector<std::int32_t> codes;
    std::vector<any> anys;
    std::int64_t result[4] = {};
    std::int32_t result_code = 0;
};

/// Maps the memory of a buffer argument and returns its address. Error: io.
/// @param b  null, or a size of 0: a buffer of unknown size
inline result<std::uint64_t> map_argument(const ir_buffer* b, std::size_t number, const ir_options& o, fenced_memory& memory) {
    const bool sized = b != nullptr && b->bytes > 0;
    return memory.map(sized ? b->bytes : o.reserve_bytes, "argument " + std::to_string(number) + (sized ? "" : " (a buffer of unknown size)"));
}

/// The constant pointer `p` as a value of type `t`.
inline ::llvm::Value* constant_pointer(::llvm::IRBuilder<>& at, const void* p, ::llvm::Type* t) {
    return at.CreateIntToPtr(at.getInt64(reinterpret_cast<std::uint64_t>(p)), t);
}

/// Arguments of a packed function of TVM: all elements of `ir_options::arguments` are tensors. Error: io.
inline result<std::vector<::llvm::Value*>> packed_arguments(::llvm::IRBuilder<>& at, const ::llvm::Function& f, packed_form form, const ir_options& o,
                                                            fenced_memory& memory, call_memory& kept) {
    for (std::size_t i = 0; i < o.arguments.size(); ++i) {
        const auto& b = std::get<ir_buffer>(o.arguments[i]);
        const auto data = map_argument(&b, i, o, memory);
        if (!data) return data.error();
        kept.shapes.push_back(b.shape);
        const auto bits = b.type == element_type::i1 ? std::int64_t{1} : bytes_of(b.type) * 8;
        const std::uint8_t code = b.type == element_type::bf16 ? 4 : b.type == element_type::i1 ? 1 : is_float(b.type) ? 2 : 0;
        kept.tensors.push_back(std::make_unique<dl_tensor>(dl_tensor{reinterpret_cast<void*>(*data), 1, 0, static_cast<std::int32_t>(b.shape.size()),
                                                                     code, static_cast<std::uint8_t>(bits), 1, nullptr, nullptr, 0}));
    }
    for (std::size_t i = 0; i < kept.tensors.size(); ++i) {
        auto& t = *kept.tensors[i];
        t.shape = kept.shapes[i].data();
        kept.values.push_back(&t);
        kept.codes.push_back(7); // kTVMDLTensorHandle
        kept.anys.push_back({7, 0, &t});
    }
    const auto parameter = [&](unsigned i) { return f.getFunctionType()->getParamType(i); };
    const auto pointer = [&](const void* p, unsigned i) { return constant_pointer(at, p, parameter(i)); };
    ::llvm::Value* const n = at.getInt32(static_cast<std::uint32_t>(kept.tensors.size()));
    if (form == packed_form::c)
        return std::vector<::llvm::Value*>{
            pointer(kept.values.data(), 0), pointer(kept.codes.data(), 1), n,
            pointer(kept.result, 3),        pointer(&kept.result_code, 4), ::llvm::Constant::getNullValue(parameter(5))};
    return std::vector<::llvm::Value*>{::llvm::Constant::getNullValue(parameter(0)), pointer(kept.anys.data(), 1), n, pointer(kept.result, 3)};
}

/// Arguments of a function that takes buffers and numbers. The integer parameters of TVM's functions `*_compute_` are the device and have no element
/// in `ir_options::arguments`. Errors: invalid_argument (the message names the parameter); io.
inline result<std::vector<::llvm::Value*>> plain_arguments(::llvm::IRBuilder<>& at, const ::llvm::Function& f, bool tvm, const ir_options& o,
                                                           fenced_memory& memory) {
    namespace ir = ::llvm;
    const auto refuse = [&](std::size_t i, const std::string& text) {
        return error{errc::invalid_argument, "argument " + std::to_string(i) + " of '" + f.getName().take_front(80).str() + "': " + text};
    };
    std::vector<ir::Value*> arguments;
    std::size_t next = 0;
    for (const auto& a : f.args()) {
        auto* const t = a.getType();
        const ir_argument* given = nullptr;
        if (!(tvm && t->isIntegerTy()) && next < o.arguments.size()) given = &o.arguments[next];
        const std::size_t number = tvm ? next : a.getArgNo();
        if (!(tvm && t->isIntegerTy())) ++next;
        if (t->isPointerTy()) {
            if (given != nullptr && !std::holds_alternative<ir_buffer>(*given)) return refuse(number, "expected a buffer, got a number");
            const auto data = map_argument(given != nullptr ? std::get_if<ir_buffer>(given) : nullptr, number, o, memory);
            if (!data) return data.error();
            arguments.push_back(constant_pointer(at, reinterpret_cast<void*>(*data), t));
        } else if (t->isIntegerTy() && t->getIntegerBitWidth() <= 64) {
            const auto* const value = given != nullptr ? std::get_if<std::int64_t>(given) : nullptr;
            if (value == nullptr && !tvm) return refuse(number, "expected an integer in ir_options.arguments, got none");
            arguments.push_back(ir::ConstantInt::getSigned(t, value != nullptr ? *value : 0));
        } else if (t->isFloatingPointTy()) {
            if (given != nullptr && std::holds_alternative<ir_buffer>(*given)) return refuse(number, "expected a number, got a buffer");
            const auto* const real = given != nullptr ? std::get_if<double>(given) : nullptr;
            const auto* const whole = given != nullptr ? std::get_if<std::int64_t>(given) : nullptr;
            arguments.push_back(ir::ConstantFP::get(t, real != nullptr ? *real : whole != nullptr ? static_cast<double>(*whole) : 1.0));
        } else {
            return refuse(number, "expected a parameter of pointer, integer or floating-point type");
        }
    }
    if (next < o.arguments.size())
        return error{errc::invalid_argument, "'" + f.getName().take_front(80).str() + "' takes " + std::to_string(next) + " arguments, got " +
                                                 std::to_string(o.arguments.size())};
    return arguments;
}

/// Adds the function `i32 augur.entry()`, which calls the program with its arguments, and returns its name.
/// Errors: invalid_argument (the message names the parameter); io.
inline result<std::string> add_entry(::llvm::Module& m, ::llvm::Function& f, const ir_options& o, fenced_memory& memory, call_memory& kept) {
    namespace ir = ::llvm;
    auto& context = m.getContext();
    const std::string name = "augur.entry";
    auto* const type = ir::FunctionType::get(ir::Type::getInt32Ty(context), false);
    auto* const made = ir::Function::Create(type, ir::GlobalValue::ExternalLinkage, name, m);
    ir::IRBuilder<> at(ir::BasicBlock::Create(context, "", made));
    const bool all_tensors = !o.arguments.empty() && std::all_of(o.arguments.begin(), o.arguments.end(), [](const ir_argument& a) {
        const auto* const b = std::get_if<ir_buffer>(&a);
        return b != nullptr && !b->shape.empty();
    });
    const auto form = packed_form_of(f);
    const bool tvm = to_view(f.getName()).ends_with("_compute_");
    const auto arguments =
        form != packed_form::none && all_tensors ? packed_arguments(at, f, form, o, memory, kept) : plain_arguments(at, f, tvm, o, memory);
    if (!arguments) return arguments.error();
    auto* const call = at.CreateCall(&f, *arguments);
    call->setCallingConv(f.getCallingConv());
    const bool status = form != packed_form::none || tvm;
    if (status && f.getReturnType()->isIntegerTy(32)) at.CreateRet(call);
    else at.CreateRet(at.getInt32(0));
    return name;
}

/// Trip count of the loop that a TVM parallel body divides among its tasks. Its first parameter is the task number; TVM limits the range that depends
/// on that parameter by a constant (a minimum, or a comparison of the induction variable). 0: no constant was found, or different ones.
inline std::uint64_t loop_extent(const ::llvm::Function& f) {
    namespace ir = ::llvm;
    if (f.arg_size() < 1 || !f.getArg(0)->getType()->isIntegerTy()) return 0;
    std::vector<const ir::Value*> work{f.getArg(0)};
    ir::SmallPtrSet<const ir::Value*, 32> seen{f.getArg(0)};
    std::uint64_t found = 0;
    bool unique = true;
    const auto limit = [&](const ir::Value* v) {
        const auto* const n = ir::dyn_cast<ir::ConstantInt>(v);
        if (n == nullptr || n->isNegative() || n->isZero()) return;
        unique = unique && (found == 0 || found == n->getZExtValue());
        found = n->getZExtValue();
    };
    while (!work.empty()) {
        const auto* const v = work.back();
        work.pop_back();
        for (const auto* const u : v->users()) {
            const auto* const i = ir::dyn_cast<ir::Instruction>(u);
            if (i == nullptr) continue;
            switch (i->getOpcode()) {
            case ir::Instruction::Call:
                if (const auto* const call = ir::dyn_cast<ir::IntrinsicInst>(i);
                    call != nullptr && (call->getIntrinsicID() == ir::Intrinsic::smin || call->getIntrinsicID() == ir::Intrinsic::umin))
                    limit(call->getArgOperand(1));
                break;
            case ir::Instruction::ICmp: {
                const auto predicate = ir::cast<ir::ICmpInst>(i)->getPredicate();
                if (i->getOperand(0) == v && (predicate == ir::CmpInst::ICMP_SLT || predicate == ir::CmpInst::ICMP_ULT)) limit(i->getOperand(1));
                break;
            }
            case ir::Instruction::Add:
            case ir::Instruction::Mul:
            case ir::Instruction::Shl:
            case ir::Instruction::SExt:
            case ir::Instruction::ZExt:
            case ir::Instruction::Trunc:
            case ir::Instruction::PHI:
                if (seen.insert(i).second) work.push_back(i);
                break;
            default: break;
            }
        }
    }
    return unique && found < std::uint64_t{1} << 31U ? found : 0;
}

} // namespace augur::inline v0::detail

#endif
