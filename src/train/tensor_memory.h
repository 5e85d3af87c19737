// Memory of tensors that is counted, so that what a rank holds can be told and tested.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "rondo/train/parallel_training.h"
#include "src/train/aligned_buffer.h"

namespace rondo::train {

/// A member of TrainingMemory.
using TensorKind = std::size_t TrainingMemory::*;

/// @threads any
class MemoryMeter {
 public:
  void take(TensorKind kind, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    now_.*kind += bytes;
    if (now_.total() > peak_.total()) peak_ = now_;
  }

  void give(TensorKind kind, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    now_.*kind -= bytes;
  }

  TrainingMemory now() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }

  TrainingMemory peak() const {
    const std::lock_guard lock(mutex_);
    return peak_;
  }

 private:
  mutable std::mutex mutex_;
  TrainingMemory now_;   // guarded by mutex_
  TrainingMemory peak_;  // guarded by mutex_
};

/// Elements, zero at first. The meter must outlive it.
template <class T>
class MeteredArray {
 public:
  MeteredArray() = default;

  MeteredArray(MemoryMeter& meter, TensorKind kind, std::size_t elems)
      : meter_(&meter), kind_(kind), buffer_(elems * sizeof(T)) {
    meter.take(kind, buffer_.bytes());
  }

  MeteredArray(MeteredArray&& other) noexcept { swap(other); }

  MeteredArray& operator=(MeteredArray&& other) noexcept {
    MeteredArray old(std::move(*this));
    swap(other);
    return *this;
  }

  ~MeteredArray() {
    if (meter_ != nullptr) meter_->give(kind_, buffer_.bytes());
  }

  T* data() const { return buffer_.as<T>(); }

  /// Whether it was made, be it for nothing.
  bool made() const { return meter_ != nullptr; }

  void clear() const { std::fill_n(data(), buffer_.bytes() / sizeof(T), T{}); }

 private:
  void swap(MeteredArray& other) {
    std::swap(meter_, other.meter_);
    std::swap(kind_, other.kind_);
    std::swap(buffer_, other.buffer_);
  }

  MemoryMeter* meter_ = nullptr;
  TensorKind kind_ = nullptr;
  AlignedBuffer buffer_;
};

using MeteredBuffer = MeteredArray<float>;
using MeteredHalves = MeteredArray<std::uint16_t>;  ///< bfloat16

}  // namespace rondo::train
