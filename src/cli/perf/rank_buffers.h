// The buffers of one rank for one case, filled with predictable data and checked afterwards.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

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

/// @threads one at a time; `data` must live as long
class RankBuffers {
 public:
  /// @param offsetBytes distance of the buffers from a 64-byte boundary
  /// @errors OutOfMemory
  static Result<RankBuffers> create(const Case& what,
                                    const PredictableData& data,
                                    int rank,
                                    Placement placement,
                                    std::size_t offsetBytes);

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
  std::optional<GuardedBuffer> first_;   // the input, or both in place
  std::optional<GuardedBuffer> second_;  // the output, unless in place
  std::span<std::byte> input_;
  std::span<std::byte> output_;
};

/// Bytes that all ranks' buffers need at the same time.
std::size_t bufferBytes(const Case& what, int ranks);

}  // namespace rondo::perf
