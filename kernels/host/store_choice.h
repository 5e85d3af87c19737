// How a sender stores into slots that another processor reads: into its cache, or past it.
//
// A store to a line that the other processor has just read must first take the line back. Between
// processors with a common last-level cache that costs little, and the reader then finds the line
// in that cache; across caches it is slow, and a non-temporal store, which takes nothing back, is
// several times as fast. Measured on two virtual cores of one EPYC (Zen 3), 64 KiB slots, GB/s:
//
//                        stored plainly        streamed
//     common cache       write 14, read 14     write 22, read 9     plain wins
//     caches apart       write 4.5, read 10    write 23, read 10    streaming wins
//
// The same two virtual cores were found in both states minutes apart, since a hypervisor moves
// them, and they report a common cache in either. So the choice is made by measuring, now and then.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/host/cycle_counter.h"

namespace rondo::host {

/// What decides how slots, and large results, are stored.
enum class StorePolicy : std::uint8_t {
  kPlain,     ///< always plainly
  kMeasured,  ///< whatever is faster, as probes find it
  kStreamed,  ///< always past the caches
};

/// One connection's choice. @threads one at a time.
class StoreChoice {
 public:
  explicit StoreChoice(StorePolicy kind) : kind_(kind) {}

  /// Whether the next filling is to be streamed.
  /// @param slot  its place, free to be scribbled on
  /// @param bytes that will be stored there
  bool streams(std::byte* slot, std::size_t bytes) {
    if (kind_ != StorePolicy::kMeasured) return kind_ == StorePolicy::kStreamed;
    if (bytes < kFewestBytes) return false;
    if (--fillingsUntilProbe_ == 0) probe(slot, bytes);
    return streams_;
  }

 private:
  /// Below this a filling is about latency, and a line that goes through memory arrives later.
  static constexpr std::size_t kFewestBytes = 4096;
  /// The first probe comes when every slot was read once, as all later ones find it.
  static constexpr std::uint32_t kFillingsBeforeFirst = 8;
  /// A probe takes 2 us across caches.
  static constexpr std::uint32_t kFillingsBetween = 64;

  void probe(std::byte* slot, std::size_t bytes);

  StorePolicy kind_;
  std::uint32_t fillingsUntilProbe_ = kFillingsBeforeFirst;
  bool streams_ = false;
  CycleRate rate_;
  bool changing_ = false;  ///< the last probe spoke against the choice
};

}  // namespace rondo::host
