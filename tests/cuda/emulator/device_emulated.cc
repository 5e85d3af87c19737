// The functions of kernels/cuda/device.h on the emulator. This file and the kernels are compiled
// with the sanitizers of the build, the rest of the emulator without: ThreadSanitizer sees here
// which accesses are atomic and what they order.
#include <atomic>

#include "kernels/cuda/device.h"
#include "kernels/element.h"
#include "tests/cuda/emulator/scheduler.h"

namespace rondo::device {
namespace {

using emulator::Operation;
using emulator::Scheduler;

/// A half of a pack in memory that others read and write.
std::uint64_t loadHalf(const Pack& pack, unsigned half) {
  return std::atomic_ref(const_cast<std::uint64_t&>(pack.half[half]))
      .load(std::memory_order_relaxed);
}

void storeHalf(Pack& pack, unsigned half, std::uint64_t value) {
  std::atomic_ref(pack.half[half]).store(value, std::memory_order_relaxed);
}

/// Both halves without anybody between them.
void storeWhole(Pack& to, const Pack& value) {
  storeHalf(to, 0, value.half[0]);
  storeHalf(to, 1, value.half[1]);
}

}  // namespace

unsigned threadIndex() {
  return Scheduler::active().self().index;
}

unsigned blockThreads() {
  return static_cast<unsigned>(Scheduler::active().self().block->threads.size());
}

unsigned blockIndex() {
  return Scheduler::active().self().block->index;
}

std::byte* sharedMemory() {
  return Scheduler::active().sharedMemory();
}

void syncBlock() {
  Scheduler::active().meetBlock(Operation::kSyncBlock, false);
}

bool syncBlockAny(bool mine) {
  return Scheduler::active().meetBlock(Operation::kSyncBlockAny, mine);
}

bool anyInWarp(bool mine) {
  return Scheduler::active().voteInWarp(mine);
}

float halfToFloat(std::uint16_t bits) {
  return Float16{bits}.toFloat();
}

std::uint16_t floatToHalf(float value) {
  return Float16::fromFloat(value).bits;
}

void postCounter(std::uint64_t& counter, std::uint64_t value) {
  Scheduler::active().beforeStore(Operation::kPostCounter, &counter);
  std::atomic_ref(counter).store(value, std::memory_order_release);
}

std::uint64_t observeCounter(const std::uint64_t& counter) {
  Scheduler::active().beforeLoad(Operation::kObserveCounter, &counter);
  return std::atomic_ref(const_cast<std::uint64_t&>(counter)).load(std::memory_order_acquire);
}

void creditLines(std::uint64_t& counter, std::uint64_t value) {
  Scheduler::active().beforeStore(Operation::kCreditLines, &counter);
  std::atomic_ref(counter).store(value, std::memory_order_relaxed);
}

void tellHost(std::int32_t& word, std::int32_t value) {
  Scheduler::active().beforeStore(Operation::kTellHost, &word);
  std::atomic_ref(word).store(value, std::memory_order_relaxed);
}

std::uint32_t peekFlag(const std::uint32_t& flag) {
  Scheduler::active().beforeLoad(Operation::kPeekFlag, &flag);
  return std::atomic_ref(const_cast<std::uint32_t&>(flag)).load(std::memory_order_relaxed);
}

void placePack(Pack& to, Pack value) {
  Scheduler& scheduler = Scheduler::active();
  scheduler.beforeStore(Operation::kPlacePack, &to);
  const unsigned first = scheduler.firstHalf();
  storeHalf(to, first, value.half[first]);
  scheduler.betweenHalves();
  storeHalf(to, 1 - first, value.half[1 - first]);
}

Pack peekPack(const Pack& from) {
  Scheduler& scheduler = Scheduler::active();
  scheduler.beforeLoad(Operation::kPeekPack, &from);
  const unsigned first = scheduler.firstHalf();
  Pack value;
  value.half[first] = loadHalf(from, first);
  scheduler.betweenHalves();
  value.half[1 - first] = loadHalf(from, 1 - first);
  return value;
}

void placeLine128(Pack& to, Pack value) {
  Scheduler& scheduler = Scheduler::active();
  if (scheduler.beginAccess(Operation::kPlaceLine128, to, value)) {
    for (unsigned lane = 0; lane < scheduler.lanes(); ++lane) {
      // Others run between two lines, never within one, unless that is asked for.
      const Pack& place = scheduler.placeOfLane(lane);
      if (lane % 8 == 0 || scheduler.tearsLines())
        scheduler.beforeStore(Operation::kPlaceLine128, &place);
      storeWhole(const_cast<Pack&>(place), scheduler.valueOfLane(lane));
    }
    scheduler.endAccess();
  }
}

}  // namespace rondo::device
