// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_ERROR_HPP
#define AUGUR_CORE_ERROR_HPP

/// @file
/// Error codes and `result<T>`, which holds a value or an `error` (like std::expected). No function of this library throws.

#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <augur/core/config.hpp>

namespace augur::inline v0 {

/// Why a call failed. Values are written to logs: append, never renumber.
enum class errc : std::uint8_t {
    shape_mismatch = 1,    ///< sizes, extents or dimensions do not fit together
    unknown_primitive = 2, ///< a schedule step outside the vocabulary
    version_mismatch = 3,  ///< a file of another format, version or schema
    io = 4,                ///< the operating system reported an error
    parse = 5,             ///< malformed text
    limit = 6,             ///< a size, depth or time limit was exceeded, or a computed number is not finite (e.g. a training that diverged)
    illegal_schedule = 7,  ///< a step or a decision that cannot be applied; of a program in LLVM IR, a failure while it runs
    not_found = 8,         ///< a name, key or file does not exist
    invalid_argument = 9,  ///< a flag or parameter outside its domain
    busy = 10,             ///< another process holds the resource
    interrupted = 11,      ///< the user asked to stop
    unsupported = 12,      ///< an input, an option or a processor that the function does not handle, or a component that this build lacks
};

/// The name of an error code, as written to logs.
constexpr std::string_view to_string(errc code) noexcept {
    switch (code) {
    case errc::shape_mismatch: return "shape_mismatch";
    case errc::unknown_primitive: return "unknown_primitive";
    case errc::version_mismatch: return "version_mismatch";
    case errc::io: return "io";
    case errc::parse: return "parse";
    case errc::limit: return "limit";
    case errc::illegal_schedule: return "illegal_schedule";
    case errc::not_found: return "not_found";
    case errc::invalid_argument: return "invalid_argument";
    case errc::busy: return "busy";
    case errc::interrupted: return "interrupted";
    case errc::unsupported: return "unsupported";
    }
    return "unknown";
}

/// A failure that a caller can act on. `detail` names the place, the expected value and the actual value.
struct error {
    errc code{};
    std::string detail;
};

/// Formats an error as "code: detail", for a message or a log.
[[nodiscard]] inline std::string to_string(const error& e) { return std::string(to_string(e.code)) + ": " + e.detail; }

/// Holds a value of type T, or an error.
template <class T>
class [[nodiscard]] result {
public:
    using value_type = T;

    // NOLINTNEXTLINE(google-explicit-constructor): a function returns its value or its error
    result(T value) : has_value_(true), value_(std::move(value)) {}
    // NOLINTNEXTLINE(google-explicit-constructor)
    result(augur::error e) : has_value_(false), error_(std::move(e)) {}

    result(const result& other)
        requires std::is_copy_constructible_v<T>
        : has_value_(other.has_value_) {
        if (has_value_) ::new (&value_) T(other.value_);
        else ::new (&error_) augur::error(other.error_);
    }
    result(result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : has_value_(other.has_value_) { take(other); }
    result& operator=(result other) noexcept(std::is_nothrow_move_constructible_v<T>) {
        destroy();
        has_value_ = other.has_value_;
        take(other);
        return *this;
    }
    ~result() { destroy(); }

    [[nodiscard]] bool has_value() const noexcept { return has_value_; }
    explicit operator bool() const noexcept { return has_value(); }

    /// pre: *this holds a value
    [[nodiscard]] const T& operator*() const& {
        AUGUR_ASSERT(*this, "result: no value");
        return value_;
    }
    [[nodiscard]] T& operator*() & {
        AUGUR_ASSERT(*this, "result: no value");
        return value_;
    }
    [[nodiscard]] T&& operator*() && {
        AUGUR_ASSERT(*this, "result: no value");
        return std::move(value_);
    }
    [[nodiscard]] const T* operator->() const { return &**this; }
    [[nodiscard]] T* operator->() { return &**this; }

    /// The value, or `fallback` if the result holds an error.
    template <class U>
    [[nodiscard]] T value_or(U&& fallback) const& {
        return has_value() ? **this : static_cast<T>(std::forward<U>(fallback));
    }
    template <class U>
    [[nodiscard]] T value_or(U&& fallback) && {
        return has_value() ? std::move(**this) : static_cast<T>(std::forward<U>(fallback));
    }

    /// pre: *this holds no value
    [[nodiscard]] const augur::error& error() const {
        AUGUR_ASSERT(!*this, "result: no error");
        return error_;
    }

    /// Calls `f(value)`, which itself returns a result; an error is passed on without a call.
    template <class F>
    [[nodiscard]] auto and_then(F&& f) const& -> std::remove_cvref_t<std::invoke_result_t<F, const T&>> {
        if (!has_value()) return error();
        return std::forward<F>(f)(**this);
    }
    template <class F>
    [[nodiscard]] auto and_then(F&& f) && -> std::remove_cvref_t<std::invoke_result_t<F, T&&>> {
        if (!has_value()) return error();
        return std::forward<F>(f)(std::move(**this));
    }

    /// Returns a result that holds `f(value)`; an error is passed on without a call.
    template <class F>
    [[nodiscard]] auto transform(F&& f) const& -> result<std::remove_cvref_t<std::invoke_result_t<F, const T&>>> {
        if (!has_value()) return error();
        return std::forward<F>(f)(**this);
    }
    template <class F>
    [[nodiscard]] auto transform(F&& f) && -> result<std::remove_cvref_t<std::invoke_result_t<F, T&&>>> {
        if (!has_value()) return error();
        return std::forward<F>(f)(std::move(**this));
    }

private:
    void take(result& other) {
        if (has_value_) ::new (&value_) T(std::move(other.value_));
        else ::new (&error_) augur::error(std::move(other.error_));
    }
    void destroy() noexcept {
        if (has_value_) value_.~T();
        else error_.~error();
    }

    bool has_value_;
    union { // not std::variant, of which a compiler instantiates several times as much for every T
        T value_;
        augur::error error_;
    };
};

/// Success without a value, or an error.
template <>
class [[nodiscard]] result<void> {
public:
    using value_type = void;

    result() = default;
    // NOLINTNEXTLINE(google-explicit-constructor)
    result(augur::error e) : error_(std::move(e)) {}

    [[nodiscard]] bool has_value() const noexcept { return !error_.has_value(); }
    explicit operator bool() const noexcept { return has_value(); }

    /// pre: the call failed
    [[nodiscard]] const augur::error& error() const {
        AUGUR_ASSERT(error_.has_value(), "result: no error");
        return *error_;
    }

    /// Calls `f()`, which itself returns a result; an error is passed on without a call.
    template <class F>
    [[nodiscard]] auto and_then(F&& f) const -> std::remove_cvref_t<std::invoke_result_t<F>> {
        if (!has_value()) return error();
        return std::forward<F>(f)();
    }

private:
    std::optional<augur::error> error_;
};

} // namespace augur::inline v0

#endif
