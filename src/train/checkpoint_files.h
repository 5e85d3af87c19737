// The files of a checkpoint, without ranks: manifest and shares.
//
// A share's file, in the machine's byte order (little-endian; another is refused by the magic):
//
//   ShareHeader | per unit: begin, end (64 bits each), then per array (parameters, states):
//               | end - begin floats | what the rank keeps beside them: bytes (64 bits), and these
//
// The manifest is text: lines of a keyword and values, the last one a hash of those before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rondo/train/checkpoint.h"

namespace rondo::train {

/// A share's file as the manifest knows it.
struct ShareFile {
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;  ///< hashText() of its bytes
};

struct Manifest {
  CheckpointPosition position;
  std::uint64_t updates = 0;
  std::uint64_t skipped = 0;
  LossScale scale;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  std::vector<ParameterSpec> parameters;
  std::vector<ShareFile> shares;  ///< by rank

  std::size_t states() const { return OptimizerSettings{.kind = optimizer}.states(); }

  std::string text() const;

  /// @errors thrown, InvalidArgument: cut short, changed, or no manifest; `path` is for the
  /// message.
  static Manifest parse(const std::string& text, const std::string& path);
};

/// "step-00000100"
std::string checkpointName(std::uint64_t step);

/// Paths of the checkpoints in a folder that are complete, oldest first. A folder that is not there
/// has none.
std::vector<std::string> listCheckpoints(const std::string& folder);

/// @errors thrown, InvalidArgument, SystemError.
Manifest readManifest(const std::string& checkpoint);

/// Writes a file and waits until it is on disk.
/// @errors thrown, SystemError.
void writeDurably(const std::string& path, const std::string& bytes);

/// Waits until names in a folder are on disk.
/// @errors thrown, SystemError.
void syncFolder(const std::string& path);

/// Writes what this rank has of a training.
/// @errors thrown, SystemError.
ShareFile writeShare(const std::string& checkpoint,
                     const ParallelTraining& training,
                     const CheckpointPosition& position,
                     int rank,
                     int ranks);

/// Reads the file of `rank` and hands over each unit's part.
/// @param take called with unit, first element, and values that live until it returns
/// @return ParallelTraining::rankState() of that rank
/// @errors thrown, InvalidArgument, SystemError.
std::vector<std::byte> readShare(
    const std::string& checkpoint,
    const Manifest& manifest,
    std::size_t rank,
    const std::function<void(std::size_t, std::size_t, const UnitState&)>& take);

}  // namespace rondo::train
