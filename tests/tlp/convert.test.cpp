// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/weights_file.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "../may_skip.hpp"
#include "../record/logs.hpp"
#include "data.hpp"

namespace nn = augur::nn;
using augur::tlp::config;
using augur::tlp::model;

namespace {

bool run(const std::string& command) { return std::system(command.c_str()) == 0; }
std::string quoted(const std::string& path) { return "'" + path + "'"; }

/// The parameters as torch has them in memory, for state_dict.py.
void write_parameters(const augur::tlp::model<float>& net, const std::string& path, bool as_mtl) {
    std::ofstream out(path, std::ios::binary);
    augur::tlp::model<float>::visit(
        [&](std::string_view name, const auto& p) {
            std::string torch_name(name);
            if (as_mtl && torch_name.rfind("decoder.", 0) == 0) torch_name.replace(0, 8, "mtl_heads.0.");
            out << torch_name;
            if constexpr (std::remove_cvref_t<decltype(p)>::RowsAtCompileTime != 1) out << ' ' << p.cols() << ' ' << p.rows() << '\n';
            else out << ' ' << p.cols() << '\n';
            const nn::matrix<float> transposed = p.transpose();
            out.write(reinterpret_cast<const char*>(transposed.data()), static_cast<std::streamsize>(4 * transposed.size()));
            out << '\n';
        },
        net);
}

const std::string tests = AUGUR_TEST_DIR;
const std::string script = "python3 " + quoted(tests + "/../docs/convert_tlp_weights.py") + " ";

} // namespace

TEST_CASE("convert_tlp_weights.py: the authors' state dictionaries score as their networks do" MAY_SKIP) {
    if (!run("python3 -c 'import zipfile' 2> /dev/null")) SKIP_CASE("no python3 here");
    const logs::folder at;
    const std::string raw = at / "raw", pt = at / "state.pt", weights = at / "weights.safetensors";
    const auto models = tlp_data::load("tlp_forward.json")["models"];
    const struct {
        const char* name;
        augur::tlp::config config;
        const char* prefix;
        bool as_mtl;
    } all[] = {{"AttentionModule", augur::tlp::config::authors(22), "", false},
               {"AttentionModule", augur::tlp::config::authors(22), "module.", true}, // an MTL network of one platform, out of DataParallel
               {"LSTMModule", augur::tlp::config::authors_lstm(22), "module.", false},
               {"MTLTLPAttentionModule(2 heads)", augur::tlp::config::authors_mtl(22, 2), "", false}};
    for (const auto& c : all) {
        CAPTURE(std::string(c.name));
        const auto net = tlp_data::reference_model<float>(c.config);
        write_parameters(net, raw, c.as_mtl);
        REQUIRE(run("python3 " + quoted(tests + "/tlp/state_dict.py") + " " + quoted(raw) + " " + quoted(pt) + " " + c.prefix));
        REQUIRE(run(script + quoted(pt) + " " + quoted(weights) + " > /dev/null"));
        const auto model = augur::tlp::load(weights, augur::tlp::schema::authors_cpu(), "the authors' encoding");
        if (!model) FAIL_CHECK(model.error().detail);
        if (!model) continue;
        CHECK(model->model.config == c.config);
        augur::tlp::model<float>::visit([](std::string_view, const auto& a, const auto& b) { CHECK(a == b); }, model->model, net);
        augur::tlp::deduplicated_batch bags = model->batch();
        std::vector<float> rows(25 * 22);
        for (const char* record : {"tlp_cpu_rf_cr.json", "tlp_cpu_chw.json"}) {
            REQUIRE(augur::tlp::extract_features(tlp_data::steps_of(tlp_data::load(record)["record_line"].get<std::string>()), model->schema, rows));
            bags.add(rows);
        }
        augur::tlp::forward_backward<float> pass;
        augur::serial_executor serial;
        const auto outputs = static_cast<std::size_t>(c.config.outputs);
        std::vector<float> scores(2 * outputs);
        pass.forward(model->model, bags, serial, scores);
        for (std::size_t n = 0; n < 2; ++n)
            for (std::size_t k = 0; k < outputs; ++k) {
                const auto& e = models[c.name]["output"];
                const double expected = outputs == 1 ? e[n].get<double>() : e[k][n].get<double>();
                CHECK(static_cast<double>(scores[n * outputs + k]) == doctest::Approx(expected).epsilon(1e-5));
            }
    }
    // what is no state dictionary is refused in words, and nothing of it is executed
    const std::string quiet = " 2> " + quoted(at / "why");
    const auto why = [&] {
        std::ifstream file(at / "why");
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    CHECK(!run(script + quoted(raw) + " " + quoted(weights) + quiet));
    CHECK(why().find("convert_tlp_weights: '" + raw + "': File is not a zip file") == 0);
    CHECK(!run(script + quoted(pt) + " " + quoted(weights) + " --columns 40" + quiet));
    CHECK(why().find("the network reads rows of 22 numbers, the crop has 40") != std::string::npos);
    REQUIRE(run("python3 -c 'import os, pickle, sys, zipfile\n"
                "class Bad:\n"
                "    def __reduce__(self): return os.mkdir, (sys.argv[2],)\n"
                "zipfile.ZipFile(sys.argv[1], \"w\").writestr(\"archive/data.pkl\", pickle.dumps({\"x\": Bad()}))' " +
                quoted(pt) + " " + quoted(at / "made")));
    CHECK(!run(script + quoted(pt) + " " + quoted(weights) + quiet));
    CHECK(why().find("this file has posix.mkdir") != std::string::npos);
    CHECK(!std::filesystem::exists(at / "made"));
}
