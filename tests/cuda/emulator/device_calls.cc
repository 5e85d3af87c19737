#include "tests/cuda/emulator/device_calls.h"

#include "tests/cuda/emulator/scheduler.h"

namespace rondo::emulator::calls {
namespace {

const Thread& self() {
  return Scheduler::active().self();
}

Warp& warp() {
  return Scheduler::active().warp();
}

}  // namespace

unsigned threadIndex() {
  return self().index;
}

unsigned blockThreads() {
  return self().block->grid.launch.threads;
}

unsigned blockIndex() {
  return self().block->index;
}

std::byte* sharedMemory() {
  return reinterpret_cast<std::byte*>(self().block->shared.data());
}

void beforeLoad(Operation operation, const void* address) {
  Scheduler::active().beforeLoad(operation, address);
}

void beforeStore(Operation operation, const void* address) {
  Scheduler::active().beforeStore(operation, address);
}

unsigned firstHalf() {
  Scheduler& scheduler = Scheduler::active();
  return scheduler.options().tearPacks ? scheduler.random().next() & 1 : 0;
}

void betweenHalves() {
  Scheduler& scheduler = Scheduler::active();
  if (scheduler.options().tearPacks) scheduler.mayGiveWay();
}

bool meetBlock(Operation operation, bool mine) {
  return Scheduler::active().meetBlock(operation, mine);
}

bool voteInWarp(bool mine) {
  return Scheduler::active().voteInWarp(mine);
}

bool beginAccess(Operation operation, const device::Pack* place, const device::Pack& value) {
  return Scheduler::active().beginAccess(operation, place, value);
}

void endAccess() {
  Scheduler::active().endAccess();
}

unsigned lanes() {
  return warp().meeting.members;
}

const device::Pack* placeOf(unsigned lane) {
  return warp().places[lane];
}

device::Pack valueOf(unsigned lane) {
  return warp().values[lane];
}

void giveValue(unsigned lane, device::Pack value) {
  warp().values[lane] = value;
}

bool tearsLines() {
  return Scheduler::active().options().tearLines;
}

}  // namespace rondo::emulator::calls
