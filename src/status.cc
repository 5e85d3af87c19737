#include "src/status.h"

namespace rondo {

const char* statusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "success";
    case StatusCode::kInProgress:
      return "in progress";
    case StatusCode::kInvalidArgument:
      return "invalid argument";
    case StatusCode::kInvalidUsage:
      return "invalid usage";
    case StatusCode::kNotSupported:
      return "not supported";
    case StatusCode::kPeerLost:
      return "peer lost";
    case StatusCode::kTimeout:
      return "timeout";
    case StatusCode::kMismatch:
      return "calls of the ranks do not match";
    case StatusCode::kAborted:
      return "aborted";
    case StatusCode::kOutOfMemory:
      return "out of memory";
    case StatusCode::kSystemError:
      return "system error";
    case StatusCode::kInternal:
      return "internal error";
  }
  return "unknown result";
}

Status::Status(StatusCode code, std::string message)
    : failure_(std::make_unique<Failure>(Failure{code, std::move(message)})) {
  RONDO_CHECK(code != StatusCode::kOk);
}

Status::Status(const Status& other)
    : failure_(other.ok() ? nullptr : std::make_unique<Failure>(*other.failure_)) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) *this = Status(other);
  return *this;
}

Status Status::withContext(std::string_view context) && {
  if (!ok()) failure_->message.insert(0, std::string(context) + ": ");
  return std::move(*this);
}

namespace detail {

Status makeFailure(StatusCode code, fmt::string_view format, fmt::format_args args) {
  return Status(code, fmt::vformat(format, args));
}

}  // namespace detail

}  // namespace rondo
