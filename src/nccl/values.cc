#include "src/nccl/values.h"

#include <array>
#include <cstddef>

namespace rondo::nccl {

namespace {

/// By NCCL's number.
constexpr std::array<rondoDataType_t, ncclNumTypes> kTypes = {
    rondoInt8,    rondoUint8,   rondoInt32,   rondoUint32,   rondoInt64,      rondoUint64,
    rondoFloat16, rondoFloat32, rondoFloat64, rondoBfloat16, rondoFloat8E4m3, rondoFloat8E5m2};

/// By NCCL's number.
constexpr std::array<rondoRedOp_t, ncclNumOps> kOps = {rondoSum, rondoProd, rondoMax, rondoMin,
                                                       rondoAvg};

}  // namespace

rondoDataType_t toRondo(ncclDataType_t type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kTypes.size() ? kTypes[index] : static_cast<rondoDataType_t>(-1);
}

rondoRedOp_t toRondo(ncclRedOp_t op) {
  const auto index = static_cast<std::size_t>(op);
  return index < kOps.size() ? kOps[index] : static_cast<rondoRedOp_t>(op);
}

rondoScalarResidence_t toRondo(ncclScalarResidence_t residence) {
  switch (residence) {
    case ncclScalarHostImmediate:
      return rondoScalarHostImmediate;
    case ncclScalarDevice:
      return rondoScalarDevice;
  }
  return static_cast<rondoScalarResidence_t>(-1);
}

ncclResult_t toNccl(rondoResult_t result) {
  switch (result) {
    case rondoSuccess:
      return ncclSuccess;
    case rondoInProgress:
      return ncclInProgress;
    case rondoInvalidArgument:
      return ncclInvalidArgument;
    case rondoInvalidUsage:
    case rondoNotSupported:
    case rondoMismatch:
      return ncclInvalidUsage;
    case rondoPeerLost:
    case rondoTimeout:
    case rondoAborted:
      return ncclRemoteError;
    case rondoOutOfMemory:
    case rondoSystemError:
      return ncclSystemError;
    case rondoInternalError:
      return ncclInternalError;
  }
  return ncclInternalError;
}

}  // namespace rondo::nccl
