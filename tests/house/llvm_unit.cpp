// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A unit as it stands in a compiler's tree: LLVM's headers before and after ours, both namespaces open, no exceptions, no RTTI.
// Where both have a name (errc, error, task, ...) it is written with its namespace, as everywhere in LLVM's tree.
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include "augur_std_only.hpp"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace augur;

namespace {

// A schedule kept in LLVM's types.
struct Transform {
    StringRef Kind;
    SmallVector<int64_t, 4> Factors;
};
using Plan = SmallVector<Transform, 8>;

} // namespace

template <>
struct augur::schedule_traits<Plan> {
    static void visit(const Plan& P, auto& Sink) {
        for (const auto& T : P) {
            Sink.primitive(std::string_view(T.Kind.data(), T.Kind.size()));
            for (int64_t F : T.Factors) Sink.number(F);
        }
    }
};
// A kernel is a function of a module.
template <>
struct augur::task_traits<Function> {
    static std::string_view key(const Function& F) { return {F.getName().data(), F.getName().size()}; }
};
static_assert(schedule<Plan> && augur::task<Function>);

namespace {

Expected<unsigned> countPrimitives(const Plan& P) {
    if (auto Checked = testing::check_schedule(P); !Checked) return createStringError(inconvertibleErrorCode(), Checked.error().detail);
    recording_sink Seen;
    schedule_traits<Plan>::visit(P, Seen);
    unsigned N = 0;
    for (const auto& Item : Seen.items) N += Item.type == schedule_item::kind::primitive;
    return N;
}

} // namespace

int main() {
    LLVMContext Context;
    Module M("unit", Context);
    auto* F = Function::Create(FunctionType::get(Type::getVoidTy(Context), false), GlobalValue::ExternalLinkage, "dense", M);
    Plan P;
    P.push_back({"SP", {64, 8}});
    P.push_back({"AN", {2}});
    random_engine Random(7);
    DenseMap<uint64_t, unsigned> Counts;
    ++Counts[Random.below(10)];
    auto N = countPrimitives(P);
    if (!N) {
        errs() << toString(N.takeError()) << '\n';
        return 1;
    }
    return *N == 2 && augur::task_traits<Function>::key(*F) == "dense" && Counts.size() == 1 ? 0 : 1;
}
