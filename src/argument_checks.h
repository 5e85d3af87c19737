// From the raw arguments of a C call to a CollectiveCall that the rest of the library can trust.
// Every check that needs only one rank's arguments is here; those that need all ranks are the
// communicator's.
#pragma once

#include <cstddef>

#include "src/collective_call.h"
#include "src/message_call.h"
#include "src/reduction_table.h"
#include "src/status.h"

namespace rondo {

/// What a program passed. Fields that the collective does not have stay at their default.
struct RawCall {
  Collective collective = Collective::kBarrier;
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;
  int type = static_cast<int>(DataType::kUint8);  ///< a rondoDataType_t, if it is one
  int op = static_cast<int>(ReduceOp::kSum);      ///< a rondoRedOp_t, if it is one
  int root = 0;
};

/// Who calls, among how many.
struct Caller {
  int rank = 0;
  int ranks = 1;
  bool onDevice = false;  ///< buffers, and factors that are not read yet, are there
};

/// Checks the rules in the table at the top of rondo.h. Pure.
/// @return the call; a buffer that this rank does not need (send off the root of a broadcast, recv
///   off the root of a reduce, both where count is 0) is null in it.
/// @errors InvalidArgument, InvalidUsage (a destroyed reduction); the message names rank,
///   collective, argument, value and cure.
Result<CollectiveCall> checkArguments(const RawCall& raw,
                                      Caller caller,
                                      const ReductionTable& reductions);

/// The same for a call whose buffers are not known: they are not looked at.
Result<CollectiveCall> checkDescription(const RawCall& raw,
                                        Caller caller,
                                        const ReductionTable& reductions);

/// What a program passed to a call whose blocks may be of different sizes.
struct RawVariedCall {
  Collective collective = Collective::kAllGather;
  const void* send = nullptr;
  void* recv = nullptr;
  BlockArrays sendBlocks{};  ///< where the operation's input holds blocks
  BlockArrays recvBlocks{};  ///< where its output does
  std::size_t ownCount = 0;  ///< gather and scatter: elements of the rank's own block
  int type = static_cast<int>(DataType::kUint8);
  int op = static_cast<int>(ReduceOp::kSum);
  int root = 0;
};

/// The same for such a call.
Result<CollectiveCall> checkArguments(const RawVariedCall& raw,
                                      Caller caller,
                                      const ReductionTable& reductions);

/// What a program passed to a point-to-point call.
struct RawMessage {
  bool sends = false;
  const void* source = nullptr;
  void* target = nullptr;
  std::size_t count = 0;
  int type = static_cast<int>(DataType::kUint8);
  int peer = 0;
  int tag = 0;
};

/// The same for one message.
/// @errors InvalidArgument; the message names rank, call, argument, value and cure.
Result<MessageCall> checkMessage(const RawMessage& raw, Caller caller);

}  // namespace rondo
