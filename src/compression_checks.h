// From the raw arguments of a compressed collective to a CollectiveCall that the rest of the
// library can trust: src/argument_checks.h for the call, and what only compression needs here.
#pragma once

#include "rondo/rondo.h"
#include "src/argument_checks.h"

namespace rondo {

/// What a program passed to a compressed collective.
struct RawCompressedCall : RawCall {
  const rondoCompression_t* compression = nullptr;
};

/// Checks what rondo.h says of compressed collectives.
/// @errors InvalidArgument, InvalidUsage (a destroyed reduction or error feedback), NotSupported;
///   the message names rank, collective, argument, value and cure.
Result<CollectiveCall> checkArguments(const RawCompressedCall& raw,
                                      Caller caller,
                                      const ReductionTable& reductions);

}  // namespace rondo
