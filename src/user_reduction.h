// Reductions that a program brings along: its function in place of the loops of
// kernels/host/combine.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/host/combine.h"
#include "rondo/rondo.h"

namespace rondo {

/// Whose arithmetic a reduction is.
enum class Combiner : std::uint8_t {
  kBuiltIn,
  kUser,         ///< a function's; operands may be swapped
  kOrderedUser,  ///< a function's, whose operands keep the order of ranks
};

/// A program's function, and what of a call it needs to know.
struct UserReduction {
  rondoReduceFunction_t function = nullptr;
  void* context = nullptr;
  rondoDataType_t type = rondoUint8;
  std::size_t elemBytes = 1;  ///< of `type`
  std::size_t elemParts = 1;  ///< what combineByUser() is given for each: 2 for complex numbers
};

/// Folds and stores as other CombineFns do, with the UserReduction that `args.scale` points to.
/// Sources and targets are in the operation's own type, whatever their form.
void combineByUser(const host::CombineArgs& args) noexcept;

}  // namespace rondo
