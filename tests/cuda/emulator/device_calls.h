// What the functions of kernels/cuda/device.h need of the emulator, for the thread that calls.
// Declarations only: device_emulated.cc is compiled with the sanitizers of the build, and no part
// of the scheduler may become part of it.
#pragma once

#include <cstddef>

#include "kernels/cuda/device.h"
#include "tests/cuda/emulator/operation.h"

namespace rondo::emulator::calls {

/// Who calls.
unsigned threadIndex();
unsigned blockThreads();
unsigned blockIndex();
/// The memory of the caller's block.
std::byte* sharedMemory();

/// Before memory is read that others write: others may run.
void beforeLoad(Operation operation, const void* address);
/// Before memory is written that others read: others may run.
void beforeStore(Operation operation, const void* address);

/// Which half of a pack moves first.
unsigned firstHalf();
/// Between the halves: others may run, if packs are torn.
void betweenHalves();

/// Waits for all threads of the block; whether any brought true.
bool meetBlock(Operation operation, bool mine);
/// Waits for all threads of the warp; whether any brought true.
bool voteInWarp(bool mine);

/// Brings a pack and its place, or null, to an access that the warp makes together. True for the
/// last to come, which makes it for all and calls endAccess(); the others return when it has done
/// so.
bool beginAccess(Operation operation, const device::Pack* place, const device::Pack& value);
void endAccess();
/// How many threads the caller's warp has.
unsigned lanes();
/// What a thread of the caller's warp brought; and to give it what it takes away.
const device::Pack* placeOf(unsigned lane);
device::Pack valueOf(unsigned lane);
void giveValue(unsigned lane, device::Pack value);
/// Whether the packs of a line shall move one by one.
bool tearsLines();

}  // namespace rondo::emulator::calls
