// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_IR_TASK_HPP
#define AUGUR_LOOPNEST_IR_TASK_HPP

/// @file
/// A tuning task of the embedded compiler: a kernel, its compute DAG and its hardware target. Models the concept `task`.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/dag_class.hpp>
#include <augur/loopnest/ir/operators.hpp>
#include <augur/record/ansor_line.hpp>
#include <augur/target/isa_level.hpp>
#include <augur/target/machine.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/workload/class_levels.hpp>
#include <augur/workload/kernel.hpp>

namespace augur::inline v0::loopnest {

/// A kernel, its compute DAG and its target. Immutable; copying is cheap.
class kernel_task {
public:
    /// @param uses   how often the model runs the kernel: the weight of the task in the task scheduler
    /// @param level  what its code may use; part of its target
    /// Errors: those of `build_dag`
    [[nodiscard]] static result<kernel_task> create(const kernel& k, const hardware_params& hardware, double uses = 1,
                                                    isa_level level = isa_level::native) {
        auto dag = build_dag(k);
        if (!dag) return dag.error();
        if (auto checked = dag->check(); !checked) return checked.error();
        kernel_task t(k);
        t.dag_ = std::make_shared<const compute_dag>(std::move(*dag));
        t.hardware_ = hardware;
        t.key_ = k.workload_key();
        t.class_ = k.class_name();
        auto levels = class_levels_of(*t.dag_);
        levels.set(class_level::workload, t.key_);
        t.class_levels_ = std::make_shared<const augur::class_levels>(std::move(levels));
        t.weight_ = uses;
        t.target_ = t.logged_target_ = target_text(level);
        t.flops_ = t.dag_->flops();
        return t;
    }

    /// The task on a platform, whose text is then part of `target()`: the same kernel on two platforms is two tasks. The log form does not change.
    [[nodiscard]] kernel_task on(const machine_identity& machine) const {
        kernel_task t = *this;
        t.target_ = t.logged_target_ + " " + to_text(machine);
        return t;
    }

    /// The same task with another weight in the task scheduler.
    [[nodiscard]] kernel_task weighing(double weight) const {
        kernel_task t = *this;
        t.weight_ = weight;
        return t;
    }

    [[nodiscard]] std::string_view key() const noexcept { return key_; }
    [[nodiscard]] std::string_view target() const noexcept { return target_; }
    [[nodiscard]] double weight() const noexcept { return weight_; }
    [[nodiscard]] double flops() const noexcept { return flops_; }
    [[nodiscard]] std::string_view kernel_class() const noexcept { return class_; }
    [[nodiscard]] const augur::class_levels& class_levels() const noexcept { return *class_levels_; }

    [[nodiscard]] const kernel& workload() const noexcept { return kernel_; }
    [[nodiscard]] const std::shared_ptr<const compute_dag>& dag() const noexcept { return dag_; }
    [[nodiscard]] const hardware_params& hardware() const noexcept { return hardware_; }

    /// The task in the form that a log line stores. Its layout_rewrite is 2: Ansor's code for constants rewritten to the layout of their reader.
    [[nodiscard]] logged_task logged() const {
        logged_task out;
        out.workload_key = key_;
        out.target = logged_target_;
        out.hardware = hardware_.numbers();
        out.layout_rewrite = 2;
        return out;
    }

    /// Lower bound of the memory traffic of one run: bytes of all inputs and all outputs, each counted once.
    [[nodiscard]] double bytes() const {
        double n = 0;
        for (std::size_t i = 0; i < dag_->ops.size(); ++i)
            if (dag_->ops[i].placeholder() || dag_->is_output(i)) n += 4 * static_cast<double>(dag_->ops[i].elements());
        return n;
    }

private:
    explicit kernel_task(kernel k) : kernel_(std::move(k)) {}

    kernel kernel_;
    std::shared_ptr<const compute_dag> dag_;
    std::shared_ptr<const augur::class_levels> class_levels_;
    hardware_params hardware_;
    std::string key_;
    std::string target_;
    std::string logged_target_; ///< in TVM's form
    std::string class_;
    double weight_ = 1;
    double flops_ = 0;
};

} // namespace augur::inline v0::loopnest

#endif
