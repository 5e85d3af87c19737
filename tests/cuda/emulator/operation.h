// What an emulated thread can be in the middle of, for the scheduler's decisions and its reports.
#pragma once

#include <cstdint>

namespace rondo::emulator {

/// The functions of kernels/cuda/device.h that a thread may wait in, or give way in.
enum class Operation : std::uint8_t {
  kNone,  ///< has not called any yet
  kSyncBlock,
  kSyncBlockAny,
  kAnyInWarp,
  kPlaceLine128,
  kPeekLine128,
  kPostCounter,
  kObserveCounter,
  kCreditLines,
  kPeekFlag,
  kTellHost,
  kPlacePack,
  kPeekPack,
};

/// The function's name.
constexpr const char* name(Operation operation) {
  switch (operation) {
    case Operation::kNone:
      return "its start";
    case Operation::kSyncBlock:
      return "syncBlock";
    case Operation::kSyncBlockAny:
      return "syncBlockAny";
    case Operation::kAnyInWarp:
      return "anyInWarp";
    case Operation::kPlaceLine128:
      return "placeLine128";
    case Operation::kPeekLine128:
      return "peekLine128";
    case Operation::kPostCounter:
      return "postCounter";
    case Operation::kObserveCounter:
      return "observeCounter";
    case Operation::kCreditLines:
      return "creditLines";
    case Operation::kPeekFlag:
      return "peekFlag";
    case Operation::kTellHost:
      return "tellHost";
    case Operation::kPlacePack:
      return "placePack";
    case Operation::kPeekPack:
      return "peekPack";
  }
  return "?";
}

}  // namespace rondo::emulator
