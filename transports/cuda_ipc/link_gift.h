// What a rank gives the others when connections are made: memory, and where in it its part of each
// connection lies. Receivers give what is sent to them its place, senders the counter of what was
// released.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "src/bootstrap/exchange.h"
#include "transports/cuda_ipc/shared_memory.h"

namespace rondo::cuda {

/// A rank's memory is of two kinds: for ranks that reach its device, and for others of its process.
enum class Pool : std::uint32_t { kOnDevice, kPinned };
inline constexpr std::size_t kPools = 2;

/// The giver's part of the connection from rank `from` to rank `to`, one of which it is. No
/// padding: it travels as bytes.
struct LinkPart {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t channel = 0;
  Pool pool = Pool::kOnDevice;
  std::uint64_t offset = 0;  ///< in the pool's memory
};

static_assert(std::has_unique_object_representations_v<LinkPart>);

struct LinkGift {
  std::array<MemoryName, kPools> pools{};
  std::vector<LinkPart> parts;

  /// Null: the giver has no such part.
  const LinkPart* find(int from, int to, int channel) const;
};

/// A gift for one other rank: its part of the connections for messages in both directions.
struct PairGift {
  std::array<MemoryName, kPools> pools{};
  std::array<LinkPart, 2> parts{};
};

static_assert(std::has_unique_object_representations_v<PairGift>);

/// Gives `own` to all ranks and gets theirs, by rank; empty if there is nothing to give at all.
/// Collective.
/// @errors those of `gather`
Result<std::vector<LinkGift>> exchangeGifts(const LinkGift& own,
                                            int ranks,
                                            const GatherBytes& gather);

}  // namespace rondo::cuda
