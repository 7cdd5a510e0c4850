// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_CODEGEN_NETWORK_PROGRAM_HPP
#define AUGUR_LOOPNEST_CODEGEN_NETWORK_PROGRAM_HPP

/// @file
/// A network as one program: the functions of its kernels, called one after the other on one arena of buffers.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/codegen/network_options.hpp>
#include <augur/loopnest/detail/network_copy.hpp>
#include <augur/workload/kernel_signature.hpp>
#include <augur/workload/memory_plan.hpp>
#include <augur/workload/network_graph.hpp>

namespace augur::inline v0::loopnest {

/// A network as one program.
struct network_program {
    generated_program program;
    std::vector<std::size_t> steps;     ///< the nodes that are executed: kernel calls and copies
    std::vector<std::size_t> constants; ///< buffers that kernels read and that no run changes: packed weights, and weights that are not packed
    std::vector<std::string> functions; ///< declarations of all functions of the program, in C
    std::int64_t arena_bytes = 0;       ///< of all intermediate tensors
    std::int64_t live_bytes = 0;        ///< of those, the most that are needed at one time: no arena is smaller
    std::int64_t tensor_bytes = 0;      ///< of those, the sum
};

namespace detail {

class network_writer {
public:
    network_writer(const network_graph& g, std::span<const generated_program> kernels, const network_options& o)
        : graph_(g), kernels_(kernels), options_(o), places_(g.nodes().size()) {}

    result<network_program> run() {
        const auto list = graph_.kernels().kernels;
        if (list.size() != kernels_.size())
            return wrong("expected " + std::to_string(list.size()) + " kernels, got " + std::to_string(kernels_.size()));
        for (std::size_t k = 0; k < kernels_.size(); ++k)
            for (std::size_t m = 0; m < k; ++m)
                if (kernels_[m].entry == kernels_[k].entry) return wrong("two kernels have the entry " + kernels_[k].entry);
        place_inputs_and_outputs();
        for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
            const auto* k = graph_.kernel_of(i);
            if (k == nullptr) continue;
            const auto at = std::find_if(list.begin(), list.end(), [&](const network_kernel& n) { return n.workload == *k; });
            if (auto added = add_call(i, kernels_[static_cast<std::size_t>(at - list.begin())]); !added) return added.error();
        }
        place_tensors();
        write();
        return std::move(out_);
    }

private:
    using role = program_buffer::role;
    struct place {
        std::size_t buffer = 0;
        std::int64_t offset = 0; ///< in floats
    };
    /// What a kernel's program gets for one of its buffers: the tensor of a node, a buffer of the network for constants, or a part of the arena.
    struct argument {
        role purpose{};
        std::size_t number = 0; ///< of the node, the buffer, or the lifetime
    };
    struct call {
        std::size_t node = 0;
        const generated_program* kernel = nullptr;
        std::vector<argument> arguments; ///< in the order of the program's buffers
    };

    const network_graph& graph_;
    std::span<const generated_program> kernels_;
    const network_options& options_;
    network_program out_;
    std::vector<place> places_; ///< of each node's tensor; of a reshape: not set
    std::vector<call> calls_;   ///< in the order of execution
    std::vector<buffer_lifetime> lifetimes_;
    memory_plan plan_;
    std::size_t arena_ = 0; ///< number of its buffer
    std::uint64_t streams_ = 0;

    static error wrong(std::string text) { return {errc::invalid_argument, "network program: " + std::move(text)}; }

    std::size_t add_buffer(role purpose, std::int64_t elements) {
        out_.program.buffers.push_back({purpose, elements, 0});
        return out_.program.buffers.size() - 1;
    }
    /// A buffer with numbers of the caller, or uniform ones.
    std::size_t add_filled(role purpose, std::int64_t elements, const std::string& name, double low, double high) {
        program_buffer b{purpose, elements, (options_.seed << 24U) + streams_++, low, high};
        if (options_.weights != nullptr) {
            const auto at = options_.weights->offsets.find(name);
            if (at != options_.weights->offsets.end()) b.offset = at->second;
        }
        out_.program.buffers.push_back(b);
        return out_.program.buffers.size() - 1;
    }

    void place_inputs_and_outputs() {
        for (std::size_t i = 0; i < graph_.nodes().size(); ++i)
            if (std::holds_alternative<network_input>(graph_.nodes()[i].action))
                places_[i].buffer = add_filled(role::input, elements_of(graph_.shape_of(i)), graph_.nodes()[i].name, -1, 1);
        for (const auto o : graph_.outputs()) places_[graph_.buffer_of(o)].buffer = add_buffer(role::output, elements_of(graph_.shape_of(o)));
    }

    /// The buffers of a program with a role in the order of their streams, which is that of the operands.
    static std::vector<std::size_t> buffers_of(const generated_program& p, role purpose) {
        std::vector<std::size_t> out;
        for (std::size_t i = 0; i < p.buffers.size(); ++i)
            if (p.buffers[i].purpose == purpose) out.push_back(i);
        std::sort(out.begin(), out.end(),
                  [&](std::size_t a, std::size_t b) { return std::pair(p.buffers[a].fill, a) < std::pair(p.buffers[b].fill, b); });
        return out;
    }

    /// Adds a call of a kernel, and buffers for its constants. Weights keep the magnitude of what they multiply (He et al., Delving deep into rectifiers,
    /// 2015), so that a wrong tensor anywhere shows at the end.
    result<void> add_call(std::size_t node, const generated_program& kernel) {
        const auto signature = signature_of(*graph_.kernel_of(node));
        const auto inputs = buffers_of(kernel, role::input), weights = buffers_of(kernel, role::weight), packed = buffers_of(kernel, role::packed),
                   outputs = buffers_of(kernel, role::output);
        call c{node, &kernel, std::vector<argument>(kernel.buffers.size())};
        std::size_t input = 0, weight = 0;
        bool fits = outputs.size() == 1 && kernel.buffers[outputs[0]].elements == elements_of(signature.output);
        for (const auto& o : signature.operands) {
            const auto& list = o.constant ? weights : inputs;
            auto& next = o.constant ? weight : input;
            fits = fits && next < list.size() && kernel.buffers[list[next]].elements == elements_of(o.shape);
            if (!fits) break;
            const auto at = list[next++];
            if (!o.constant) {
                c.arguments[at] = {role::input, graph_.nodes()[node].inputs[input - 1]};
                continue;
            }
            const auto terms =
                static_cast<double>(elements_of(o.shape)) / static_cast<double>(signature.output[signature.channel_axis]); // of one result
            const bool factor = o.name.starts_with("scale") || o.name.starts_with("gamma");
            const double bound = o.name == "weight" ? std::sqrt(6 / (std::max)(terms, 1.0)) : 0.5;
            c.arguments[at] = {role::weight, add_filled(role::weight, elements_of(o.shape), graph_.nodes()[node].name + "." + o.name,
                                                        factor ? 1 - bound : -bound, factor ? 1 + bound : bound)};
            const auto of_weight = [&](std::size_t p) { return kernel.buffers[p].fill == kernel.buffers[at].fill; };
            if (std::none_of(packed.begin(), packed.end(), of_weight)) out_.constants.push_back(c.arguments[at].number);
        }
        if (!fits || input != inputs.size() || weight != weights.size())
            return wrong("the program " + kernel.entry + " is not one of " + graph_.kernel_of(node)->text());
        c.arguments[outputs[0]] = {role::output, node};
        for (const auto p : packed) {
            c.arguments[p] = {role::packed, add_buffer(role::packed, kernel.buffers[p].elements)};
            out_.constants.push_back(c.arguments[p].number);
        }
        for (const auto s : buffers_of(kernel, role::scratch)) {
            c.arguments[s] = {role::scratch, lifetimes_.size()};
            lifetimes_.push_back({floats(kernel.buffers[s].elements), node, node});
        }
        calls_.push_back(std::move(c));
        return {};
    }

    static std::int64_t floats(std::int64_t n) { return n * static_cast<std::int64_t>(sizeof(float)); }

    [[nodiscard]] bool in_arena(std::size_t node) const {
        return !std::holds_alternative<network_input>(graph_.nodes()[node].action) && !graph_.is_output(node);
    }
    /// Whether an element-wise kernel may write over its first input: it is the last reader, and reads it once.
    [[nodiscard]] bool overwrites(std::size_t node) const {
        const auto* k = graph_.kernel_of(node);
        if (!options_.in_place || k == nullptr || k->kind() != kernel_kind::elementwise) return false;
        const auto& inputs = graph_.nodes()[node].inputs;
        const auto from = graph_.buffer_of(inputs[0]);
        return in_arena(from) && graph_.last_use(from) == node &&
               std::none_of(inputs.begin() + 1, inputs.end(), [&](std::size_t p) { return graph_.buffer_of(p) == from; });
    }

    /// The arena. Inputs and outputs are not in it.
    void place_tensors() {
        std::vector<std::size_t> lifetime(graph_.nodes().size());
        for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
            if (graph_.buffer_of(i) != i || !in_arena(i)) continue;
            if (overwrites(i)) {
                lifetime[i] = lifetime[graph_.buffer_of(graph_.nodes()[i].inputs[0])];
                lifetimes_[lifetime[i]].last = graph_.last_use(i);
            } else {
                lifetime[i] = lifetimes_.size();
                lifetimes_.push_back({floats(elements_of(graph_.shape_of(i))), i, graph_.last_use(i)});
            }
        }
        plan_ = plan_memory(lifetimes_);
        out_.arena_bytes = plan_.bytes;
        out_.live_bytes = live_bytes(lifetimes_);
        for (const auto& l : lifetimes_) out_.tensor_bytes += l.bytes;
        arena_ = add_buffer(role::scratch, plan_.bytes / floats(1));
        for (std::size_t i = 0; i < graph_.nodes().size(); ++i)
            if (graph_.buffer_of(i) == i && in_arena(i)) places_[i] = {arena_, plan_.offsets[lifetime[i]] / floats(1)};
    }

    [[nodiscard]] static std::string text_of(const place& p) {
        const auto buffer = "b[" + std::to_string(p.buffer) + "]";
        return p.offset == 0 ? buffer : buffer + " + " + std::to_string(p.offset);
    }
    [[nodiscard]] std::string text_of(const argument& a) const {
        if (a.purpose == role::input || a.purpose == role::output) return text_of(places_[graph_.buffer_of(a.number)]);
        if (a.purpose == role::scratch) return text_of(place{arena_, plan_.offsets[a.number] / floats(1)});
        return text_of(place{a.number, 0});
    }
    [[nodiscard]] std::string statement(const call& c, const std::string& function, const char* more) const {
        std::string list;
        for (const auto& a : c.arguments) list += (list.empty() ? "" : ", ") + text_of(a);
        return "{ float *const k[] = {" + list + "}; " + function + "(k" + more + "); }";
    }

    void declare(const generated_program& p) {
        out_.functions.push_back("void " + p.entry + "(float *const *, aug_launch)");
        if (!p.pack_entry.empty()) out_.functions.push_back("void " + p.pack_entry + "(float *const *)");
    }

    void write() {
        auto& p = out_.program;
        const auto id = std::to_string(options_.id);
        p.entry = "aug_network_" + id;
        if (options_.weights != nullptr) p.contents = options_.weights->file;
        p.kernels = static_cast<int>(kernels_.size());
        for (const auto& k : kernels_) {
            p.source += k.source;
            declare(k);
        }
        std::string packing;
        std::vector<std::string> steps;
        std::map<std::string, std::string> copy_functions; // by their loops: layers share them
        auto next = calls_.begin();
        for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
            std::string step;
            if (next != calls_.end() && next->node == i) {
                step = statement(*next, next->kernel->entry, ", launch");
                if (!next->kernel->pack_entry.empty()) packing += "    " + statement(*next, next->kernel->pack_entry, "") + "\n";
                p.flops += next->kernel->flops;
                ++next;
            }
            const auto copies = copies_of(graph_, i);
            for (std::size_t k = 0; k < copies.size(); ++k) {
                auto& name = copy_functions[copies[k].function({})];
                if (name.empty()) {
                    name = "aug_copy_" + id + "_" + std::to_string(copy_functions.size());
                    p.source += copies[k].function(name);
                }
                const auto list = text_of(places_[graph_.buffer_of(graph_.nodes()[i].inputs[k])]) + ", " + text_of(places_[i]);
                step += "{ float *k[] = {" + list + "}; launch(" + name + ", k, " + std::to_string(copies[k].count()) + "); }";
            }
            if (step.empty()) continue;
            steps.push_back(std::move(step));
            out_.steps.push_back(i);
        }
        if (!packing.empty()) {
            p.pack_entry = "aug_network_pack_" + id;
            p.source += "void " + p.pack_entry + "(float *const *b) {\n" + packing + "}\n";
        }
        declare(p);
        if (options_.timed_runs == 0) {
            p.source += "void " + p.entry + "(float *const *b, aug_launch launch) {\n";
            for (const auto& s : steps) p.source += "    " + s + "\n";
            p.source += "}\n";
            return;
        }
        const auto times = add_buffer(role::output, static_cast<std::int64_t>(steps.size()) * options_.timed_runs);
        p.source += "#include <time.h>\nstatic double aug_now_" + id +
                    "(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }\nvoid " +
                    p.entry + "(float *const *b, aug_launch launch) {\n    float *times = b[" + std::to_string(times) +
                    "];\n    for (int run = 0; run < " + std::to_string(options_.timed_runs) + "; ++run) {\n    double begin = aug_now_" + id +
                    "(), end;\n";
        for (const auto& s : steps) p.source += "    " + s + "\n    end = aug_now_" + id + "(); *times++ = (float)(end - begin); begin = end;\n";
        p.source += "    }\n}\n";
    }
};

} // namespace detail

/// Makes one program of the programs of a network's kernels. Its pack function packs the constants of all calls; a run calls the kernels in the order of
/// execution.
///
/// Buffers: inputs and outputs of the network, each in the order of its nodes or outputs; the constants, call by call; the arena.
///
/// @param kernels  one for each of `g.kernels()`, with distinct entries: schedules of `compile_schedule`, or naive ones
/// Errors: invalid_argument (a program that is not one of the kernel, entries that are not distinct)
[[nodiscard]] inline result<network_program> write_network(const network_graph& g, std::span<const generated_program> kernels,
                                                           const network_options& options = {}) {
    return detail::network_writer(g, kernels, options).run();
}

} // namespace augur::inline v0::loopnest

#endif
