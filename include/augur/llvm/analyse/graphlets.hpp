// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_ANALYSE_GRAPHLETS_HPP
#define AUGUR_LLVM_ANALYSE_GRAPHLETS_HPP

/// @file
/// Builds Crop's control-flow graph of an LLVM IR function: a dependence graphlet per block and the dependences between consecutive blocks (Crop,
/// sections 3.1.1 and 3.1.2).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>

#include <augur/llvm/analyse/folds.hpp>
#include <augur/program/graph/control_flow.hpp>

namespace augur::inline v0::detail {

/// Memory intrinsic (memset, memcpy, memmove) whose length is known only at run time.
struct ir_copy {
    std::uint32_t block = 0;
    std::vector<std::uint32_t> vertices;
    ::llvm::Instruction* code = nullptr;
};

/// Analysed function without execution counts.
struct ir_function {
    ::llvm::Function* code = nullptr;
    std::vector<::llvm::BasicBlock*> places; ///< (blocks)
    std::vector<basic_block> blocks;
    std::vector<control_flow_graph::new_edge> flow; ///< distinct edges, ordered by source block
    std::vector<ir_copy> copies;
};

/// Distinct successors of a block, in the order of its terminator.
inline std::vector<::llvm::BasicBlock*> distinct_successors(::llvm::BasicBlock& block) {
    std::vector<::llvm::BasicBlock*> out;
    for (auto* const next : ::llvm::successors(&block))
        if (std::find(out.begin(), out.end(), next) == out.end()) out.push_back(next);
    return out;
}

/// Builds the graphlets of a function.
///
/// A memory edge goes from a store to a load that reads its data, fully or in part. Alias analysis or the distance from scalar evolution must prove
/// the overlap. Without a proof there is no edge, because memory disambiguation in processors also speculates that accesses are independent.
class ir_graphlets {
public:
    ir_graphlets(::llvm::Function& f, ::llvm::FunctionAnalysisManager& analyses, bool contract)
        : f_(f), layout_(f.getParent()->getDataLayout()), aliases_(analyses.getResult<::llvm::AAManager>(f)), folds_(layout_, aliases_, contract),
          loops_(analyses.getResult<::llvm::LoopAnalysis>(f)), evolution_(analyses.getResult<::llvm::ScalarEvolutionAnalysis>(f)) {}

    /// Builds the control-flow graph without counts. Call it once.
    ir_function make() {
        ir_function out;
        out.code = &f_;
        ::llvm::DenseMap<const ::llvm::BasicBlock*, std::uint32_t> number;
        for (auto& block : f_) {
            number[&block] = static_cast<std::uint32_t>(out.places.size());
            out.places.push_back(&block);
        }
        accesses_.resize(out.places.size());
        for (std::uint32_t b = 0; b < out.places.size(); ++b) {
            const auto name = out.places[b]->getName();
            out.blocks.push_back({name.empty() ? "block " + std::to_string(b) : name.str(), block_graphlet(*out.places[b], b, out.copies), 0});
        }
        for (std::uint32_t b = 0; b < out.places.size(); ++b)
            for (auto* const next : distinct_successors(*out.places[b])) {
                const auto to = number.lookup(next);
                out.flow.push_back({b, to, {0, carried(*out.places[b], b, *next, to)}});
            }
        return out;
    }

private:
    struct access {
        ::llvm::MemoryLocation location;
        const ::llvm::Value* object = nullptr;
        const ::llvm::Value* pointer = nullptr;
        std::int64_t bytes = 0;
        std::uint32_t vertex = 0;
        bool settled = false; ///< a load whose whole data comes from a store of the same block
    };
    struct accesses {
        std::vector<access> loads, stores;
    };
    static constexpr std::size_t most_queries = 64; ///< limit per load: avoids quadratic time in a block of thousands of stores

    graphlet block_graphlet(::llvm::BasicBlock& block, std::uint32_t number, std::vector<ir_copy>& copies) {
        graphlet_builder builder;
        folds_.begin(block);
        std::vector<std::uint32_t> needs;
        ::llvm::DenseMap<const ::llvm::Instruction*, std::uint32_t> from_outside;
        for (auto& i : block) {
            if (is_note(i)) continue;
            needs.clear();
            if (!::llvm::isa<::llvm::PHINode>(i))
                for (const auto& o : i.operands()) {
                    const auto* const from = ::llvm::dyn_cast<::llvm::Instruction>(o.get());
                    if (from == nullptr) continue;
                    if (from->getParent() == &block) {
                        if (const auto at = vertex_.find(from); at != vertex_.end()) needs.push_back(at->second);
                    } else if (::llvm::isa<::llvm::FixedVectorType>(from->getType())) {
                        const auto [at, is_new] = from_outside.try_emplace(from, static_cast<std::uint32_t>(builder.size()));
                        if (is_new) builder.add(held(from->getType()));
                        needs.push_back(at->second);
                    }
                }
            if (auto* const copy = ::llvm::dyn_cast<::llvm::AnyMemIntrinsic>(&i)) {
                add_copy(*copy, needs, builder, number, copies);
                continue;
            }
            const auto v = builder.add(folds_.hinted(i), needs);
            vertex_[&i] = v;
            remember(i, v, builder, accesses_[number]);
        }
        return std::move(builder).take();
    }

    /// Vertex of a vector from an earlier block: no instruction, but it occupies a register.
    instruction held(::llvm::Type* t) const {
        auto made = on_type(instruction_class::move, t, layout_);
        made.fold = fold_hint::always;
        return made;
    }

    /// Appends the memory access of `i`, if any, to `list`, and adds the edges from the stores that a load reads.
    void remember(const ::llvm::Instruction& i, std::uint32_t v, graphlet_builder& builder, accesses& list) {
        const auto a = access_of(i);
        if (a.pointer == nullptr) return;
        const auto bytes = layout_.getTypeStoreSize(a.type).getKnownMinValue();
        const bool whole = !::llvm::isa<::llvm::CallInst>(i);
        access made{::llvm::MemoryLocation(a.pointer, whole ? ::llvm::LocationSize::precise(bytes) : ::llvm::LocationSize::upperBound(bytes),
                                           i.getAAMetadata()),
                    ::llvm::getUnderlyingObject(a.pointer),
                    a.pointer,
                    static_cast<std::int64_t>(bytes),
                    v,
                    false};
        if (!a.store) {
            made.settled = link(list.stores, made, [&](std::uint32_t from) { builder.after(from, v); });
            list.loads.push_back(made);
        } else {
            list.stores.push_back(made);
        }
    }

    /// Calls `edge` for the stores that the load reads, the last store first. Returns true if one store writes all bytes of the load.
    template <class Edge>
    bool link(const std::vector<access>& stores, const access& load, const Edge& edge) {
        std::size_t queries = 0;
        for (auto s = stores.rbegin(); s != stores.rend() && queries < most_queries; ++s) {
            if (s->object != load.object) continue;
            ++queries;
            const auto alias = aliases_.alias(s->location, load.location);
            if (alias == ::llvm::AliasResult::NoAlias || (alias == ::llvm::AliasResult::MayAlias && !overlap(*s, load))) continue;
            edge(s->vertex);
            if (alias == ::llvm::AliasResult::MustAlias && s->bytes >= load.bytes) return true; // MustAlias: equal start addresses
        }
        return false;
    }

    /// Does scalar evolution prove that the two accesses overlap?
    bool overlap(const access& store, const access& load) {
        const auto* const apart = ::llvm::dyn_cast<::llvm::SCEVConstant>(evolution_.getMinusSCEV(
            evolution_.getSCEV(const_cast<::llvm::Value*>(load.pointer)), evolution_.getSCEV(const_cast<::llvm::Value*>(store.pointer))));
        if (apart == nullptr || apart->getAPInt().getBitWidth() > 64) return false;
        const auto n = apart->getAPInt().getSExtValue();
        return n > -load.bytes && n < store.bytes;
    }

    /// Adds a memory intrinsic: memset as stores, memcpy as loads and stores, with one lane per byte.
    void add_copy(::llvm::AnyMemIntrinsic& copy, const std::vector<std::uint32_t>& needs, graphlet_builder& builder, std::uint32_t number,
                  std::vector<ir_copy>& copies) {
        constexpr std::uint64_t piece = 65536, pieces = 1024;
        const auto* const known = ::llvm::dyn_cast<::llvm::ConstantInt>(copy.getLength());
        const std::uint64_t bytes = known != nullptr ? (std::min)(known->getLimitedValue(), piece * pieces) : 1;
        ir_copy unknown{number, {}, &copy};
        std::uint32_t v = 0;
        for (std::uint64_t done = 0; done < bytes; done += piece) {
            instruction part{instruction_class::load, element_type::i8, fold_hint::none, static_cast<std::uint32_t>((std::min)(bytes - done, piece))};
            if (::llvm::isa<::llvm::AnyMemTransferInst>(copy)) {
                v = builder.add(part, needs);
                unknown.vertices.push_back(v);
                part.op = instruction_class::store;
                v = builder.add(part, {v});
            } else {
                part.op = instruction_class::store;
                v = builder.add(part, needs);
            }
            unknown.vertices.push_back(v);
        }
        vertex_[&copy] = v;
        if (known == nullptr) copies.push_back(std::move(unknown));
    }

    /// Dependences of block `b` on its predecessor `p`: values and stored data.
    std::vector<dependence> carried(const ::llvm::BasicBlock& p, std::uint32_t p_number, const ::llvm::BasicBlock& b, std::uint32_t b_number) {
        std::vector<dependence> out;
        for (const auto& i : b) {
            const auto to = vertex_.find(&i);
            if (to == vertex_.end()) continue;
            const auto take = [&](const ::llvm::Value* v) {
                const auto* const from = ::llvm::dyn_cast<::llvm::Instruction>(v);
                if (from == nullptr || from->getParent() != &p) return;
                if (const auto at = vertex_.find(from); at != vertex_.end()) out.push_back({at->second, to->second});
            };
            if (const auto* const phi = ::llvm::dyn_cast<::llvm::PHINode>(&i)) take(phi->getIncomingValueForBlock(&p));
            else if (&p != &b)
                for (const auto& o : i.operands()) take(o.get());
        }
        const auto* const loop = loops_.getLoopFor(&b);
        const bool back = loop != nullptr && loop->getHeader() == &b && loop->contains(&p);
        for (const auto& load : accesses_[b_number].loads) {
            if (load.settled) continue;
            if (!back) link(accesses_[p_number].stores, load, [&](std::uint32_t from) { out.push_back({from, load.vertex}); });
            else link_round(accesses_[p_number].stores, load, *loop, out);
        }
        std::sort(out.begin(), out.end(), [](const dependence& x, const dependence& y) { return x.from != y.from ? x.from < y.from : x.to < y.to; });
        out.erase(std::unique(out.begin(), out.end()), out.end());
        return out;
    }

    /// Loop-carried memory dependences of a load. Alias analysis holds within one iteration, so the addresses are compared by scalar evolution.
    void link_round(const std::vector<access>& stores, const access& load, const ::llvm::Loop& loop, std::vector<dependence>& out) {
        std::size_t queries = 0;
        for (auto s = stores.rbegin(); s != stores.rend() && queries < most_queries; ++s) {
            if (s->object != load.object) continue;
            ++queries;
            const auto* now = evolution_.getSCEV(const_cast<::llvm::Value*>(load.pointer));
            if (const auto* const moves = ::llvm::dyn_cast<::llvm::SCEVAddRecExpr>(now); moves != nullptr && moves->getLoop() == &loop)
                now = moves->getPostIncExpr(evolution_);
            else if (!evolution_.isLoopInvariant(now, &loop)) return;
            const auto* const stored = evolution_.getSCEV(const_cast<::llvm::Value*>(s->pointer));
            const auto* const apart = ::llvm::dyn_cast<::llvm::SCEVConstant>(evolution_.getMinusSCEV(now, stored));
            if (apart == nullptr || apart->getAPInt().getBitWidth() > 64) continue;
            const auto n = apart->getAPInt().getSExtValue();
            if (n <= -load.bytes || n >= s->bytes) continue;
            out.push_back({s->vertex, load.vertex});
            if (n == 0 && s->bytes == load.bytes) return;
        }
    }

    ::llvm::Function& f_;
    const ::llvm::DataLayout& layout_;
    ::llvm::BatchAAResults aliases_;
    ir_folds folds_;
    ::llvm::LoopInfo& loops_;
    ::llvm::ScalarEvolution& evolution_;
    ::llvm::DenseMap<const ::llvm::Instruction*, std::uint32_t> vertex_; ///< vertex of an instruction in the graphlet of its block
    std::vector<accesses> accesses_;                                     ///< (blocks)
};

} // namespace augur::inline v0::detail

#endif
