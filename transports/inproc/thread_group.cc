#include "transports/inproc/thread_group.h"

#include "transports/slot_shape.h"

namespace rondo::inproc {

ThreadGroup::ThreadGroup(int ranks, std::size_t slotBytes, std::uint32_t slotCount)
    : slotBytes_(slotBytes),
      slotCount_(slotCount),
      records_(static_cast<std::size_t>(ranks)),
      mailboxes_(records_.size()),
      bells_(records_.size()),
      places_(bells_.begin(), bells_.end()) {}

ThreadGroup::~ThreadGroup() = default;

Result<ConnectionMemory> ThreadGroup::connection(int from, int to, int channel) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<PrivateConnection>& connection = connections_[Key{from, to, channel}];
  if (connection == nullptr) connection = PrivateConnection::make(slotBytes_, slotCount_);
  if (connection == nullptr) {
    return Status::outOfMemory(
        "connection from rank {} to rank {} channel {}: no memory for {} slots of {} bytes", from,
        to, channel, slotCount_, slotBytes_);
  }
  ConnectionMemory memory = connection->memory();
  memory.stores = host::StorePolicy::kMeasured;
  memory.senderBell = &bells_[static_cast<std::size_t>(from)];
  memory.receiverBell = &bells_[static_cast<std::size_t>(to)];
  memory.names = &addresses_;
  return memory;
}

std::optional<MailboxMemory> ThreadGroup::mailbox(int rank) {
  const auto place = static_cast<std::size_t>(rank);
  return MailboxMemory{&mailboxes_[place], &bells_[place]};
}

std::string ThreadGroup::describe() const {
  return fmt::format("{} ranks as threads; {} slots of {} bytes per connection", records_.size(),
                     slotCount_, slotBytes_);
}

std::vector<TransportMemory> ThreadGroup::memory() const {
  const std::scoped_lock lock(mutex_);
  return {{"inproc", connections_.size() * connectionBytes({slotBytes_, slotCount_}) +
                         mailboxes_.size() * sizeof(Mailbox)}};
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
