// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_PROGRAM_RUNNER_HPP
#define AUGUR_LOOPNEST_RUN_PROGRAM_RUNNER_HPP

/// @file
/// Compiles generated programs and measures each in its own process, with output checks and timing.

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <augur/core/error.hpp>
#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/detail/classify_outcome.hpp>
#include <augur/loopnest/detail/program_batch.hpp>
#include <augur/loopnest/detail/runner_job.hpp>
#include <augur/loopnest/detail/worker_limits.hpp>
#include <augur/loopnest/run/compile.hpp>
#include <augur/loopnest/run/expected_outputs.hpp>
#include <augur/loopnest/run/process.hpp>
#include <augur/loopnest/run/runner_options.hpp>
#include <augur/loopnest/run/stop_flag.hpp>
#include <augur/loopnest/run/work_folder.hpp>
#include <augur/record/file_descriptor.hpp>
#include <augur/record/measurement.hpp>
#include <augur/target/isa_level.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0::loopnest {

/// Compiles programs and measures them.
///
/// Order       a chunk of programs is compiled on all processors; then its candidates run one after the other, with no compilation beside them,
///             since it would disturb the timing
/// Batches     several programs share one translation unit (half the CPU time per program). If a batch fails, its programs are compiled one by
///             one, which identifies the faulty program
/// Protocol    inputs are filled by `program_input_value`, outputs and scratch with NaN; packing is timed separately; the first call is checked
///             against the reference; outputs are filled with NaN again; then come warm-up calls (`timing_options::warmups`), repeats of at
///             least `min_repeat_seconds`, and a second check
/// Isolation   docs/isolation.md: protects from accidents, not from malicious code
/// Threads     move-only; one call at a time
class program_runner {
public:
    /// Creates the work folder, finds the compiler and compiles the runner program: about 0.7 s.
    ///
    /// @return errors: invalid_argument, unsupported (an ISA level that this machine or the compiler lacks), not_found, limit (no file descriptors are
    ///         left to start a process), io, interrupted
    static result<program_runner> create(runner_options options = {}) {
        if (auto valid = options.timing.check(); !valid) return valid.error();
        if (options.threads < 0 || options.threads > 1024)
            return error{errc::invalid_argument, "runner: threads is " + std::to_string(options.threads) + ", expected 0 (all) to 1024"};
        if (options.batch < 1 || options.batch > 1024 || options.compile_jobs < 0 || options.compile_jobs > 1024)
            return error{errc::invalid_argument, "runner: expected batch from 1 to 1024 and compile_jobs from 0 (all) to 1024"};
        if (!(options.wall_seconds > 0 && options.wall_seconds < 1e6))
            return error{errc::invalid_argument, "runner: expected wall_seconds above 0 and below 1e6, got " + std::to_string(options.wall_seconds)};
        if (auto runs = detect_machine(options.compiler.isa); !runs) return runs.error();
        if (options.threads == 0) options.threads = available_processors();
        if (options.compile_jobs == 0) options.compile_jobs = available_processors();
        auto folder = work_folder::create(options.folder);
        if (!folder) return folder.error();
        auto cc = find_compiler(options.compiler, *folder, options.stop);
        if (!cc) return cc.error();
        auto runner = build_runner(*cc, *folder, options.stop);
        if (!runner) return runner.error();
        program_runner made(std::move(options), *std::move(folder));
        made.compiler_ = *std::move(cc);
        made.runner_ = *std::move(runner);
        return made;
    }

    [[nodiscard]] const runner_options& options() const noexcept { return options_; }
    /// Sets the timing of subsequent candidates.   errors: invalid_argument
    result<void> set_timing(const timing_options& timing) {
        auto valid = timing.check();
        if (valid) options_.timing = timing;
        return valid;
    }
    [[nodiscard]] const compiler& used_compiler() const noexcept { return compiler_; }

    /// Runs a trusted program of the task once (a short one twice), with a time limit of at least 120 s, and stores its outputs.
    ///
    /// @return errors: invalid_argument (it does not compile, run or fit into memory, with the reason), io (the runner failed, e.g. a full disk), interrupted
    result<expected_outputs> make_expected_outputs(const generated_program& trusted, tolerance allowed = {}) {
        expected_outputs made = new_reference(allowed);
        for (const auto& b : trusted.buffers)
            if (b.purpose == program_buffer::role::output) made.elements.push_back(b.elements);
        const auto m = measure_chunk(std::span(&trusted, 1), made, 0, true).front();
        if (stop_requested(options_.stop)) return error{errc::interrupted, "stopped while computing the reference"};
        if (!m.ok())
            return error{m.status == outcome::runner_error ? errc::io : errc::invalid_argument,
                         "reference program: " + std::string(to_string(m.status)) + ": " + m.reason};
        made.seconds = m.latency();
        return made;
    }

    /// Stores outputs that the caller computed from the same inputs (`program_input_value`).
    ///
    /// @param outputs  one vector per output, in the order of the program's buffers
    result<expected_outputs> make_expected_outputs(std::span<const std::vector<float>> outputs, tolerance allowed = {}) {
        expected_outputs made = new_reference(allowed);
        std::string bytes;
        for (const auto& o : outputs) {
            made.elements.push_back(static_cast<std::int64_t>(o.size()));
            bytes.append(reinterpret_cast<const char*>(o.data()), o.size() * sizeof(float));
        }
        if (auto written = write_private_file(made.path, bytes); !written) return written.error();
        return made;
    }

    /// The values of a reference, one vector per output.   errors: io
    static result<std::vector<std::vector<float>>> read_reference(const expected_outputs& from) {
        std::vector<std::vector<float>> outputs;
        const auto fd = file_descriptor::open(from.path.c_str(), O_RDONLY);
        if (!fd) return error{errc::io, "reference '" + from.path + "': " + std::strerror(errno)};
        for (const auto n : from.elements) {
            auto& o = outputs.emplace_back(static_cast<std::size_t>(n));
            auto* at = reinterpret_cast<char*>(o.data());
            for (std::size_t rest = o.size() * sizeof(float); rest > 0;) {
                const ssize_t k = ::read(fd.get(), at, rest);
                if (k < 0 && errno == EINTR) continue;
                if (k <= 0) return error{errc::io, "reference '" + from.path + "': " + (k < 0 ? std::strerror(errno) : "too short")};
                at += k;
                rest -= static_cast<std::size_t>(k);
            }
        }
        return outputs;
    }

    /// Measures programs of one task.
    ///
    /// @param expected      reference outputs; `expected_outputs{}` disables the check
    /// @param best_seconds  best latency of the task so far; 0 or infinity: none. A better latency found in this call applies immediately
    /// @return              one measurement per program, in order. After a stop the remaining ones are `runner_error`, reason "interrupted"
    std::vector<measurement> measure(std::span<const generated_program> programs, const expected_outputs& expected, double best_seconds = 0) {
        std::vector<measurement> all;
        all.reserve(programs.size());
        const auto chunk = static_cast<std::size_t>(options_.batch) * static_cast<std::size_t>(options_.compile_jobs);
        for (std::size_t at = 0; at < programs.size(); at += chunk) {
            auto part = measure_chunk(programs.subspan(at, (std::min)(chunk, programs.size() - at)), expected, best_seconds, false);
            for (auto& m : part) {
                if (m.ok() && (!(best_seconds > 0) || m.latency() < best_seconds)) best_seconds = m.latency();
                all.push_back(std::move(m));
            }
        }
        return all;
    }

    /// Compiled programs that can be run repeatedly. Their shared objects are removed with this object or with its runner.
    class built_programs {
    public:
        built_programs(built_programs&&) = default;
        built_programs& operator=(built_programs&&) = delete;
        ~built_programs() {
            for (const auto& f : files_) (void)::unlink(f.c_str());
        }
        [[nodiscard]] std::size_t size() const noexcept { return programs_.size(); }

    private:
        friend class program_runner;
        built_programs() = default;

        std::vector<generated_program> programs_; ///< without their sources
        std::vector<std::string> objects_;      ///< shared object of each program; empty: none, and the measurement in `measurements_` has the reason
        std::vector<measurement> measurements_; ///< cost and outcome of the compilation
        std::vector<std::string> files_;
    };

    /// Compiles programs of any tasks for interleaved measurements: `run` one, then another, then the first again.
    [[nodiscard]] built_programs build(std::span<const generated_program> programs) { return build(programs, expected_outputs{}); }

    /// Measures one program in its own process. A program that could not be compiled gives its compile error in each call.
    ///
    /// @param expected  as for `measure`
    [[nodiscard]] measurement run(const built_programs& from, std::size_t i, const expected_outputs& expected) {
        AUGUR_ASSERT(i < from.size(), "program_runner::run: no such program");
        auto m = from.measurements_[i];
        if (from.objects_[i].empty()) return m;
        if (auto valid = detail::well_formed(from.programs_[i], expected); !valid) {
            m.status = outcome::illegal_schedule;
            m.reason = valid.error().detail;
            return m;
        }
        run_one(from.programs_[i], from.objects_[i], expected, 0, false, m);
        return m;
    }

private:
    program_runner(runner_options options, work_folder folder) : options_(std::move(options)), folder_(std::move(folder)) {}

    expected_outputs new_reference(tolerance allowed) {
        expected_outputs made;
        made.path = folder_.path() + "/r" + std::to_string(next_number_++);
        made.allowed = allowed;
        return made;
    }

    std::vector<compile_outcome> compile(const std::vector<detail::program_batch>& pieces) {
        std::vector<std::vector<const generated_program*>> batches;
        batches.reserve(pieces.size());
        for (const auto& p : pieces) batches.push_back(p.programs);
        const auto first = next_number_;
        next_number_ += pieces.size();
        return compile_batches(compiler_, runner_, folder_, batches, first, options_.compile, static_cast<std::size_t>(options_.compile_jobs),
                               options_.stop);
    }

    std::vector<measurement> measure_chunk(std::span<const generated_program> programs, const expected_outputs& expected, double best, bool dump) {
        auto built = build(programs, expected);
        for (std::size_t i = 0; i < programs.size(); ++i) {
            auto& m = built.measurements_[i];
            if (built.objects_[i].empty()) continue;
            run_one(programs[i], built.objects_[i], expected, best, dump, m);
            if (m.ok() && (!(best > 0) || m.latency() < best)) best = m.latency();
        }
        return std::move(built.measurements_);
    }

    built_programs build(std::span<const generated_program> programs, const expected_outputs& expected) {
        built_programs out;
        for (const auto& p : programs) out.programs_.push_back({{}, p.entry, p.pack_entry, p.buffers, p.flops, p.kernels, p.contents});
        out.objects_.resize(programs.size());
        auto& done = out.measurements_ = std::vector<measurement>(programs.size());
        for (std::size_t i = 0; i < programs.size(); ++i) {
            done[i].timestamp = static_cast<std::int64_t>(std::time(nullptr));
            if (auto valid = detail::well_formed(programs[i], expected); !valid) {
                done[i].status = outcome::illegal_schedule;
                done[i].reason = valid.error().detail;
            }
        }
        auto pieces =
            detail::group_programs(programs, done, static_cast<std::size_t>(options_.compile_jobs), static_cast<std::size_t>(options_.batch));
        auto compiled = compile(pieces);
        std::vector<detail::program_batch> alone;
        for (std::size_t b = 0; b < pieces.size(); ++b) {
            detail::charge(pieces[b], compiled[b], done);
            if (compiled[b].ok || compiled[b].stopped || compiled[b].ours || pieces[b].programs.size() == 1) continue;
            for (std::size_t k = 0; k < pieces[b].programs.size(); ++k) alone.push_back({{pieces[b].programs[k]}, {pieces[b].index[k]}});
            pieces[b] = {};
        }
        if (!alone.empty()) {
            auto more = compile(alone);
            for (std::size_t b = 0; b < alone.size(); ++b) detail::charge(alone[b], more[b], done);
            std::move(alone.begin(), alone.end(), std::back_inserter(pieces));
            std::move(more.begin(), more.end(), std::back_inserter(compiled));
        }
        for (std::size_t b = 0; b < pieces.size(); ++b) {
            out.files_.push_back(compiled[b].object);
            for (const auto i : pieces[b].index) {
                if (compiled[b].ok) {
                    out.objects_[i] = compiled[b].object;
                    continue;
                }
                done[i].status = compiled[b].ours || compiled[b].stopped ? outcome::runner_error
                                 : compiled[b].timed_out                 ? outcome::compile_timeout
                                                                         : outcome::compile_error;
                done[i].reason = compiled[b].reason.empty() ? "the compiler failed and said nothing" : compiled[b].reason;
            }
        }
        return out;
    }

    /// Runs a compiled program in its own process and writes the outcome to `m`.
    ///
    /// @param dump  as for `detail::new_job`; the time limit is then at least 120 s
    void run_one(const generated_program& p, const std::string& object, const expected_outputs& expected, double best, bool dump, measurement& m) {
        m.timestamp = static_cast<std::int64_t>(std::time(nullptr));
        m.status = outcome::runner_error;
        m.reason = "interrupted";
        if (stop_requested(options_.stop)) return;
        if (auto fits = detail::check_memory(p, options_.huge_pages); !fits) {
            m.status = outcome::run_memory;
            m.reason = fits.error().detail;
            return;
        }

        const double wall = (dump ? (std::max)(options_.wall_seconds, 120.0) : options_.wall_seconds) + detail::seconds_to_fill(p);
        const auto nonce = detail::fresh_nonce(next_number_++);
        auto spec = detail::guarded(runner_, nonce,
                                    {wall, wall * options_.threads + 2, detail::address_space(p, options_), std::uint64_t{1} << (dump ? 40U : 20U)});
        spec.arguments.emplace_back("measure");
        spec.input = detail::job_message(detail::new_job(options_, expected.allowed, best, dump), p, object, expected.path);
        const auto r = run_process(spec, options_.stop);
        detail::classify_outcome(r, detail::read_guard(r, nonce), p, m);
        m.reason = detail::without_path(std::move(m.reason), object, "program.so");
    }

    runner_options options_;
    work_folder folder_;
    compiler compiler_;
    std::string runner_;
    std::uint64_t next_number_ = 0;
};

} // namespace augur::inline v0::loopnest

#endif
