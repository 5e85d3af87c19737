// What programs get from the double: libibverbs' structures with what the double knows of each
// behind them. All but the counts of queues is guarded by the world's mutex.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "tests/verbs/verbs_double/adapter.h"

namespace rondo::testing {

using Clock = std::chrono::steady_clock;

struct OpenAdapter : ibv_context {
  Adapter* adapter = nullptr;
  int asyncEnd = -1;  ///< where events are written that async_fd reads
  int objects = 0;    ///< that were made from it
};

struct Domain : ibv_pd {
  int objects = 0;
};

struct Region : ibv_mr {
  int access = 0;
};

struct Channel : ibv_comp_channel {
  int writeEnd = -1;
};

struct Pair;

/// A completion and when it may be seen.
struct Completion {
  ibv_wc wc{};
  Pair* pair = nullptr;
  int retires = 0;  ///< places of the send queue that are free again once it was polled
  Clock::time_point visible;
};

struct Queue : ibv_cq {
  std::deque<Completion> completions;
  std::atomic<std::size_t> count = 0;  ///< of completions, for looking without the mutex
  bool armed = false;
  int unacknowledged = 0;  ///< events that were got
  int pairs = 0;
};

/// What crosses between queue pairs.
struct Packet {
  std::uint32_t to = 0;    ///< queue pair
  std::uint32_t from = 0;  ///< queue pair
  std::uint32_t number = 0;
  GidBytes gid{};
  std::uint16_t lid = 0;
  bool global = false;
  bool withImmediate = false;
  bool write = false;
  std::uint32_t immediate = 0;
  std::uint32_t key = 0;
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
};

/// A request in a send queue.
struct Request {
  ibv_send_wr wr{};
  ibv_sge piece{};
  std::vector<std::byte> inlined;
  bool isInline = false;
  std::uint32_t number = 0;  ///< of its packet
  bool launched = false;
  Clock::time_point due;
};

struct Receive {
  std::uint64_t id = 0;
  ibv_sge piece{};
};

struct Pair : ibv_qp {
  Adapter* adapter = nullptr;
  ibv_qp_attr attributes{};
  ibv_qp_cap depths{};
  bool reportsAll = false;
  std::deque<Request> requests;  ///< posted and not completed
  std::deque<Receive> receives;
  int placesTaken = 0;  ///< of the send queue
  int unreported = 0;   ///< completed since the last completion that was pushed
  std::uint32_t nextNumber = 0;
  std::uint32_t expectedNumber = 0;
  int retriesLeft = 0;
  Clock::time_point retryAt{};  ///< nothing is launched before
};

}  // namespace rondo::testing
