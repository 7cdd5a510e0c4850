// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_PINS_PINS_HPP
#define AUGUR_TESTS_PINS_PINS_HPP

// What must not change when the library is only rearranged: hashes and numbers that are compared with a file, golden/<name>.txt.
//
//     tune.proposals 2 89d1c06f1f1b2a3c             a text, exactly, by its hash
//     crop.seconds 2 ~1e-05 0.00123 0.00456         numbers, each within that relative error
//
// With AUGUR_PINS_WRITE=1 in the environment the file is written anew, and fixtures that are missing are written. A pin too many or too few fails.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/space/walk.hpp>
#include <augur/target/machine_presets.hpp>
#include <augur/workload/kernel.hpp>

namespace pins {

inline std::string place(const std::string& name) { return std::string(AUGUR_TEST_DIR) + "/pins/" + name; }
inline bool writing() { return std::getenv("AUGUR_PINS_WRITE") != nullptr; }

inline std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// FNV-1a, on its own feet: the library's hashes are among what is pinned.
inline std::string hash(std::string_view text) {
    std::uint64_t h = 0xCBF29CE484222325U;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    std::string out(16, '0');
    for (std::size_t i = 16; i-- > 0; h >>= 4U) out[i] = "0123456789abcdef"[h & 15U];
    return out;
}

/// The pins of one golden file. Compares, or writes, when it ends.
class book {
public:
    explicit book(std::string name) : path_(place("golden/" + std::move(name) + ".txt")) {}
    book(const book&) = delete;
    book& operator=(const book&) = delete;
    ~book() {
        if (writing()) {
            std::ofstream file(path_);
            for (const auto& [key, value] : now_) file << key << ' ' << value << '\n';
            return;
        }
        std::ifstream file(path_);
        std::map<std::string, std::string> golden;
        for (std::string name, seed, value; file >> name >> seed && std::getline(file >> std::ws, value);) golden[name + ' ' + seed] = value;
        for (const auto& [key, value] : golden) {
            CAPTURE(key);
            const auto at = now_.find(key);
            if (at == now_.end()) FAIL_CHECK("a pin of " << path_ << " was not made");
            else if (!equal(value, at->second)) FAIL_CHECK("expected " << value << ", got " << at->second);
        }
        for (const auto& [key, value] : now_)
            if (golden.count(key) == 0) FAIL_CHECK("pin '" << key << "' is not in " << path_);
    }

    void text(const std::string& name, std::uint64_t seed, std::string_view what) { add(name, seed, hash(what)); }
    void numbers(const std::string& name, std::uint64_t seed, std::span<const double> what, const char* within = "1e-05") {
        std::ostringstream out;
        out << '~' << within;
        out.precision(9);
        for (const double x : what) out << ' ' << x;
        add(name, seed, out.str());
    }

private:
    void add(const std::string& name, std::uint64_t seed, std::string value) {
        CHECK_MESSAGE(now_.emplace(name + ' ' + std::to_string(seed), std::move(value)).second, "pin " << name << " twice");
    }
    static std::vector<std::string> words(const std::string& text) {
        std::istringstream in(text);
        return {std::istream_iterator<std::string>(in), {}};
    }
    static bool equal(const std::string& golden, const std::string& now) {
        if (golden == now || !golden.starts_with('~')) return golden == now;
        const auto want = words(golden), got = words(now);
        const double within = std::strtod(want[0].c_str() + 1, nullptr);
        return want[0] == got[0] && std::equal(want.begin() + 1, want.end(), got.begin() + 1, got.end(), [&](const auto& a, const auto& b) {
                   const double x = std::strtod(a.c_str(), nullptr), y = std::strtod(b.c_str(), nullptr);
                   return a == b || std::abs(x - y) <= within * std::abs(x);
               });
    }

    std::string path_;
    std::map<std::string, std::string> now_;
};

/// A list as a text; floats by their bits.
template <class T>
std::string spell(const T& list) {
    std::string out;
    for (const auto x : list) {
        if constexpr (std::is_same_v<decltype(x), const float>) out += std::to_string(std::bit_cast<std::uint32_t>(x)) + ",";
        else out += std::to_string(x) + ",";
    }
    return out + ";";
}

/// What a result holds; an error is told by its code, its words are free.
template <class T, class F>
std::string told(const augur::result<T>& r, F&& tell) {
    return r ? std::string(tell(*r)) : "error " + std::string(augur::to_string(r.error().code));
}

/// A text whose numbers, but not those in names, are all #: what stays of JSON when numbers differ in their last digits.
inline std::string form(std::string_view json) {
    std::string out;
    bool quoted = false, digits = false;
    for (const char c : json) {
        if (c == '"') quoted = !quoted;
        const bool part = !quoted && (std::string_view("0123456789+-.").find(c) != std::string_view::npos || (digits && c == 'e'));
        if (!part) out += c;
        else if (!digits) out += '#';
        digits = part;
    }
    return out;
}

template <class T>
T take(augur::result<T> r) {
    if (!r) FAIL(r.error().detail);
    return *std::move(r);
}

/// Every kind of kernel and every fused operation; extents with odd factors, too.
inline constexpr std::array<std::string_view, 23> kernels{
    "dense:m=128,n=96,k=64,bias,relu",
    "matmul:m=60,n=84,k=36",
    "batch_matmul:b=4,m=32,n=48,k=24,transb=0",
    "conv2d:n=1,h=28,w=28,c=32,f=48,k=3,pad=1,bias,add,relu6",
    "conv2d:n=1,h=15,w=13,c=16,f=24,k=3,stride=2,pad=1,groups=2,layout=nchw,scale",
    "depthwise_conv2d:n=1,h=28,w=28,c=48,k=3,pad=1,bias,relu6",
    "conv2d_transpose:n=1,h=8,w=8,c=24,f=16,k=4,stride=2,pad=1,layout=nchw,tanh",
    "max_pool2d:n=1,h=28,w=28,c=32,k=3,stride=2,pad=1",
    "avg_pool2d:n=1,h=14,w=14,c=32,k=2,stride=2",
    "global_avg_pool2d:n=1,h=7,w=7,c=64",
    "softmax:m=32,n=100",
    "layer_norm:m=24,n=96",
    "elementwise:n=1,h=14,w=14,c=32,scale,add,sigmoid",
    "dense:m=16,n=512,k=256,bias,gelu",
    "conv1d:n=2,w=100,c=16,f=32,k=3,pad=4x0,dilation=2,bias,relu",
    "conv1d_transpose:n=1,w=24,c=16,f=24,k=4,stride=2,pad=1,groups=2,layout=ncw",
    "conv3d:n=1,d=6,h=10,w=12,c=16,f=24,k=3,stride=1x2x2,pad=1,bias",
    "conv2d:n=1,h=17,w=12,c=16,f=24,k=1x7,pad=0x3,relu",
    "conv2d_winograd:n=1,h=14,w=14,c=16,f=24,pad=1,bias,relu",
    "batch_matmul:b=4,m=32,n=48,k=24,transb=0,transa=1",
    "reduce_sum:m=24,n=96,inner=16",
    "reduce_max:m=24,n=96",
    "reduce_mean:m=4,n=49,inner=64",
};

/// A kernel on a machine that is not the host.
struct problem {
    augur::loopnest::kernel_task task;
    augur::loopnest::ansor_space space;

    explicit problem(std::string_view kernel, const augur::machine& on = augur::xeon_gold_5220r())
        : task(take(augur::loopnest::kernel_task::create(take(augur::kernel::parse(kernel)), on.hardware()))),
          space(take(augur::loopnest::ansor_space::create(task.dag()))) {}
};

/// Uniform samples that the space makes schedules of.
inline std::vector<augur::step_list> schedules(const augur::loopnest::ansor_space& space, std::size_t n, std::uint64_t seed) {
    std::vector<augur::step_list> out;
    for (augur::random_engine rng(seed); out.size() < n;)
        if (auto made = space.realise(augur::sample_path(space, rng).values)) out.push_back(*std::move(made));
    return out;
}

/// Made up from a text: 0, or seconds.
inline double pretended_seconds(std::string_view text) {
    const auto h = std::strtoull(hash(text).c_str(), nullptr, 16);
    return h % 8 == 0 ? 0 : static_cast<double>(1 + h % 1000) / 1048576;
}

inline float pretended_score(std::string_view text) {
    const double x = pretended_seconds(text);
    return x > 0 ? static_cast<float>(1 - x) : 0.0F;
}

/// What a machine might say of a schedule; every eighth fails.
inline augur::measurement pretended(const augur::step_list& s) {
    augur::measurement m;
    const double x = pretended_seconds(augur::to_json(s));
    m.status = x > 0 ? augur::outcome::ok : augur::outcome::run_timeout;
    if (x > 0) m.seconds = {x, 2 * x, x + 0.25};
    else m.reason = "pretended";
    return m;
}

} // namespace pins

#endif
