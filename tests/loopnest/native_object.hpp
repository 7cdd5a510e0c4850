// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_LOOPNEST_NATIVE_OBJECT_HPP
#define AUGUR_TESTS_LOOPNEST_NATIVE_OBJECT_HPP

/// @file
/// Generated programs in the process of the test, called on inputs that a test chooses; the runner fills its own.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/run/compile.hpp>

#include <doctest/doctest.h>

/// A shared object made of C, in a folder of its own; both go away with it.
class native_object {
public:
    /// @param flags  empty: those of the runner
    explicit native_object(const std::string& source, const std::vector<std::string>& flags = {}) : folder_(new_folder()) {
        const auto cc = augur::loopnest::find_compiler({{}, flags}, folder_);
        if (!cc) FAIL(cc.error().detail);
        const auto c = folder_.path() + "/program.c", so = folder_.path() + "/program.so";
        REQUIRE(augur::loopnest::write_private_file(c, source));
        augur::loopnest::process_spec job;
        job.arguments = cc->command;
        job.arguments.insert(job.arguments.end(), cc->flags.begin(), cc->flags.end());
        for (const auto& a : {std::string("-std=gnu11"), std::string("-shared"), std::string("-fPIC"), std::string("-o"), so, c, std::string("-lm")})
            job.arguments.push_back(a);
        job.wall_seconds = 250;
        job.temporary = folder_.path();
        const auto made = augur::loopnest::run_process(job);
        if (!made.ok()) FAIL(made.errors);
        handle_ = dlopen(so.c_str(), RTLD_NOW | RTLD_LOCAL);
        REQUIRE(handle_ != nullptr);
    }
    native_object(const native_object&) = delete;
    native_object& operator=(const native_object&) = delete;
    ~native_object() {
        if (handle_ != nullptr) dlclose(handle_);
    }
    template <class F>
    F* function(const std::string& name) const {
        return reinterpret_cast<F*>(dlsym(handle_, name.c_str()));
    }

private:
    static augur::loopnest::work_folder new_folder() {
        auto made = augur::loopnest::work_folder::create();
        if (!made) FAIL(made.error().detail);
        return std::move(*made);
    }

    augur::loopnest::work_folder folder_;
    void* handle_ = nullptr;
};

/// Floats that end at a page that cannot be accessed, or less than 64 bytes before it, as the alignment of a program's buffers asks.
class guarded_floats {
public:
    explicit guarded_floats(std::int64_t n) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const auto need = (static_cast<std::size_t>(n) * sizeof(float) + 63) / 64 * 64;
        const auto bytes = (need + page - 1) / page * page;
        mapped_ = bytes + 2 * page;
        region_ = static_cast<char*>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        REQUIRE(region_ != MAP_FAILED);
        REQUIRE(mprotect(region_ + page, bytes, PROT_READ | PROT_WRITE) == 0);
        data_ = reinterpret_cast<float*>(region_ + page + bytes - need);
    }
    guarded_floats(guarded_floats&& other) noexcept : region_(std::exchange(other.region_, nullptr)), mapped_(other.mapped_), data_(other.data_) {}
    guarded_floats& operator=(guarded_floats&&) = delete;
    ~guarded_floats() {
        if (region_ != nullptr) munmap(region_, mapped_);
    }
    [[nodiscard]] float* data() const noexcept { return data_; }

private:
    char* region_ = nullptr;
    std::size_t mapped_ = 0;
    float* data_ = nullptr;
};

/// Runs a program of `dag` on one thread, on `tensors` (one an operation, of which the placeholders are given), and returns its outputs in the order of
/// the DAG.
inline std::vector<std::vector<float>> outputs_of(const native_object& object, const augur::loopnest::compute_dag& dag,
                                                  const augur::loopnest::generated_program& p, const std::vector<std::vector<float>>& tensors) {
    using role = augur::loopnest::program_buffer::role;
    using body = void (*)(void*, std::int64_t, std::int64_t);
    std::vector<guarded_floats> memory;
    std::vector<float*> data;
    for (const auto& b : p.buffers) {
        memory.emplace_back(b.elements);
        data.push_back(memory.back().data());
        const bool given = b.purpose == role::input || b.purpose == role::weight;
        const auto* from = given ? &tensors[dag.index_of(static_cast<int>(b.fill))] : nullptr;
        if (given) {
            REQUIRE(from->size() == static_cast<std::size_t>(b.elements));
            CHECK(dag.ops[dag.index_of(static_cast<int>(b.fill))].constant == (b.purpose == role::weight));
        }
        for (std::int64_t i = 0; i < b.elements; ++i)
            data.back()[i] = given ? (*from)[static_cast<std::size_t>(i)] : std::numeric_limits<float>::quiet_NaN();
    }
    if (!p.pack_entry.empty()) {
        auto* const pack = object.function<void(float* const*)>(p.pack_entry);
        REQUIRE(static_cast<bool>(pack));
        pack(data.data());
    }
    auto* const run = object.function<void(float* const*, void (*)(body, void*, std::int64_t))>(p.entry);
    REQUIRE(static_cast<bool>(run));
    run(data.data(), [](body f, void* context, std::int64_t n) { f(context, 0, n); });
    std::vector<std::vector<float>> out;
    for (std::size_t i = 0; i < data.size(); ++i)
        if (p.buffers[i].purpose == role::output) out.emplace_back(data[i], data[i] + p.buffers[i].elements);
    return out;
}

#endif
