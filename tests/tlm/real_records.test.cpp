// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which real records are points of a search space, and so sentences.
#include <augur/loopnest/lower/lower.hpp>
#include <augur/loopnest/schedule/space.hpp>

#include <doctest/doctest.h>

#ifdef AUGUR_HAS_ZLIB

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <augur/io/ansor_log.hpp>
#include <augur/io/byte_source.hpp>
#include <augur/io/loopnest/tvm_dag.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/tlm/sentence.hpp>

#include "../io/logged_dags.hpp"
#include "../may_skip.hpp"
#include "read_back.hpp"

namespace {

/// Gives every seventh good record of a task with a DAG to spaces of the kernel, and lowers some that only evolution makes.
struct deciding_sink {
    struct kernel_spaces {
        std::shared_ptr<const augur::loopnest::compute_dag> dag;
        std::optional<augur::loopnest::ansor_space> of_tvm, usual, evolved;
        bool lowers = false; ///< without a schedule; an index that is not affine in the loops cannot be lowered
    };
    std::map<std::string, kernel_spaces>* kernels;
    std::vector<augur::step_list> steps{};
    std::size_t tasks = 0, good = 0, records = 0, in_tvm = 0, in_usual = 0, in_one = 0, in_evolved = 0, changed = 0, lowered = 0, unlowered = 0,
                spoken = 0, misread = 0;

    std::uint32_t task(const augur::logged_task&) { return static_cast<std::uint32_t>(tasks++); }
    std::uint32_t step(const augur::step_list& one) { return steps.push_back(one), static_cast<std::uint32_t>(steps.size() - 1); }
    augur::result<void> add(const augur::record_view& r) {
        const auto found = kernels->find(r.task.workload_key);
        if (r.measured.status != augur::outcome::ok || found == kernels->end() || good++ % 7 != 0) return {};
        auto& k = found->second;
        if (!k.of_tvm) {
            augur::loopnest::ansor_options options;
            options.num_cores = r.task.hardware[0];
            k.of_tvm.emplace(*augur::loopnest::ansor_space::create(k.dag, augur::loopnest::ansor_options::as_tvm(r.task.hardware[0])));
            k.usual.emplace(*augur::loopnest::ansor_space::create(k.dag, options));
            options.evolved = true;
            k.evolved.emplace(*augur::loopnest::ansor_space::create(k.dag, options));
            k.lowers = static_cast<bool>(lower(augur::loopnest::loop_state(k.dag)));
        }
        augur::step_list list;
        for (const auto n : r.steps) list.steps.push_back(steps[n].steps.front());
        const auto accepts = [&](const augur::loopnest::ansor_space& space) {
            const auto point = space.decide(list);
            if (!point) return false;
            const auto again = space.realise(*point);
            changed += again && to_json(*again) == to_json(list) ? 0 : 1;
            return true;
        };
        const bool tvm = accepts(*k.of_tvm), usual = accepts(*k.usual), evolved = accepts(*k.evolved);
        ++records;
        in_tvm += tvm ? 1 : 0;
        in_usual += usual ? 1 : 0;
        in_one += tvm || usual ? 1 : 0;
        in_evolved += evolved ? 1 : 0;
        if (evolved && records % 8 == 0) { // record, sentence, record
            const auto sentence = augur::tlm::sentence_text("", *k.evolved, *k.evolved->decide(list));
            const auto read = augur::tlm::read_sentence(*k.evolved, read_back::words_of(*sentence));
            const auto again = read ? k.evolved->realise(*read) : augur::result<augur::step_list>(read.error());
            ++spoken;
            misread += again && to_json(*again) == to_json(list) ? 0 : 1;
        }
        if (evolved && !tvm && !usual && k.lowers) {
            const auto kernel = lower(*k.evolved->state(*k.evolved->decide(list)), {.max_local_elements = std::int64_t{1} << 30U}); // TVM has a heap
            ++(kernel ? lowered : unlowered);
        }
        return {};
    }
};

} // namespace

TEST_CASE("real records: the share that is a point of a space, each of which comes back byte for byte" MAY_SKIP) {
    const auto folder = logs::data() / "ansor-x86-24core";
    if (logs::data().empty() || !std::filesystem::is_directory(folder)) SKIP_CASE("no data (AUGUR_DATA)");
    std::map<std::string, deciding_sink::kernel_spaces> kernels;
    for (const auto& [key, text] : logged_dags::read())
        if (auto parsed = augur::parse_tvm_dag(text, key))
            kernels[key].dag = std::make_shared<const augur::loopnest::compute_dag>(std::move(parsed->dag));
    std::size_t records = 0, in_tvm = 0, in_usual = 0, in_one = 0, in_evolved = 0, lowered = 0, spoken = 0;
    for (const char* name :
         {"alexnet", "densenet_121", "googlenet", "mobilenet_v2", "resnet_152", "resnet_18", "resnet_50", "resnext_50", "vgg_16"}) {
        auto source = augur::byte_source::open((folder / (std::string(name) + ".jsonl.gz")).string());
        REQUIRE(source);
        deciding_sink sink{&kernels};
        augur::ansor_log_reader<deciding_sink> reader(name, sink);
        REQUIRE(reader.read(*source));
        CHECK(sink.changed == 0);
        CHECK(sink.unlowered == 0);
        CHECK(sink.misread == 0);
        records += sink.records;
        in_tvm += sink.in_tvm;
        in_usual += sink.in_usual;
        in_one += sink.in_one;
        in_evolved += sink.in_evolved;
        lowered += sink.lowered;
        spoken += sink.spoken;
    }
    MESSAGE(records << " records, " << in_tvm << " in TVM's space, " << in_usual << " in the default one, " << in_one << " in one of them, "
                    << in_evolved << " in the default one with what evolution reaches; " << lowered << " that are only there are lowered; " << spoken
                    << " came back from their sentences");
    CHECK(records > 30000);
    CHECK(static_cast<double>(in_tvm) > 0.89 * static_cast<double>(records));
    CHECK(static_cast<double>(in_one) > 0.93 * static_cast<double>(records));
    CHECK(in_evolved == records);
    CHECK(lowered > 2000);
    CHECK(spoken > 4000);
}

#endif
