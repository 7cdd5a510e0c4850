// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_DETAIL_ANSOR_LINE_PARSER_HPP
#define AUGUR_IO_DETAIL_ANSOR_LINE_PARSER_HPP

/// @file
/// Record line parser of io/ansor_log.hpp, which parses each distinct task and step of a log once.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/io/detail/task_cache.hpp>
#include <augur/io/detail/text_cache.hpp>
#include <augur/io/detail/text_cursor.hpp>
#include <augur/io/trial_sink.hpp>
#include <augur/record/ansor_line.hpp>
#include <augur/record/measurement.hpp>
#include <augur/record/record.hpp>
#include <augur/record/record_assembler.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/schedule/steps_json.hpp>

namespace augur::inline v0::detail {

/// Probable end of the step that begins at `at`, and the hash of its text. The end is before `, ["` or before the brackets that close the enclosing
/// lists. The caller looks the text up in the cache, so that a wrong guess costs only time.
/// pre: 16 bytes after `line_end` are readable
struct step_guess {
    const char* end = nullptr;
    std::uint64_t hash = 0;

    step_guess(const char* const at, const char* const line_end) noexcept {
        constexpr std::uint64_t ones = 0x0101010101010101ULL;
        word_hash words;
        const char* const farthest = at + (std::min)(line_end - at, static_cast<std::ptrdiff_t>(text_cache::longest));
        for (const char* p = at; p < farthest; p += 8) {
            const std::uint64_t word = eight_bytes(p);
            const std::uint64_t second = eight_bytes(p + 1);
            const std::uint64_t third = eight_bytes(p + 2);
            // The loads at p + 2 and p + 3 find the `["` of `, ["` at the position of the comma, so that the end is in this word.
            const std::uint64_t next = zero_bytes((third ^ (ones * '[')) | (eight_bytes(p + 3) ^ (ones * '"')));
            const std::uint64_t last = zero_bytes((word ^ (ones * ']')) | (second ^ (ones * ']')) | (third ^ (ones * ']')));
            const std::uint64_t found = next | last;
            if (found == 0) {
                words.add(word);
                continue;
            }
            const char* const seen = p + (std::countr_zero(found) >> 3U);
            if ((next & found & (~found + 1)) != 0) {
                end = seen + (*seen == ']' ? 1 : 0); // `,["` in a log without spaces
            } else {
                const char* close = seen + 3;
                while (*close == ']') ++close;
                end = close - 3;
            }
            if (end > line_end) {
                end = nullptr;
                return;
            }
            for (; end - p >= 8; p += 8) words.add(eight_bytes(p));
            hash = words.finish(eight_bytes(p), static_cast<std::size_t>(end - p));
            return;
        }
    }
};

/// Parser of record lines: those of TVM and the first line of an augur record. It caches tasks and steps by their text.
template <trial_sink K>
class ansor_line_parser {
public:
    /// A record with the numbers that the sink returned. The task and the schedule of `rest` are empty.
    struct entry {
        std::shared_ptr<const logged_task> task;
        std::uint32_t task_number = 0;
        std::vector<std::uint32_t> steps;
        record rest;
    };

    ansor_line_parser(K& sink, const log_read_options& options) : sink_(&sink), limits_(options.limits), most_steps_(options.steps) {
        step_limits_ = limits_;
        step_limits_.depth = (std::min)(limits_.depth, 1024) - 4; // a step is inside four containers
    }

    /// Parses a line like `parse_ansor_line`. On an error it returns false and sets `problem`; the errors are the same.
    /// pre: the byte after the line is not part of a value, and 16 more bytes are readable
    [[nodiscard]] bool parse(std::string_view line, std::size_t number, entry& out, bad_line& problem) {
        if (!out.rest.foreign) out.rest = {}; // the fields of a foreign record are all overwritten below
        out.rest.foreign = true;
        if (quick(line, out)) return true;
        return strict(line, number, out, problem);
    }

private:
    /// Step to give to the sink after the whole line was parsed.
    struct new_step {
        std::size_t place; ///< index in the schedule
        std::uint64_t hash;
        std::string_view text;
        step_list step;
    };

    bool quick(std::string_view line, entry& out) {
        const char* const end = line.data() + line.size();
        new_steps_.clear();
        new_task_ = nullptr;
        text_cursor at{line.data()};
        if (!task(line, at, out) || !steps(at, end, out) || !at.eat(']') || !at.eat(']') || !at.eat(',') || !measured(at, out) || !at.eat(',') ||
            !at.eat_name('v') || !version(at, end, out) || !at.eat('}'))
            return false;
        while (*at.at == ' ') ++at.at;
        if (at.at != end) return false;
        commit(out);
        return true;
    }

    /// Reads `{"i": [[task], [[], [`, including the opening bracket of the steps.
    bool task(std::string_view line, text_cursor& at, entry& out) {
        if (is_last_task(line) || recall_task(line)) {
            at.at += tasks_.last_text().size();
            if (out.task != tasks_.last().task) out.task = tasks_.last().task;
            out.task_number = tasks_.last().number;
            return true;
        }
        json_reader in(line, limits_);
        auto made = std::make_shared<logged_task>();
        if (!in.begin_object() || !member(in, "i") || !in.begin_array() || !more(in, "") || !read_task(in, *made)) return false;
        if (!more(in, "") || !in.begin_array() || !more(in, "") || !in.begin_array() || !no_more(in, "") || !more(in, "") || !in.begin_array())
            return false;
        new_task_ = made;
        new_task_text_ = line.substr(0, in.offset());
        out.task = std::move(made);
        at.at += in.offset();
        return true;
    }

    [[nodiscard]] bool is_last_task(std::string_view line) const noexcept {
        return !tasks_.last_text().empty() && line.starts_with(tasks_.last_text());
    }
    bool recall_task(std::string_view line) {
        constexpr std::string_view stages = "[[], ["; // usually the end of the task text; if not, the cache does not have the text
        const auto guess = line.find(stages);
        return guess != std::string_view::npos && tasks_.find(line.substr(0, guess + stages.size()));
    }

    bool steps(text_cursor& at, const char* end, entry& out) {
        out.steps.clear();
        do {
            while (*at.at == ' ') ++at.at;
            if (*at.at != '[' || out.steps.size() == most_steps_) return false;
            const step_guess guess(at.at, end);
            if (guess.end != nullptr) {
                const auto known = step_texts_.find(guess.hash, {at.at, static_cast<std::size_t>(guess.end - at.at)});
                if (known != text_cache::none) {
                    out.steps.push_back(known);
                    at.at = guess.end;
                    continue;
                }
            }
            json_reader in({at.at, static_cast<std::size_t>(end - at.at)}, step_limits_);
            new_step made{out.steps.size(), 0, {}, {}};
            if (!read_step(in, made.step.steps.emplace_back(), scratch_)) return false;
            made.text = in.since(0);
            made.hash = hash_words(made.text);
            at.at += made.text.size();
            new_steps_.push_back(std::move(made));
            out.steps.push_back(0);
        } while (at.eat(','));
        return at.eat(']');
    }

    bool measured(text_cursor& at, entry& out) {
        measurement& m = out.rest.measured;
        std::int64_t error = 0;
        m.seconds.clear();
        if (!at.eat_name('r') || !at.eat('[') || !at.eat('[')) return false;
        do
            if (!at.real(m.seconds.emplace_back())) return false;
        while (at.eat(','));
        if (!at.eat(']') || !at.eat(',') || !at.integer(error) || !at.eat(',') || !at.real(m.total_seconds) || !at.eat(',')) return false;
        if (!at.integer(m.timestamp) || !at.eat(']')) return false;
        set_ansor_outcome(m, error);
        return true;
    }

    bool version(text_cursor& at, const char* end, entry& out) {
        while (*at.at == ' ') ++at.at;
        const auto left = static_cast<std::size_t>(end - at.at);
        if (last_version_.empty() || left < last_version_.size() || std::memcmp(at.at, last_version_.data(), last_version_.size()) != 0) {
            json_reader in({at.at, left}, limits_);
            if (!in.read(version_)) return false;
            last_version_ = in.since(0);
        }
        if (out.rest.version != version_) out.rest.version = version_;
        at.at += last_version_.size();
        return true;
    }

    /// Gives the new task and the new steps of a valid line to the sink and caches their numbers.
    void commit(entry& out) {
        if (new_task_ != nullptr) {
            out.task_number = sink_->task(*new_task_);
            tasks_.insert(new_task_text_, {new_task_, out.task_number});
        }
        for (const new_step& made : new_steps_) {
            out.steps[made.place] = sink_->step(made.step);
            if (out.steps[made.place] != text_cache::none) step_texts_.insert(made.hash, made.text, out.steps[made.place]);
        }
    }

    /// Parses a line with the general parser.
    bool strict(std::string_view line, std::size_t number, entry& out, bad_line& problem) {
        json_reader in(line, limits_, number);
        ansor_line parsed;
        if (!read_ansor_line(in, parsed, most_steps_) || !in.finish()) {
            reason_ = in.reason();
            problem.line = in.position().line;
            problem.column = in.position().column;
            problem.code = in.code();
            problem.reason = reason_;
            return false;
        }
        out.rest = to_record(std::move(parsed));
        out.task = std::make_shared<logged_task>(std::move(out.rest.task));
        out.task_number = sink_->task(*out.task);
        out.steps.clear();
        step_list single;
        for (auto& step : out.rest.schedule.steps) {
            single.steps.assign(1, std::move(step));
            out.steps.push_back(sink_->step(single));
        }
        out.rest.task = {};
        out.rest.schedule.steps.clear();
        return true;
    }

    K* sink_;
    json_limits limits_, step_limits_;
    std::size_t most_steps_;
    task_cache tasks_;
    text_cache step_texts_;
    std::string last_version_, version_; ///< text and value of the last version read
    std::shared_ptr<logged_task> new_task_;
    std::string_view new_task_text_;
    std::vector<new_step> new_steps_;
    std::vector<std::int64_t> scratch_;
    std::string reason_;
};

} // namespace augur::inline v0::detail

#endif
