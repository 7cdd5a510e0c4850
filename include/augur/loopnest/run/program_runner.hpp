// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_PROGRAM_RUNNER_HPP
#define AUGUR_LOOPNEST_RUN_PROGRAM_RUNNER_HPP

/// @file
/// Compiles generated programs and measures each in its own process, with output checks and timing.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/detail/classify_outcome.hpp>
#include <augur/loopnest/run/compile.hpp>
#include <augur/loopnest/run/process.hpp>
#include <augur/record/measurement.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0::loopnest {

/// Timing of a candidate. The median of many short repeats tolerates a disturbance that a median of three long repeats would not.
struct timing_options {
    int repeats = 9;                  ///< latencies per candidate, 1 to 64
    double min_repeat_seconds = 0.01; ///< duration of one repeat; its latency is the mean of its calls
    int warmups = 1;                  ///< least number of untimed calls after the checked first call; short kernels get more, up to 2 ms; 0: none
    double enough_seconds = 1;        ///< no repeat is started after the repeats have taken this time
    double cutoff = 4;                ///< a candidate slower than the best one by this factor gets one short repeat
    std::int64_t flush_bytes = 0;     ///< bytes written before each call to flush the caches; 0: caches stay warm

    /// Checks that all values are in their domain.
    [[nodiscard]] result<void> check() const {
        if (repeats < 1 || repeats > 64) return error{errc::invalid_argument, "timing: repeats is " + std::to_string(repeats) + ", expected 1 to 64"};
        if (!(min_repeat_seconds >= 0 && min_repeat_seconds <= 60))
            return error{errc::invalid_argument, "timing: expected min_repeat_seconds in [0, 60]"};
        if (warmups < 0 || warmups > 1000)
            return error{errc::invalid_argument, "timing: warmups is " + std::to_string(warmups) + ", expected 0 to 1000"};
        if (!(enough_seconds >= 0)) return error{errc::invalid_argument, "timing: expected enough_seconds of 0 or more"};
        if (!(cutoff > 1)) return error{errc::invalid_argument, "timing: expected cutoff above 1"};
        if (flush_bytes < 0) return error{errc::invalid_argument, "timing: expected flush_bytes of 0 or more"};
        return {};
    }
};

/// Options for compiling and running candidates. With the defaults a tuning run takes about 0.2 s per candidate.
struct runner_options {
    compiler_options compiler;
    compile_limits compile;
    timing_options timing;
    std::string folder;                                     ///< parent of the work folder; empty: TMPDIR, else /tmp
    int threads = 0;                                        ///< threads of `launch`; 0: all available processors
    int compile_jobs = 0;                                   ///< concurrent compilations; 0: all available processors
    int batch = 8;                                          ///< largest number of programs in one translation unit
    double wall_seconds = 10;                               ///< time limit of one candidate's process
    std::uint64_t memory_bytes = std::uint64_t{512} << 20U; ///< address space in addition to the buffers
    bool huge_pages = true;                                 ///< request huge pages for buffers of 256 KiB and more
    stop_flag stop = nullptr;
};

/// Tolerance of an output against the reference: |got - want| <= absolute + relative * |want|. NaN is always wrong.
struct tolerance {
    double absolute = 1e-5;
    double relative = 1e-4;

    /// The tolerance for sums of `length` terms of magnitude 1 in any order. Rounding errors grow with the square root of the length (Higham 2002,
    /// section 4.2, random errors), far below the error of one missing term.
    static tolerance of_reduction(double length) noexcept { return {1e-5 * std::sqrt((std::max)(length, 1.0)), 1e-4}; }
};

/// The reference outputs of a task, stored in the work folder of the runner that made them and removed with that runner. Default-constructed:
/// nothing is checked.
struct expected_outputs {
    std::string path;
    std::vector<std::int64_t> elements; ///< elements of each output, in order
    tolerance allowed;
    double seconds = 0; ///< latency of the trusted program, one call; 0 if the caller computed the outputs
};

/// Compiles programs and measures them.
///
/// Order       a chunk of programs is compiled on all processors; then its candidates run one after the other, with no compilation beside them,
///             since it would disturb the timing
/// Batches     several programs share one translation unit (half the CPU time per program). If a batch fails, its programs are compiled one by
///             one, which identifies the faulty program
/// Protocol    inputs are filled by `program_input_value`, outputs and scratch with NaN; packing is timed separately; the first call is checked
///             against the reference; then come warm-up calls, repeats of at least `min_repeat_seconds`, and a second check
/// Isolation   docs/isolation.md: protects from accidents, not from malicious code
/// Threads     move-only; one call at a time
class program_runner {
public:
    /// Creates the work folder, finds the compiler and compiles the runner program: about 0.7 s.
    ///
    /// @return errors: invalid_argument, not_found, limit (no file descriptors are left to start a process), io, interrupted
    static result<program_runner> create(runner_options options = {}) {
        if (auto valid = options.timing.check(); !valid) return valid.error();
        if (options.threads < 0 || options.threads > 1024)
            return error{errc::invalid_argument, "runner: threads is " + std::to_string(options.threads) + ", expected 0 (all) to 1024"};
        if (options.batch < 1 || options.batch > 1024 || options.compile_jobs < 0 || options.compile_jobs > 1024)
            return error{errc::invalid_argument, "runner: expected batch from 1 to 1024 and compile_jobs from 0 (all) to 1024"};
        if (!(options.wall_seconds > 0 && options.wall_seconds < 1e6)) return error{errc::invalid_argument, "runner: expected wall_seconds above 0"};
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

    /// Runs a trusted program of the task once, with a time limit of at least 120 s, and stores its outputs.
    ///
    /// @return errors: invalid_argument (it does not compile or run, with the reason), io, interrupted
    result<expected_outputs> make_expected_outputs(const generated_program& trusted, tolerance allowed = {}) {
        expected_outputs made = new_reference(allowed);
        for (const auto& b : trusted.buffers)
            if (b.purpose == program_buffer::role::output) made.elements.push_back(b.elements);
        const auto m = measure_chunk(std::span(&trusted, 1), made, 0, true).front();
        if (detail::is_set(options_.stop)) return error{errc::interrupted, "stopped while computing the reference"};
        if (!m.ok()) return error{errc::invalid_argument, "reference program: " + std::string(to_string(m.status)) + ": " + m.reason};
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
        const detail::unique_fd fd(::open(from.path.c_str(), O_RDONLY | O_CLOEXEC));
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
        if (auto valid = well_formed(from.programs_[i], expected); !valid) {
            m.status = outcome::illegal_schedule;
            m.reason = valid.error().detail;
            return m;
        }
        run_one(from.programs_[i], from.objects_[i], expected, 0, false, m);
        return m;
    }

private:
    struct piece {
        std::vector<const generated_program*> programs;
        std::vector<std::size_t> index;
    };
    struct wire_job { // the C source of the runner has the same struct
        std::int32_t magic, threads, repeats, warmups, buffers, huge, dump, pad;
        double min_repeat, enough, atol, rtol, best, cutoff;
        std::int64_t flush;
        std::uint32_t path, entry, pack, reference;
    };
    static_assert(sizeof(wire_job) == 104);
    struct wire_buffer {
        std::int32_t role, pad;
        std::int64_t elements;
        std::uint64_t fill;
        double low, high;
    };
    static_assert(sizeof(wire_buffer) == 40);

    program_runner(runner_options options, work_folder folder) : options_(std::move(options)), folder_(std::move(folder)) {}

    expected_outputs new_reference(tolerance allowed) {
        expected_outputs made;
        made.path = folder_.path() + "/r" + std::to_string(next_number_++);
        made.allowed = allowed;
        return made;
    }

    static bool identifier(std::string_view name) noexcept {
        const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
        return !name.empty() && name.size() < 200 && letter(name.front()) &&
               std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
    }

    static error malformed(const std::string& problem) { return {errc::invalid_argument, "malformed program: " + problem}; }

    /// Checks that a program can be run.
    static result<void> well_formed(const generated_program& p, const expected_outputs& expected) {
        constexpr std::int64_t most = std::int64_t{1} << 36U;
        if (!identifier(p.entry) || (!p.pack_entry.empty() && !identifier(p.pack_entry))) return malformed("entry is not a C identifier");
        if (p.buffers.size() > 4096) return malformed("more than 4096 buffers");
        std::vector<std::int64_t> outputs;
        for (const auto& b : p.buffers) {
            if (b.elements < 0 || b.elements > most) return malformed("buffer of " + std::to_string(b.elements) + " elements");
            if (b.purpose == program_buffer::role::output) outputs.push_back(b.elements);
        }
        if (!expected.path.empty() && outputs != expected.elements) return malformed("its outputs have other sizes than the reference");
        return {};
    }

    /// Groups programs with distinct names into batches, so that all processors have compilations.
    std::vector<piece> group(std::span<const generated_program> programs, const std::vector<measurement>& done) const {
        std::vector<piece> pieces;
        const auto jobs = static_cast<std::size_t>(options_.compile_jobs);
        const std::size_t size = (std::min)(static_cast<std::size_t>(options_.batch), (programs.size() + jobs - 1) / jobs);
        for (std::size_t i = 0; i < programs.size(); ++i) {
            if (!done[i].reason.empty()) continue;
            const auto fits = [&](const piece& b) {
                return b.programs.size() < size && std::none_of(
                                                       b.programs.begin(), b.programs.end(),
                                                       [&](const generated_program* p) {
                                                           return p->entry == programs[i].entry ||
                                                                  (!p->pack_entry.empty() && p->pack_entry == programs[i].pack_entry);
                                                       });
            };
            auto at = std::find_if(pieces.begin(), pieces.end(), fits);
            if (at == pieces.end()) at = pieces.insert(at, piece{});
            at->programs.push_back(&programs[i]);
            at->index.push_back(i);
        }
        return pieces;
    }

    std::vector<compile_outcome> compile(const std::vector<piece>& pieces) {
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
        for (const auto& p : programs) out.programs_.push_back({{}, p.entry, p.pack_entry, p.buffers, p.flops});
        out.objects_.resize(programs.size());
        auto& done = out.measurements_ = std::vector<measurement>(programs.size());
        for (std::size_t i = 0; i < programs.size(); ++i) {
            done[i].timestamp = static_cast<std::int64_t>(std::time(nullptr));
            if (auto valid = well_formed(programs[i], expected); !valid) {
                done[i].status = outcome::illegal_schedule;
                done[i].reason = valid.error().detail;
            }
        }
        auto pieces = group(programs, done);
        auto compiled = compile(pieces);
        std::vector<piece> alone;
        for (std::size_t b = 0; b < pieces.size(); ++b) {
            charge(pieces[b], compiled[b], done);
            if (compiled[b].ok || compiled[b].stopped || compiled[b].ours || pieces[b].programs.size() == 1) continue;
            for (std::size_t k = 0; k < pieces[b].programs.size(); ++k) alone.push_back({{pieces[b].programs[k]}, {pieces[b].index[k]}});
            pieces[b] = {};
        }
        if (!alone.empty()) {
            auto more = compile(alone);
            for (std::size_t b = 0; b < alone.size(); ++b) charge(alone[b], more[b], done);
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

    static void charge(const piece& p, const compile_outcome& c, std::vector<measurement>& done) {
        for (const auto i : p.index) {
            done[i].compile_cpu_seconds += c.cpu_seconds / static_cast<double>(p.index.size());
            done[i].total_seconds += c.wall_seconds / static_cast<double>(p.index.size());
        }
    }

    void run_one(const generated_program& p, const std::string& object, const expected_outputs& expected, double best, bool dump, measurement& m) {
        m.timestamp = static_cast<std::int64_t>(std::time(nullptr));
        m.status = outcome::runner_error;
        m.reason = "interrupted";
        if (detail::is_set(options_.stop)) return;

        wire_job j{};
        j.magic = 0x52475541;
        j.threads = options_.threads;
        j.repeats = dump ? 1 : options_.timing.repeats;
        j.warmups = options_.timing.warmups;
        j.buffers = static_cast<std::int32_t>(p.buffers.size());
        j.huge = options_.huge_pages ? 1 : 0;
        j.dump = dump ? 1 : 0;
        j.min_repeat = dump ? 0 : options_.timing.min_repeat_seconds;
        j.enough = options_.timing.enough_seconds;
        j.atol = expected.allowed.absolute;
        j.rtol = expected.allowed.relative;
        j.best = std::isfinite(best) ? best : 0;
        j.cutoff = options_.timing.cutoff;
        j.flush = options_.timing.flush_bytes;
        std::string names;
        const auto name = [&](const std::string& text) {
            names.append(text.c_str(), text.size() + 1);
            return static_cast<std::uint32_t>(text.size() + 1);
        };
        j.path = name(object);
        j.entry = name(p.entry);
        j.pack = name(p.pack_entry);
        j.reference = name(expected.path);
        std::uint64_t memory =
            options_.memory_bytes + static_cast<std::uint64_t>(j.flush) + static_cast<std::uint64_t>(j.threads) * (std::uint64_t{80} << 20U);
        std::string body(reinterpret_cast<const char*>(&j), sizeof j);
        for (const auto& b : p.buffers) {
            const wire_buffer w{static_cast<std::int32_t>(b.purpose), 0, b.elements, b.fill, b.low, b.high};
            body.append(reinterpret_cast<const char*>(&w), sizeof w);
            // pages rounded up to huge pages, alignment, guard pages, and the mapped reference
            memory += static_cast<std::uint64_t>(b.elements) * sizeof(float) * (b.purpose == program_buffer::role::output ? 2 : 1) +
                      (std::uint64_t{5} << 20U);
        }
        body += names;
        const std::uint64_t length = body.size();
        const double wall = dump ? (std::max)(options_.wall_seconds, 120.0) : options_.wall_seconds;
        const auto nonce = detail::fresh_nonce(next_number_++);
        auto spec =
            detail::guarded(runner_, nonce, {wall, wall * options_.threads + 2, memory, dump ? std::uint64_t{1} << 40U : std::uint64_t{1} << 20U});
        spec.arguments.emplace_back("measure");
        spec.input.assign(reinterpret_cast<const char*>(&length), sizeof length);
        spec.input += body;
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
