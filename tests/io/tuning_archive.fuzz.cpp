// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reader of tuning archives on inputs that libFuzzer makes; tests/io/fuzz.sh builds and runs it. A text that nlohmann_json refuses has an error with
// its place or a bad entry, and the points of the records are a space.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include <augur/io/tuning_archive.hpp>
#include <augur/space/recorded_space.hpp>

#include "archives.hpp"

namespace {

void check(bool so, const char* what) {
    if (so) return;
    std::fprintf(stderr, "%s\n", what);
    std::abort();
}

} // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    static const std::string cache = archives::cache_of(archives::entries);
    if (seed % 1000 < 2) { // begins again with a good file
        const std::string& text = seed % 1000 == 0 ? cache : archives::t4;
        if (text.size() <= most) size = text.copy(reinterpret_cast<char*>(data), text.size());
    }
    return LLVMFuzzerMutate(data, size, most);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    augur::tuning_archive archive;
    const auto read = augur::parse_tuning_archive(text, "f", archive);
    check(read || read.error().detail.starts_with("f:"), "an error without its place");
    check(!read || archive.bad > 0 || nlohmann::json::accept(text), "a text that is no JSON was read without a complaint");
    if (archive.records.empty()) return 0;
    const auto space = augur::recorded_space::build(archive.records, &augur::measured_configuration::point);
    check(space.has_value(), "the records are no space");
    for (const auto& r : archive.records) {
        const auto decisions = space->decide(r.point);
        check(decisions && *space->realise(*decisions) == r.point, "a record is no point of the space");
    }
    return 0;
}
