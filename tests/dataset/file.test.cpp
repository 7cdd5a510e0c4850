// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/dataset/file.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "datasets.hpp"
#include "../record/logs.hpp"

namespace file_test {

using namespace datasets;

namespace {

/// A file with another head, or another content, whose hashes hold all the same: what nobody but an enemy writes.
std::string resealed(std::string bytes, const auto& change_head) {
    detail::dataset_head head;
    std::memcpy(&head, bytes.data(), sizeof head);
    change_head(head);
    detail::xxh64 hash;
    hash.add(head.counts.data(), sizeof head.counts);
    hash.add(bytes.data() + sizeof head, bytes.size() - sizeof head);
    head.content = hash.value();
    head.seal = head.seal_of();
    std::memcpy(bytes.data(), &head, sizeof head);
    return bytes;
}

errc code_of(const std::string& path, const dataset_expectation& expected = {}) {
    const auto mapped = map_dataset(path, expected);
    REQUIRE(!mapped);
    CHECK(mapped.error().detail.starts_with(path + ": "));
    return mapped.error().code;
}

} // namespace

TEST_CASE("dataset file: XXH64 gives the published values, in one piece and in many") {
    const auto of = [](std::string_view text, std::size_t piece) {
        detail::xxh64 hash;
        for (std::size_t i = 0; i < text.size(); i += piece) hash.add(text.data() + i, (std::min)(piece, text.size() - i));
        return hash.value();
    };
    for (const std::size_t piece : {1UL, 3UL, 8UL, 31UL, 32UL, 33UL, 1000UL}) {
        CHECK(of("", piece) == 0xEF46DB3751D8E999ULL);
        CHECK(of("a", piece) == 0xD24EC4F1A98C6E5BULL);
        CHECK(of("abc", piece) == 0x44BC2CF5AD770999ULL);
        CHECK(of("Nobody inspects the spammish repetition", piece) == 0xFBCEA83C8A378BF1ULL);
    }
}

TEST_CASE("dataset file: what was written is mapped, and hashes the same wherever it is") {
    const logs::folder folder;
    const std::string path = folder / "set";
    const auto all = make(3000, 13, 2, 9);
    const dataset data = build(all);
    const auto written = write_dataset(path, data, 42);
    REQUIRE(written);
    CHECK(*written == content_hash(data));
    auto mapped = map_dataset(path, {*written, 42});
    REQUIRE(mapped);
    CHECK(content_hash(*mapped) == *written);
    CHECK(spell(*mapped) == spell(data));
    CHECK(mapped->report() == data.report());

    // of several builders: another arrangement in memory, the same content
    dataset_builder whole;
    for (std::size_t part = 0; part < 4; ++part) {
        dataset_builder builder;
        for (std::size_t i = part * all.size() / 4; i < (part + 1) * all.size() / 4; ++i) add(builder, all[i]);
        REQUIRE(whole.merge(std::move(builder)));
    }
    CHECK(content_hash(std::move(whole).finish()) == *written);
    CHECK(content_hash(build(make(3000, 13, 3, 9))) != *written);

    // a mapped set is written like any other, over itself even; it lasts when its file is gone; its table can be taken and added to
    const std::string bytes = logs::read(path);
    REQUIRE(write_dataset(path, *mapped, 42));
    CHECK(logs::read(path) == bytes);
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);
    std::filesystem::remove(path);
    CHECK(spell(*mapped) == spell(data));
    primitive_table table = mapped->primitives();
    std::vector<primitive_id> ids;
    REQUIRE(intern(table, all.front().schedule, ids));
    CHECK(spell(interned_schedule{&table, ids}) == spell(all.front().schedule));
    CHECK(table.size() == data.primitives().size());
    REQUIRE(intern(table, step_list{{annotate_step{999, 0, {}}}}, ids));
    CHECK(table.size() == data.primitives().size() + 1);
    CHECK(mapped->primitives().size() == data.primitives().size());
}

TEST_CASE("dataset file: machines of tasks; a set without them is a file of version 2, which says unknown") {
    const logs::folder folder;
    const std::string path = folder / "set";
    const machine_identity zen5{"AuthenticAMD", "26", "2", "AMD EPYC", "x86-64-v4", "2", "L1 48K, L2 1M", "cc 12"};
    auto sapphire_rapids = zen5;
    sapphire_rapids.vendor = "GenuineIntel";
    sapphire_rapids.family = "6";
    sapphire_rapids.model = "143";
    const auto version = [&] {
        detail::dataset_head head;
        std::memcpy(&head, logs::read(path).data(), sizeof head);
        return head.version;
    };
    const auto collect = [&](std::span<const machine_identity> machines, std::size_t parts) {
        dataset_builder whole;
        const auto all = make(300, 1, 4, 5);
        for (std::size_t part = 0; part < parts; ++part) {
            dataset_builder builder;
            for (std::size_t i = part * all.size() / parts; i < (part + 1) * all.size() / parts; ++i) {
                const auto t = builder.task(all[i].key, all[i].target, all[i].hardware);
                REQUIRE(t);
                const auto on = builder.on(*t, machines[i % machines.size()]);
                REQUIRE(on);
                CHECK(builder.on(*on, machines[i % machines.size()]).operator*() == *on);
                REQUIRE(builder.add(*on, builder.source("s"), all[i].schedule, all[i].measured));
            }
            REQUIRE(whole.merge(std::move(builder)));
        }
        return std::move(whole).finish();
    };
    const std::array<machine_identity, 3> machines{machine_identity{}, zen5, sapphire_rapids};
    const auto data = collect(machines, 1);
    REQUIRE(data.tasks() == 3); // one kernel, one target, three platforms
    for (std::size_t t = 0; t < 3; ++t) {
        CHECK(data.task(t).key == data.task(0).key);
        const auto read = parse_machine_identity(data.task(t).machine);
        REQUIRE(read);
        CHECK(*read == machines[t]);
    }
    const auto written = write_dataset(path, data);
    REQUIRE(written);
    CHECK(version() == 3);
    CHECK(content_hash(collect(machines, 4)) == *written);
    const auto mapped = map_dataset(path, {*written, {}});
    REQUIRE(mapped);
    CHECK(spell(*mapped) == spell(data));
    const std::string bytes = logs::read(path);
    REQUIRE(write_dataset(path, *mapped));
    CHECK(logs::read(path) == bytes);

    const auto refused = [&](std::string changed, const char* what) { // behind valid hashes
        logs::write(path, changed);
        const auto read = map_dataset(path);
        REQUIRE_FALSE(read);
        CHECK(read.error().detail.find(what) != std::string::npos);
    };
    const auto keep = [](detail::dataset_head&) {};
    std::string wrong = bytes;
    wrong[wrong.size() - 12] = 99; // the machine of the second task: three indices and four bytes of padding end the file
    refused(resealed(wrong, keep), "expected the number of a name below");
    refused(resealed(bytes, [](auto& h) { h.version = 2; }), "expected schema");
    refused(bytes.substr(0, bytes.size() - 8), "expected");
    refused(resealed(bytes.substr(0, bytes.size() - 8), [](auto& h) { h.size -= 8; }), "do not add up");

    const std::array<machine_identity, 1> unknown{};
    const auto plain = collect(unknown, 2);
    REQUIRE(write_dataset(path, plain));
    CHECK(version() == 2);
    const auto old = map_dataset(path);
    REQUIRE(old);
    REQUIRE(old->tasks() == 1);
    CHECK(old->task(0).machine == "{}");
    CHECK(*parse_machine_identity(old->task(0).machine) == machine_identity{});
    CHECK(content_hash(build(make(300, 1, 4, 5))) != content_hash(data));
}

TEST_CASE("dataset file: a set of nothing, and one of a schedule without steps") {
    const logs::folder folder;
    const std::string path = folder / "set";
    REQUIRE(write_dataset(path, dataset()));
    auto mapped = map_dataset(path);
    REQUIRE(mapped);
    CHECK(mapped->size() == 0);
    CHECK(mapped->tasks() == 0);
    dataset_builder builder;
    const auto t = builder.task("", "", {});
    REQUIRE(t);
    REQUIRE(builder.add(*t, builder.source(""), {}, 1e-3, outcome::ok));
    REQUIRE(write_dataset(path, std::move(builder).finish()));
    mapped = map_dataset(path);
    REQUIRE(mapped);
    REQUIRE(mapped->size() == 1);
    CHECK(mapped->schedule(0).empty());
    CHECK(mapped->seconds(0) == 1e-3);
}

TEST_CASE("dataset file: a file that was cut, lengthened or changed in any byte is refused") {
    const logs::folder folder;
    const std::string path = folder / "set";
    REQUIRE(write_dataset(path, build(make(12, 2, 4))));
    const std::string bytes = logs::read(path);
    const auto refused = [&](const std::string& changed) {
        logs::write(path, changed);
        const auto mapped = map_dataset(path);
        return !mapped && (mapped.error().code == errc::parse || mapped.error().code == errc::version_mismatch);
    };
    CHECK(!refused(bytes));
    for (std::size_t n = 0; n < bytes.size(); ++n) REQUIRE(refused(bytes.substr(0, n)));
    for (const std::size_t more : {1UL, 7UL, 8UL, 4096UL}) CHECK(refused(bytes + std::string(more, '\0')));
    for (std::size_t i = 0; i < bytes.size(); ++i)
        for (const unsigned change : {1U, 0x80U, 0xFFU}) {
            auto changed = bytes;
            changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ change);
            REQUIRE(refused(changed));
        }
}

TEST_CASE("dataset file: nonsense with true hashes is refused, or can be read through") {
    const logs::folder folder;
    const std::string path = folder / "set";
    const dataset data = build(make(12, 2, 4));
    REQUIRE(write_dataset(path, data));
    const std::string bytes = logs::read(path);
    augur::random_engine draw(1);
    int accepted = 0, rejected = 0;
    const auto look = [&](const std::string& changed) {
        logs::write(path, changed);
        if (const auto mapped = map_dataset(path); mapped) ++accepted, (void)spell(*mapped), (void)content_hash(*mapped);
        else ++rejected;
    };
    const auto keep = [](detail::dataset_head&) {};
    for (std::size_t i = sizeof(detail::dataset_head); i < bytes.size(); ++i)
        for (const unsigned change : {1U, 0x80U, 0xFFU}) {
            auto changed = bytes;
            changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ change);
            look(resealed(changed, keep));
        }
    for (int n = 0; n < 3000; ++n) { // words: all ones, zero, sizes
        auto changed = bytes;
        const std::size_t words = (bytes.size() - sizeof(detail::dataset_head)) / 8;
        for (std::uint64_t k = draw.below(3) + 1; k-- > 0;) {
            const std::uint64_t word = draw.below(3) == 0 ? ~std::uint64_t{0} >> draw.below(64) : draw.below(20);
            std::memcpy(changed.data() + sizeof(detail::dataset_head) + 8 * draw.below(words), &word, 8);
        }
        look(resealed(changed, keep));
    }
    for (std::size_t i = 0; i < detail::dataset_sections; ++i)
        for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 31U, std::uint64_t{1} << 61U,
                                          (std::uint64_t{1} << 61U) + 1, std::uint64_t{1} << 63U, ~std::uint64_t{0}, ~std::uint64_t{0} - 7})
            look(resealed(bytes, [&](detail::dataset_head& head) { head.counts[i] = count; }));
    for (int n = 0; n < 2000; ++n) // arrays that take from one another
        look(resealed(bytes, [&](detail::dataset_head& head) {
            auto& from = head.counts[draw.below(detail::dataset_sections)];
            auto& to = head.counts[draw.below(detail::dataset_sections)];
            const std::uint64_t moved = draw.below(from + 1);
            from -= moved;
            to += moved;
        }));
    CHECK(accepted > 100); // a hardware number, a latency: any value is as good
    CHECK(rejected > 1000);
}

TEST_CASE("dataset file: what is no data set, or not the expected one, is named as such") {
    const logs::folder folder;
    const std::string path = folder / "set";
    const auto written = write_dataset(path, build(make(12, 2, 4)), 42);
    REQUIRE(written);
    CHECK(map_dataset(path, {*written, 42}));
    CHECK(code_of(path, {*written + 1, {}}) == errc::version_mismatch);
    CHECK(code_of(path, {{}, 43}) == errc::version_mismatch);
    const std::string bytes = logs::read(path);
    const auto with_head = [&](const auto& change) {
        logs::write(path, resealed(bytes, change));
        return code_of(path);
    };
    CHECK(with_head([](auto& h) { ++h.version; }) == errc::version_mismatch);
    CHECK(with_head([](auto& h) { ++h.schema; }) == errc::version_mismatch);
    CHECK(with_head([](auto& h) { h.byte_order = 0x04030201; }) == errc::version_mismatch);
    CHECK(with_head([](auto& h) { h.magic[0] = 'a'; }) == errc::version_mismatch);
    CHECK(with_head([](auto& h) { h.size += 8; }) == errc::parse);
    logs::write(path, "");
    CHECK(code_of(path) == errc::parse);
    logs::write(path, std::string(100'000, '{'));
    CHECK(code_of(path) == errc::version_mismatch);
    CHECK(code_of(folder / "none") == errc::not_found);
    CHECK(code_of(folder.path.string()) == errc::io);
    const std::string pipe = folder / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(code_of(pipe) == errc::io);
    CHECK(map_dataset(pipe).error().detail == pipe + ": expected a regular file, got a FIFO");
    CHECK(code_of("/dev/zero") == errc::io);
}

TEST_CASE("dataset file: a write that fails says so and leaves nothing") {
    const logs::folder folder;
    const dataset data = build(make(12, 2, 4));
    const auto nowhere = write_dataset(folder / "no/such", data);
    REQUIRE(!nowhere);
    CHECK(nowhere.error().code == errc::not_found);
    std::filesystem::create_directories(folder.path / "taken" / "inside");
    const auto refused = write_dataset(folder / "taken", data);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::io);
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);
}

} // namespace file_test
