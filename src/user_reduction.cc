#include "src/user_reduction.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace rondo {

namespace {

/// Folded at a time: small enough to stay in the first-level cache with a piece of a source.
constexpr std::size_t kPieceBytes = 8192;

const std::byte* at(const host::Operand& source, std::size_t offset) {
  return static_cast<const std::byte*>(source.data) + offset;
}

}  // namespace

void combineByUser(const host::CombineArgs& args) noexcept {
  const auto& user = *static_cast<const UserReduction*>(args.scale);
  // Apart from the targets: one of them may be the memory of a later source.
  alignas(64) std::array<std::byte, kPieceBytes> piece;
  const std::size_t bytes = args.elems / user.elemParts * user.elemBytes;
  for (std::size_t first = 0; first < bytes; first += kPieceBytes) {
    const std::size_t length = std::min(kPieceBytes, bytes - first);
    std::memcpy(piece.data(), at(args.sources.front(), first), length);
    for (const host::Operand& source : args.sources.subspan(1))
      user.function(piece.data(), at(source, first), length / user.elemBytes, user.type,
                    user.context);
    for (const host::Target& target : args.targets)
      std::memcpy(static_cast<std::byte*>(target.data) + first, piece.data(), length);
  }
}

}  // namespace rondo
