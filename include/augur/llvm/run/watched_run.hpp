// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LLVM_RUN_WATCHED_RUN_HPP
#define AUGUR_LLVM_RUN_WATCHED_RUN_HPP

/// @file
/// Execution of a traced program in a child process: threads that run one at a time, their traces, and the state of the runtime library. One instance
/// per process.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pthread.h>
#include <signal.h>

#include <augur/core/steady_seconds.hpp>
#include <augur/llvm/instrument/counters.hpp>
#include <augur/llvm/instrument/trace_profile.hpp>
#include <augur/llvm/options.hpp>
#include <augur/llvm/run/guarded_child.hpp>
#include <augur/llvm/run/memory.hpp>
#include <augur/program/features.hpp>
#include <augur/program/reuse/interleave.hpp>

namespace augur::inline v0::detail {

/// Body function of a parallel region, whose instances are distributed to threads.
struct parallel_part {
    std::uint64_t address = 0;
    std::uint64_t extent = 0; ///< trip count of its loop from the code; 0: not known
    std::uint64_t launches = 0;
};

/// Run of a program. The instances of a parallel region are distributed like a static loop of TVM and OpenMP: thread t gets the t-th of equal chunks.
/// Threads run one at a time, each until its trace buffer is full, so that the result is deterministic.
class ir_run {
public:
    ir_run(const ir_options& o, const child_report& report, std::vector<parallel_part> parts)
        : options_(o), report_(report), parts_(std::move(parts)), buffer_(buffer_lines + trace_slack) {
        for (int t = 0; t < o.threads; ++t) thread_profiles_.emplace_back(o.trace, o.trace.exact / static_cast<std::uint64_t>(o.threads));
        if (o.threads > 1) shared_ = std::make_unique<trace_profile>(o.trace, o.trace.exact);
        use(buffer_);
        reported_at_ = steady_seconds();
    }
    ir_run(const ir_run&) = delete;
    ir_run& operator=(const ir_run&) = delete;

    static inline ir_run* now = nullptr; ///< current run, for the functions that the program calls
    static inline trace_cell cell{};     ///< write position of the instrumented code

    fenced_memory memory;
    fenced_heap heap;
    std::string last_error; ///< set by the program (TVMAPISetLastError)
    std::vector<std::uint64_t> counters;

    [[nodiscard]] const std::vector<parallel_part>& parts() const noexcept { return parts_; }
    [[nodiscard]] std::uint64_t accesses() const noexcept { return accesses_; }
    [[nodiscard]] bool trace_ended_early() const noexcept { return options_.trace.most > 0 && accesses_ > options_.trace.most; }
    [[nodiscard]] const child_report& report() const noexcept { return report_; }
    [[nodiscard]] int threads() const noexcept { return options_.threads; }

    /// Sets the addresses of the body functions after linking.
    void place_parts(const std::vector<std::uint64_t>& addresses) {
        for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].address = addresses[i];
    }
    /// Runs `entry` in a thread with a guarded stack. Error: io.
    result<void> run(const std::function<void()>& entry) {
        now = this;
        lane main;
        main.work = entry;
        if (auto started = start(main, "the stack"); !started) return started.error();
        pthread_join(main.thread, nullptr);
        flush();
        return {};
    }

    /// Runs the instances 0, 1, ... of a parallel region. count 0: the number is found during the first instance, from the loops of the region.
    void launch(std::uint64_t address, const std::function<void(std::uint64_t)>& body, std::uint64_t count) {
        flush();
        const auto part = part_of(address), outer_part = part_;
        if (part > 0 && !muted_) ++parts_[part - 1].launches;
        if (current_ == nullptr) part_ = part;
        const auto outer = std::exchange(trip_count(), std::uint64_t{0});
        const auto outer_instance = instance();
        if (options_.threads == 1 || current_ != nullptr || muted_) { // a nested region runs on one thread
            for (std::uint64_t i = 0; i < (count > 0 ? count : instances()); ++i) {
                set_instance(i);
                body(i);
            }
        } else {
            if (count == 0) count = probe(body);
            deal(body, count);
        }
        flush();
        trip_count() = outer;
        set_instance(outer_instance);
        if (current_ == nullptr) part_ = outer_part;
    }
    /// Reports the trip count of a loop in the region. The number of instances is the largest trip count.
    void found(std::uint64_t iterations) { trip_count() = (std::max)({trip_count(), iterations, std::uint64_t{1}}); }
    [[nodiscard]] std::uint64_t instance() const noexcept { return current_ != nullptr ? current_->instance : instance_; }
    [[nodiscard]] std::uint64_t extent_of(std::uint64_t address) const {
        const auto p = part_of(address);
        return p > 0 ? parts_[p - 1].extent : 0;
    }

    static void flush_hook() { now->flush(); }
    static void range_hook(std::uint64_t address, std::uint64_t bytes) {
        const unsigned bits = now->line_bits();
        if (bytes > 0)
            for (auto line = address >> bits; line <= (address + bytes - 1) >> bits; ++line) now->put(line);
    }
    static void copy_hook(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
        const unsigned bits = now->line_bits();
        if (bytes == 0) return;
        auto in = from >> bits, out = to >> bits;
        const auto in_last = (from + bytes - 1) >> bits, out_last = (to + bytes - 1) >> bits;
        while (in <= in_last || out <= out_last) {
            if (in <= in_last) now->put(in++);
            if (out <= out_last) now->put(out++);
        }
    }
    [[nodiscard]] unsigned line_bits() const noexcept { return options_.trace.line_bytes == 128 ? 7 : 6; }

    /// Returns the profiles: of the whole program, of its serial part, then of each parallel part. Call it once, after the run.
    std::vector<memory_features> finish() {
        std::vector<memory_features> all(parts_.size() + 2);
        for (auto& m : all) {
            m.threads = options_.threads;
            m.own = m.shared = reuse_profile(options_.trace.line_bytes);
        }
        const auto merge = [&](trace_profile& from, bool shared) {
            const auto list = from.finish(); // the last profile is that of all parts
            for (std::size_t i = 0; i < list.size(); ++i) {
                auto& to = all[i + 1 == list.size() ? all.size() - 1 : i];
                [[maybe_unused]] bool same = static_cast<bool>((shared ? to.shared : to.own).merge(list[i].reuse));
                for (std::size_t s = 0; s < (shared ? 0 : list[i].sets.size()); ++s) {
                    if (to.sets.size() == s) to.sets.push_back(list[i].sets[s]);
                    else same = static_cast<bool>(to.sets[s].merge(list[i].sets[s]));
                }
            }
        };
        for (auto& o : thread_profiles_) merge(o, false);
        if (shared_) merge(*shared_, true);
        else
            for (auto& m : all) m.shared = m.own;
        std::rotate(all.begin(), all.end() - 1, all.end()); // the whole program first
        return all;
    }

private:
    static constexpr std::size_t buffer_lines = 16384;
    static constexpr std::uint64_t stack_bytes = std::uint64_t{64} << 20U;

    struct lane {
        pthread_t thread{};
        std::function<void()> work;
        std::vector<std::uint64_t> lines;
        std::uint64_t* next = nullptr;
        std::uint64_t instance = 0, found = 0;
        std::uint64_t stack = 0;
        std::vector<char> signal_stack = std::vector<char>(65536);
        bool done = false;
    };

    void set_instance(std::uint64_t i) noexcept { (current_ != nullptr ? current_->instance : instance_) = i; }
    /// The largest trip count of the region that runs here; of each lane its own, as lanes take turns inside nested regions.
    [[nodiscard]] std::uint64_t& trip_count() noexcept { return current_ != nullptr ? current_->found : found_; }
    static void use(std::vector<std::uint64_t>& lines) { cell = {lines.data(), lines.data() + buffer_lines}; }
    void put(std::uint64_t line) {
        if (cell.next > cell.limit) flush();
        *cell.next++ = line;
    }

    [[nodiscard]] std::size_t part_of(std::uint64_t address) const {
        for (std::size_t i = 0; i < parts_.size(); ++i)
            if (parts_[i].address == address) return i + 1;
        return 0;
    }
    [[nodiscard]] std::uint64_t instances() noexcept { return trip_count() > 0 ? trip_count() : static_cast<std::uint64_t>(options_.threads); }

    /// Feeds the traced lines to the profiles. In a thread of a parallel region it lets the next thread run; `deal` then feeds the lines of all
    /// threads.
    void flush() {
        if (current_ != nullptr) return hand_over();
        const std::span<const std::uint64_t> lines(buffer_.data(), cell.next);
        cell.next = buffer_.data();
        if (muted_ || lines.empty()) return;
        if (account(lines.size())) {
            thread_profiles_[0].feed(lines, part_);
            if (shared_) shared_->feed(lines, part_);
        }
    }
    /// Counts `n` accesses and reports progress. False if the trace is at its limit.
    bool account(std::size_t n) {
        accesses_ += n;
        if (accesses_ - reported_ > std::uint64_t{1} << 22U) {
            reported_ = accesses_;
            const double t = steady_seconds();
            if (t - reported_at_ > 0.1) {
                reported_at_ = t;
                char text[64];
                const int length = std::snprintf(text, sizeof text, "run %llu", static_cast<unsigned long long>(accesses_));
                report_.send(0, {text, static_cast<std::size_t>(length)});
            }
        }
        return !trace_ended_early();
    }

    /// Finds the number of instances by a run of instance 0 that is neither counted nor traced.
    std::uint64_t probe(const std::function<void(std::uint64_t)>& body) {
        const auto before = counters;
        muted_ = true;
        instance_ = 0;
        body(0);
        flush();
        muted_ = false;
        std::copy(before.begin(), before.end(), counters.begin());
        return instances();
    }

    result<void> start(lane& l, const std::string& name) {
        if (l.stack == 0) {
            auto stack = memory.map(stack_bytes, name);
            if (!stack) return stack.error();
            l.stack = *stack;
        }
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, reinterpret_cast<void*>(l.stack), stack_bytes);
        const int failed = pthread_create(
            &l.thread, &attributes,
            [](void* p) -> void* {
                auto& self = *static_cast<lane*>(p);
                stack_t alternative{};
                alternative.ss_sp = self.signal_stack.data(); // the signal handler of a stack overflow needs another stack
                alternative.ss_size = self.signal_stack.size();
                ::sigaltstack(&alternative, nullptr);
                self.work();
                alternative.ss_flags = SS_DISABLE;
                ::sigaltstack(&alternative, nullptr);
                return nullptr;
            },
            &l);
        pthread_attr_destroy(&attributes);
        if (failed != 0) return error{errc::io, std::string("cannot start a thread: ") + std::strerror(failed)};
        return {};
    }

    void deal(const std::function<void(std::uint64_t)>& body, std::uint64_t count) {
        const auto threads = static_cast<std::uint64_t>(options_.threads), each = (count + threads - 1) / threads;
        if (lanes_.empty()) lanes_ = std::vector<lane>(static_cast<std::size_t>(threads));
        for (std::size_t t = 0; t < lanes_.size(); ++t) {
            lane& l = lanes_[t];
            l.lines.resize(buffer_lines + trace_slack);
            l.next = l.lines.data();
            l.done = false;
            l.work = [this, &l, &body, from = (std::min)(t * each, count), to = (std::min)((t + 1) * each, count)] {
                wait_for(&l);
                for (auto i = from; i < to; ++i) {
                    l.instance = i;
                    body(i);
                }
                l.done = true;
                give_back();
            };
            if (auto started = start(l, "the stack of thread " + std::to_string(t)); !started)
                report_.fail(started.error().code, started.error().detail);
        }
        const auto main = cell;
        std::vector<std::span<const std::uint64_t>> pieces(lanes_.size());
        for (bool more = true; more;) {
            more = false;
            for (std::size_t t = 0; t < lanes_.size(); ++t) {
                lane& l = lanes_[t];
                l.next = l.lines.data();
                if (!l.done) turn_to(l);
                pieces[t] = {l.lines.data(), l.next};
                more = more || !l.done;
            }
            std::size_t n = 0;
            for (const auto& p : pieces) n += p.size();
            if (!account(n)) continue;
            for (std::size_t t = 0; t < lanes_.size(); ++t) thread_profiles_[t].feed(pieces[t], part_);
            interleave(pieces, interleaving::round_robin, 0, [&](std::span<const std::uint64_t> lines) { shared_->feed(lines, part_); });
        }
        for (auto& l : lanes_) pthread_join(l.thread, nullptr);
        cell = main;
    }
    // Only one thread runs at a time: that of `current_`; null: the thread that called `deal`.
    void turn_to(lane& l) {
        pthread_mutex_lock(&mutex_);
        cell = {l.next, l.lines.data() + buffer_lines};
        current_ = &l;
        pthread_cond_broadcast(&changed_);
        while (current_ != nullptr) pthread_cond_wait(&changed_, &mutex_);
        pthread_mutex_unlock(&mutex_);
    }
    void wait_for(const lane* l) {
        pthread_mutex_lock(&mutex_);
        while (current_ != l) pthread_cond_wait(&changed_, &mutex_);
        pthread_mutex_unlock(&mutex_);
    }
    void give_back() {
        pthread_mutex_lock(&mutex_);
        current_->next = cell.next;
        current_ = nullptr;
        pthread_cond_broadcast(&changed_);
        pthread_mutex_unlock(&mutex_);
    }
    void hand_over() {
        auto* const self = current_;
        if (cell.next <= cell.limit) return; // call from a nested region: the buffer is not full
        give_back();
        wait_for(self);
    }

    const ir_options& options_;
    const child_report& report_;
    std::vector<parallel_part> parts_;
    std::vector<std::uint64_t> buffer_;
    std::vector<trace_profile> thread_profiles_; ///< (threads)
    std::unique_ptr<trace_profile> shared_;
    std::vector<lane> lanes_;
    lane* current_ = nullptr;
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
    std::size_t part_ = 0;
    std::uint64_t instance_ = 0, found_ = 0, accesses_ = 0, reported_ = 0;
    bool muted_ = false;
    double reported_at_ = 0;
};

} // namespace augur::inline v0::detail

#endif
