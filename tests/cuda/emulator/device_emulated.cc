// The functions of kernels/cuda/device.h on the emulator. This file and the kernels are compiled
// with the sanitizers of the build, the rest of the emulator without: ThreadSanitizer sees here
// which accesses are atomic and what they order.
#include <atomic>

#include "kernels/cuda/device.h"
#include "kernels/element.h"
#include "tests/cuda/emulator/device_calls.h"

namespace rondo::device {
namespace {

using emulator::Operation;
namespace calls = emulator::calls;

/// A half of a pack in memory that others read and write.
std::uint64_t loadHalf(const Pack& pack, unsigned half) {
  return std::atomic_ref(const_cast<std::uint64_t&>(pack.half[half]))
      .load(std::memory_order_relaxed);
}

void storeHalf(Pack& pack, unsigned half, std::uint64_t value) {
  std::atomic_ref(pack.half[half]).store(value, std::memory_order_relaxed);
}

/// Both halves of a pack without anybody between them. The last one first, and lines the same way,
/// while they are stored first to last: so that lines stay together between processes, too, which
/// run at the same time (on processors that keep the order of loads and of stores, as x86).
Pack loadWhole(const Pack& from) {
  Pack value;
  value.half[1] = loadHalf(from, 1);
  value.half[0] = loadHalf(from, 0);
  return value;
}

void storeWhole(Pack& to, const Pack& value) {
  storeHalf(to, 0, value.half[0]);
  storeHalf(to, 1, value.half[1]);
}

constexpr unsigned kLineThreads = 8;

/// Whether others may run before the part of an access of the whole warp that is lane `lane`'s:
/// before each line's first, and not within a line unless that is asked for.
bool breaksBefore(unsigned lane, unsigned firstOfLine) {
  return lane % kLineThreads == firstOfLine || calls::tearsLines();
}

/// The lane whose part of a read comes as number `turn`.
unsigned readerOf(unsigned turn) {
  return calls::tearsLines() ? turn : calls::lanes() - 1 - turn;
}

}  // namespace

unsigned threadIndex() {
  return calls::threadIndex();
}

unsigned blockThreads() {
  return calls::blockThreads();
}

unsigned blockIndex() {
  return calls::blockIndex();
}

std::byte* sharedMemory() {
  return calls::sharedMemory();
}

void syncBlock() {
  calls::meetBlock(Operation::kSyncBlock, false);
}

bool syncBlockAny(bool mine) {
  return calls::meetBlock(Operation::kSyncBlockAny, mine);
}

bool anyInWarp(bool mine) {
  return calls::voteInWarp(mine);
}

float halfToFloat(std::uint16_t bits) {
  return Float16{bits}.toFloat();
}

std::uint16_t floatToHalf(float value) {
  return Float16::fromFloat(value).bits;
}

void postCounter(std::uint64_t& counter, std::uint64_t value) {
  calls::beforeStore(Operation::kPostCounter, &counter);
  std::atomic_ref(counter).store(value, std::memory_order_release);
}

std::uint64_t observeCounter(const std::uint64_t& counter) {
  calls::beforeLoad(Operation::kObserveCounter, &counter);
  return std::atomic_ref(const_cast<std::uint64_t&>(counter)).load(std::memory_order_acquire);
}

void creditLines(std::uint64_t& counter, std::uint64_t value) {
  calls::beforeStore(Operation::kCreditLines, &counter);
  std::atomic_ref(counter).store(value, std::memory_order_relaxed);
}

void tellHost(std::uint64_t& word, std::uint64_t value) {
  calls::beforeStore(Operation::kTellHost, &word);
  std::atomic_ref(word).store(value, std::memory_order_relaxed);
}

std::uint32_t peekFlag(const std::uint32_t& flag) {
  calls::beforeLoad(Operation::kPeekFlag, &flag);
  return std::atomic_ref(const_cast<std::uint32_t&>(flag)).load(std::memory_order_relaxed);
}

void placePack(Pack& to, Pack value) {
  calls::beforeStore(Operation::kPlacePack, &to);
  const unsigned first = calls::firstHalf();
  storeHalf(to, first, value.half[first]);
  calls::betweenHalves();
  storeHalf(to, 1 - first, value.half[1 - first]);
}

Pack peekPack(const Pack& from) {
  calls::beforeLoad(Operation::kPeekPack, &from);
  const unsigned first = calls::firstHalf();
  Pack value;
  value.half[first] = loadHalf(from, first);
  calls::betweenHalves();
  value.half[1 - first] = loadHalf(from, 1 - first);
  return value;
}

void placeLine128(bool there, Pack* to, Pack value) {
  if (!calls::beginAccess(Operation::kPlaceLine128, there ? to : nullptr, value)) return;
  for (unsigned lane = 0; lane < calls::lanes(); ++lane) {
    auto* const place = const_cast<Pack*>(calls::placeOf(lane));
    if (place == nullptr) continue;
    if (breaksBefore(lane, 0)) calls::beforeStore(Operation::kPlaceLine128, place);
    storeWhole(*place, calls::valueOf(lane));
  }
  calls::endAccess();
}

Pack peekLine128(bool there, const Pack* from) {
  const unsigned mine = threadIndex() % kWarpThreads;
  if (!calls::beginAccess(Operation::kPeekLine128, there ? from : nullptr, {}))
    return calls::valueOf(mine);
  for (unsigned turn = 0; turn < calls::lanes(); ++turn) {
    const unsigned lane = readerOf(turn);
    const Pack* const place = calls::placeOf(lane);
    if (place == nullptr) continue;
    if (breaksBefore(lane, kLineThreads - 1)) calls::beforeLoad(Operation::kPeekLine128, place);
    calls::giveValue(lane, loadWhole(*place));
  }
  calls::endAccess();
  return calls::valueOf(mine);
}

}  // namespace rondo::device
