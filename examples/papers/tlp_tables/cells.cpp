// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is in each table.
#include <tuple>

#include "tables.hpp"
#include "recipe.hpp"

namespace examples {

augur::tlp::schema faithful_schema(bool gpu) { return recipe_of("faithful", gpu).schema; }

const std::vector<table_info>& all_tables() {
    static const std::vector<table_info> tables{
        {"1", "Table 1: longest primitives (11 columns for the kind, then numbers), by kind"},
        {"repetition", "Section 4.3: do equal sequences belong to equal programs?"},
        {"figure-6", "Figure 6: lengths of the sequences"},
        {"3", "Table 3: backbone and loss (the paper's on Platinum-8272; here x86-24core, faithful otherwise)"},
        {"4", "Table 4: crop (the paper's on Platinum-8272; here x86-24core, faithful otherwise)"},
        {"6.1.3", "Section 6.1.3: other details of the network (x86-24core, faithful otherwise; the paper gives no numbers)"},
        {"5", "Table 5: platforms (the paper's beside those most like them)"},
        {"6-7", "Tables 6 and 7: MTL-TLP with 7 % of the target's labels, means of 5 networks (the paper's: one; E5-2673, T4)"},
        {"8", "Table 8: transfer to a platform with 7 % of its labels (the paper's: E5-2673 to i7-10510U)"},
        {"9", "Table 9: which platform helps which (7 % of the target's labels; the paper's: i7-10510U)"},
        {"figure-9", "Figure 9: MTL against the size of the target's data (the paper draws a curve without numbers)"},
        {"ablation", "Ablation: the default with one thing as the authors have it, or otherwise (x86-24core)"},
    };
    return tables;
}

namespace {

constexpr const char* cpu_platform = "x86-24core";
constexpr double few = 0.07;
/// Networks whose mean is judged in Tables 6 and 7: one alone is decided by its pick for one task or two.
constexpr std::size_t mtl_members = 5;

using change = std::function<void(recipe&)>;

change crop(std::size_t rows, std::size_t columns) {
    return [=](recipe& r) { r.schema = augur::tlp::schema::authors_cpu(rows, columns); };
}
void mse(recipe& r) { r.options.fine.loss = augur::tlp::training_loss::mse; }
void lstm(recipe& r) {
    r.config.backbone = augur::tlp::backbone::lstm;
    r.config.dead_layer = false; // the authors' LSTM uses it
}
change heads(augur::nn::index n) {
    return [=](recipe& r) { r.config.heads = n; };
}
change blocks(augur::nn::index n) {
    return [=](recipe& r) { r.config.residual_blocks = n; };
}
void wide(recipe& r) {
    r.config.encoder = {64, 128, 256, 512};
    r.config.decoder = {256, 128, 64};
}
void two_layers(recipe& r) { r.config.attention_layers = 2; }

/// The variants of section 6.1.3, for either base.
void model_variants(std::vector<table_cell>& out, const char* table, const char* base) {
    const std::vector<std::pair<const char*, change>> variants{{"1 head", heads(1)},
                                                               {"4 heads", heads(4)},
                                                               {"0 residual blocks", blocks(0)},
                                                               {"1 residual block", blocks(1)},
                                                               {"3 residual blocks", blocks(3)},
                                                               {"512 wide", wide},
                                                               {"2 attention layers", two_layers}};
    for (const auto& [row, how] : variants) out.push_back({table, row, {{cpu_platform}}, base, table_method::tlp, {}, how, false, {}});
}

} // namespace

std::vector<table_cell> all_cells(const table_world& world) {
    std::vector<table_cell> out;
    using enum table_method;
    if (world.find(cpu_platform) != nullptr) {
        const auto faithful = [&](const char* table, const char* row, top_scores paper, change how = {}) {
            out.push_back({table, row, {{cpu_platform}}, "faithful", tlp, paper, std::move(how), false, {}});
        };
        faithful("3", "attention + rank", {0.9194, 0.9710});
        faithful("3", "attention + MSE", {0.9128, 0.9542}, mse);
        faithful("3", "LSTM + rank", {0.9119, 0.9509}, lstm);
        faithful("3", "LSTM + MSE", {0.9061, 0.9540}, [](recipe& r) { lstm(r), mse(r); });
        faithful("4", "25 x 22", {0.9194, 0.9710});
        faithful("4", "25 x 40", {0.9171, 0.9558}, crop(25, 40));
        faithful("4", "54 x 22", {0.9032, 0.9472}, crop(54, 22));
        faithful("4", "54 x 40", {0.9076, 0.9677}, crop(54, 40));
        faithful("6.1.3", "faithful: 8 heads, 2 blocks, 256 wide", {});
        model_variants(out, "6.1.3", "faithful");

        const auto ablate = [&](const char* row, change how) {
            out.push_back({"ablation", row, {{cpu_platform}}, "default", tlp, {}, std::move(how), false, {}});
        };
        ablate("default", {});
        ablate("all tasks in one list", [](recipe& r) { r.options.fine.by_task = false; });
        ablate("no sharper labels", [](recipe& r) { r.options.fine.sharpness = 1; });
        ablate("no regret in the loss", [](recipe& r) { r.options.fine.regret = 0; });
        ablate("authors' rate, decay and batch", [](recipe& r) {
            const auto authors = augur::tlp::training_options::faithful();
            r.options.learning_rate = authors.learning_rate;
            r.options.fine.weight_decay = authors.fine.weight_decay;
            r.options.batch = authors.batch;
        });
        ablate("validation by record", [](recipe& r) { r.split_by_record = true; });
        ablate("inputs raw", [](recipe& r) { r.config.scaling = augur::tlp::scaling::raw; });
        ablate("inputs by their logarithm", [](recipe& r) { r.config.scaling = augur::tlp::scaling::logarithm; });
        ablate("with places", [](recipe& r) { r.schema = augur::tlp::schema::ansor(); });
        ablate("authors' width", [](recipe& r) {
            const auto full = augur::tlp::config::full(0);
            r.config.encoder = full.encoder;
            r.config.decoder = full.decoder;
        });
        ablate("padded", [](recipe& r) { r.schema.pad = true; });
        ablate("authors' features (vocabulary, crop, padding)", [](recipe& r) { r.schema = faithful_schema(false); });
        ablate("authors' labels of failures", [](recipe& r) { r.failures = augur::label_rule::faithful; });
        ablate("constant rate", [](recipe& r) { r.options.fine.rate = augur::tlp::learning_rate_decay::constant; });
        ablate("MSE", mse);
        ablate("LSTM", lstm);
        model_variants(out, "ablation", "default");
        for (const auto& [row, how] :
             {std::pair{"boosted trees, squared error", trees_regression}, std::pair{"boosted trees, pairwise ranks", trees_ranking}})
            out.push_back({"ablation", row, {{cpu_platform}}, "faithful", how, {}, {}, false, {}});
    }

    struct column {
        const char *platform, *paper_platform;
        top_scores paper, mlp;
    };
    for (const column& c :
         {column{cpu_platform, "Platinum-8272", {0.9194, 0.9710}, {0.8748, 0.9527}}, column{"v100", "T4", {0.8847, 0.9250}, {0.8757, 0.9528}},
          column{"k80", "K80", {0.9059, 0.9741}, {0.9083, 0.9629}}, column{"mi50", "T4", {0.8847, 0.9250}, {0.8757, 0.9528}},
          column{"own", "i7-10510U", {0.8473, 0.9427}, {0.7776, 0.8590}}}) {
        if (world.find(c.platform) == nullptr) continue;
        const auto row = [&](const char* name, const char* base, table_method method, top_scores paper, bool full, std::string note) {
            out.push_back({"5", std::string(c.platform) + ", " + name, {{c.platform}}, base, method, paper, {}, full, std::move(note)});
        };
        row("default", "default", tlp, c.paper, true, std::string("paper: TLP on ") + c.paper_platform);
        row("default, mean of 5 networks", "default", tlp, c.paper, true, std::string("paper: TLP on ") + c.paper_platform);
        out.back().members = 5;
        row("faithful", "faithful", tlp, c.paper, true, std::string("paper: TLP on ") + c.paper_platform);
        row("boosted trees, squared error", "faithful", trees_regression, {}, false, {});
        row("boosted trees, pairwise ranks", "faithful", trees_ranking, {}, false, {});
        if (!world.find(c.platform)->dags.empty()) {
            row("boosted trees on the loop nest", "default", trees_nest, c.paper, true, std::string("paper: TLP on ") + c.paper_platform);
            row("default and trees on the loop nest, means of 5", "default", tlp_and_nest, c.paper, true,
                std::string("paper: TLP on ") + c.paper_platform);
            out.back().members = 5;
            row("best program by its median, one of its records", "", program_pick, {}, true, "programs of three records and more");
        }
        row("at random (top-5: five)", "", random_pick, {}, false, {});
        row("median program (top-5: five about it)", "", median_pick, {}, false, {});
        row("TenSet-MLP", "", absent, c.mlp, false, std::string("quoted: on ") + c.paper_platform);
        row("instruction count", "", absent, {}, false, "absent: logs hold no programs");
    }

    for (const auto& [name, paper, mlp] : {std::tuple{"E5-2673", top_scores{0.8941, 0.9633}, top_scores{0.8332, 0.8977}},
                                           std::tuple{"EPYC-7452", top_scores{0.9055, 0.9494}, top_scores{0.8510, 0.9175}},
                                           std::tuple{"Graviton2", top_scores{0.8207, 0.9226}, top_scores{0.7799, 0.9049}}}) {
        out.push_back({"5", std::string("TLP on ") + name, {}, "", absent, paper, {}, false, {}});
        out.push_back({"5", std::string("TenSet-MLP on ") + name, {}, "", absent, mlp, {}, false, {}});
    }

    // platforms that share a language can share a backbone
    for (const table_data& set : world.sets)
        for (const std::string& target : set.platforms) {
            if (set.platforms.size() < 2 || (target == cpu_platform && set.platforms.size() < 3)) continue;
            const bool gpu = target != cpu_platform && target != "own";
            std::vector<table_head> heads{{target, few}};
            out.push_back(
                {"6-7", target + " 7 %", heads, "default", tlp, gpu ? top_scores{0.7971, 0.8984} : top_scores{0.6647, 0.8848}, {}, false, {}});
            const top_scores paper = gpu ? top_scores{0.8876, 0.9373} : top_scores{0.8741, 0.9385};
            out.back().members = mtl_members;
            std::string name = target + " 7 %";
            for (const std::string& other : set.platforms) {
                if (other == target) continue;
                heads.push_back({other, 1});
                name += " + " + other;
                out.push_back({"6-7", name, heads, "default", tlp, heads.size() == 2 ? paper : top_scores{}, {}, false, {}});
                out.back().members = mtl_members;
            }
            for (const std::string& other : set.platforms)
                if (other != target) out.push_back({"9", target + " 7 % + " + other, {{target, few}, {other, 1}}, "default", tlp, {}, {}, false, {}});
        }
    for (const auto& [name, paper] : {std::pair{"", top_scores{0.6647, 0.8848}}, std::pair{" + Platinum-8272", top_scores{0.8741, 0.9385}},
                                      std::pair{" + Platinum-8272 + EPYC-7452", top_scores{0.8901, 0.9520}},
                                      std::pair{" + Platinum-8272 + EPYC-7452 + Graviton2", top_scores{0.8753, 0.9302}}})
        out.push_back({"6-7", std::string("E5-2673 500K") + name, {}, "", absent, paper, {}, false, {}});
    for (const auto& [name, paper] : {std::pair{"Platinum-8272", top_scores{0.8413, 0.9202}}, std::pair{"E5-2673", top_scores{0.8331, 0.9672}},
                                      std::pair{"EPYC-7452", top_scores{0.8082, 0.9122}}, std::pair{"Graviton2", top_scores{0.7711, 0.8909}}})
        out.push_back({"9", std::string("i7-10510U 500K + ") + name, {}, "", absent, paper, {}, false, {}});

    if (world.find("v100") != nullptr && world.find("k80") != nullptr) {
        const std::vector<table_head> pair{{"v100", few}, {"k80", 1}};
        out.push_back({"8", "fine-tuning, all layers: k80, then v100 7 %", pair, "default", fine_tune, {0.7897, 0.9175}, {}, false, {}});
        out.push_back({"8", "fine-tuning, decoder alone: k80, then v100 7 %", pair, "default", fine_tune_head, {}, {}, false, {}});
        out.push_back({"8", "MTL: v100 7 % + k80", pair, "default", tlp, {0.8331, 0.9672}, {}, false, {}});
        out.push_back({"8", "alone: v100 7 %", {{"v100", few}}, "default", tlp, {}, {}, false, {}});
        const std::string transformer = "4 layers x 256, first trained on all schedules without labels (the paper's: 12 x 512 and 6 x 768)";
        out.push_back({"8", "GPT: v100, then v100 7 %", {{"v100", few}}, "default", gpt, {0.6863, 0.8431}, {}, false, transformer});
        out.push_back({"8", "BERT: v100, then v100 7 %", {{"v100", few}}, "default", bert, {0.6316, 0.8137}, {}, false, transformer});
        for (const double share : {0.01, 0.02, 0.04, few, 0.15, 0.30, 0.60, 1.0}) {
            const std::string part = text_of("v100 %.0f %%", 100 * share);
            out.push_back({"figure-9", part, {{"v100", share}}, "default", tlp, {}, {}, false, {}});
            out.push_back({"figure-9", part + " + k80", {{"v100", share}, {"k80", 1}}, "default", tlp, {}, {}, false, {}});
        }
    }
    return out;
}

std::vector<table_margin> all_margins(const table_world& world) {
    std::vector<table_margin> out;
    for (const table_cell& c : all_cells(world)) {
        if (c.table == "5" && c.row.ends_with(", default"))
            for (const char* other : {", faithful", ", boosted trees, squared error", ", boosted trees, pairwise ranks",
                                      ", median program (top-5: five about it)", ", at random (top-5: five)"})
                out.push_back({"5", c.row, c.heads.front().platform + other});
        if (c.table == "6-7" && c.heads.size() > 1) out.push_back({"6-7", c.row, c.heads.front().platform + " 7 %"});
        if (c.table == "ablation" && c.row != "default") out.push_back({"ablation", "default", c.row});
        if (c.table == "8" && !c.row.starts_with("alone")) out.push_back({"8", c.row, "alone: v100 7 %"});
        if (c.table == "figure-9" && c.heads.size() > 1) out.push_back({"figure-9", c.row, c.row.substr(0, c.row.find(" + "))});
    }
    return out;
}

} // namespace examples
