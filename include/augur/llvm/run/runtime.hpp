// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_RUN_RUNTIME_HPP
#define AUGUR_LLVM_RUN_RUNTIME_HPP

/// @file
/// Runtime library of traced programs: the functions of TVM's runtime and of OpenMP (libomp) that compiled loops need, memory allocation, and an
/// allow-list of libc and libm functions. A parallel region runs one instance per loop iteration, so that its blocks are counted per iteration
/// (Crop's Count(F)).

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/llvm/run/watched_run.hpp>

namespace augur::inline v0::detail {

/// TVMParallelGroupEnv of TVM (c_backend_api.h).
struct tvm_parallel_env {
    void* sync_handle;
    std::int32_t num_task;
};

/// Functions that the traced program can call. They act on `ir_run::now`.
struct ir_runtime {
    static ir_run& run() { return *ir_run::now; }
    [[noreturn]] static void give_up(errc code, const std::string& text) { run().report().fail(code, text); }

    // --- TVM ---------------------------------------------------------------------------------------------------------------------------------
    using tvm_body = std::int32_t (*)(std::int32_t task, tvm_parallel_env*, void* closure);
    static std::int32_t tvm_launch(tvm_body body, void* closure, std::int32_t tasks) {
        const auto address = reinterpret_cast<std::uint64_t>(body);
        std::uint64_t count = tasks > 0 ? static_cast<std::uint64_t>(tasks) : run().extent_of(address);
        if (count == 0) count = static_cast<std::uint64_t>(run().threads());
        if (tasks <= 0) { // several iterations per instance: a single one may not enter a loop that was unrolled or vectorised
            const auto stretch = (count + ir_options::most_instances - 1) / ir_options::most_instances;
            count = (count + stretch - 1) / stretch;
        }
        tvm_parallel_env env{nullptr, static_cast<std::int32_t>(count)};
        std::int32_t failed = 0;
        run().launch(
            address,
            [&](std::uint64_t i) {
                if (const auto code = body(static_cast<std::int32_t>(i), &env, closure); code != 0) failed = code;
            },
            count);
        return failed;
    }
    static std::int32_t tvm_barrier(std::int32_t, tvm_parallel_env*) { return 0; }
    static void* tvm_allocate(std::int32_t, std::int32_t, std::uint64_t bytes, std::int32_t, std::int32_t) { return run().heap.allocate(bytes); }
    static std::int32_t tvm_free(std::int32_t, std::int32_t, void* p) {
        run().heap.release(p);
        return 0;
    }
    static void tvm_error(const char* text) { run().last_error = text; }

    // --- OpenMP, as clang calls it: each worksharing loop passes its bounds, and an instance gets one iteration --------------------------------
    template <class T>
    static std::uint64_t trip(T lower, T upper, std::int64_t step) {
        if (step > 0 ? lower > upper : lower < upper) return 0;
        const auto apart = step > 0 ? static_cast<std::uint64_t>(upper) - static_cast<std::uint64_t>(lower)
                                    : static_cast<std::uint64_t>(lower) - static_cast<std::uint64_t>(upper);
        const auto increment = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
        return apart / (std::max)(increment, std::uint64_t{1}) + 1;
    }
    template <class T>
    static void omp_static(void*, std::int32_t, std::int32_t, std::int32_t* last, T* lower, T* upper, std::make_signed_t<T>* stride,
                           std::make_signed_t<T> step, std::make_signed_t<T>) {
        const auto n = trip(*lower, *upper, step), i = run().instance();
        run().found(n);
        using U = std::make_unsigned_t<T>; // modular arithmetic, as in the generated code
        const U increment = static_cast<U>(step);
        *lower = static_cast<T>(i < n ? static_cast<U>(*lower) + static_cast<U>(i) * increment : static_cast<U>(*upper) + increment);
        if (i < n) *upper = *lower;
        *stride = static_cast<std::make_signed_t<T>>(static_cast<U>(static_cast<U>(n) * increment)); // a chunked loop has no second chunk
        *last = i + 1 == n ? 1 : 0;
    }
    struct dynamic_loop {
        std::uint64_t lower = 0, step = 0;
        bool open = false, last = false;
    };
    static dynamic_loop& dynamic() {
        static thread_local dynamic_loop loop; // a nested region shares it
        return loop;
    }
    template <class T>
    static void omp_dispatch(void*, std::int32_t, std::int32_t, T lower, T upper, std::make_signed_t<T> step, std::make_signed_t<T>) {
        const auto n = trip(lower, upper, step), i = run().instance();
        run().found(n);
        const auto increment = static_cast<std::uint64_t>(static_cast<std::int64_t>(step));
        dynamic() = {static_cast<std::uint64_t>(lower) + i * increment, increment, i < n, i + 1 == n};
    }
    template <class T>
    static std::int32_t omp_next(void*, std::int32_t, std::int32_t* last, T* lower, T* upper, std::make_signed_t<T>* step) {
        auto& d = dynamic();
        if (!d.open) return 0;
        *lower = *upper = static_cast<T>(d.lower);
        *step = static_cast<std::make_signed_t<T>>(d.step);
        *last = d.last ? 1 : 0;
        d.open = false;
        return 1;
    }
    static void omp_fork(void*, std::int32_t n, void* body, ...) {
        constexpr std::size_t most = 16;
        if (n < 0 || static_cast<std::size_t>(n) > most)
            give_up(errc::unsupported, "expected an OpenMP region of at most 16 shared values, got " + std::to_string(n));
        std::array<void*, most> a{};
        va_list list;
        va_start(list, body);
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) a[i] = va_arg(list, void*);
        va_end(list);
        // A function with fewer parameters ignores the rest: in the C calling convention the caller removes the arguments.
        using all = void (*)(std::int32_t*, std::int32_t*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*,
                             void*, void*, void*);
        run().launch(
            reinterpret_cast<std::uint64_t>(body),
            [&](std::uint64_t) {
                auto global = omp_thread(), bound = global;
                reinterpret_cast<all>(body)(&global, &bound, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
                                            a[14], a[15]);
            },
            0);
    }
    static std::int32_t omp_thread() { return static_cast<std::int32_t>(run().instance() % static_cast<std::uint64_t>(run().threads())); }
    static std::int32_t omp_global(void*) { return omp_thread(); }
    static std::int32_t omp_threads() { return run().threads(); }
    static std::int32_t omp_first(void*, std::int32_t) { return run().instance() == 0 ? 1 : 0; }
    static std::int32_t omp_reduce(void*, std::int32_t, std::int32_t, std::size_t, void*, void*, void*) { return 1; }
    static void nothing() {} // for functions with any arguments

    // --- memory and termination -----------------------------------------------------------------------------------------------------------------
    static void* allocate(std::size_t n) { return run().heap.allocate(n); }
    static void* allocate_aligned(std::size_t align, std::size_t n) { return run().heap.allocate(n, align); }
    static void* allocate_zeros(std::size_t n, std::size_t each) {
        if (each != 0 && n > ~std::size_t{0} / each) return nullptr;
        void* const p = run().heap.allocate(n * each);
        return p != nullptr ? std::memset(p, 0, n * each) : nullptr;
    }
    static void* reallocate(void* p, std::size_t n) {
        void* const made = run().heap.allocate(n);
        if (p == nullptr || made == nullptr) return made;
        std::memcpy(made, p, (std::min)(static_cast<std::size_t>(run().heap.size_of(p)), n));
        run().heap.release(p);
        return made;
    }
    static std::int32_t allocate_into(void** p, std::size_t align, std::size_t n) {
        *p = run().heap.allocate(n, align);
        return *p != nullptr ? 0 : 12;
    }
    static void release(void* p) { run().heap.release(p); }
    static void ends() { give_up(errc::invalid_argument, "the program ended itself (abort, exit or a failed assertion)"); }

    struct symbol {
        std::string_view name;
        const void* address;
    };
    template <class R, class... A>
    static const void* at(R (*f)(A...)) {
        return reinterpret_cast<const void*>(f);
    }
    /// Functions that the program can call by name. TVM's are also available through variables with the prefix `__`.
    static const std::vector<symbol>& symbols() {
        using i32 = std::int32_t;
        using u32 = std::uint32_t;
        using i64 = std::int64_t;
        using u64 = std::uint64_t;
        static const std::vector<symbol> all{
            {"TVMBackendParallelLaunch", at(tvm_launch)},
            {"TVMBackendParallelBarrier", at(tvm_barrier)},
            {"TVMBackendAllocWorkspace", at(tvm_allocate)},
            {"TVMBackendFreeWorkspace", at(tvm_free)},
            {"TVMAPISetLastError", at(tvm_error)},
            {"__kmpc_fork_call", reinterpret_cast<const void*>(&omp_fork)},
            {"__kmpc_global_thread_num", at(omp_global)},
            {"__kmpc_for_static_init_4", at(omp_static<i32>)},
            {"__kmpc_for_static_init_4u", at(omp_static<u32>)},
            {"__kmpc_for_static_init_8", at(omp_static<i64>)},
            {"__kmpc_for_static_init_8u", at(omp_static<u64>)},
            {"__kmpc_for_static_fini", at(nothing)},
            {"__kmpc_dispatch_init_4", at(omp_dispatch<i32>)},
            {"__kmpc_dispatch_init_4u", at(omp_dispatch<u32>)},
            {"__kmpc_dispatch_init_8", at(omp_dispatch<i64>)},
            {"__kmpc_dispatch_init_8u", at(omp_dispatch<u64>)},
            {"__kmpc_dispatch_next_4", at(omp_next<i32>)},
            {"__kmpc_dispatch_next_4u", at(omp_next<u32>)},
            {"__kmpc_dispatch_next_8", at(omp_next<i64>)},
            {"__kmpc_dispatch_next_8u", at(omp_next<u64>)},
            {"__kmpc_dispatch_deinit", at(nothing)},
            {"__kmpc_dispatch_fini_4", at(nothing)},
            {"__kmpc_dispatch_fini_4u", at(nothing)},
            {"__kmpc_dispatch_fini_8", at(nothing)},
            {"__kmpc_dispatch_fini_8u", at(nothing)},
            {"__kmpc_barrier", at(nothing)},
            {"__kmpc_push_num_threads", at(nothing)},
            {"__kmpc_serialized_parallel", at(nothing)},
            {"__kmpc_end_serialized_parallel", at(nothing)},
            {"__kmpc_single", at(omp_first)},
            {"__kmpc_end_single", at(nothing)},
            {"__kmpc_master", at(omp_first)},
            {"__kmpc_end_master", at(nothing)},
            {"__kmpc_masked", at(omp_first)},
            {"__kmpc_end_masked", at(nothing)},
            {"__kmpc_critical", at(nothing)},
            {"__kmpc_end_critical", at(nothing)},
            {"__kmpc_reduce", at(omp_reduce)},
            {"__kmpc_end_reduce", at(nothing)},
            {"__kmpc_reduce_nowait", at(omp_reduce)},
            {"__kmpc_end_reduce_nowait", at(nothing)},
            {"__kmpc_flush", at(nothing)},
            {"omp_get_thread_num", at(omp_thread)},
            {"omp_get_num_threads", at(omp_threads)},
            {"omp_get_max_threads", at(omp_threads)},
            {"omp_get_num_procs", at(omp_threads)},
            {"malloc", at(allocate)},
            {"calloc", at(allocate_zeros)},
            {"realloc", at(reallocate)},
            {"aligned_alloc", at(allocate_aligned)},
            {"memalign", at(allocate_aligned)},
            {"posix_memalign", at(allocate_into)},
            {"free", at(release)},
            {"_Znwm", at(allocate)},
            {"_Znam", at(allocate)},
            {"_ZdlPv", at(release)},
            {"_ZdaPv", at(release)},
            {"_ZdlPvm", at(release)},
            {"_ZdaPvm", at(release)},
            {"abort", at(ends)},
            {"exit", at(ends)},
            {"_exit", at(ends)},
            {"__assert_fail", at(ends)},
        };
        return all;
    }
    static const void* find(std::string_view name) {
        for (const auto& s : symbols())
            if (s.name == name) return s.address;
        return nullptr;
    }
    /// Can the program use the libc or libm function of this name? Pure computations only, no input, output or system calls.
    static bool is_library(std::string_view name) {
        static constexpr std::string_view plain[] = {"memcpy",         "memmove",       "memset",       "memcmp",        "bcmp",
                                                     "strlen",         "abs",           "labs",         "__truncsfhf2",  "__truncdfhf2",
                                                     "__extendhfsf2",  "__extendhfdf2", "__truncsfbf2", "__truncdfbf2",  "__gnu_f2h_ieee",
                                                     "__gnu_h2f_ieee", "__divti3",      "__udivti3",    "__modti3",      "__umodti3",
                                                     "__multi3",       "__powisf2",     "__powidf2",    "__tls_get_addr"};
        static constexpr std::string_view math[] = {
            "exp",       "exp2",   "exp10", "expm1",     "log",      "log2",  "log10",  "log1p",    "pow",   "sin",    "cos",    "tan",
            "asin",      "acos",   "atan",  "atan2",     "sinh",     "cosh",  "tanh",   "asinh",    "acosh", "atanh",  "erf",    "erfc",
            "tgamma",    "lgamma", "sqrt",  "cbrt",      "fma",      "fmod",  "floor",  "ceil",     "round", "trunc",  "rint",   "roundeven",
            "nearbyint", "fmin",   "fmax",  "fabs",      "copysign", "hypot", "ldexp",  "frexp",    "modf",  "sincos", "lround", "llround",
            "lrint",     "llrint", "fdim",  "remainder", "logb",     "ilogb", "scalbn", "nextafter"};
        if (std::find(std::begin(plain), std::end(plain), name) != std::end(plain)) return true;
        const auto known = [&](std::string_view n) { return std::find(std::begin(math), std::end(math), n) != std::end(math); };
        return known(name) || (!name.empty() && name.back() == 'f' && known(name.substr(0, name.size() - 1)));
    }
};

} // namespace augur::inline v0::detail

#endif
