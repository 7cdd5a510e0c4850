// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_RUN_PREPARE_HPP
#define AUGUR_LLVM_RUN_PREPARE_HPP

/// @file
/// A module made ready to be looked at and run: where it begins, what of it is reached, what of it cannot be run, and a call of it with its
/// arguments.

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

/// Reads text or bitcode.
/// @note errors: io, not_found; parse, with line and column and, where it is known, what another version of LLVM would make of it
inline result<std::unique_ptr<::llvm::Module>> read_module(const std::string& path) {
    auto* context = new ::llvm::LLVMContext; // lives as long as the process, which is the child
    ::llvm::SMDiagnostic why;
    auto made = ::llvm::parseIRFile(path, why, *context);
#if LLVM_VERSION_MAJOR == 14
    if (!made) { // it knows pointers without a type when it is told so
        context = new ::llvm::LLVMContext;
        context->enableOpaquePointers();
        ::llvm::SMDiagnostic again;
        made = ::llvm::parseIRFile(path, again, *context);
    }
#endif
    if (made) return made;
    std::string text = path +
                       (why.getLineNo() > 0 ? ":" + std::to_string(why.getLineNo()) + ":" + std::to_string(why.getColumnNo() + 1) : std::string()) +
                       ": " + why.getMessage().str();
    if (why.getLineNo() > 0) text += " in '" + why.getLineContents().take_front(120).trim().str() + "'";
    const bool missing = why.getMessage().contains("Could not open");
    if (!missing) text += "; this is LLVM " LLVM_VERSION_STRING ", which reads text of its own version best and bitcode of older ones";
    return error{missing ? errc::not_found : errc::parse, text};
}

/// The name in TVM's variable `__tvm_main__`, if there is one.
inline std::string tvm_entry(const ::llvm::Module& m) {
    const auto* const v = m.getNamedGlobal("__tvm_main__");
    if (v == nullptr || !v->hasInitializer()) return {};
    const auto* const text = ::llvm::dyn_cast<::llvm::ConstantDataArray>(v->getInitializer());
    return text != nullptr && text->isCString() ? text->getAsCString().str() : std::string();
}

/// @note errors: not_found, with what there is
inline result<::llvm::Function*> find_entry(::llvm::Module& m, const std::string& wanted) {
    const auto defined = [&](const std::string& name) -> ::llvm::Function* {
        auto* const f = m.getFunction(name);
        return f != nullptr && !f->isDeclaration() ? f : nullptr;
    };
    const std::string name = wanted.empty() ? tvm_entry(m) : wanted;
    if (!name.empty()) { // of TVM's functions the one behind the checks of arguments, where it was not inlined
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
    const std::string there = candidates.empty() ? "nothing that could be called" : names + (candidates.size() > 5 ? ", ..." : "");
    return error{errc::not_found,
                 wanted.empty() ? "which function is to run? There is " + there : "no function '" + wanted.substr(0, 80) + "', there is " + there};
}

/// Functions that `from` uses, itself among them, in the order in which they are met; through variables too.
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
        for (auto& o : c->operands()) self(self, o.get()); // a variable's operand is its value
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

/// What cannot be run or counted.
inline const char* obstacle(const ::llvm::Instruction& i) {
    namespace ir = ::llvm;
    if (const auto* const call = ir::dyn_cast<ir::CallBase>(&i);
        call != nullptr && call->isInlineAsm() && !ir::cast<ir::InlineAsm>(call->getCalledOperand())->getAsmString().empty())
        return "inline assembly";
    if (ir::isa<ir::IndirectBrInst, ir::CallBrInst>(i)) return "a branch to a computed address";
    if (ir::isa<ir::VAArgInst>(i)) return "arguments without types";
    if (i.isEHPad() || ir::isa<ir::ResumeInst>(i)) return "exception handling in code that may run";
    if (ir::isa<ir::ScalableVectorType>(i.getType())) return "vectors whose length is not known";
    for (const auto& o : i.operands())
        if (ir::isa<ir::ScalableVectorType>(o->getType())) return "vectors whose length is not known";
    return nullptr;
}

/// A module, ready: the functions that are reached and have a body, the entry first, and those that somebody else would have.
struct prepared_module {
    std::vector<::llvm::Function*> functions;
    std::vector<::llvm::Function*> foreign; ///< that nobody here has: a call of one ends the run, by its name
};

/// What is done to a module before it is looked at: what is not reached goes, what ties it to a machine or a file format goes, exceptions become
/// calls, and, if so asked, variables become registers.
/// @note errors: unsupported, for what cannot be run or counted, by name and place; not_found, for a variable that nobody has
inline result<prepared_module> prepare_module(::llvm::Module& m, ::llvm::Function& entry, const ir_options& o) {
    namespace ir = ::llvm;
    if (!m.getModuleInlineAsm().empty()) return error{errc::unsupported, "the module has inline assembly"};
    if (m.getDataLayout().getPointerSizeInBits() != 64 || m.getDataLayout().isBigEndian())
        return error{errc::unsupported,
                     "the module is for a machine with other pointers than 64 bits, little end first: '" + m.getDataLayoutStr() + "'"};
    for (const char* const name : {"llvm.global_ctors", "llvm.global_dtors", "llvm.used", "llvm.compiler.used"}) // TVM's are empty
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
                if (const char* const what = obstacle(i))
                    return error{errc::unsupported, "function '" + f->getName().take_front(80).str() + "', block '" +
                                                        block.getName().take_front(80).str() + "': " + what + ", which cannot be counted"};
        for (const char* const a : {"target-cpu", "target-features", "tune-cpu", "probe-stack"})
            f->removeFnAttr(a); // it runs here, whatever it is for
        for (const auto a :
             {ir::Attribute::StackProtect, ir::Attribute::StackProtectReq, ir::Attribute::StackProtectStrong, ir::Attribute::OptimizeNone})
            f->removeFnAttr(a);
        if (f->hasFnAttribute(ir::Attribute::Naked)) return error{errc::unsupported, "function '" + f->getName().str() + "' is naked"};
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
        if (const void* const address = name.starts_with("__TVM") ? ir_runtime::find(name.substr(2)) : nullptr) { // a pointer that the host fills
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

/// Gives the functions that nobody has a body that says so.
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
