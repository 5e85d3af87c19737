#include "src/nccl/failures.h"

#include "src/log.h"

namespace rondo::nccl {

ncclResult_t conclude(std::string_view function, const Status& status) noexcept {
  if (status.ok()) return ncclSuccess;
  RONDO_LOG(kWarn, kApi, "{}: {}: {}", function, statusCodeName(status.code()), status.message());
  rememberFailure(0, status.message());
  return toNccl(static_cast<rondoResult_t>(status.code()));
}

}  // namespace rondo::nccl
