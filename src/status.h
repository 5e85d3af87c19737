// How a function says that it failed: Status, and Result<T> for functions that give a value. Errors
// are values; no exception is used for them. The function that decides an error writes its message
// (rank, operation, cause, what to do); callers pass it up; the C boundary (src/api.cc) logs it
// once and turns it into a rondoResult_t.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "src/check.h"
#include "src/format.h"

namespace rondo {

/// What went wrong, grouped by what is lost; the values are those of rondoResult_t, which explains
/// them.
enum class StatusCode : int {
  kOk = 0,
  kInProgress = 1,
  kInvalidArgument = 10,
  kInvalidUsage = 11,
  kNotSupported = 12,
  kPeerLost = 20,
  kTimeout = 21,
  kMismatch = 30,
  kAborted = 31,
  kOutOfMemory = 32,
  kSystemError = 33,
  kInternal = 34,
};

/// True if the failed call had no effect and its communicator works on.
constexpr bool losesOnlyTheCall(StatusCode code) {
  return code >= StatusCode::kInvalidArgument && code < StatusCode::kPeerLost;
}

/// "invalid argument", "peer lost", ...
const char* statusCodeName(StatusCode code);

class Status;

/// Makes failures of one code; Status holds one of these per code.
template <StatusCode kCode>
struct StatusMaker {
  /// A failure whose message is `format` with `args` filled in, as fmt does it.
  template <class... Args>
  Status operator()(fmt::format_string<Args...> format, Args&&... args) const;
};

/// Success, or a code and a message. Success is one null pointer: free to make, move and test.
class [[nodiscard]] Status {
 public:
  /// Success.
  Status() noexcept = default;

  /// A failure.
  /// @param code not kOk
  Status(StatusCode code, std::string message);

  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  bool ok() const noexcept { return failure_ == nullptr; }

  StatusCode code() const noexcept { return ok() ? StatusCode::kOk : failure_->code; }

  /// Empty for success. Valid as long as this object.
  std::string_view message() const noexcept {
    return ok() ? std::string_view{} : std::string_view{failure_->message};
  }

  /// The same failure with "`context`: " before its message; success stays success.
  Status withContext(std::string_view context) &&;

  // Used like functions, so named like functions: NOLINTBEGIN(readability-identifier-naming)
  static constexpr StatusMaker<StatusCode::kInProgress> inProgress{};
  static constexpr StatusMaker<StatusCode::kInvalidArgument> invalidArgument{};
  static constexpr StatusMaker<StatusCode::kInvalidUsage> invalidUsage{};
  static constexpr StatusMaker<StatusCode::kNotSupported> notSupported{};
  static constexpr StatusMaker<StatusCode::kPeerLost> peerLost{};
  static constexpr StatusMaker<StatusCode::kTimeout> timeout{};
  static constexpr StatusMaker<StatusCode::kMismatch> mismatch{};
  static constexpr StatusMaker<StatusCode::kAborted> aborted{};
  static constexpr StatusMaker<StatusCode::kOutOfMemory> outOfMemory{};
  static constexpr StatusMaker<StatusCode::kSystemError> systemError{};
  static constexpr StatusMaker<StatusCode::kInternal> internal{};
  // NOLINTEND(readability-identifier-naming)

 private:
  struct Failure {
    StatusCode code;
    std::string message;
  };

  std::unique_ptr<Failure> failure_;
};

static_assert(sizeof(Status) == sizeof(void*));

namespace detail {

/// Kept out of line: a failure is rare, and its code should not be where success runs.
[[gnu::cold]] [[gnu::noinline]] Status makeFailure(StatusCode code,
                                                   fmt::string_view format,
                                                   fmt::format_args args);

}  // namespace detail

template <StatusCode kCode>
template <class... Args>
Status StatusMaker<kCode>::operator()(fmt::format_string<Args...> format, Args&&... args) const {
  return detail::makeFailure(kCode, format, fmt::make_format_args(args...));
}

/// A T, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
  static_assert(!std::is_reference_v<T> && !std::is_same_v<T, Status>);

 public:
  /// Implicit, so that `return value;` and `return Status::...(...)` both read well.
  Result(T value) : state_(std::in_place_index<1>, std::move(value)) {}  // NOLINT

  /// @param failure not ok
  Result(Status failure) : state_(std::in_place_index<0>, std::move(failure)) {  // NOLINT
    RONDO_CHECK(!std::get<0>(state_).ok());
  }

  bool ok() const noexcept { return state_.index() == 1; }

  /// Success if there is a value.
  Status status() const& { return ok() ? Status{} : std::get<0>(state_); }

  Status status() && { return ok() ? Status{} : std::move(std::get<0>(state_)); }

  /// The value. Precondition: ok().
  T& operator*() & { return value(); }

  const T& operator*() const& { return value(); }

  T&& operator*() && { return std::move(value()); }

  T* operator->() { return &value(); }

  const T* operator->() const { return &value(); }

 private:
  T& value() {
    RONDO_CHECK(ok());
    return *std::get_if<1>(&state_);
  }

  const T& value() const {
    RONDO_CHECK(ok());
    return *std::get_if<1>(&state_);
  }

  std::variant<Status, T> state_;
};

namespace detail {

inline Status takeStatus(Status status) {
  return status;
}

template <class T>
Status takeStatus(Result<T>&& result) {
  return std::move(result).status();
}

}  // namespace detail

}  // namespace rondo

/// Returns the failure of `expression` (a Status or a Result) from the enclosing function.
#define RONDO_RETURN_IF_ERROR(expression)                                                         \
  do {                                                                                            \
    if (::rondo::Status rondoStatus = ::rondo::detail::takeStatus(expression); !rondoStatus.ok()) \
        [[unlikely]] {                                                                            \
      return rondoStatus;                                                                         \
    }                                                                                             \
  } while (false)
