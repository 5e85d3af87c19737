// Memory and contexts of (emulated) GPUs, for tests that call the library as a program does. What
// goes wrong here ends the process, since ranks may be processes without GoogleTest.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "src/cuda/driver.h"

namespace rondo::testing {

inline const cuda::Driver& driver() {
  return **cuda::systemDriver();
}

/// A result of the driver that is not success ends the process.
inline void require(int result, const char* what) {
  if (result == cuda::kSuccess) return;
  std::fprintf(stderr, "%s: result %d of the driver\n", what, result);
  std::abort();
}

/// Makes a device current in the calling thread.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    cuda::Context context = nullptr;
    require(driver().primaryContextRetain(&context, device), "opening a device");
    require(driver().contextPush(context), "making it current");
  }

  ~OnDevice() {
    cuda::Context context = nullptr;
    require(driver().contextPop(&context), "leaving a device");
  }

  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  OnDevice(OnDevice&&) = delete;
  OnDevice& operator=(OnDevice&&) = delete;
};

/// A stream of the current device.
class TestStream {
 public:
  TestStream() { require(driver().streamCreate(&stream_, cuda::kStreamNonBlocking), "a stream"); }

  ~TestStream() { require(driver().streamDestroy(stream_), "destroying a stream"); }

  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  TestStream(TestStream&&) = delete;
  TestStream& operator=(TestStream&&) = delete;

  cuda::Stream get() const { return stream_; }

  void synchronize() { require(driver().streamSynchronize(stream_), "waiting for a stream"); }

 private:
  cuda::Stream stream_ = nullptr;
};

/// Floats in the memory of the current device, which the double lets the host read.
class DeviceFloats {
 public:
  explicit DeviceFloats(std::size_t count) : count_(count) {
    require(driver().memoryAllocate(&memory_, count * sizeof(float)), "memory");
  }

  ~DeviceFloats() { require(driver().memoryFree(memory_), "freeing memory"); }

  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;
  DeviceFloats(DeviceFloats&&) = delete;
  DeviceFloats& operator=(DeviceFloats&&) = delete;

  float* data() { return reinterpret_cast<float*>(memory_); }

  void fill(float value) { std::fill_n(data(), count_, value); }

  std::vector<float> values() { return {data(), data() + count_}; }

 private:
  std::size_t count_;
  cuda::DevicePointer memory_ = 0;
};

}  // namespace rondo::testing
