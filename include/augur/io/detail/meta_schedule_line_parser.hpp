// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_DETAIL_META_SCHEDULE_LINE_PARSER_HPP
#define AUGUR_IO_DETAIL_META_SCHEDULE_LINE_PARSER_HPP

/// @file
/// Line parser of io/meta_schedule_log.hpp, which parses each distinct task and instruction of a database once.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/io/detail/next_bracket.hpp>
#include <augur/io/detail/task_cache.hpp>
#include <augur/io/detail/text_cache.hpp>
#include <augur/io/detail/text_cursor.hpp>
#include <augur/io/trial_sink.hpp>
#include <augur/record/measurement.hpp>
#include <augur/record/meta_schedule_line.hpp>
#include <augur/record/record_assembler.hpp>
#include <augur/schedule/meta_schedule_trace.hpp>
#include <augur/schedule/meta_schedule_trace_json.hpp>
#include <augur/target/machine_identity.hpp>

namespace augur::inline v0::detail {

/// End of the instruction that begins at `at` if it has no list in a list, and the hash of its text; null if there is none. The caller looks the text
/// up in the cache, so that a wrong guess costs only time.   pre: 16 bytes after `line_end` are readable
struct instruction_guess {
    const char* end = nullptr;
    std::uint64_t hash = 0;

    instruction_guess(const char* const at, const char* const line_end) noexcept {
        constexpr std::uint64_t closing = 0x0101010101010101ULL * ']';
        word_hash words;
        const char* const farthest = at + (std::min)(line_end - at, static_cast<std::ptrdiff_t>(text_cache::longest));
        for (const char* p = at; p < farthest; p += 8) {
            const std::uint64_t word = eight_bytes(p);
            const std::uint64_t found = zero_bytes((word ^ closing) | (eight_bytes(p + 1) ^ closing)); // `]]`
            if (found == 0) {
                words.add(word);
                continue;
            }
            const char* const last = p + (std::countr_zero(found) >> 3U) + 2;
            if (last > line_end) return;
            end = last;
            for (; end - p >= 8; p += 8) words.add(eight_bytes(p));
            hash = words.finish(eight_bytes(p), static_cast<std::size_t>(end - p));
            return;
        }
    }
};

/// Parser of the lines of database_tuning_record.json. It caches tasks and instructions, each with its decision, by their text.
template <trial_sink<meta_schedule_trace> K>
class meta_schedule_line_parser {
public:
    /// `workloads`: hashes by line of the workload file; nullopt: there is no such file, and `name` and the line of a workload identify it.
    meta_schedule_line_parser(K& sink, const log_read_options& options, std::string name, std::optional<std::vector<std::string>> workloads)
        : sink_(&sink), limits_(options.limits), most_instructions_(options.steps), name_(std::move(name)), workloads_(std::move(workloads)) {
        instruction_limits_ = decision_limits_ = limits_;
        instruction_limits_.depth = (std::min)(limits_.depth, 1024) - 4; // containers around an instruction
        decision_limits_.depth = (std::min)(limits_.depth, 1024) - 5;
    }

    /// Parses a line like `parse_meta_schedule_line`. On an error it returns false and sets `problem`; the errors are the same, and `not_found` for a
    /// workload that the workload file does not have.
    /// pre: the byte after the line is not part of a value, and 16 more bytes are readable
    [[nodiscard]] bool parse(std::string_view line, std::size_t number, bad_line& problem) {
        unknown_task_.clear();
        if (quick(line)) return true;
        if (!strict(line, number, problem)) return false;
        if (!unknown_task_.empty()) {
            const std::size_t size = unknown_task_.size();
            unknown_task_.append(8, '\0'); // hash_words reads beyond the text
            tasks_.insert(std::string_view(unknown_task_).substr(0, size), task_);
        }
        return true;
    }
    /// Gives the record that was parsed last to the sink.
    [[nodiscard]] result<void> give() { return sink_->add(record_view{*task_.task, task_.number, ids_, measured_, machine_, {}, {}, 0, true}); }

private:
    /// Texts of an instruction and of its decision; the latter is empty if there is none.
    struct instruction_text {
        std::string_view instruction, decision;
        std::uint32_t known = text_cache::none; ///< number of the instruction in instruction_texts_
    };
    /// Instruction to give to the sink after the whole line was parsed.
    struct new_instruction {
        std::size_t place; ///< index in the trace
        meta_schedule_trace trace;
    };

    bool quick(std::string_view line) {
        const char* const end = line.data() + line.size();
        std::int64_t workload = 0;
        text_cursor at{line.data()};
        if (!at.eat('[') || !at.integer(workload) || !at.eat(',') || !at.eat('[') || !at.eat('[') || !at.eat('[')) return false;
        if (!split_instructions(at, end) || !at.eat(',') || !at.eat('[') || !split_decisions(at, end) || !at.eat(']') || !at.eat(',')) return false;
        return measured(at) && find_instructions() && find_task(workload, {at.at, static_cast<std::size_t>(end - at.at)}) && commit();
    }

    /// Moves past a value in brackets, whose text it sets.
    static bool bracketed(text_cursor& at, const char* end, std::string_view& text) noexcept {
        while (*at.at == ' ') ++at.at;
        if (*at.at != '[') return false;
        const char* const from = at.at;
        const char* p = from;
        for (int depth = 0;; ++p) {
            p = next_bracket(p, end);
            if (p == end) return false;
            depth += *p == '[' ? 1 : -1;
            if (depth == 0) break;
        }
        at.at = p + 1;
        text = {from, static_cast<std::size_t>(at.at - from)};
        return true;
    }

    bool split_instructions(text_cursor& at, const char* end) {
        texts_.clear();
        if (at.eat(']')) return true;
        do {
            while (*at.at == ' ') ++at.at;
            if (texts_.size() == most_instructions_) return false;
            instruction_text& made = texts_.emplace_back();
            const instruction_guess guess(at.at, end);
            if (guess.end != nullptr) {
                made.instruction = {at.at, static_cast<std::size_t>(guess.end - at.at)};
                made.known = instruction_texts_.find(guess.hash, made.instruction);
            }
            if (made.known != text_cache::none) {
                at.at = guess.end;
            } else {
                if (!bracketed(at, end, made.instruction)) return false;
                made.known = instruction_texts_.find(hash_words(made.instruction), made.instruction);
            }
        } while (at.eat(','));
        return at.eat(']');
    }

    /// Reads decisions in ascending order of instructions.
    bool split_decisions(text_cursor& at, const char* end) {
        if (at.eat(']')) return true;
        std::int64_t next = 0;
        do {
            std::int64_t index = 0, choice = 0;
            if (!at.eat('[') || !at.integer(index) || index < next || index >= static_cast<std::int64_t>(texts_.size()) || !at.eat(',')) return false;
            next = index + 1;
            while (*at.at == ' ') ++at.at;
            std::string_view& text = texts_[static_cast<std::size_t>(index)].decision;
            if (*at.at == '[') {
                if (!bracketed(at, end, text)) return false;
            } else {
                const char* const from = at.at;
                if (!at.integer(choice)) return false;
                text = {from, static_cast<std::size_t>(at.at - from)};
            }
            if (!at.eat(']')) return false;
        } while (at.eat(','));
        return at.eat(']');
    }

    bool measured(text_cursor& at) {
        measured_.seconds.clear();
        if (!at.eat('[')) return false;
        do
            if (!at.any_real(measured_.seconds.emplace_back())) return false;
        while (at.eat(','));
        if (!at.eat(']')) return false;
        set_meta_schedule_outcome(measured_, true);
        return true;
    }

    /// Key of an instruction with its decision in the cache. The view is valid until the next call.
    std::string_view decided_key(std::uint32_t instruction, std::string_view decision) {
        key_.clear();
        append_number(key_, instruction);
        key_.append(decision.starts_with('[') ? "" : " ").append(decision);
        const std::size_t size = key_.size();
        key_.append(8, '\0'); // hash_words reads beyond the text
        return std::string_view(key_).substr(0, size);
    }

    /// Number that the sink returned for an instruction, or `none`.
    std::uint32_t find_instruction(const instruction_text& text) {
        if (text.known == text_cache::none) return text_cache::none;
        if (text.decision.empty()) return undecided_[text.known];
        const std::string_view key = decided_key(text.known, text.decision);
        return decided_texts_.find(hash_words(key), key);
    }

    bool find_instructions() {
        ids_.clear();
        new_instructions_.clear();
        for (const instruction_text& text : texts_) {
            const std::uint32_t known = find_instruction(text);
            if (known == text_cache::none) {
                new_instruction made{ids_.size(), {}};
                trace_instruction& parsed = made.trace.instructions.emplace_back();
                json_reader in(text.instruction, instruction_limits_);
                if (!read_trace_instruction(in, parsed) || !in.finish()) return false;
                if (!text.decision.empty()) {
                    json_reader value(text.decision, decision_limits_);
                    if (!read_trace_value(value, parsed.decision.emplace()) || !value.finish()) return false;
                }
                new_instructions_.push_back(std::move(made));
            }
            ids_.push_back(known);
        }
        return true;
    }

    /// Finds the task by its workload and the rest of the line, `,target,arguments]]`. A task that is not known is left to `strict`.
    bool find_task(std::int64_t workload, std::string_view rest) {
        key_.clear();
        append_number(key_, workload);
        key_.append(rest);
        const std::size_t size = key_.size();
        key_.append(8, '\0');
        if (!tasks_.find(std::string_view(key_).substr(0, size))) {
            unknown_task_.assign(key_, 0, size);
            return false;
        }
        if (task_.task != tasks_.last().task) task_ = tasks_.last();
        return true;
    }

    /// Gives the new instructions of a valid line to the sink and caches their numbers.
    bool commit() {
        for (const new_instruction& made : new_instructions_) {
            const std::uint32_t number = ids_[made.place] = sink_->step(made.trace);
            if (number != text_cache::none) remember(texts_[made.place], number);
        }
        return true;
    }
    void remember(const instruction_text& text, std::uint32_t number) {
        if (undecided_.size() > most_instruction_texts) { // the caches dropped texts whose numbers remain here
            undecided_.clear();
            instruction_texts_.clear();
            decided_texts_.clear();
        }
        const auto hash = hash_words(text.instruction);
        auto instruction = instruction_texts_.find(hash, text.instruction);
        if (instruction == text_cache::none) {
            instruction = static_cast<std::uint32_t>(undecided_.size());
            undecided_.push_back(text_cache::none);
            instruction_texts_.insert(hash, text.instruction, instruction);
        }
        if (text.decision.empty()) {
            undecided_[instruction] = number;
            return;
        }
        const std::string_view key = decided_key(instruction, text.decision);
        decided_texts_.insert(hash_words(key), key, number);
    }

    /// Parses a line with the general parser.
    bool strict(std::string_view line, std::size_t number, bad_line& problem) {
        json_reader in(line, limits_, number);
        const bool good = read_meta_schedule_line(in, parsed_, most_instructions_) && in.finish();
        const bool known = !workloads_ || static_cast<std::uint64_t>(parsed_.workload) < workloads_->size();
        if (!good || !known) {
            reason_ =
                good ? "expected a workload below " + std::to_string(workloads_->size()) + ", got " + std::to_string(parsed_.workload) : in.reason();
            problem.line = good ? number : in.position().line;
            problem.column = good ? line.find('[') + 2 : in.position().column;
            problem.code = good ? errc::not_found : in.code();
            problem.reason = reason_;
            return false;
        }
        const std::string workload =
            workloads_ ? (*workloads_)[static_cast<std::size_t>(parsed_.workload)] : name_ + "#" + std::to_string(parsed_.workload);
        task_.task = std::make_shared<logged_task>(meta_schedule_task(parsed_, workload));
        task_.number = sink_->task(*task_.task);
        ids_.clear();
        meta_schedule_trace single;
        for (auto& instruction : parsed_.trace.instructions) {
            single.instructions.assign(1, std::move(instruction));
            ids_.push_back(sink_->step(single));
        }
        measured_ = meta_schedule_measurement(parsed_);
        return true;
    }

    static constexpr std::size_t most_instruction_texts = std::size_t{1} << 20U;

    K* sink_;
    json_limits limits_, instruction_limits_, decision_limits_;
    std::size_t most_instructions_;
    std::string name_;
    std::optional<std::vector<std::string>> workloads_;
    task_cache tasks_;
    text_cache instruction_texts_;         ///< numbers are indices of undecided_
    std::vector<std::uint32_t> undecided_; ///< the sink's number of an instruction without a decision, or `none`
    text_cache decided_texts_;             ///< the sink's numbers of instructions with their decisions; see decided_key
    known_task task_;                      ///< of the record parsed last, as the members below
    std::vector<std::uint32_t> ids_;
    measurement measured_;
    machine_identity machine_; ///< unknown
    std::vector<instruction_text> texts_;
    std::vector<new_instruction> new_instructions_;
    std::string key_, unknown_task_;
    meta_schedule_line parsed_;
    std::string reason_;
};

} // namespace augur::inline v0::detail

#endif
