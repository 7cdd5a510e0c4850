// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/transfer/source_ranking.hpp>

#include <algorithm>
#include <cstddef>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace transfer = augur::transfer;
using transfer::class_share, transfer::source_rule;

namespace {

nlohmann::json load(const std::string& name) {
    std::ifstream file(std::string(AUGUR_TEST_DIR) + "/vectors/" + name);
    return nlohmann::json::parse(file);
}

/// Table 2 of the paper: the classes of ten networks.
struct table_2 {
    std::vector<std::string> names;
    std::vector<std::vector<class_share>> networks;

    table_2() {
        const auto file = load("transfer_table2_models.json");
        for (const auto& row : file["rows"]) {
            names.push_back(row["model"]);
            auto& classes = networks.emplace_back();
            for (const auto& c : row["classes"])
                classes.push_back({c["kernel_class"].get<std::string>(), c["kernels"].get<std::size_t>(), c["percent"].get<double>() / 100});
        }
    }
    [[nodiscard]] std::size_t index(const std::string& name) const {
        const auto at = std::find(names.begin(), names.end(), name);
        REQUIRE(at != names.end());
        return static_cast<std::size_t>(at - names.begin());
    }
    /// All other networks, best source first, as their names.
    [[nodiscard]] std::vector<transfer::ranked_source> ranking(std::size_t target, source_rule rule, std::vector<std::size_t>& sources) const {
        std::vector<std::span<const class_share>> lists;
        sources.clear();
        for (std::size_t i = 0; i < networks.size(); ++i) {
            if (i == target) continue;
            sources.push_back(i);
            lists.emplace_back(networks[i]);
        }
        return transfer::rank_sources(networks[target], lists, rule);
    }
};

} // namespace

TEST_CASE("source_ranking: the paper's table 2 gives its tuning models, and the choices of its table 3") {
    const table_2 table;
    const auto reference = load("transfer_eq1.json")["rows"];
    const auto tuning_models = load("transfer_table2_models.json")["rows"];
    const auto choices = load("transfer_table3_choices.json")["rows"];
    std::size_t printed = 0, ties = 0;
    for (const auto& row : reference) {
        const std::string target = row["target"];
        CAPTURE(target);
        std::vector<std::size_t> sources;
        for (const auto rule : {source_rule::square_root, source_rule::linear}) {
            const auto ranking = table.ranking(table.index(target), rule, sources);
            REQUIRE(ranking.size() == 9);
            CHECK(table.names[sources[ranking[0].source]] == tuning_models[table.index(target)]["tuning_model"].get<std::string>());
            for (std::size_t place = 0; place < 3; ++place) {
                const auto& choice = choices[target][place];
                if (choice.is_null()) { // a dash: the heuristic does not tell
                    CHECK(ranking[place].tied);
                    ++ties;
                    continue;
                }
                const std::string id = "M" + std::to_string(sources[ranking[place].source] + 1);
                CHECK(id == choice[0].get<std::string>());
                ++printed;
            }
            if (rule == source_rule::linear) continue; // of that one there are no values
            for (std::size_t i = 0; i < ranking.size(); ++i) {
                CHECK(table.names[sources[ranking[i].source]] == row["ranking"][i][1].get<std::string>());
                CHECK(ranking[i].value == doctest::Approx(row["ranking"][i][2].get<double>()).epsilon(1e-12));
            }
        }
    }
    CHECK(printed == 2 * 26); // eight CNNs and the first choices of two transformers, by both rules
    CHECK(ties == 2 * 4);
}

TEST_CASE("source_ranking: pairs and transferable kernels are those of the paper") {
    const table_2 table;
    const auto file = load("transfer_pairs.json");
    for (const auto& row : file["rows"]) {
        const auto source = row["source"].get<std::string>();
        if (!row.contains("pool_pairs_all_other_nine") || std::find(table.names.begin(), table.names.end(), source) == table.names.end()) continue;
        const auto& target = table.networks[table.index(row["target"])];
        const auto counts = transfer::count_pairs(target, table.networks[table.index(source)]);
        CAPTURE(source);
        CHECK(counts.kernels == row["kernels"].get<std::size_t>());
        CHECK(counts.pairs == row["pairs"].get<std::size_t>());
        CHECK(counts.measurements() == row["pairs_plus_kernels"].get<std::size_t>());
        CHECK(counts.transferable == row["transferable_kernels"].get<std::size_t>());
        CHECK(100 * counts.transferable_share == doctest::Approx(row["transferable_percent"].get<double>()));
        std::size_t pool = 0;
        for (std::size_t i = 0; i < table.networks.size(); ++i)
            if (i != table.index(row["target"])) pool += transfer::count_pairs(target, table.networks[i]).pairs;
        CHECK(pool == row["pool_pairs_all_other_nine"].get<std::size_t>());
    }
    const auto& b0 = table.networks[table.index("EfficientNetB0")];
    const auto& b4 = table.networks[table.index("EfficientNetB4")];
    CHECK(transfer::count_pairs(b0, b4).measurements() == 764); // section 5.2
    CHECK(transfer::count_pairs(b4, b0).measurements() == 775);
}

TEST_CASE("source_ranking: sources of one value are told as ties, in their order") {
    const std::vector<class_share> target{{"a", 1, 0.5}, {"b", 2, 0.25}};
    const std::vector<class_share> none{{"c", 9, 1}}, one{{"a", 4, 0.1}}, same{{"b", 0, 0}, {"a", 4, 0.9}}, most{{"a", 4, 0}, {"b", 1, 0}};
    const std::vector<std::span<const class_share>> sources{none, one, same, most, none};
    const auto ranking = transfer::rank_sources(target, sources);
    const std::vector<std::size_t> order{3, 1, 2, 0, 4}, ranks{1, 2, 2, 4, 4};
    for (std::size_t i = 0; i < ranking.size(); ++i) {
        CHECK(ranking[i].source == order[i]);
        CHECK(ranking[i].rank == ranks[i]);
        CHECK(ranking[i].tied == (i > 0));
    }
    CHECK(ranking[0].value == 0.25 * 2 + 0.0625);
    CHECK(transfer::rank_sources(target, {}).empty());
    CHECK(transfer::source_value({}, one) == 0);
    const std::vector<class_share> failed{{"a", 1, std::nan("")}, {"b", 2, std::numeric_limits<double>::infinity()}}; // of kernels that did not run
    CHECK(transfer::source_value(failed, one) == 0);
    CHECK(transfer::rank_sources(failed, sources).size() == sources.size());
    CHECK(transfer::rank_sources(target, sources, transfer::source_rule::square_root, std::nan("")).size() == sources.size());
}
