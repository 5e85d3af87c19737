// How ranks that share memory wake each other: each rank has one doorbell per communicator, says
// there that it is going to sleep, and whoever posts something for it rings. A post to a rank that
// is awake costs one look at a line that nobody writes meanwhile. Who sleeps, and when, is in
// transports/doorbell_place.h.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/host/futex.h"
#include "kernels/memory_order.h"

namespace rondo {

/// In memory that all ranks share; all zeros is a rank that is awake.
struct alignas(64) Doorbell {
  std::uint32_t asleep = 0;  ///< 1: its rank sleeps on this word, or is about to

  /// Wakes the doorbell's rank if it sleeps. After the post that it is about. @threads any
  void ring() {
    if (host::sleepAnnounced(asleep)) [[unlikely]]
      wake();
  }

 private:
  [[gnu::noinline]] [[gnu::cold]] void wake() {
    if (host::endSleep(asleep)) host::futexWake(asleep);
  }
};

static_assert(sizeof(Doorbell) == 64 && std::is_trivially_copyable_v<Doorbell>);

}  // namespace rondo
