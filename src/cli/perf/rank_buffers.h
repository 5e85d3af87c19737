// The buffers of one rank for one case, filled with predictable data and checked afterwards.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rondo/rondo.h"
#include "src/cli/perf/case.h"
#include "src/cli/perf/guarded_buffer.h"
#include "src/cli/perf/predictable.h"
#include "src/status.h"

namespace rondo::perf {

/// What a check found on one rank.
struct CheckReport {
  std::size_t wrong = 0;  ///< elements; a changed input or guard counts as one
  std::string text;       ///< what is wrong, for people; empty if nothing is
};

/// A buffer that is registered as long as this lives.
class BufferRegistration {
 public:
  /// @errors those of rondoCommRegister
  static Result<BufferRegistration> make(rondoComm_t comm, std::span<std::byte> memory);

  BufferRegistration(BufferRegistration&& other) noexcept
      : comm_(other.comm_), handle_(std::exchange(other.handle_, nullptr)) {}

  BufferRegistration& operator=(BufferRegistration&&) = delete;
  ~BufferRegistration();

 private:
  BufferRegistration(rondoComm_t comm, rondoRegistration_t handle) : comm_(comm), handle_(handle) {}

  rondoComm_t comm_;
  rondoRegistration_t handle_;  ///< null: another one has it
};

/// @threads one at a time; `data` must live as long
class RankBuffers {
 public:
  /// @param offsetBytes distance of the buffers from a 64-byte boundary
  /// @param fromRondo   they are memory of rondoMemAlloc
  /// @errors OutOfMemory
  static Result<RankBuffers> create(const Case& what,
                                    const PredictableData& data,
                                    int rank,
                                    Placement placement,
                                    std::size_t offsetBytes,
                                    bool fromRondo = false);

  /// Registers them with `comm`, which they must not outlive.
  /// @errors those of rondoCommRegister
  Status registerWith(rondoComm_t comm);

  /// Writes the input and spoils the rest of the output.
  void fill();

  /// Compares the output with what it must be, and makes sure that nothing else was changed.
  CheckReport check() const;

  /// What the call takes; null where the buffer is not looked at.
  const void* send() const { return used(input_); }

  void* recv() const { return used(output_); }

 private:
  RankBuffers(const Case& what, const PredictableData& data, int rank)
      : what_(what), data_(&data), rank_(rank) {}

  static void* used(std::span<std::byte> bytes) { return bytes.empty() ? nullptr : bytes.data(); }

  void reportOutput(CheckReport& report) const;
  void reportInput(CheckReport& report) const;

  Case what_;
  const PredictableData* data_;
  int rank_;
  std::optional<GuardedBuffer> first_;             // the input, or both in place
  std::optional<GuardedBuffer> second_;            // the output, unless in place
  std::vector<BufferRegistration> registrations_;  // ended before the buffers are freed
  std::span<std::byte> input_;
  std::span<std::byte> output_;
};

/// Bytes that all ranks' buffers need at the same time.
std::size_t bufferBytes(const Case& what, int ranks);

}  // namespace rondo::perf
