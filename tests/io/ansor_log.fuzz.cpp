// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reader of Ansor logs beside the strict one, on inputs that libFuzzer makes; tests/io/fuzz.sh builds and runs it.
// The first four bytes choose options, the rest is a log, or the inside of a packed file.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "lines.hpp"
#include "same.hpp"

namespace {

void fail(std::string_view why, std::string_view text) {
    std::fprintf(stderr, "%.*s:\n%.*s\n", static_cast<int>(why.size()), why.data(), static_cast<int>(text.size()), text.data());
    std::abort();
}

struct idle_sink {
    std::uint32_t task(const augur::logged_task&) { return 0; }
    std::uint32_t step(const augur::step_list&) { return 0; }
    augur::result<void> add(const augur::record_view&) { return {}; }
};

/// Whatever stands behind the magic, it ends, without a crash, and the sanitizers have nothing to say.
void packed(std::string_view text, bool gzip) {
    static const same::memory_file file;
    file.set((gzip ? std::string("\x1f\x8b\x08\x00", 4) : std::string("\x28\xb5\x2f\xfd")) + std::string(text));
    auto source = augur::byte_source::open("/proc/self/fd/" + std::to_string(file.fd));
    if (!source) fail(source.error().detail, text);
    idle_sink sink;
    augur::ansor_log_reader<idle_sink> reader("packed", sink, {}, 4096);
    const auto read = reader.read(*source); // frames may hold text as it is, a header of another version too
    if (!read && read.error().code != augur::errc::version_mismatch) fail("a damaged file is a bad line", text);
}

} // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    static const auto odd = lines::odd_lines();
    auto rng = augur::random_engine(seed);
    if (rng.below(8) > 0) return LLVMFuzzerMutate(data, size, most);
    const std::string text = lines::random_log(rng, odd); // a fresh one: bytes alone hardly ever make a line
    if (most < 4) return LLVMFuzzerMutate(data, size, most);
    for (int i = 0; i < 4; ++i) data[i] = static_cast<std::uint8_t>(rng.below(256));
    const std::size_t n = std::min(text.size(), most - 4);
    std::memcpy(data + 4, text.data(), n);
    return n + 4;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 4) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 4, size - 4);
    if (data[0] % 16 == 15) return packed(text, data[1] % 2 == 0), 0;
    static const same::memory_file file;
    file.set(text);
    augur::log_read_options options;
    options.strict = data[0] % 8 == 0;
    if (data[1] % 4 == 0) options.limits.document = 50 + 10 * std::size_t{data[2]};
    if (data[1] % 4 == 1) options.limits.string = data[2];
    if (data[1] % 8 == 2) options.limits.depth = data[2] % 12;
    if (data[1] % 8 == 3) options.steps = data[2] % 8;
    same::memory_source source{text};
    const auto seen = same::compare(source, file.fd, options, 1 + std::size_t{data[3]} * 8);
    if (!seen.difference.empty()) fail(seen.difference, text);
    return 0;
}
