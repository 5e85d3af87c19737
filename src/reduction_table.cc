#include "src/reduction_table.h"

#include <cstdint>
#include <cstring>

#include "kernels/element.h"
#include "rondo/rondo.h"

namespace rondo {

namespace {

constexpr std::uint64_t kFirstReduction = rondoRedOpFirstDynamic;

/// Tables start their generations at different numbers, so that one communicator's handle is
/// (almost surely) refused by another. The address is as good a source of difference as any.
std::uint64_t generationFrom(const void* address) {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15u;  // spreads close numbers far apart
  return (reinterpret_cast<std::uintptr_t>(address) * kGoldenRatio) >> 40;
}

template <DataType kType>
PreMulFactor factorOf(const void* scalar) {
  using Element = ElementOf<kType>;
  using Premultiplied = Reduction<Element, ReduceOp::kPreMulSum>;
  Element element;
  std::memcpy(&element, scalar, sizeof(element));
  const typename Premultiplied::Accumulator scale = Premultiplied::widen(element);
  PreMulFactor factor{};
  static_assert(sizeof(scale) <= sizeof(factor));
  std::memcpy(factor.data(), &scale, sizeof(scale));
  return factor;
}

/// Why `handle` gives nothing.
Status refuse(int handle, HandleState state) {
  if (state == HandleState::kDestroyed) {
    return Status::invalidUsage("reduction {:#x} was destroyed", handle);
  }
  return Status::invalidArgument(
      "reduction {:#x} was not made for this communicator; make one with rondoRedOpCreatePreMulSum "
      "or rondoRedOpCreateUser",
      handle);
}

/// The table's number for a rondoRedOp_t; for a built-in one, a number that was never given out.
std::uint64_t tableHandle(int handle) {
  const auto value = static_cast<std::uint64_t>(static_cast<std::int64_t>(handle));
  return value - kFirstReduction;
}

}  // namespace

PreMulFactor makeFactor(DataType type, const void* scalar) {
  switch (type) {
#define RONDO_CASE(name, cppType, bytes, text)                            \
  case DataType::k##name:                                                 \
    if constexpr (isReducible(DataType::k##name, ReduceOp::kPreMulSum)) { \
      return factorOf<DataType::k##name>(scalar);                         \
    }                                                                     \
    break;
    RONDO_FOR_EACH_DATA_TYPE(RONDO_CASE)
#undef RONDO_CASE
  }
  return {};
}

ReductionTable::ReductionTable() : table_(generationFrom(this)) {}

Result<int> ReductionTable::createPreMulSum(DataType type, const void* scalar, bool stays) {
  if (!isReducible(type, ReduceOp::kPreMulSum)) {
    return Status::invalidArgument("premulsum of {} has no meaning; use an integer or float type",
                                   dataTypeName(type));
  }
  MadeReduction made;
  made.type = type;
  if (stays) {
    made.scalar = scalar;
  } else {
    made.factor = makeFactor(type, scalar);
  }
  return keep(made);
}

Result<int> ReductionTable::createUser(rondoReduceFunction_t function,
                                       bool commutative,
                                       void* context) {
  MadeReduction made;
  made.combiner = commutative ? Combiner::kUser : Combiner::kOrderedUser;
  made.function = function;
  made.context = context;
  return keep(made);
}

Result<int> ReductionTable::keep(const MadeReduction& made) {
  const auto handle = table_.insert(std::make_unique<MadeReduction>(made));
  if (!handle) {
    return Status::outOfMemory("{} reductions of this communicator are alive; destroy some first",
                               Table::kCapacity);
  }
  return static_cast<int>(kFirstReduction + *handle);
}

Result<const MadeReduction*> ReductionTable::find(int handle) const {
  const auto found = table_.find(tableHandle(handle));
  if (found.object == nullptr) return refuse(handle, found.state);
  return found.object;
}

Status ReductionTable::destroy(int handle) {
  const auto found = table_.find(tableHandle(handle));
  if (table_.take(tableHandle(handle)) == nullptr) return refuse(handle, found.state);
  return {};
}

}  // namespace rondo
