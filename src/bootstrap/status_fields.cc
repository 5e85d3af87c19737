#include "src/bootstrap/status_fields.h"

#include <string>
#include <string_view>

namespace rondo {

namespace {

/// A code that came over a network, if it is one of a failure.
StatusCode checkedCode(std::uint32_t value) {
  switch (const auto code = static_cast<StatusCode>(value)) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kInvalidUsage:
    case StatusCode::kNotSupported:
    case StatusCode::kPeerLost:
    case StatusCode::kTimeout:
    case StatusCode::kMismatch:
    case StatusCode::kAborted:
    case StatusCode::kOutOfMemory:
    case StatusCode::kSystemError:
      return code;
    default:
      return StatusCode::kInternal;
  }
}

}  // namespace

void putFailure(FieldWriter& fields, const Status& failure) {
  fields.putU32(static_cast<std::uint32_t>(failure.code()));
  fields.putString(failure.message().substr(0, kMaxFailureText));
}

Status takeFailure(FieldReader& fields) {
  const StatusCode code = checkedCode(fields.takeU32());
  std::string text = fields.takeString();
  RONDO_RETURN_IF_ERROR(fields.finish());
  return {code, std::move(text)};
}

}  // namespace rondo
