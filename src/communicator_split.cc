// Communicator::split(): new communicators out of the ranks of one.

#include <cstring>
#include <string>
#include <utility>

#include "src/bootstrap/message_authentication.h"
#include "src/communicator.h"
#include "src/log.h"
#include "src/worker_cores.h"
#include "transports/inproc/thread_group.h"

namespace rondo {

namespace {

/// The key of one part of a split: known to all who know the key of the communicator that is split,
/// and different for every split and colour.
Result<SecretKey> partKey(const SecretKey& parent, std::uint64_t split, int color) {
  const Result<MessageAuthenticator> authenticator = MessageAuthenticator::shared();
  RONDO_RETURN_IF_ERROR(authenticator.status());
  const std::string label = fmt::format("rondo split {} color {}", split, color);
  const Mac derived = authenticator->authenticate(parent, std::as_bytes(std::span(label)));
  static_assert(sizeof(Mac) == SecretKey::kBytes);
  return SecretKey(derived);
}

/// What ranks of one process share: the second only on devices.
struct SharedByThreads {
  std::shared_ptr<inproc::ThreadGroup> group;
  cuda::LaunchGroups launches;
};

/// A pointer as a payload, for ranks of one process.
std::string packPointer(const SharedByThreads* pointer) {
  return {reinterpret_cast<const char*>(&pointer), sizeof pointer};
}

const SharedByThreads* unpackPointer(const std::string& payload) {
  const SharedByThreads* pointer = nullptr;
  std::memcpy(&pointer, payload.data(), sizeof pointer);
  return pointer;
}

/// @param numbers of the ranks' devices, by rank
Result<cuda::LaunchGroups> launchGroupsOn(const std::vector<std::string>& numbers) {
  const Result<const cuda::Driver*> driver = cuda::systemDriver();
  RONDO_RETURN_IF_ERROR(driver.status());
  std::vector<int> ordinals;
  for (const std::string& number : numbers)
    ordinals.push_back(std::stoi(number));
  return cuda::makeLaunchGroups(**driver, ordinals);
}

}  // namespace

Result<std::unique_ptr<Communicator>> Communicator::split(int color,
                                                          int key,
                                                          const Config* config) {
  const OperationOrder::Turn turn = order_->waitTurn();
  return splitInTurn(color, key, config != nullptr ? *config : config_, config == nullptr);
}

Result<std::unique_ptr<Communicator>> Communicator::splitInTurn(int color,
                                                                int key,
                                                                const Config& config,
                                                                bool inherits) {
  const Result<std::vector<SplitWish>> wishes = gatherWishes({color, key});
  RONDO_RETURN_IF_ERROR(wishes.status());
  ++splits_;
  const Result<std::optional<SplitPart>> part = planSplit(*wishes, rank_);
  RONDO_RETURN_IF_ERROR(part.status());
  const auto gather = [this](std::span<const std::byte> own, std::span<std::byte> all) {
    return gatherBytes(own, all);
  };
  SplitExchange exchange(gather, ranks(),
                         part->has_value() ? (*part)->members : std::vector<int>{});
  if (!part->has_value()) return std::unique_ptr<Communicator>{};
  Config settings = config;
  // The new communicators are where this one is.
  settings.device = config_.device;
  settings.deviceIsLocalRank = false;
  settings.mostWorkers = mostWorkers_;
  if (inherits) settings.name = fmt::format("{}.{}", config_.name, color);
  return key_.has_value() ? splitProcesses(exchange, **part, color, settings)
                          : splitThreads(exchange, **part, settings);
}

Result<std::vector<SplitWish>> Communicator::gatherWishes(SplitWish own) {
  std::vector<SplitWish> wishes(static_cast<std::size_t>(ranks()));
  RONDO_RETURN_IF_ERROR(
      gatherBytes(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(wishes))));
  return wishes;
}

Result<std::unique_ptr<Communicator>> Communicator::splitProcesses(SplitExchange& exchange,
                                                                   const SplitPart& part,
                                                                   int color,
                                                                   const Config& config) {
  const Result<SecretKey> key = partKey(*key_, splits_, color);
  RONDO_RETURN_IF_ERROR(key.status());
  return createRank(exchange, *key, part.rank, static_cast<int>(part.members.size()), config);
}

/// The first member makes what the threads share, and keeps it until all have taken it.
Result<std::unique_ptr<Communicator>> Communicator::splitThreads(SplitExchange& exchange,
                                                                 const SplitPart& part,
                                                                 const Config& config) {
  const auto ranks = static_cast<int>(part.members.size());
  const PlanFacts facts = factsOfThreads(ranks, config);
  const Result<std::vector<std::string>> devices = exchange.allGather(
      onDevice() ? std::to_string(device_->launches()->device()->ordinal()) : std::string());
  RONDO_RETURN_IF_ERROR(devices.status());
  auto made = std::make_unique<SharedByThreads>();
  if (part.rank == 0) {
    made->group = std::make_shared<inproc::ThreadGroup>(ranks, facts.slotBytes, facts.slotCount);
    if (onDevice()) {
      Result<cuda::LaunchGroups> launches = launchGroupsOn(*devices);
      RONDO_RETURN_IF_ERROR(launches.status());
      made->launches = *std::move(launches);
    }
  }
  const Result<std::vector<std::string>> pointers = exchange.allGather(packPointer(made.get()));
  RONDO_RETURN_IF_ERROR(pointers.status());
  SharedByThreads shared = *unpackPointer(pointers->front());
  const Status taken = exchange.allGather({}).status();
  if (!taken.ok()) {
    (void)made.release();  // others may still be reading it
    return taken;
  }
  std::unique_ptr<Communicator> communicator(new Communicator(
      part.rank, std::move(shared.group), std::nullopt, config, facts, onDevice()));
  if (onDevice()) {
    RONDO_RETURN_IF_ERROR(
        communicator->startDevice(std::move(shared.launches[static_cast<std::size_t>(part.rank)])));
    RONDO_RETURN_IF_ERROR(communicator->device_->links().meet(gatherBy(exchange)));
  }
  return communicator;
}

}  // namespace rondo
