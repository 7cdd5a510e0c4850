// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_RUN_JIT_HPP
#define AUGUR_LLVM_RUN_JIT_HPP

/// @file
/// Compiles a module for this machine and links it into this process, by ORC. What differs between LLVM 14 and 19 is here.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <augur/llvm/run/runtime.hpp>

#if LLVM_VERSION_MAJOR < 14
#error "augur/llvm needs LLVM 14 or later"
#endif

namespace augur::inline v0::detail {

class ir_jit {
public:
    /// For this machine.   errors: unsupported
    static result<std::unique_ptr<ir_jit>> create() {
        ::llvm::InitializeNativeTarget();
        ::llvm::InitializeNativeTargetAsmPrinter();
        auto host = ::llvm::orc::JITTargetMachineBuilder::detectHost();
        if (!host) return failed("no target for this machine", host.takeError());
#if LLVM_VERSION_MAJOR >= 18
        host->setCodeGenOptLevel(::llvm::CodeGenOptLevel::Less);
#else
        host->setCodeGenOptLevel(::llvm::CodeGenOpt::Less);
#endif
        auto machine = host->createTargetMachine();
        if (!machine) return failed("no target for this machine", machine.takeError());
        return std::unique_ptr<ir_jit>(new ir_jit(std::move(*host), std::move(*machine)));
    }

    /// The module is this machine's from now on.
    void adopt(::llvm::Module& m) const {
        m.setTargetTriple(machine_->getTargetTriple().str());
        m.setDataLayout(machine_->createDataLayout());
    }

    /// Compiles and links. The module is left as the code generator leaves it.
    /// @param symbols  what the options add   @note errors: unsupported
    result<void> compile(::llvm::Module& m, const std::vector<std::pair<std::string, const void*>>& symbols) {
        auto object = ::llvm::orc::SimpleCompiler(*machine_)(m);
        if (!object) return failed("cannot compile", object.takeError());
        ::llvm::orc::LLJITBuilder builder;
        builder.setJITTargetMachineBuilder(host_);
        builder.setPlatformSetUp(::llvm::orc::setUpInactivePlatform); // no constructors, no atexit
#if LLVM_VERSION_MAJOR >= 17
        builder.setLinkProcessSymbolsByDefault(false);
#endif
        auto jit = builder.create();
        if (!jit) return failed("no just-in-time compiler", jit.takeError());
        jit_ = std::move(*jit);
        auto& library = jit_->getMainJITDylib();
        ::llvm::orc::SymbolMap map;
        for (const auto& s : ir_runtime::symbols()) map[jit_->mangleAndIntern({s.name.data(), s.name.size()})] = symbol(s.address);
        for (const auto& s : symbols) map[jit_->mangleAndIntern(s.first)] = symbol(s.second);
        if (auto why = library.define(::llvm::orc::absoluteSymbols(std::move(map)))) return failed("cannot define the runtime", std::move(why));
        auto process = ::llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
            jit_->getDataLayout().getGlobalPrefix(), [](const ::llvm::orc::SymbolStringPtr& name) { return ir_runtime::is_library(to_view(*name)); });
        if (!process) return failed("cannot look into this process", process.takeError());
        library.addGenerator(std::move(*process));
        if (auto why = jit_->addObjectFile(std::move(*object))) return failed("cannot link", std::move(why));
        return {};
    }

    /// @note errors: not_found, for what the program needs as well
    result<std::uint64_t> address(const std::string& name) {
        auto found = jit_->lookup(name);
        if (!found) return error{errc::not_found, failed("cannot link", found.takeError()).detail};
#if LLVM_VERSION_MAJOR >= 15
        return found->getValue();
#else
        return found->getAddress();
#endif
    }

private:
    ir_jit(::llvm::orc::JITTargetMachineBuilder host, std::unique_ptr<::llvm::TargetMachine> machine)
        : host_(std::move(host)), machine_(std::move(machine)) {}

    static error failed(const char* what, ::llvm::Error why) {
        std::string text = ::llvm::toString(std::move(why));
        if (text.size() > 300) text.resize(300);
        return {errc::unsupported, std::string(what) + ": " + text};
    }
#if LLVM_VERSION_MAJOR >= 17
    static ::llvm::orc::ExecutorSymbolDef symbol(const void* address) {
        return {::llvm::orc::ExecutorAddr::fromPtr(address), ::llvm::JITSymbolFlags::Exported};
    }
#else
    static ::llvm::JITEvaluatedSymbol symbol(const void* address) {
        return {::llvm::pointerToJITTargetAddress(address), ::llvm::JITSymbolFlags::Exported};
    }
#endif

    ::llvm::orc::JITTargetMachineBuilder host_;
    std::unique_ptr<::llvm::TargetMachine> machine_;
    std::unique_ptr<::llvm::orc::LLJIT> jit_;
};

} // namespace augur::inline v0::detail

#endif
