// Checkpoints of a training: written by all ranks, each its share, and read on any number of ranks
// and in any stage.
//
//   folder/step-00000100/            one checkpoint; a folder without a manifest is none
//     manifest                       text: where the training stood, tensors, files and their
//     hashes rank-00000 ... rank-00003      binary: what each of the four ranks had of each unit
//
// A checkpoint is written under a temporary name and renamed when all of it is on disk: whenever a
// rank dies, the last good one stays loadable.
#ifndef RONDO_TRAIN_CHECKPOINT_H_
#define RONDO_TRAIN_CHECKPOINT_H_

#include <cstdint>
#include <string>

#include "rondo/rondo.hpp"
#include "rondo/train/parallel_training.h"

namespace rondo::train {

/// Where a training stood, beside its parameters and optimizer state. The same on all ranks.
struct CheckpointPosition {
  std::uint64_t step = 0;
  std::uint64_t seed = 0;
  std::uint64_t data = 0;  ///< how much of it was used, as the caller counts
};

/// Writes a checkpoint. Collective: all ranks of the training call it, and see the same folder.
/// @param folder holds checkpoints; made if need be
/// @param keep   older checkpoints are removed so that this many are left; 0: none is removed
/// @return the checkpoint's folder
/// @errors on all ranks alike: SystemError with the rank and the system's reason. Timeout: a rank
/// did
///   not call.
std::string saveCheckpoint(const Communicator& comm,
                           const ParallelTraining& training,
                           const std::string& folder,
                           const CheckpointPosition& position,
                           int keep = 0);

/// The newest checkpoint in a folder, or "" if there is none. Collective; what rank 0 sees.
std::string findCheckpoint(const Communicator& comm, const std::string& folder);

/// Reads a checkpoint into a training of the same tensors and optimizer. Collective.
/// @param path a checkpoint's folder, as findCheckpoint() and saveCheckpoint() return it
/// @errors on all ranks alike, naming rank and file: InvalidArgument (cut short, changed, missing,
///   of another step, another model or optimizer, no checkpoint at all), SystemError. The training
///   may then hold part of it.
CheckpointPosition loadCheckpoint(const Communicator& comm,
                                  ParallelTraining& training,
                                  const std::string& path);

/// Writes the parameters of a checkpoint as one file in the safetensors format, fp32. No ranks are
/// needed.
/// @param path a checkpoint's folder, or a folder of checkpoints, whose newest is taken
/// @errors InvalidArgument, SystemError.
void exportSafetensors(const std::string& path, const std::string& file);

}  // namespace rondo::train

#endif  // RONDO_TRAIN_CHECKPOINT_H_
