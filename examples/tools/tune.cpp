// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tunes kernels for the machine it runs on: examples/tune --help, docs/tuning.md.
#include <algorithm>
#include <cstdio>
#include <span>
#include <string>

#include <augur/search/task_scheduler.hpp>
#include <augur/workload/networks.hpp>

#include "flags.hpp"
#include "program.hpp"
#include "session.hpp"

namespace {

using augur::errc;
using augur::error;

augur::result<bool> read_flags(std::span<char* const> arguments, examples::job& out) {
    examples::flag_set flags;
    auto& s = out.options;
    auto& model = s.search.model;
    std::string search, scheduler = "gradient";
    std::size_t collect = 0;
    bool help = false, fixed_language = false, whole = false, no_limits = false;
    examples::add_work_flags(flags, "network", s.work);
    flags.add_number("trials", "N", "candidates to measure a kernel, on average; default 64", s.search.trials, 1, 1'000'000);
    flags.add_text(
        "model", "auto|none|tlp|crop|trees|hybrid|nest|FILE",
        "what guides the search. auto: chosen by --known, --transfer, --weights and --language; none: no model;\ntlp: a TLP trained during the "
        "search; crop: Crop; trees: boosted trees trained during the search;\nhybrid: Crop corrected by such trees; nest: boosted trees pre-trained "
        "on --known and updated online;\nFILE: weights of TLP or MetaTune (`metatune pretrain`), updated online; default auto",
        model);
    flags.add_text("machine", "FILE", "machine file (`machine --out FILE`) or the name of a preset, for Crop, whose drafts --model auto may take",
                   s.machine);
    flags.add_text(
        "known", "FILE",
        "log of other kernels (--collect writes one), for the models nest and auto; records of other machines,\nthreads, compilers or flags are "
        "skipped",
        s.known);
    flags.add_choice("draft", {"crop"},
                     "Crop chooses many candidates and the model the best of them; needs --machine; the default of --model is then tlp",
                     s.search.draft);
    flags.add_texts("transfer", "LOG",
                    "log of other kernels on this machine: each kernel begins with the best schedules of its class; may be repeated",
                    s.transfer_from);
    flags.add_switch("other-machines",
                     "--transfer takes what other machines, compilers or flags have measured as well, the kernels' own\nschedules among it",
                     s.transfer_other_machines);
    flags.add_number("transfers", "N", "schedules that a kernel takes from --transfer, at most; default 16", s.search.transfers, 0, 1000);
    flags.add_text("weights", "FILE", "weights of TLP or MetaTune, for --model auto", s.search.weights);
    flags.add_text("save-model", "FILE", "write the weights that TLP has learned, for --model FILE; the default of --model is then tlp",
                   out.save_model);
    flags.add_choice(
        "search", {"evolutionary", "random", "sa", "descent", "bo", "tlm"},
        "what proposes candidates: evolution, uniform sampling, simulated annealing, coordinate descent, Bayesian\noptimisation, a language model; "
        "default: tlm with --language, else evolutionary with a model, random without",
        search);
    flags.add_number("descend-after", "N", "after N trials of a kernel propose only neighbours of its fastest schedule", s.search.descend_after, 1,
                     1'000'000);
    flags.add_text("language", "FOLDER",
                   "language model (`tlm train`), for --search tlm: it drafts and the model chooses; with --model none it\nalone decides",
                   s.search.language);
    flags.add_texts("demonstrations", "LOG", "log of other kernels, of any machine, that the language model is fine-tuned on first; may be repeated",
                    s.demonstrations);
    flags.add_switch("fixed-language", "the language model does not learn from what is measured", fixed_language);
    flags.add_choice("scheduler", {"gradient", "even", "inside", "windowed"},
                     "how trials are shared out: where they help the sum of kernels most, evenly, where they help the network\nmost, by times "
                     "inside it (implies --whole), or to the quarter of the kernels that gained most in their last\nrounds, as the authors of TLM "
                     "do; default gradient",
                     scheduler);
    flags.add_number("round", "N", "trials of a kernel between two looks at the model; default a quarter of --trials, 4 to 64", s.search.round, 1,
                     1'000'000);
    flags.add_number("first-round", "N",
                     "trials of the first round of a kernel; later rounds are as large as what has been tried, up to --round;\ndefault --round",
                     s.search.first_round, 1, 1'000'000);
    flags.add_number("collect", "N", "only measure N random candidates a kernel into the log, e.g. to train a model", collect, 1, 1'000'000);
    flags.add_text("log", "FILE", "write each record as soon as it is measured", s.log);
    flags.add_switch("resume",
                     "go on with the log: nothing in it is measured again. Kernels that another machine has finished keep\nits records, its "
                     "unfinished ones start anew",
                     s.resume);
    flags.add_text("report", "FILE", "write an HTML report with tuning curves", out.report);
    flags.add_switch(
        "whole",
        "then run the network as one program: latency of each kernel alone, inside, and of its limit; where a\nkernel is slower inside, its "
        "next schedules are tried there. For one --network",
        whole);
    flags.add_text("emit", "FOLDER", "write the network as C: net.h, net.c, net.weights, and a main.c that times it; implies --whole",
                   out.whole.folder);
    flags.add_text("parameters", "FILE",
                   "safetensors file with the network's weights, and its inputs if it has them (docs/network.md); implies --whole. Default: by seed",
                   out.whole.parameters);
    flags.add_switch("no-limits", "leave out the limits of the machine, which take 3 seconds and more to measure", no_limits);
    flags.add_switch("no-search", "search nothing: the network has the best schedules of --log, else untuned ones; for --whole", out.no_search);
    examples::add_run_flags(flags, s);
    flags.add_switch("help", "print this", help);
    if (auto read = flags.parse(arguments); !read) return read.error();
    if (help) {
        std::printf("usage: tune --network NAME | --kernel KERNEL [flags]\n\n%s\n"
                    "Exit code: 0 done, 1 it failed on the way, 2 wrong flags or files, 130 interrupted (Ctrl-C: the record is finished, then the "
                    "summary).\n",
                    flags.help().c_str());
        return false;
    }
    const auto wrong = [](std::string text) { return error{errc::invalid_argument, std::move(text)}; };
    if (s.work.kernels.empty()) return wrong("nothing to tune: give --network or --kernel; try --help");
    if (s.resume && s.log.empty()) return wrong("--resume needs --log");
    out.whole.weighs = scheduler == "inside";
    whole = whole || out.whole.weighs || !out.whole.folder.empty() || !out.whole.parameters.empty();
    if (out.no_search && !whole) return wrong("--no-search leaves nothing to do: give --whole or --emit");
    if (whole) {
        if (collect > 0) return wrong("--whole and --emit need tuned kernels: they do not go with --collect");
        auto graph = augur::find_network_graph(s.work.name);
        if (!graph || flags.given("kernel")) return wrong("--whole, --emit and --scheduler inside are for one --network, without --kernel");
        out.whole.graph = *std::move(graph);
    }
    if (out.no_search)
        for (const char* name : {"trials", "model", "draft", "search", "descend-after", "language", "scheduler", "transfer", "resume", "save-model",
                                 "known", "weights", "round", "first-round"})
            if (flags.given(name)) return wrong(std::string("--no-search does not go with --") + name);
    if (collect > 0) {
        for (const char* name : {"trials", "model", "draft", "search", "descend-after", "language", "scheduler", "transfer", "save-model"})
            if (flags.given(name)) return wrong(std::string("--collect takes random candidates, evenly: it does not go with --") + name);
        if (s.log.empty()) return wrong("--collect needs --log: the records are what it is for");
        s.search.trials = collect;
        s.collect = true;
        s.search.scheduler = augur::scheduling::round_robin;
        model = "none";
    }
    if (!s.search.language.empty() && search.empty()) search = "tlm";
    if ((search == "tlm") != !s.search.language.empty())
        return wrong("--search tlm and --language FOLDER go together: `tlm train --model FOLDER` writes such a folder");
    if ((fixed_language || !s.demonstrations.empty()) && search != "tlm")
        return wrong("--demonstrations and --fixed-language are for a language model: they need --language FOLDER");
    if (!out.save_model.empty() && !flags.given("model")) model = "tlp"; // whose weights they are
    s.search.language_learns = !fixed_language;
    if (search == "tlm" && !s.search.draft.empty()) return wrong("--draft is for the evolutionary search: it does not go with --search tlm");
    if (search == "random" && flags.given("model") && model != "none")
        return wrong("--search random asks no model: it does not go with --model " + examples::shown(model));
    if (search == "sa") s.search.strategy = "annealing";
    if (search == "bo") s.search.strategy = "bayes";
    if (search == "descent" || search == "evolutionary") s.search.strategy = search;
    if (search == "sa" && model == "none") return wrong("--search sa needs a model: it does not go with --model none");
    if (search == "evolutionary" && model == "none") return wrong("--search evolutionary needs a model: it does not go with --model none");
    if (!out.save_model.empty() && (model == "none" || search == "random")) return wrong("--save-model needs a search with a model");
    const bool weights = std::find(augur::session_models.begin(), augur::session_models.end(), model) == augur::session_models.end();
    if ((model == "crop" || model == "hybrid") && s.machine.empty())
        return wrong("--model " + model + " needs --machine: `machine --out FILE` writes one");
    if (!s.search.draft.empty() && s.machine.empty()) return wrong("--draft crop needs --machine: `machine --out FILE` writes one");
    if (!s.search.draft.empty() && !flags.given("model")) model = "tlp";
    if (!s.search.draft.empty() && (search == "sa" || search == "descent" || search == "bo"))
        return wrong("--draft is for the evolutionary search: it does not go with --search " + search);
    if (!s.search.draft.empty() && (model == "none" || model == "crop" || model == "auto" || search == "random"))
        return wrong("--draft needs a model that verifies it: it does not go with --model " + model +
                     (search == "random" ? " and --search random" : ""));
    if (search == "random" && !s.known.empty()) return wrong("--search random learns nothing: it does not go with --known");
    if (search == "random") model = "none";
    if (flags.given("transfers") && s.transfer_from.empty() && (model != "auto" || s.known.empty())) return wrong("--transfers needs --transfer LOG");
    if (flags.given("other-machines") && s.transfer_from.empty()) return wrong("--other-machines needs --transfer LOG");
    if (flags.given("transfers") && model == "auto" && !s.search.language.empty())
        return wrong("--transfers: behind a language model --model auto measures no transferred schedule by itself; name a model");
    if (model != "auto" && (model == "nest") != !s.known.empty())
        return wrong("--model nest and --known go together: `tune --collect N --log FILE` writes such a log");
    if (!s.search.weights.empty() && model != "auto")
        return wrong("--weights is for --model auto: `--model FILE` begins with weights whatever is known");
    if (!out.save_model.empty() && !weights && model != "tlp") return wrong("--save-model writes the weights of TLP, not of --model " + model);
    if (scheduler == "even") s.search.scheduler = augur::scheduling::round_robin;
    if (scheduler == "windowed") s.search.scheduler = augur::scheduling::windowed;
    s.limits = !no_limits;
    return true;
}

} // namespace

int main(int argc, char** argv) {
    examples::job job;
    const auto go = read_flags(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)), job);
    if (!go) return examples::complain("tune", go.error(), examples::misuse);
    return examples::finish(*go ? examples::run_job("tune", std::move(job)) : examples::done);
}
