// Gloo over TCP on the loopback interface; it has no transport by shared memory.
#include <atomic>
#include <chrono>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include "perf/race/harness/failure.h"
#include "perf/race/harness/launch.h"
#include "perf/race/libraries/sum.h"

namespace rondo::race {

namespace {

/// What Gloo's ranks tell each other when they connect: keys and values in shared memory. Each rank
/// writes at its own desk and looks at all.
class MeetingStore final : public gloo::rendezvous::Store {
 public:
  explicit MeetingStore(Meeting& meeting)
      : memory_(meeting.shareMemory(sizeof(Desk) * static_cast<std::size_t>(meeting.ranks()))),
        desks_(reinterpret_cast<Desk*>(memory_.data()), static_cast<std::size_t>(meeting.ranks())),
        mine_(desks_[static_cast<std::size_t>(meeting.rank())]) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    const std::uint32_t number = mine_.entryCount.load(std::memory_order_relaxed);
    if (number == kEntries || key.size() >= kKeyBytes || data.size() > kDataBytes) {
      fail("Gloo has more to tell than expected");
    }
    Entry& entry = mine_.entries[number];
    std::strcpy(entry.key, key.c_str());
    entry.bytes = data.size();
    std::copy(data.begin(), data.end(), entry.data);
    mine_.entryCount.store(number + 1, std::memory_order_release);
  }

  std::vector<char> get(const std::string& key) override {
    const Entry& entry = await(key);
    return {entry.data, entry.data + entry.bytes};
  }

  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) {
      await(key);
    }
  }

  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    wait(keys);
  }

 private:
  static constexpr std::size_t kKeyBytes = 64;
  static constexpr std::size_t kDataBytes = 64 * 1024;
  static constexpr std::uint32_t kEntries = 4;

  struct Entry {
    char key[kKeyBytes];
    std::size_t bytes;
    char data[kDataBytes];
  };

  struct Desk {
    std::atomic<std::uint32_t> entryCount;
    Entry entries[kEntries];
  };

  const Entry* find(const std::string& key) const {
    for (const Desk& desk : desks_) {
      for (std::uint32_t i = 0; i < desk.entryCount.load(std::memory_order_acquire); ++i) {
        if (key == desk.entries[i].key) return &desk.entries[i];
      }
    }
    return nullptr;
  }

  const Entry& await(const std::string& key) const {
    constexpr auto kPatience = std::chrono::minutes(1);
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      if (const Entry* entry = find(key)) return *entry;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    fail("Gloo waits in vain for key " + key);
  }

  SharedMemory memory_;
  std::span<Desk> desks_;
  Desk& mine_;
};

std::shared_ptr<gloo::rendezvous::Context> connect(Meeting& meeting) {
  gloo::transport::tcp::attr attributes;
  attributes.iface = "lo";
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  auto context = std::make_shared<gloo::rendezvous::Context>(meeting.rank(), meeting.ranks());
  MeetingStore store(meeting);
  context->connectFullMesh(store, device);
  meeting.barrier();  // before the store's memory goes
  return context;
}

template <DataType kType>
void addElements(void* target, const void* first, const void* second, std::size_t count) {
  const host::Operand sources[] = {{first}, {second}};
  const host::Target targets[] = {{target}};
  sumInto(kType, targets, sources, count);
}

using Sum = void (*)(void*, const void*, const void*, std::size_t);

Sum sumOf(DataType type) {
  if (type == DataType::kBfloat16) return addElements<DataType::kBfloat16>;
  return type == DataType::kFloat16 ? addElements<DataType::kFloat16>
                                    : addElements<DataType::kFloat32>;
}

class Gloo final : public Library {
 public:
  explicit Gloo(Meeting& meeting) : context_(connect(meeting)) {}

  /// Its reduce_scatter is for floats, in the buffer that it was made for.
  bool supports(const Work& work) const override {
    return work.operation != Operation::kReduceScatter || work.type == DataType::kFloat32;
  }

  void prepare(const Work& work) override {
    scatter_.reset();
    if (work.operation == Operation::kReduceScatter) prepareScatter(work);
    if (work.operation == Operation::kSendRecv) {
      sendBuffer_ = context_->createUnboundBuffer(work.send, work.bytes());
      recvBuffer_ = context_->createUnboundBuffer(work.recv, work.bytes());
    }
  }

  /// In place, a reduce_scatter's block is left at the start of the buffer.
  const std::byte* result(const Work& work) const override {
    return work.operation == Operation::kReduceScatter && work.inPlace ? work.send : work.recv;
  }

  void run(const Work& work) override {
    if (work.type == DataType::kFloat32) {
      runAs<float>(work);
    } else {
      runAs<std::uint16_t>(work);
    }
  }

 private:
  void prepareScatter(const Work& work) {
    scatterBuffer_.resize(work.inPlace ? 0 : work.count);
    auto* buffer = work.inPlace ? reinterpret_cast<float*>(work.send) : scatterBuffer_.data();
    const std::vector<int> counts(static_cast<std::size_t>(work.ranks),
                                  static_cast<int>(work.blockCount));
    scatter_ = std::make_unique<gloo::ReduceScatterHalvingDoubling<float>>(
        context_, std::vector<float*>{buffer}, static_cast<int>(work.count), counts);
  }

  void runScatter(const Work& work) {
    if (!work.inPlace) std::memcpy(scatterBuffer_.data(), work.send, work.bytes());
    scatter_->run();
    if (!work.inPlace) std::memcpy(work.recv, scatterBuffer_.data(), work.blockBytes());
  }

  /// Calls in flight at the same time need tags of their own; ranks count alike.
  template <class Options>
  Options makeOptions() {
    constexpr std::uint32_t kTags = 1 << 16;
    Options options(context_);
    tag_ = (tag_ + 1) % kTags;
    options.setTag(tag_);
    return options;
  }

  template <class Element>
  void runAs(const Work& work) {
    auto* send = reinterpret_cast<Element*>(work.send);
    auto* recv = reinterpret_cast<Element*>(work.recv);
    switch (work.operation) {
      case Operation::kAllReduce:
        return reduceWith(gloo::allreduce, makeOptions<gloo::AllreduceOptions>(), work, send, recv);
      case Operation::kReduce: {
        auto options = makeOptions<gloo::ReduceOptions>();
        options.setRoot(Work::kRoot);
        return reduceWith(gloo::reduce, std::move(options), work, send, recv);
      }
      case Operation::kReduceScatter:
        return runScatter(work);
      case Operation::kAllGather: {
        auto options = makeOptions<gloo::AllgatherOptions>();
        if (!work.inPlace) options.setInput(send, work.blockCount);
        options.setOutput(recv, work.count);
        return gloo::allgather(options);
      }
      case Operation::kBroadcast: {
        auto options = makeOptions<gloo::BroadcastOptions>();
        if (!work.inPlace && work.isRoot()) options.setInput(send, work.count);
        options.setOutput(recv, work.count);
        options.setRoot(Work::kRoot);
        return gloo::broadcast(options);
      }
      case Operation::kAllToAll: {
        auto options = makeOptions<gloo::AlltoallOptions>();
        options.setInput(send, work.count);
        options.setOutput(recv, work.count);
        return gloo::alltoall(options);
      }
      case Operation::kSendRecv:
        return exchange(work);
    }
  }

  template <class Call, class Options, class Element>
  void reduceWith(
      const Call& call, Options options, const Work& work, Element* send, Element* recv) {
    if (!work.inPlace) options.setInput(send, work.count);
    options.setOutput(recv, work.count);
    options.setReduceFunction(sumOf(work.type));
    call(options);
  }

  void exchange(const Work& work) {
    constexpr std::uint64_t kSlot = 1 << 20;
    sendBuffer_->send(work.next(), kSlot);
    recvBuffer_->recv(work.previous(), kSlot);
    sendBuffer_->waitSend();
    recvBuffer_->waitRecv();
  }

  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::unique_ptr<gloo::Algorithm> scatter_;
  std::vector<float> scatterBuffer_;
  std::unique_ptr<gloo::transport::UnboundBuffer> sendBuffer_;
  std::unique_ptr<gloo::transport::UnboundBuffer> recvBuffer_;
  std::uint32_t tag_ = 0;
};

}  // namespace

}  // namespace rondo::race

int main(int argc, char** argv) {
  namespace race = rondo::race;
  return race::raceProcesses(argc, argv, race::Waiting::kSleep, [](race::Meeting& meeting) {
    return std::make_unique<race::Gloo>(meeting);
  });
}
