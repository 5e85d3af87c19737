// Who runs next: the threads that can go on, taken in turn or at random.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/cuda/emulator/block.h"

namespace rondo::emulator {

/// Numbers without a pattern, the same ones for the same seed: xorshift64* (Vigna, "An experimental
/// exploration of Marsaglia's xorshift generators, scrambled", 2016).
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x1234567u) {
    if (state_ == 0) state_ = 1;
  }

  /// 32 random bits.
  std::uint32_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>((state_ * 0x2545F4914F6CDD1Du) >> 32);
  }

  /// A number less than `bound`, which is less than 2^32.
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(next()) * bound) >> 32);
  }

 private:
  std::uint64_t state_;
};

/// The threads that wait for nobody. Nothing here allocates but reserve(), as threads come and go
/// from the middle of what they do.
class ReadyThreads {
 public:
  /// Makes room for `count` threads in all.
  void reserve(std::size_t count) {
    if (threads_.size() < count) threads_.resize(count);
  }

  std::size_t size() const { return size_; }

  void add(Thread* thread) {
    thread->readyAt = size_;
    threads_[size_++] = thread;
  }

  void remove(Thread* thread) {
    Thread* const last = threads_[--size_];
    threads_[thread->readyAt] = last;
    last->readyAt = thread->readyAt;
  }

  /// The next one in turn; there must be one. Nobody is passed over for more than a round by those
  /// who leave.
  Thread* inTurn() {
    if (++turn_ >= size_) turn_ = 0;
    return threads_[turn_];
  }

  /// Any; there must be one.
  Thread* any(RandomNumbers& random) { return threads_[random.below(size_)]; }

 private:
  std::vector<Thread*> threads_;
  std::size_t size_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace rondo::emulator
