// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_DETAIL_TASK_CACHE_HPP
#define AUGUR_IO_DETAIL_TASK_CACHE_HPP

/// @file
/// Cache from the text of a task in a log to the task and the number that a sink gave it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/io/detail/text_cache.hpp>
#include <augur/record/ansor_line.hpp>

namespace augur::inline v0::detail {

/// Task with the number that the sink returned for it.
struct known_task {
    std::shared_ptr<const logged_task> task;
    std::uint32_t number = 0;
};

/// The text of the last task is compared first, because most lines have the task of the line before.
class task_cache {
public:
    /// Text of the task found or stored last.
    [[nodiscard]] const std::string& last_text() const noexcept { return last_text_; }
    [[nodiscard]] const known_task& last() const noexcept { return last_; }

    /// Makes the task with this text `last()`; false if it is not known. pre: eight bytes after the text are readable
    bool find(std::string_view text) {
        if (text == last_text_) return last_.task != nullptr;
        const auto known = texts_.find(hash_words(text), text);
        if (known == text_cache::none) return false;
        last_text_ = text;
        last_ = tasks_[known];
        return true;
    }
    /// Stores a task and makes it `last()`. pre: eight bytes after the text are readable
    void insert(std::string_view text, known_task task) {
        last_text_ = text;
        last_ = std::move(task);
        if (tasks_.size() >= most) {
            texts_.clear();
            tasks_.clear();
        }
        if (text.size() > text_cache::longest) return;
        texts_.insert(hash_words(text), text, static_cast<std::uint32_t>(tasks_.size()));
        tasks_.push_back(last_);
    }

private:
    static constexpr std::size_t most = 4096;

    text_cache texts_;
    std::vector<known_task> tasks_; ///< indexed by the number in texts_
    std::string last_text_;
    known_task last_;
};

} // namespace augur::inline v0::detail

#endif
