// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_DETAIL_AUTOTVM_LINE_PARSER_HPP
#define AUGUR_IO_DETAIL_AUTOTVM_LINE_PARSER_HPP

/// @file
/// Line parser of io/autotvm_log.hpp, which parses each distinct task and knob of a log once.

#include <algorithm>
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
#include <augur/io/detail/next_bracket.hpp>
#include <augur/io/detail/task_cache.hpp>
#include <augur/io/detail/text_cache.hpp>
#include <augur/io/detail/text_cursor.hpp>
#include <augur/io/trial_sink.hpp>
#include <augur/record/autotvm_line.hpp>
#include <augur/record/measurement.hpp>
#include <augur/record/record.hpp>
#include <augur/record/record_assembler.hpp>
#include <augur/schedule/autotvm_config.hpp>
#include <augur/schedule/autotvm_config_json.hpp>
#include <augur/target/machine_identity.hpp>

namespace augur::inline v0::detail {

/// Probable end of the knob that begins at `at`; null if there is none. A bracket in a name makes it wrong: the caller looks the text up in the cache,
/// so that a wrong guess costs only time.   pre: eight bytes after `end` are readable
inline const char* knob_end(const char* const at, const char* const end) noexcept {
    const char* const first = next_bracket(at + 1, end);
    if (first == end) return nullptr;
    if (*first == ']') return first + 1;
    const char* const inner = next_bracket(first + 1, end); // the end of the list in the knob
    return end - inner >= 2 && inner[0] == ']' && inner[1] == ']' ? inner + 2 : nullptr;
}

/// Parser of the lines of AutoTVM logs. It caches tasks and knobs by their text.
template <trial_sink<autotvm_config> K>
class autotvm_line_parser {
public:
    autotvm_line_parser(K& sink, const log_read_options& options) : sink_(&sink), limits_(options.limits), most_knobs_(options.steps) {
        knob_limits_ = limits_;
        knob_limits_.depth = (std::min)(limits_.depth, 1024) - 3; // a knob is inside three containers
        version_ = "0.2";
    }

    /// Parses a line like `parse_autotvm_line`. On an error it returns false and sets `problem`; the errors are the same.
    /// pre: the byte after the line is not part of a value, and 64 more bytes are readable
    [[nodiscard]] bool parse(std::string_view line, std::size_t number, bad_line& problem) { return quick(line) || strict(line, number, problem); }
    /// Gives the record that was parsed last to the sink.
    [[nodiscard]] result<void> give() {
        return sink_->add(record_view{*task_.task, task_.number, knobs_, measured_, machine_, {}, version_, 0, true});
    }

private:
    /// Knob to give to the sink after the whole line was parsed.
    struct new_knob {
        std::size_t place; ///< index in the configuration
        std::string_view text;
        autotvm_config knob;
    };

    bool quick(std::string_view line) {
        const char* const end = line.data() + line.size();
        new_knobs_.clear();
        new_task_ = nullptr;
        std::int64_t index = 0;
        text_cursor at{line.data()};
        if (!task(line, at) || !at.integer(index) || !eat(at, R"(, "code_hash": null, "entity": [)")) return false;
        if (!knobs(at, end) || !eat(at, R"(]}, "result": [[)") || !measured(at) || !eat(at, R"(], "version": 0.2)")) return false;
        if (!compiler(at, end) || at.at != end) return false;
        commit();
        return true;
    }

    /// Moves past exactly this text. pre: it has at most 64 bytes
    static bool eat(text_cursor& at, std::string_view text) noexcept {
        if (std::memcmp(at.at, text.data(), text.size()) != 0) return false;
        at.at += text.size();
        return true;
    }

    /// Reads `{"input": [...], "config": {"index": `.
    bool task(std::string_view line, text_cursor& at) {
        constexpr std::string_view after = R"(, "config": {"index": )";
        const std::string& last = tasks_.last_text();
        std::size_t size = last.size();
        if (last.empty() || !line.starts_with(last) || !line.substr(size).starts_with(after)) {
            size = line.find(after);
            if (size == std::string_view::npos) return false;
        }
        const std::string_view text = line.substr(0, size);
        at.at += size + after.size();
        if (tasks_.find(text)) {
            if (task_.task != tasks_.last().task) task_ = tasks_.last();
            return true;
        }
        json_reader in(line, limits_);
        if (!in.begin_object() || !member(in, "input") || !read_autotvm_input(in, parsed_) || in.offset() != size) return false;
        new_task_ = std::make_shared<logged_task>(autotvm_task(parsed_));
        new_task_text_ = text;
        return true;
    }

    bool knobs(text_cursor& at, const char* end) {
        knobs_.clear();
        if (*at.at == ']') return true;
        do {
            while (*at.at == ' ') ++at.at;
            if (*at.at != '[' || knobs_.size() == most_knobs_) return false;
            if (const char* const guess = knob_end(at.at, end); guess != nullptr) {
                const std::string_view text(at.at, static_cast<std::size_t>(guess - at.at));
                const auto known = knob_texts_.find(hash_words(text), text);
                if (known != text_cache::none) {
                    knobs_.push_back(known);
                    at.at = guess;
                    continue;
                }
            }
            json_reader in({at.at, static_cast<std::size_t>(end - at.at)}, knob_limits_);
            new_knob made{knobs_.size(), {}, {}};
            if (!read_autotvm_knob(in, made.knob.knobs.emplace_back())) return false;
            made.text = in.since(0);
            at.at += made.text.size();
            new_knobs_.push_back(std::move(made));
            knobs_.push_back(0);
        } while (at.eat(','));
        return true;
    }

    bool measured(text_cursor& at) {
        measurement& m = measured_;
        std::int64_t error = 0;
        double timestamp = 0;
        m.seconds.clear();
        do
            if (!at.any_real(m.seconds.emplace_back())) return false;
        while (at.eat(','));
        if (!at.eat(']') || !at.eat(',') || !at.integer(error) || !at.eat(',') || !at.any_real(m.total_seconds) || !at.eat(',')) return false;
        if (!at.any_real(timestamp)) return false;
        m.timestamp = whole_seconds(timestamp);
        set_ansor_outcome(m, error, autotvm_failed_cost);
        return true;
    }

    /// Reads `, "tvm_version": "..."}` or `}`.
    bool compiler(text_cursor& at, const char* end) {
        if (*at.at == '}') {
            name_compiler({});
            last_compiler_.clear();
            ++at.at;
            return true;
        }
        const std::string_view rest(at.at, static_cast<std::size_t>(end - at.at));
        if (!last_compiler_.empty() && rest == last_compiler_) {
            at.at = end;
            return true;
        }
        constexpr std::string_view before = R"(, "tvm_version": )";
        if (!rest.starts_with(before)) return false;
        json_reader in(rest.substr(before.size()), limits_);
        std::string_view version;
        if (!in.read(version) || rest.substr(before.size() + in.offset()) != "}") return false;
        name_compiler(version);
        last_compiler_ = rest;
        at.at = end;
        return true;
    }
    void name_compiler(std::string_view version) { machine_.compiler = version.empty() ? "unknown" : "TVM " + std::string(version); }

    /// Gives the new task and the new knobs of a valid line to the sink and caches their numbers.
    void commit() {
        if (new_task_ != nullptr) {
            task_.number = sink_->task(*new_task_);
            task_.task = std::move(new_task_);
            tasks_.insert(new_task_text_, task_);
        }
        for (const new_knob& made : new_knobs_) {
            knobs_[made.place] = sink_->step(made.knob);
            if (knobs_[made.place] != text_cache::none) knob_texts_.insert(hash_words(made.text), made.text, knobs_[made.place]);
        }
    }

    /// Parses a line with the general parser.
    bool strict(std::string_view line, std::size_t number, bad_line& problem) {
        json_reader in(line, limits_, number);
        if (!read_autotvm_line(in, parsed_, most_knobs_) || !in.finish()) {
            reason_ = in.reason();
            problem.line = in.position().line;
            problem.column = in.position().column;
            problem.code = in.code();
            problem.reason = reason_;
            return false;
        }
        task_.task = std::make_shared<logged_task>(autotvm_task(parsed_));
        task_.number = sink_->task(*task_.task);
        knobs_.clear();
        autotvm_config single;
        for (auto& knob : parsed_.config.knobs) {
            single.knobs.assign(1, std::move(knob));
            knobs_.push_back(sink_->step(single));
        }
        measured_ = autotvm_measurement(parsed_);
        name_compiler(parsed_.tvm_version);
        last_compiler_.clear();
        return true;
    }

    K* sink_;
    json_limits limits_, knob_limits_;
    std::size_t most_knobs_;
    task_cache tasks_;
    text_cache knob_texts_;
    known_task task_; ///< of the record parsed last, as the members below
    std::vector<std::uint32_t> knobs_;
    measurement measured_;
    machine_identity machine_; ///< of which a log knows the compiler alone
    std::string version_;
    std::string last_compiler_; ///< text from which the compiler was read
    std::shared_ptr<logged_task> new_task_;
    std::string_view new_task_text_;
    std::vector<new_knob> new_knobs_;
    autotvm_line parsed_;
    std::string reason_;
};

} // namespace augur::inline v0::detail

#endif
