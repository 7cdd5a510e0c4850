// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_RUN_JIT_HPP
#define AUGUR_LLVM_RUN_JIT_HPP

/// @file
/// JIT compiler for an LLVM module on the host, based on ORC LLJIT. It handles the API differences between LLVM 14 and 19.

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

/// Compiles one module for the host and links it into this process.
class ir_jit {
public:
    /// Creates a compiler for the host. Error: unsupported.
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

    /// Sets the target triple and data layout of the module to those of the host.
    void adopt(::llvm::Module& m) const {
        m.setTargetTriple(machine_->getTargetTriple().str());
        m.setDataLayout(machine_->createDataLayout());
    }

    /// Compiles and links the module. The code generator changes the module. Error: unsupported.
    /// @param symbols  `ir_options::symbols`
    result<void> compile(::llvm::Module& m, const std::vector<std::pair<std::string, const void*>>& symbols) {
        auto object = ::llvm::orc::SimpleCompiler(*machine_)(m);
        if (!object) return failed("cannot compile", object.takeError());
        ::llvm::orc::LLJITBuilder builder;
        builder.setJITTargetMachineBuilder(host_);
        builder.setPlatformSetUp(::llvm::orc::setUpInactivePlatform); // no static constructors, no atexit handlers
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
        if (auto failure = library.define(::llvm::orc::absoluteSymbols(std::move(map))))
            return failed("cannot define the runtime", std::move(failure));
        auto process = ::llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
            jit_->getDataLayout().getGlobalPrefix(), [](const ::llvm::orc::SymbolStringPtr& name) { return ir_runtime::is_library(to_view(*name)); });
        if (!process) return failed("cannot look into this process", process.takeError());
        library.addGenerator(std::move(*process));
        if (auto failure = jit_->addObjectFile(std::move(*object))) return failed("cannot link", std::move(failure));
        return {};
    }

    /// Address of a symbol. Error: not_found, also for an undefined symbol that the program needs.
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

    static error failed(const char* action, ::llvm::Error failure) {
        std::string text = ::llvm::toString(std::move(failure));
        if (text.size() > 300) text.resize(300);
        return {errc::unsupported, std::string(action) + ": " + text};
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
