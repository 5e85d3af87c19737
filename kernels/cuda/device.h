// What kernels may ask of the machine they run on, by name: everything in kernels/cuda/ is written
// against these functions and against nothing else of a GPU, so that the same source runs in a
// kernel and, thread by thread, on a CPU. nvcc reads their definitions from device_ptx.cuh; other
// compilers see declarations, which the emulator of tests/cuda/emulator/ defines.
//
// Threads of a block are numbered from 0; 32 consecutive ones are a warp. A function is called by
// one thread for itself unless it says "all threads of the block" or "of the warp": then by all of
// them, in the same order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/portability.h"

namespace rondo::device {

/// Threads of a warp.
inline constexpr unsigned kWarpThreads = 32;

/// Sixteen bytes that move as two halves of eight. Each half is read and written whole; between the
/// halves anything may happen.
struct alignas(16) Pack {
  std::uint64_t half[2] = {0, 0};
};

// Who is calling.

RONDO_DEVICE_PRIMITIVE unsigned threadIndex();
RONDO_DEVICE_PRIMITIVE unsigned blockThreads();
RONDO_DEVICE_PRIMITIVE unsigned blockIndex();

/// The block's own memory, as many bytes as the launch asked for, aligned to 16 bytes; undefined at
/// first. Ordered among the threads of the block by syncBlock().
RONDO_DEVICE_PRIMITIVE std::byte* sharedMemory();

// Waiting for each other.

/// All threads of the block: returns when all have called it. What any of them wrote before is
/// visible to all of them after.
RONDO_DEVICE_PRIMITIVE void syncBlock();

/// syncBlock(), and whether any thread passed true.
RONDO_DEVICE_PRIMITIVE bool syncBlockAny(bool mine);

/// All threads of the warp: whether any passed true. Orders nothing.
RONDO_DEVICE_PRIMITIVE bool anyInWarp(bool mine);

// Numbers.

/// The value of an IEEE half; exact. PTX: cvt.f32.f16.
RONDO_DEVICE_PRIMITIVE float halfToFloat(std::uint16_t bits);

/// Rounds to nearest, ties to even; too large becomes infinity. PTX: cvt.rn.f16.f32.
RONDO_DEVICE_PRIMITIVE std::uint16_t floatToHalf(float value);

// Memory that another rank, or the host, reads or writes meanwhile.

/// Posts a counter: everything that this thread wrote or read before, and what other threads of
/// its block did before the last syncBlock(), is visible to, or done before, whoever sees the new
/// value with observeCounter(), on this GPU, on another one or on the host. Prevents: a full slot
/// seen with stale bytes; a slot overwritten while it is still being read. PTX: st.release.sys.
RONDO_DEVICE_PRIMITIVE void postCounter(std::uint64_t& counter, std::uint64_t value);

/// Reads a counter that a peer posts. What the peer did before is visible to this thread, and to
/// other threads of its block after the next syncBlock(). PTX: ld.acquire.sys.
RONDO_DEVICE_PRIMITIVE std::uint64_t observeCounter(const std::uint64_t& counter);

/// Posts the counter of slots that were read by peekPack() or peekLine128(): what those reads gave
/// has decided branches of this thread, and of its block before the last syncBlock(), so they are
/// over, and nothing else was read that the peer may now overwrite: slots were credited by
/// postCounter() on the same counter before, and a release followed by a store of the same thread
/// to the same place is a release pattern (PTX ISA, memory consistency model), as is the end of a
/// kernel. PTX: st.relaxed.sys.
RONDO_DEVICE_PRIMITIVE void creditLines(std::uint64_t& counter, std::uint64_t value);

/// Reads a word that the host may change at any time; orders nothing. PTX: ld.relaxed.sys.
RONDO_DEVICE_PRIMITIVE std::uint32_t peekFlag(const std::uint32_t& flag);

/// Writes a word that the host may look at any time; orders nothing. PTX: st.relaxed.sys.
RONDO_DEVICE_PRIMITIVE void tellHost(std::uint64_t& word, std::uint64_t value);

/// Writes a pack that a peer polls with peekPack(): each half carries its own mark of being there,
/// so that no order is needed. PTX: st.relaxed.sys.v2.
RONDO_DEVICE_PRIMITIVE void placePack(Pack& to, Pack value);

/// Reads a pack that a peer writes with placePack(): each half is its old or its new value.
/// PTX: ld.relaxed.sys.v2.
RONDO_DEVICE_PRIMITIVE Pack peekPack(const Pack& from);

/// Writes the pack of each thread of an aligned group of 8 in a warp as one 128-byte line: whoever
/// sees the new last half of the line with peekLine128() sees all of the line new. All threads of
/// the warp; `to` of the first of each group is aligned to 128 bytes, the others' follow it. Groups
/// that are not `there` have no line, and only come along. PTX: one st.relaxed.sys.v2 by the whole
/// warp, after bar.warp.sync; a predicate, not a branch, leaves out who has no line. That a GPU
/// keeps the line together is nowhere promised; no GPU has shown it yet, so that wide lines
/// (wide_lines.h) are off by default.
RONDO_DEVICE_PRIMITIVE void placeLine128(bool there, Pack* to, Pack value);

/// Reads the pack of each thread of an aligned group of 8 in a warp as one 128-byte line that a
/// peer writes with placeLine128(). All threads of the warp; `there` and `from` as `there`
/// and `to` of it; zeros where there is no line. A peekPack() by each thread would not do: one may
/// read before the line is written, and the one that looks for the mark after. When one thread has
/// its pack, the others' reads are over, too. PTX: one ld.relaxed.sys.v2 by the whole warp, after
/// bar.warp.sync, with a predicate as above.
RONDO_DEVICE_PRIMITIVE Pack peekLine128(bool there, const Pack* from);

}  // namespace rondo::device

#if defined(__CUDACC__)
#include "kernels/cuda/device_ptx.cuh"
#endif
