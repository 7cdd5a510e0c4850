// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_RUN_PREPARE_HPP
#define AUGUR_LLVM_RUN_PREPARE_HPP

/// @file
/// Prepares an LLVM module for analysis and execution: finds the entry, removes unreachable functions, refuses unsupported constructs and stubs
/// missing functions.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <llvm/ADT/SetVector.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LowerInvoke.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <augur/llvm/run/runtime.hpp>

namespace augur::inline v0::detail {

/// Reads a module from LLVM text or bitcode. Errors: not_found; parse (with line and column, and the LLVM version of this build).
inline result<std::unique_ptr<::llvm::Module>> read_module(const std::string& path) {
    auto* context = new ::llvm::LLVMContext; // never freed: this runs in the child process
    ::llvm::SMDiagnostic diagnostic;
    auto made = ::llvm::parseIRFile(path, diagnostic, *context);
#if LLVM_VERSION_MAJOR == 14
    if (!made) { // LLVM 14 reads opaque pointers only in this mode
        context = new ::llvm::LLVMContext;
        context->enableOpaquePointers();
        ::llvm::SMDiagnostic again;
        made = ::llvm::parseIRFile(path, again, *context);
    }
#endif
    if (made) return made;
    std::string text = path +
                       (diagnostic.getLineNo() > 0 ? ":" + std::to_string(diagnostic.getLineNo()) + ":" + std::to_string(diagnostic.getColumnNo() + 1)
                                                   : std::string()) +
                       ": " + diagnostic.getMessage().str();
    if (diagnostic.getLineNo() > 0) text += " in '" + diagnostic.getLineContents().take_front(120).trim().str() + "'";
    const bool missing = diagnostic.getMessage().contains("Could not open");
    if (!missing) text += "; this is LLVM " LLVM_VERSION_STRING ", which reads text of its own version best and bitcode of older ones";
    return error{missing ? errc::not_found : errc::parse, text};
}

/// Name of the entry in TVM's variable `__tvm_main__`; empty if there is none.
inline std::string tvm_entry(const ::llvm::Module& m) {
    const auto* const v = m.getNamedGlobal("__tvm_main__");
    if (v == nullptr || !v->hasInitializer()) return {};
    const auto* const text = ::llvm::dyn_cast<::llvm::ConstantDataArray>(v->getInitializer());
    return text != nullptr && text->isCString() ? text->getAsCString().str() : std::string();
}

/// Finds the entry function: `wanted`, else TVM's entry, else the only external function, else `main`. Error: not_found; the message lists the
/// candidates.
inline result<::llvm::Function*> find_entry(::llvm::Module& m, const std::string& wanted) {
    const auto defined = [&](const std::string& name) -> ::llvm::Function* {
        auto* const f = m.getFunction(name);
        return f != nullptr && !f->isDeclaration() ? f : nullptr;
    };
    const std::string name = wanted.empty() ? tvm_entry(m) : wanted;
    if (!name.empty()) { // prefers TVM's function without the argument checks, which exists unless it was inlined
        if (auto* const f = defined(name + "_compute_")) return f;
        if (auto* const f = defined(name)) return f;
    }
    std::vector<::llvm::Function*> candidates;
    std::string names;
    for (auto& f : m) {
        if (f.isDeclaration() || !f.hasExternalLinkage()) continue;
        candidates.push_back(&f);
        if (candidates.size() <= 5) names += (names.empty() ? "'" : ", '") + f.getName().str() + "'";
    }
    if (wanted.empty()) {
        if (candidates.size() == 1) return candidates.front();
        if (auto* const f = defined("main")) return f;
    }
    const std::string available = candidates.empty() ? "nothing that could be called" : names + (candidates.size() > 5 ? ", ..." : "");
    return error{errc::not_found, wanted.empty() ? "which function is to run? There is " + available
                                                 : "no function '" + wanted.substr(0, 80) + "', there is " + available};
}

/// Functions reachable from `from` by calls, `from` included, in discovery order. With `through_addresses` also by function addresses, in
/// instructions and in the values of global variables.
inline std::vector<::llvm::Function*> reached_from(::llvm::Function& from, bool through_addresses) {
    ::llvm::SetVector<::llvm::Function*> found;
    ::llvm::SmallPtrSet<::llvm::Constant*, 32> seen;
    found.insert(&from);
    const auto look = [&](auto& self, ::llvm::Value* v) -> void {
        if (auto* const f = ::llvm::dyn_cast<::llvm::Function>(v)) {
            found.insert(f);
            return;
        }
        auto* const c = ::llvm::dyn_cast<::llvm::Constant>(v);
        if (c == nullptr || !seen.insert(c).second) return;
        for (auto& o : c->operands()) self(self, o.get()); // the operand of a global variable is its initial value
    };
    for (std::size_t i = 0; i < found.size(); ++i)
        for (auto& block : *found[i])
            for (auto& instruction : block) {
                if (auto* const call = ::llvm::dyn_cast<::llvm::CallBase>(&instruction); call != nullptr && call->getCalledFunction() != nullptr)
                    found.insert(call->getCalledFunction());
                if (through_addresses)
                    for (auto& o : instruction.operands()) look(look, o.get());
            }
    return {found.begin(), found.end()};
}

/// Name of the construct if the instruction cannot be run or counted; else null.
inline const char* obstacle(const ::llvm::Instruction& i) {
    namespace ir = ::llvm;
    if (const auto* const call = ir::dyn_cast<ir::CallBase>(&i);
        call != nullptr && call->isInlineAsm() && !ir::cast<ir::InlineAsm>(call->getCalledOperand())->getAsmString().empty())
        return "inline assembly";
    if (ir::isa<ir::IndirectBrInst, ir::CallBrInst>(i)) return "a branch to a computed address";
    if (ir::isa<ir::VAArgInst>(i)) return "a variadic argument (va_arg)";
    if (i.isEHPad() || ir::isa<ir::ResumeInst>(i)) return "exception handling in code that may run";
    if (ir::isa<ir::ScalableVectorType>(i.getType())) return "scalable vectors";
    for (const auto& o : i.operands())
        if (ir::isa<ir::ScalableVectorType>(o->getType())) return "scalable vectors";
    return nullptr;
}

/// Functions of a prepared module.
struct prepared_module {
    std::vector<::llvm::Function*> functions; ///< reachable functions with a body, the entry first
    std::vector<::llvm::Function*> foreign;   ///< reachable functions without a definition: a call ends the run with an error
};

/// Prepares a module for analysis: removes unreachable functions and attributes of a target or object format, lowers invokes to calls, and runs
/// mem2reg if `o.promote` is set.
/// Errors: unsupported (a construct that cannot be run or counted; the message has its function and block), not_found (an undefined variable).
inline result<prepared_module> prepare_module(::llvm::Module& m, ::llvm::Function& entry, const ir_options& o) {
    namespace ir = ::llvm;
    if (!m.getModuleInlineAsm().empty()) return error{errc::unsupported, "the module has inline assembly"};
    if (m.getDataLayout().getPointerSizeInBits() != 64 || m.getDataLayout().isBigEndian())
        return error{errc::unsupported, "expected a little-endian module with 64-bit pointers, got the data layout '" + m.getDataLayoutStr() + "'"};
    for (const char* const name : {"llvm.global_ctors", "llvm.global_dtors", "llvm.used", "llvm.compiler.used"}) // empty in modules of TVM
        if (auto* const v = m.getNamedGlobal(name)) v->eraseFromParent();
    prepared_module out;
    const auto known = [&](ir::StringRef name) {
        const auto view = to_view(name);
        return ir_runtime::find(view) != nullptr || ir_runtime::is_library(view) ||
               std::any_of(o.symbols.begin(), o.symbols.end(), [&](const auto& s) { return s.first == view; });
    };
    const auto reached = reached_from(entry, true);
    for (auto* const f : reached) {
        if (f->isDeclaration()) {
            if (!f->isIntrinsic() && !known(f->getName())) out.foreign.push_back(f);
            continue;
        }
        out.functions.push_back(f);
        ir::FunctionAnalysisManager none;
        if (f->hasPersonalityFn()) {
            ir::LowerInvokePass().run(*f, none);
            f->setPersonalityFn(nullptr);
        }
        ir::removeUnreachableBlocks(*f);
        for (auto& block : *f)
            for (auto& i : block)
                if (const char* const construct = obstacle(i))
                    return error{errc::unsupported, "function '" + f->getName().take_front(80).str() + "', block '" +
                                                        block.getName().take_front(80).str() + "': " + construct + ", which cannot be counted"};
        for (const char* const a : {"target-cpu", "target-features", "tune-cpu", "probe-stack"})
            f->removeFnAttr(a); // the program runs on this machine
        for (const auto a :
             {ir::Attribute::StackProtect, ir::Attribute::StackProtectReq, ir::Attribute::StackProtectStrong, ir::Attribute::OptimizeNone})
            f->removeFnAttr(a);
        if (f->hasFnAttribute(ir::Attribute::Naked)) return error{errc::unsupported, "function '" + f->getName().str() + "' has the attribute naked"};
        f->setSection("");
        f->setComdat(nullptr);
        f->setDLLStorageClass(ir::GlobalValue::DefaultStorageClass);
    }
    const ir::SmallPtrSet<ir::Function*, 32> keep(reached.begin(), reached.end());
    for (auto& f : ir::make_early_inc_range(m)) {
        if (keep.count(&f) > 0) continue;
        if (!f.isDeclaration()) {
            f.deleteBody();
            f.setComdat(nullptr);
        }
    }
    for (auto& v : ir::make_early_inc_range(m.globals())) {
        v.removeDeadConstantUsers();
        v.setThreadLocal(false);
        v.setDLLStorageClass(ir::GlobalValue::DefaultStorageClass);
        v.setSection("");
        v.setComdat(nullptr);
        const auto name = to_view(v.getName());
        if (const void* const address =
                name.starts_with("__TVM") ? ir_runtime::find(name.substr(2)) : nullptr) { // a function pointer that the host sets
            v.setInitializer(ir::ConstantExpr::getIntToPtr(
                ir::ConstantInt::get(ir::Type::getInt64Ty(m.getContext()), reinterpret_cast<std::uint64_t>(address)), v.getValueType()));
            v.setLinkage(ir::GlobalValue::InternalLinkage);
        } else if (v.use_empty()) {
            v.eraseFromParent();
        } else if (v.isDeclaration() && !known(v.getName())) {
            return error{errc::not_found, "the program needs a variable '" + std::string(name.substr(0, 80)) + "' from outside"};
        }
    }
    if (o.promote)
        for (auto* const f : out.functions) {
            ir::DominatorTree tree(*f);
            std::vector<ir::AllocaInst*> variables;
            for (auto& i : f->getEntryBlock())
                if (auto* const a = ir::dyn_cast<ir::AllocaInst>(&i); a != nullptr && ir::isAllocaPromotable(a)) variables.push_back(a);
            if (!variables.empty()) ir::PromoteMemToReg(variables, tree);
        }
    return out;
}

/// Gives each undefined function a body that calls `hook` with its index.
inline void stub_foreign(const std::vector<::llvm::Function*>& list, void (*hook)(std::uint64_t), ::llvm::Module& m) {
    namespace ir = ::llvm;
    auto& context = m.getContext();
    for (std::size_t i = 0; i < list.size(); ++i) {
        ir::IRBuilder<> at(ir::BasicBlock::Create(context, "", list[i]));
        auto* const type = ir::FunctionType::get(at.getVoidTy(), {at.getInt64Ty()}, false);
        auto* const place = at.CreateIntToPtr(at.getInt64(reinterpret_cast<std::uint64_t>(hook)), ir::PointerType::getUnqual(type));
        at.CreateCall(type, place, {at.getInt64(i)});
        at.CreateUnreachable();
        list[i]->setLinkage(ir::GlobalValue::InternalLinkage);
        list[i]->setDLLStorageClass(ir::GlobalValue::DefaultStorageClass);
    }
}

} // namespace augur::inline v0::detail

#endif
