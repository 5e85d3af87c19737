// All that the double holds in a process, and how requests are carried out: within the process by
// whoever posts them, between processes by a thread of each (peer_processes.h).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/verbs/verbs_double/objects.h"
#include "tests/verbs/verbs_double/peer_processes.h"

namespace rondo::testing {

/// What becomes of a packet.
enum class Verdict : std::uint32_t {
  kDone,
  kNoAnswer,   ///< nobody is there, or it is not for them
  kNoReceive,  ///< the other end has no receive posted
  kForbidden,  ///< the memory may not be written
  kTooLong,    ///< the receive is too small
};

/// @threads any; its lock is held by the functions of libibverbs.cc
class World {
 public:
  /// That of this process: a child that was forked off begins with a new one.
  static World& get();

  std::mutex mutex;  ///< guards all that follows

  std::vector<std::unique_ptr<Adapter>> adapters;
  std::set<OpenAdapter*> contexts;
  std::map<std::uint32_t, Region*> regions;  // by key
  std::map<std::uint32_t, Pair*> pairs;      // by number
  std::set<Queue*> queues;
  int objects = 0;
  std::string complaints;

  /// Bytes of payload by where they were read.
  struct Reads {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    std::uint64_t inside = 0;
    std::uint64_t outside = 0;
  };

  Reads reads;
  const bool apart = numberFrom("RONDOTEST_VERBS_APART", 0) != 0;
  const int inlineBytes = numberFrom("RONDOTEST_VERBS_INLINE", 128);
  const int mostRegions = numberFrom("RONDOTEST_VERBS_REGIONS", 1 << 16);
  const int messageBytes = numberFrom("RONDOTEST_VERBS_MESSAGE", 1 << 30);

  /// Whether this call of `symbol` is to fail; sets errno.
  bool fails(const char* symbol);

  void failCall(const char* symbol, int nth, int error);

  void failRequest(int nth, ibv_wc_status status) {
    requestFailsIn_ = nth;
    requestFailure_ = status;
  }

  void complain(std::string_view what);

  /// Whether a request that was posted, and may be carried out, has its payload there.
  bool isToBeRead(const Region& region) const;

  std::uint32_t newPairNumber();

  std::uint32_t newKey() { return nextKey_ += 0x101; }

  Adapter* findAdapter(std::string_view name);

  /// A moment that is late by as much as the environment says, at random.
  Clock::time_point late();

  /// Carries out what is due of the pair's requests.
  void advance(Pair& pair);

  /// Puts a pair that has failed, or is told so, into its last state.
  void stop(Pair& pair);

  /// A packet has come. @param payload `packet.bytes` bytes
  Verdict deliver(const Packet& packet, const std::byte* payload);

  /// What became of packet `number` of the pair; pairs that are gone do not care.
  void onVerdict(std::uint32_t pair, std::uint32_t number, Verdict verdict);

  /// Says that something has happened to an adapter.
  void raise(const Adapter& adapter, ibv_event_type type);

  /// What is due by now. @return when to come again
  Clock::time_point tick();

  void report(Queue& queue);

  /// Wakes the thread, for tick().
  void wake() { peers_.wake(); }

 private:
  World();

  void countRead(const Request& request);
  bool launch(Pair& pair, Request& request);
  bool leadsNowhere(const Pair& pair) const;
  Verdict receive(Pair& pair, const Packet& packet, const std::byte* payload);
  void push(Queue& queue, const Completion& completion);
  void completeFirst(Pair& pair, ibv_wc_status status);
  void onNoAnswer(Pair& pair);
  const Region* findRegion(std::uint32_t key,
                           std::uint64_t address,
                           std::uint64_t bytes,
                           int access) const;

  std::string failing_;
  int failsIn_ = 0;  ///< 0: all calls
  int failure_ = 0;
  int requestFailsIn_ = 0;
  ibv_wc_status requestFailure_ = IBV_WC_SUCCESS;
  std::uint32_t nextKey_ = 0x4000;
  std::uint32_t nextPair_ = 0;
  const int delayMicros_ = numberFrom("RONDOTEST_VERBS_DELAY_US", 0);
  std::minstd_rand random_{std::random_device{}()};
  PeerProcesses peers_;
};

}  // namespace rondo::testing
