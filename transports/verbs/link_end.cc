#include "transports/verbs/link_end.h"

#include <cerrno>
#include <utility>

namespace rondo::verbs {

namespace {

/// Whoever sends a slot posts its payload, in pieces if it is longer than the port's messages, and
/// its header.
std::uint32_t requestsPerSlot(const PrivateConnection& connection, const Port& port) {
  const std::size_t most = port.mostBytes() == 0 ? connection.slotBytes() : port.mostBytes();
  return static_cast<std::uint32_t>((connection.slotBytes() + most - 1) / most + 1);
}

/// Never more messages are under way than slots: each says that one was filled, or released.
QueueDepths depthsFor(const PrivateConnection& connection, const Port& port, bool receives) {
  if (receives) return {.sends = connection.slotCount(), .receives = connection.slotCount()};
  return {.sends = connection.slotCount() * requestsPerSlot(connection, port),
          .receives = connection.slotCount()};
}

/// What is likely wrong, for the statuses that say too little by themselves.
const char* hintFor(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
      return "; the peer's adapter does not answer: its process or host has ended, a port or cable "
             "is down, or the two addresses cannot reach each other, as those of networks that no "
             "router joins: RONDO_IB_DEVICES chooses adapters, RONDO_TRANSPORT does without them";
    case IBV_WC_WR_FLUSH_ERR:
      return "; the adapter has stopped the queue pair and says no more";
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return "; the peer has no receive posted, which is a bug";
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_LOC_PROT_ERR:
      return "; registered memory is gone, which is a bug, or a forked child wrote into it";
    default:
      return "";
  }
}

/// Also for the port's event to come: soft-RoCE gives no cause if its network takes no packets.
constexpr std::chrono::milliseconds kCausePatience{200};

}  // namespace

Status attachToAdapter(EndParts& parts, PortChoice place, bool receives, const Settings& settings) {
  const Port& port = *place.port;
  const Library& library = port.device().library();
  const int access = IBV_ACCESS_LOCAL_WRITE | (receives ? IBV_ACCESS_REMOTE_WRITE : 0);
  PrivateConnection& slots = *parts.connection;
  errno = 0;
  Owned<ibv_mr> memory(
      library.registerMemory(port.device().domain(), slots.slot(0), slots.bytes(), access),
      library.deregisterMemory);
  if (memory == nullptr) {
    return Status::systemError(
        "{} does not register {} bytes of memory (its adapter has {} regions for all processes): "
        "{}",
        port.name(), slots.bytes(), port.device().mostRegions(), verbsErrorText(errno));
  }
  const QueueDepths depths = depthsFor(slots, port, receives);
  Result<std::unique_ptr<QueuePair>> pair =
      QueuePair::make(std::move(place), depths, receives, settings);
  RONDO_RETURN_IF_ERROR(pair.status());
  parts.memory = std::move(memory);
  parts.pair = *std::move(pair);
  return {};
}

Result<std::optional<Frame>> LinkEnd::nextMessage() {
  if (!socket_) return std::optional<Frame>();
  (void)socket_->send();  // what did not fit before; receiving finds the end
  return socket_->receive();
}

Status LinkEnd::tellEndpoint() {
  Endpoint own = parts_.pair->endpoint();
  own.slots = parts_.connection->slotCount();
  own.key = parts_.memory->rkey;
  own.slotsAddress = reinterpret_cast<std::uintptr_t>(parts_.connection->slot(0));
  own.headersAddress = reinterpret_cast<std::uintptr_t>(header(0));
  appendEndpoint(socket_->output(), own);
  return socket_->send();
}

Status LinkEnd::tellDetour() {
  appendDetour(socket_->output());
  RONDO_RETURN_IF_ERROR(socket_->send());
  // So little always fits into a socket that has carried next to nothing.
  return socket_->hasOutput() ? Status::peerLost("its socket takes nothing") : Status();
}

FileDescriptor LinkEnd::giveSocket() {
  FileDescriptor socket = socket_->release();
  socket_.reset();
  parts_.pair.reset();
  parts_.memory.reset();
  return socket;
}

Status LinkEnd::connectTo(const Frame& description) {
  Result<Endpoint> end = readEndpoint(description);
  if (!end.ok()) return brokenProtocol(end.status().message());
  peerEnd_ = *end;
  RONDO_RETURN_IF_ERROR(named(parts_.pair->connect(peerEnd_)));
  connected_ = true;
  return {};
}

Status LinkEnd::named(Status status) const {
  if (status.ok()) return status;
  return std::move(status).withContext(fmt::format("connection with rank {}", peer()));
}

void LinkEnd::sayGoodbye(std::uint64_t count) {
  if (!socket_) return;
  appendGoodbye(socket_->output(), count);
  (void)socket_->send();  // so little always fits
  socket_.reset();
}

SlotEntry* LinkEnd::header(std::uint64_t number) {
  PrivateConnection& connection = *parts_.connection;
  return reinterpret_cast<SlotEntry*>(connection.behindSlots()) + number % connection.slotCount();
}

void LinkEnd::noteFailure(const ibv_wc& completion) {
  const bool isCause = completion.status != IBV_WC_WR_FLUSH_ERR;
  if (failing() && (!isCause || failure_->status != IBV_WC_WR_FLUSH_ERR)) return;
  failure_ = completion;
  causeDue_ = isCause ? Deadline::immediate() : Deadline::within(kCausePatience);
}

std::string LinkEnd::describeFailure() const {
  const Port& port = parts_.pair->port();
  const std::string trouble = port.suspicion();
  return fmt::format("{} to rank {}: {} ({}, vendor's code {}){}{}{}", port.name(), peer(),
                     port.device().library().statusText(failure_->status),
                     static_cast<int>(failure_->status), failure_->vendor_err,
                     trouble.empty() ? "" : "; the port ", trouble, hintFor(failure_->status));
}

Status LinkEnd::brokenProtocol(std::string_view fault) const {
  return Status::mismatch("rank {} does not keep to the protocol: {}", peer(), fault);
}

}  // namespace rondo::verbs
