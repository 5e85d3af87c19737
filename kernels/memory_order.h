// Every operation whose memory order matters, named after its use. Nothing else in the library may
// contain an atomic or a fence. Each function says what must be visible to whom, which wrong
// outcome it prevents and which instruction it becomes; each has a litmus test in
// tests/unit/memory_order_test.cc.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernels/host/process_fence.h"

namespace rondo::host {

/// Posts a counter: everything this thread wrote before (a slot's payload and entry, or reads that
/// end a slot's use) is visible to, or done before, whoever sees the new value with
/// observeCounter(). Prevents: a full slot seen with stale bytes; a slot overwritten while it is
/// still being read. x86-64: a plain store.
inline void postCounter(std::uint64_t& counter, std::uint64_t value) {
  std::atomic_ref(counter).store(value, std::memory_order_release);
}

/// Reads a counter that a peer posts; see postCounter(). x86-64: a plain load.
inline std::uint64_t observeCounter(std::uint64_t& counter) {
  return std::atomic_ref(counter).load(std::memory_order_acquire);
}

/// After streamed stores (kernels/host/streamed_copy.h), before the counter that hands them over:
/// postCounter() orders plain stores only. Prevents: a full slot seen with stale bytes. x86-64:
/// sfence.
inline void fenceStreamedStores() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

/// Raises a flag that other threads look at while they wait; what was written before (the failure's
/// text) is visible to whoever sees it raised. Prevents: a rank that stops without knowing why.
inline void raiseFlag(std::uint32_t& flag) {
  std::atomic_ref(flag).store(1, std::memory_order_release);
}

/// True once raiseFlag() was seen.
inline bool flagRaised(std::uint32_t& flag) {
  return std::atomic_ref(flag).load(std::memory_order_acquire) != 0;
}

/// Claims a shared word for the one rank that changes it from `expected` to `claimed`; false if
/// another rank was first. What the claimant then writes is published by postCounter() on the same
/// word and read after observeCounter(). Prevents: two ranks that both think they make a shared
/// thing. x86-64: lock cmpxchg.
inline bool claimWord(std::uint64_t& word, std::uint64_t expected, std::uint64_t claimed) {
  return std::atomic_ref(word).compare_exchange_strong(expected, claimed,
                                                       std::memory_order_acq_rel);
}

/// Takes the next `amount` of a shared supply and returns where it starts. Orders nothing else.
/// Prevents: two ranks that take the same range. x86-64: lock xadd.
inline std::uint64_t takeFrom(std::uint64_t& supply, std::uint64_t amount) {
  return std::atomic_ref(supply).fetch_add(amount, std::memory_order_relaxed);
}

// Sleeping. A rank announces on a word of its own that it is going to sleep, looks once more for
// what it waits for, and sleeps; a peer posts, then looks whether somebody announced. Each writes
// one place and reads the other's, so both must not read the old value: the peer would not ring and
// the rank would sleep over what it waits for. Two full fences would prevent that, one of them in
// every post; here the rank that is about to lose microseconds anyway makes both.

/// Announces that this rank is going to sleep. Whatever a peer posted before it saw, with
/// sleepAnnounced(), that nothing was announced is visible to this rank from now on. Holds where
/// all processes concerned have joined process fences (kernels/host/process_fence.h); elsewhere a
/// sleep may miss what ends it and must be short. x86-64: a plain store and a system call.
inline void announceSleep(std::uint32_t& asleep) {
  std::atomic_ref(asleep).store(1, std::memory_order_relaxed);
  fenceAllProcesses();
}

/// After a post: whether the rank that waits for it may be asleep; see announceSleep(). Only the
/// compiler is kept from looking before it posts. x86-64: a plain load.
inline bool sleepAnnounced(std::uint32_t& asleep) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return std::atomic_ref(asleep).load(std::memory_order_relaxed) != 0;
}

/// Takes the announcement back: by the rank that woke, or by the peer that is going to wake it.
/// False if it was taken back already, so that one peer of several makes the system call. Orders
/// nothing: the rank looks at the counters themselves. x86-64: lock xchg.
inline bool endSleep(std::uint32_t& asleep) {
  return std::atomic_ref(asleep).exchange(0, std::memory_order_relaxed) != 0;
}

// Payloads that are not in slots (transports/memory_names.h). A receiver that is going to read one
// and a sender that takes it back, since its operation has failed and the program may free the
// memory, each write one place and read the other's. As above both must not read the old value, but
// here each makes its fence: it is nothing beside reading some thousand bytes.

/// Receiver: notes in `reading` that it reads filling `number`; false if the sender has withdrawn
/// what was posted. It ends reading by posting that number, or with postCounter() on `reading`.
/// Prevents: memory read that the sender's program has freed. x86-64: xchg.
inline bool claimPlace(std::uint64_t& reading, std::uint64_t number, std::uint64_t& withdrawn) {
  std::atomic_ref(reading).exchange(number, std::memory_order_seq_cst);
  return std::atomic_ref(withdrawn).load(std::memory_order_seq_cst) == 0;
}

/// Sender: withdraws what it has posted; see claimPlace(). Returns what the receiver reads or read
/// last; if that was released, all its reads are done before what the sender does next.
inline std::uint64_t withdrawPlaces(std::uint64_t& withdrawn, std::uint64_t& reading) {
  std::atomic_ref(withdrawn).exchange(1, std::memory_order_seq_cst);
  return std::atomic_ref(reading).load(std::memory_order_seq_cst);
}

/// One word of a record that its owner rewrites while others may read it
/// (transports/call_record.h). The record's first word is its version: 0 while the others change.
/// Prevents: a record read half old and half new taken for a whole one.
class RecordWord {
 public:
  /// Owner, first: marks the record as changing before any later setPart() is visible.
  void beginChange() {
    word_.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
  }

  /// Owner, between: the other words.
  void setPart(std::uint64_t value) { word_.store(value, std::memory_order_relaxed); }

  /// Owner, last: `version` > 0, and different each time.
  void endChange(std::uint64_t version) { word_.store(version, std::memory_order_release); }

  /// Reader, first: 0 means changing, try again.
  std::uint64_t beginRead() const { return word_.load(std::memory_order_acquire); }

  /// Reader, between.
  std::uint64_t part() const { return word_.load(std::memory_order_relaxed); }

  /// Reader, last: true if the parts read since beginRead() belong to `version`.
  bool endRead(std::uint64_t version) const {
    std::atomic_thread_fence(std::memory_order_acquire);
    return word_.load(std::memory_order_relaxed) == version;
  }

 private:
  std::atomic<std::uint64_t> word_{0};
};

/// Tells the processor that this is a polling loop.
inline void relaxCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace rondo::host
