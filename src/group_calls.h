// The calls of one communicator in a group, kept until the group ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "rondo/rondo.h"
#include "src/collective_call.h"
#include "src/message_call.h"

namespace rondo {

/// A collective that waits for its group's end. Holds premulsum's factor, which its program may
/// give up before.
class QueuedCollective {
 public:
  /// @param stream of a device; null on host memory, where it is the whole group's
  QueuedCollective(const CollectiveCall& call, rondoStream_t stream)
      : call_(call), stream_(stream) {
    if (call.scale != nullptr) std::memcpy(factor_.data(), call.scale, factor_.size());
  }

  /// Valid as long as this object stays where it is.
  CollectiveCall call() const {
    CollectiveCall call = call_;
    if (call.scale != nullptr) call.scale = factor_.data();
    return call;
  }

  rondoStream_t stream() const { return stream_; }

 private:
  CollectiveCall call_;
  rondoStream_t stream_;
  alignas(8) std::array<std::byte, 8> factor_{};
};

/// Each kind in the order in which the calls were issued.
struct GroupCalls {
  std::vector<QueuedCollective> collectives;
  std::vector<MessageCall> messages;
};

}  // namespace rondo
