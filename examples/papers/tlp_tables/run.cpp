// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cells of the tables: found among those computed before, or trained, judged, kept.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <augur/core/hash.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/core/whole_file.hpp>
#include <augur/tlp/row_table.hpp>
#include <augur/model/bounded_blend.hpp>
#include <augur/tlp/weights_file.hpp>
#include <augur/record/file_descriptor.hpp>

#include "tables.hpp"
#include "draw.hpp"
#include "nest.hpp"
#include "pretrain.hpp"
#include "recipe.hpp"

namespace examples {
namespace {

using augur::errc;
using augur::error;
using augur::result;
using tlp_net = augur::tlp::model<float>;

std::string hex(std::uint64_t n) { return text_of("%016llx", static_cast<unsigned long long>(n)); }

bool is_pick(const table_cell& cell) {
    return cell.method == table_method::random_pick || cell.method == table_method::median_pick || cell.method == table_method::program_pick;
}
/// Does it score by loop nests?
bool is_nest(const table_cell& cell) {
    return cell.method == table_method::trees_nest || cell.method == table_method::tlp_and_nest || cell.method == table_method::program_pick;
}
bool is_pretrained(const table_cell& cell) { return cell.method == table_method::gpt || cell.method == table_method::bert; }

/// Where a training stands. Its scores are of the last epoch on the few tasks kept for validation, where one failed pick counts as 1e5 times the best
/// and makes a top-1 of 0.0002; the table's are of the epoch that is kept, on the hold-out. Without validation they are 0.
std::string stand_text(double loss, double top_1, double top_5) {
    return text_of(": loss %.4g, ", loss) + (!(top_5 > 0) ? std::string() : text_of("on validation top-1 %.4f, top-5 %.4f, ", top_1, top_5));
}

double number_or_nan(augur::json_reader& in) {
    double x = std::numeric_limits<double>::quiet_NaN();
    if (in.peek() == augur::json_kind::null) in.read_null();
    else in.read(x);
    return x;
}

/// A line of cells.jsonl; nothing when it is none (a torn one, say).
std::optional<std::pair<std::string, cell_score>> parse_cell(std::string_view line) {
    augur::json_reader in(line);
    std::pair<std::string, cell_score> out;
    cell_score& s = out.second;
    std::string_view key;
    const auto count = [&](std::size_t& to) {
        std::int64_t n = 0;
        if (in.read(n) && n >= 0) to = static_cast<std::size_t>(n);
    };
    if (!in.begin_object()) return std::nullopt;
    while (in.next_member(key)) {
        if (key == "hash") in.read(out.first);
        else if (key == "top_1") s.together.top_1 = number_or_nan(in);
        else if (key == "top_5") s.together.top_5 = number_or_nan(in);
        else if (key == "tasks") count(s.tasks);
        else if (key == "without_record") count(s.without_record);
        else if (key == "without_nest") {
            if (!in.begin_array()) break;
            while (in.next_element())
                if (!in.read(s.without_nest.emplace_back())) break;
        } else if (key == "samples") count(s.samples);
        else if (key == "epochs") count(s.epochs);
        else if (key == "best") count(s.best);
        else if (key == "seconds") in.read(s.seconds);
        else if (key == "networks") {
            if (!in.begin_object()) break;
            std::string_view name;
            while (in.next_member(name)) {
                top_scores& top = s.networks.emplace_back(std::string(name), top_scores{}).second;
                if (!in.begin_array() || !in.next_element()) break;
                top.top_1 = number_or_nan(in);
                if (!in.next_element()) break;
                top.top_5 = number_or_nan(in);
                if (in.next_element()) break;
            }
        } else in.skip();
    }
    if (!in.finish() || out.first.empty()) return std::nullopt;
    return out;
}

} // namespace

cell_runner::cell_runner(const table_world& world, table_budget budget, std::string cache, executor& threads)
    : world_(&world), budget_(budget), cache_(std::move(cache)), threads_(&threads) {}

std::size_t cell_runner::seeds_of(const table_cell& cell) const {
    if (cell.method == table_method::absent) return 0;
    if (cell.method == table_method::median_pick) return 1;
    const std::size_t seeds = cell.full || cell.method == table_method::random_pick ? budget_.full_seeds : budget_.seeds;
    return (std::max)(seeds / cell.members, std::size_t{1});
}

/// Few records are seen more often: to learn takes steps.
std::size_t cell_runner::epochs_for(std::size_t samples) const {
    const std::size_t more = budget_.records * budget_.epochs / (std::max)(samples, std::size_t{1});
    return (std::clamp)(more, budget_.epochs, 5 * budget_.epochs);
}

recipe cell_runner::recipe_for(const table_cell& cell, std::size_t outputs, std::uint64_t seed) const {
    const std::string& target = cell.heads.front().platform;
    recipe r = recipe_of(cell.base, target != "x86-24core" && target != "own", outputs);
    r.last_epoch = cell.base == "default" && cell.heads.front().share < 1;
    if (cell.change) cell.change(r);
    r.config = r.config.with_input(r.schema);
    for (auto* widths : {&r.config.encoder, &r.config.decoder})
        for (augur::nn::index& width : *widths) width /= static_cast<augur::nn::index>(budget_.narrower);
    if (!cell.full) r.options.epochs = budget_.epochs;
    else if (budget_.full_epochs > 0) r.options.epochs = budget_.full_epochs;
    if (budget_.batch > 0) r.options.batch = budget_.batch;
    r.config.outputs = static_cast<augur::nn::index>(outputs);
    r.options.seed = seed;
    return r;
}

std::string cell_runner::hash_of(const table_cell& cell, std::uint64_t seed) const {
    const table_data* const set = world_->find(cell.heads.front().platform);
    std::string text = "cell 1 method " + std::to_string(static_cast<int>(cell.method)) + " seed " + std::to_string(seed) + " data " +
                       (set != nullptr ? hex(set->content) : std::string());
    for (const table_head& h : cell.heads) augur::append_number((text += " head " + h.platform) += ' ', h.share);
    if (cell.method == table_method::trees_nest || cell.method == table_method::tlp_and_nest) text += " relative";
    if (cell.method == table_method::tlp_and_nest) {
        const augur::bounded_blend how;
        augur::append_number((text += " three views, ranks from 0 to 1, second opinion ") += ' ', double{how.weight});
        augur::append_number(text += ' ', double{how.scale});
    }
    if (!is_pick(cell)) {
        const recipe r = recipe_for(cell, cell.heads.size(), seed);
        text += " schema " + hex(r.schema.hash()) + " config " + augur::tlp::detail::config_json(r.config) + options_text(r.options) +
                text_of(" failures %d by_record %d records %zu", static_cast<int>(r.failures), r.split_by_record ? 1 : 0,
                        cell.full ? budget_.full_records : budget_.records);
        if (r.last_epoch) text += " last epoch";
        if (is_pretrained(cell)) {
            const pretrain_options o = pretraining_of(cell, seed);
            text += text_of(" transformer %td x %td, %td heads, list %zu, epochs %zu", o.layers, o.width, o.heads, o.list, o.epochs_before);
            for (const double x : {o.learning_rate, o.clip}) augur::append_number(text += ' ', x);
        }
    }
    if (set != nullptr && set->own_test) {
        auto networks = set->test_networks;
        std::sort(networks.begin(), networks.end());
        for (const auto& network : networks) text += " test " + network;
    }
    if (set != nullptr && is_nest(cell)) // the number of a cell with all DAGs is what it was before
        for (const std::uint32_t t : set->test(cell.heads.front().platform))
            if (set->dags.find(set->data.task(t).key) == set->dags.end()) text += " without the DAG of " + std::string(set->data.task(t).key);
    if (cell.members > 1) text += " members " + std::to_string(cell.members);
    return hex(augur::fnv1a64(text));
}

std::string cell_runner::checkpoint_of(const table_cell& cell, std::uint64_t seed) const {
    table_cell one = cell;
    one.members = 1;
    if (one.method == table_method::tlp_and_nest) one.method = table_method::tlp; // the same networks
    return cache_ + "/" + hash_of(one, seed);
}

std::optional<cell_score> cell_runner::known(const table_cell& cell, std::uint64_t seed) const {
    if (cell.method == table_method::absent) return std::nullopt;
    const auto at = known_.find(hash_of(cell, seed));
    return at == known_.end() ? std::nullopt : std::optional(at->second);
}

result<void> cell_runner::open() {
    const std::string path = cache_ + "/cells.jsonl";
    std::error_code unknown;
    if (!std::filesystem::exists(path, unknown) && !unknown) return {};
    const auto text = augur::read_whole_file(path, std::size_t{1} << 30U);
    if (!text) return text.error();
    std::size_t damaged = 0;
    for (std::string_view rest = *text; !rest.empty();) {
        const auto end = (std::min)(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix((std::min)(end + 1, rest.size()));
        if (line.empty()) continue;
        if (auto cell = parse_cell(line)) known_.insert_or_assign(std::move(cell->first), std::move(cell->second));
        else ++damaged;
    }
    if (damaged > 0) std::fprintf(stderr, "%s: %zu damaged lines are computed again\n", path.c_str(), damaged);
    return {};
}

result<void> cell_runner::keep(const table_cell& cell, std::uint64_t seed, const cell_score& s) {
    std::string line;
    augur::json_writer out(line);
    const std::string hash = hash_of(cell, seed);
    out.begin_object().key("hash").value(hash).key("table").value(cell.table).key("row").value(cell.row).key("seed").value(seed);
    out.key("top_1").value(s.together.top_1).key("top_5").value(s.together.top_5).key("networks").begin_object();
    for (const auto& [name, top] : s.networks) out.key(name).begin_array().value(top.top_1).value(top.top_5).end_array();
    out.end_object().key("tasks").value(s.tasks).key("without_record").value(s.without_record).key("samples").value(s.samples);
    if (!s.without_nest.empty()) {
        out.key("without_nest").begin_array();
        for (const auto& task : s.without_nest) out.value(task);
        out.end_array();
    }
    out.key("epochs").value(s.epochs).key("best").value(s.best).key("seconds").value(s.seconds).end_object();
    // A line that was torn by a kill must not swallow this one: an empty line does no harm.
    line = "\n" + line + "\n";
    const std::string path = cache_ + "/cells.jsonl";
    const auto opened = augur::open_regular_file(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (!opened) return opened.error();
    const int file = opened->file.get();
    if (::write(file, line.data(), line.size()) != static_cast<::ssize_t>(line.size()) || ::fsync(file) != 0)
        return augur::errno_error(path, "cannot write");
    known_.insert_or_assign(hash, s);
    return {};
}

result<cell_score> cell_runner::run(const table_cell& cell, std::uint64_t seed, progress_line& progress, const std::string& label) {
    if (auto done = known(cell, seed)) return *done;
    const auto start = std::chrono::steady_clock::now();
    if (auto why = missing_here(cell); !why.empty()) return error{errc::unsupported, std::move(why)};
    if (is_nest(cell)) (void)check_nests(cell.heads.front().platform); // before all the training
    result<cell_score> score = error{errc::unsupported, cell.note};
    switch (cell.method) {
    case table_method::absent: return score;
    case table_method::random_pick:
    case table_method::median_pick:
    case table_method::program_pick: score = pick(cell, seed); break;
    case table_method::trees_regression:
    case table_method::trees_ranking: score = trees(cell, seed); break;
    case table_method::trees_nest: score = nest_trees(cell, seed, {}, {}); break;
    case table_method::gpt:
    case table_method::bert: score = pretrain(cell, seed, progress, label); break;
    default: score = train(cell, seed, progress, label); break;
    }
    if (!score) return score;
    score->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (auto kept = keep(cell, seed, *score); !kept) return kept.error();
    for (const std::string& path : finished_) std::remove(path.c_str());
    finished_.clear();
    return score;
}

std::string cell_runner::missing_here([[maybe_unused]] const table_cell& cell) {
#ifndef AUGUR_HAS_XGBOOST
    if (cell.method == table_method::trees_regression || cell.method == table_method::trees_ranking || cell.method == table_method::trees_nest ||
        cell.method == table_method::tlp_and_nest)
        return "absent: this program was built without XGBoost";
#endif
    return {};
}

const std::map<std::uint32_t, std::string>& cell_runner::check_nests(const std::string& platform) {
    const auto [at, fresh] = without_nest_.try_emplace(platform);
    if (!fresh) return at->second;
    const table_data& set = *world_->find(platform);
    for (const std::uint32_t t : set.test(platform)) {
        const augur::dataset_task task = set.data.task(t);
        std::vector<std::uint32_t> records(static_cast<std::size_t>(task.last - task.first));
        std::iota(records.begin(), records.end(), static_cast<std::uint32_t>(task.first));
        const auto rows = features_of(set, records);
        if (rows) continue;
        const auto key = std::string(task.key);
        const auto& why = rows.error().detail;
        at->second.emplace(t, why.find(key) != std::string::npos ? why : key + ": " + why);
        std::fprintf(stderr, "%s: a hold-out task is left out by the rows on loop nests: %s\n", platform.c_str(), at->second[t].c_str());
    }
    return at->second;
}

void cell_runner::judge_cell(const table_cell& cell, const table_scores& score, cell_score& out) const {
    const std::string& platform = cell.heads.front().platform;
    const auto known = without_nest_.find(platform);
    static const std::map<std::uint32_t, std::string> none;
    judge(*world_->find(platform), platform, score, is_nest(cell) && known != without_nest_.end() ? known->second : none, out);
}

result<cell_score> cell_runner::pick(const table_cell& cell, std::uint64_t seed) const {
    const std::string& platform = cell.heads.front().platform;
    const table_data& set = *world_->find(platform);
    cell_score out;
    augur::random_engine rng(seed);
    result<void> fine;
    judge_cell(
        cell,
        [&](std::span<const std::uint32_t> members) {
            std::vector<float> scores(members.size());
            if (cell.method == table_method::random_pick) {
                for (float& s : scores) s = static_cast<float>(rng.uniform());
                return scores;
            }
            if (cell.method == table_method::program_pick) {
                if (auto done = score_programs(set, members, rng, scores); !done) fine = done.error();
                return scores;
            }
            std::vector<std::size_t> order; // valid programs by latency; the nearer to the middle, the better
            for (std::size_t i = 0; i < members.size(); ++i)
                if (std::isfinite(set.data.seconds(members[i]))) order.push_back(i);
            const auto faster = [&](std::size_t a, std::size_t b) {
                const double one = set.data.seconds(members[a]), other = set.data.seconds(members[b]);
                return one != other ? one < other : a < b;
            };
            std::sort(order.begin(), order.end(), faster); // not std::stable_sort: clang warns of what libstdc++ 12 makes it of
            std::fill(scores.begin(), scores.end(), -std::numeric_limits<float>::infinity());
            for (std::size_t i = 0; i < order.size(); ++i) scores[order[i]] = -std::abs(static_cast<float>(i) - static_cast<float>(order.size() / 2));
            return scores;
        },
        out);
    if (!fine) return fine.error();
    return out;
}

pretrain_options cell_runner::pretraining_of(const table_cell& cell, std::uint64_t seed) const {
    const recipe r = recipe_for(cell, 1, seed);
    pretrain_options o;
    o.list = r.options.fine.list;
    o.sharpness = r.options.fine.sharpness;
    o.regret = r.options.fine.regret;
    o.how = cell.method == table_method::bert ? unlabelled::hidden_rows : unlabelled::next_row;
    o.width /= static_cast<augur::nn::index>(budget_.narrower);
    o.epochs_before = budget_.epochs;
    o.seed = seed;
    return o;
}

result<cell_score> cell_runner::pretrain(const table_cell& cell, std::uint64_t seed, progress_line& progress, const std::string& label) {
    const table_head& target = cell.heads.front();
    const table_data& set = *world_->find(target.platform);
    const recipe base = recipe_for(cell, 1, seed);
    const augur::tlp::row_table table(base.schema, set.data.primitives());
    const drawn labelled = draw(set, base, {target}, budget_.records, seed), all = draw(set, base, {{target.platform, 1}}, budget_.records, seed);
    const auto train = augur::tlp::make_samples(set.data, labelled.train, labels_of(base));
    const auto validation = augur::tlp::make_samples(set.data, labelled.validation, labels_of(base));
    pretrain_options options = pretraining_of(cell, seed);
    const std::string hash = hash_of(cell, seed);
    options.epochs = epochs_for(train.size());
    options.checkpoint = cache_ + "/" + hash + ".checkpoint";
    options.run = augur::fnv1a64(hash);
    const auto tell = [&](const pretrain_progress& p) {
        progress.show(p.epoch, p.epochs,
                      label + (p.before ? text_of(", without labels: loss %.4g, ", p.loss) : stand_text(p.loss, p.top_1, p.top_5)) +
                          clock_text(p.seconds_left) + " left",
                      p.epoch == p.epochs);
        return !stop_requested().load();
    };
    const auto done = pretrain_and_rank(set.data, table, base.config, all.train.front(), train, validation, *threads_, options, tell);
    if (!done) return done.error();
    cell_score out;
    out.samples = train.size();
    out.epochs = options.epochs;
    out.best = done->best + 1;
    judge_cell(
        cell,
        [&](std::span<const std::uint32_t> members) {
            return pretrained_scores(done->model, set.data, table, base.config, options.how, members, *threads_);
        },
        out);
    finished_ = {options.checkpoint};
    return out;
}

result<cell_score> cell_runner::train(const table_cell& cell, std::uint64_t first_seed, progress_line& progress, const std::string& label) {
    const table_data& set = *world_->find(cell.heads.front().platform);
    const std::size_t most = cell.full ? budget_.full_records : budget_.records;
    const bool transfer = cell.method == table_method::fine_tune || cell.method == table_method::fine_tune_head;
    std::uint64_t seed = cell.members * (first_seed - 1) + 1;
    recipe base = recipe_for(cell, transfer ? 1 : cell.heads.size(), seed);
    if (auto fits = base.schema.check(); !fits) return fits.error();
    if (auto fits = base.config.check(); !fits) return fits.error();
    const augur::tlp::row_table table(base.schema, set.data.primitives());
    cell_score out;

    /// Trains `net` on some heads; `stage` tells checkpoints apart.
    const auto fit = [&](tlp_net& net, const std::vector<table_head>& heads, bool decoders_only, const char* stage) -> result<void> {
        drawn parts = draw(set, base, heads, most, seed);
        if (base.last_epoch)
            for (table_records& none : parts.validation) none.clear();
        const auto train = augur::tlp::make_samples(set.data, parts.train, labels_of(base));
        const auto validation = augur::tlp::make_samples(set.data, parts.validation, labels_of(base));
        augur::tlp::training_options options = base.options;
        options.fine.decoders_only = decoders_only;
        if (!cell.full) options.epochs = epochs_for(train.size());
        options.checkpoint = checkpoint_of(cell, seed) + stage + ".checkpoint";
        const auto tell = [&](const augur::tlp::training_progress& p) {
            progress.show(p.epoch, p.epochs, label + stand_text(p.last.loss, p.last.top_1, p.last.top_5) + clock_text(p.seconds_left) + " left",
                          p.epoch == p.epochs);
            return !stop_requested().load();
        };
        auto report = augur::tlp::train_on_dataset(net, table, set.data, train, validation, *threads_, options, tell);
        if (!report && report.error().code == errc::version_mismatch) { // of another version of this program
            std::fprintf(stderr, "%s; it starts again\n", report.error().detail.c_str());
            std::remove(options.checkpoint.c_str());
            report = augur::tlp::train_on_dataset(net, table, set.data, train, validation, *threads_, options, tell);
        }
        if (!report) return report.error();
        if (report->stopped) return error{errc::interrupted, "stopped"};
        out.samples = train.size();
        out.epochs = report->history.size();
        out.best = report->best + 1;
        if (!cell.full) finished_.push_back(options.checkpoint);
        return {};
    };

    std::vector<tlp_net> members;
    finished_.clear();
    for (std::size_t m = 0; m < cell.members; ++m) {
        if (m > 0) base = recipe_for(cell, transfer ? 1 : cell.heads.size(), ++seed);
        tlp_net net = tlp_net::random_init(base.config, augur::random_engine(seed));
        if (transfer) {
            if (auto done = fit(net, {cell.heads[1]}, false, "-before"); !done) return done.error();
            if (auto done = fit(net, {cell.heads[0]}, cell.method == table_method::fine_tune_head, ""); !done) return done.error();
        } else if (auto done = fit(net, cell.heads, false, ""); !done) {
            return done.error();
        }
        members.push_back(net.only(0));
    }
    augur::tlp::forward_backward<float> pass;
    const table_scores mean = [&](std::span<const std::uint32_t> records) {
        auto sum = augur::tlp::record_scores(members.front(), table, set.data, records, *threads_, pass);
        for (std::size_t m = 1; m < members.size(); ++m) {
            const auto more = augur::tlp::record_scores(members[m], table, set.data, records, *threads_, pass);
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
        }
        for (float& x : sum) x /= static_cast<float>(members.size());
        return sum;
    };
    if (cell.method == table_method::tlp_and_nest) return nest_trees(cell, first_seed, mean, std::move(out));
    judge_cell(cell, mean, out);
    return out;
}

} // namespace examples
