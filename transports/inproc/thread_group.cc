#include "transports/inproc/thread_group.h"

#include "transports/aligned_buffer.h"

namespace rondo::inproc {

struct ThreadGroup::Storage {
  explicit Storage(std::size_t slotsBytes) : slots(slotsBytes) {}

  ConnectionControl control;
  AlignedBuffer slots;
};

ThreadGroup::ThreadGroup(int ranks, std::size_t slotBytes, std::uint32_t slotCount)
    : slotBytes_(slotBytes),
      slotCount_(slotCount),
      records_(static_cast<std::size_t>(ranks)),
      bells_(static_cast<std::size_t>(ranks)),
      places_(bells_.begin(), bells_.end()) {}

ThreadGroup::~ThreadGroup() = default;

Result<ConnectionMemory> ThreadGroup::connection(int from, int to, int channel) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<Storage>& storage = connections_[Key{from, to, channel}];
  if (storage == nullptr) {
    const std::size_t bytes = slotBytes_ * slotCount_;
    auto made = std::make_unique<Storage>(bytes);
    if (made->slots.data() == nullptr) {
      return Status::outOfMemory(
          "connection from rank {} to rank {} channel {}: no memory for {} slots of {} bytes", from,
          to, channel, slotCount_, slotBytes_);
    }
    storage = std::move(made);
  }
  return ConnectionMemory{&storage->control,
                          storage->slots.data(),
                          slotBytes_,
                          slotCount_,
                          &bells_[static_cast<std::size_t>(from)],
                          &bells_[static_cast<std::size_t>(to)]};
}

void ThreadGroup::fail(const Status& failure) {
  const std::scoped_lock lock(mutex_);
  if (!failure_.ok()) return;
  failure_ = failure;
  host::raiseFlag(failed_);
  for (Doorbell& bell : bells_)
    bell.ring();
}

Status ThreadGroup::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

}  // namespace rondo::inproc
