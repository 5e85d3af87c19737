#include "rondo/train/checkpoint.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>

#include "src/train/agreement.h"
#include "src/train/checkpoint_files.h"

namespace rondo::train {

namespace {

namespace fs = std::filesystem;

Error failed(const std::string& what, const std::string& path, const std::string& why) {
  return Error(rondoSystemError, "checkpoint: cannot " + what + " " + path + ": " + why);
}

/// Throws what the standard library's functions report.
void check(const std::error_code& error, const std::string& what, const std::string& path) {
  if (error) throw failed(what, path, error.message());
}

void makeEmptyFolder(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  check(error, "remove", path);
  fs::create_directories(path, error);
  check(error, "make", path);
}

/// Gives a complete checkpoint its name. One of the same step is exchanged for it, so that at any
/// moment there is one.
void publish(const std::string& partial, const std::string& path) {
  if (fs::exists(path)) {
    if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) != 0)
      throw failed("replace", path, std::strerror(errno));
    std::error_code error;
    fs::remove_all(partial, error);
    check(error, "remove", partial);
  } else if (std::rename(partial.c_str(), path.c_str()) != 0) {
    throw failed("rename", partial, std::strerror(errno));
  }
}

/// The manifest goes first: a folder that is half removed is no checkpoint.
void removeOld(const std::string& folder, int keep) {
  if (keep <= 0) return;
  const std::vector<std::string> all = listCheckpoints(folder);
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i) {
    std::error_code error;
    fs::remove(all[i] + "/manifest", error);
    check(error, "remove", all[i] + "/manifest");
    fs::remove_all(all[i], error);
    check(error, "remove", all[i]);
  }
}

Manifest describe(const ParallelTraining& training, const CheckpointPosition& position) {
  Manifest manifest;
  manifest.position = position;
  manifest.updates = training.updates();
  manifest.skipped = training.skippedSteps();
  manifest.scale = training.scale();
  manifest.optimizer = training.optimizer().kind;
  for (std::size_t tensor = 0; tensor < training.layout().size(); ++tensor)
    manifest.parameters.push_back(training.layout()[tensor]);
  return manifest;
}

/// @errors thrown, InvalidArgument: the checkpoint is of another training.
void requireSame(const Manifest& manifest,
                 const ParallelTraining& training,
                 const std::string& path) {
  const std::vector<std::string> own = training.layout().describe();
  const std::vector<std::string> saved = ParameterLayout(manifest.parameters).describe();
  for (std::size_t i = 0; i < std::max(own.size(), saved.size()); ++i) {
    const std::string here = i < own.size() ? own[i] : "nothing";
    const std::string there = i < saved.size() ? saved[i] : "nothing";
    if (here == there) continue;
    throw Error(rondoInvalidArgument, "checkpoint: " + path + " is of another model: its tensor " +
                                          std::to_string(i) + " is " + there + ", here " + here);
  }
  if (manifest.optimizer != training.optimizer().kind) {
    throw Error(
        rondoInvalidArgument,
        "checkpoint: " + path + " is of another optimizer; choose the one it was made with");
  }
}

/// The first collective call of a save: who forgets to make it is told so.
void begin(const Communicator& comm, const std::string& partial) try {
  onAllRanks(comm, [&] {
    if (comm.rank() == 0) makeEmptyFolder(partial);
  });

} catch (const Error& error) {  // says what it waited for; the reason is most likely this

  if (error.result() != rondoTimeout) throw;
  throw Error(
      rondoTimeout,
      std::string("saving a checkpoint is collective: all ranks must call it; ") + error.what());
}

}  // namespace

std::string saveCheckpoint(const Communicator& comm,
                           const ParallelTraining& training,
                           const std::string& folder,
                           const CheckpointPosition& position,
                           int keep) {
  const std::string path = folder + "/" + checkpointName(position.step);
  const std::string partial = folder + "/." + checkpointName(position.step) + ".partial";
  begin(comm, partial);
  std::array<std::uint64_t, 2> own{};
  onAllRanks(comm, [&] {
    const ShareFile share = writeShare(partial, training, position, comm.rank(), comm.ranks());
    own = {share.bytes, share.hash};
  });
  std::vector<std::uint64_t> all(2 * static_cast<std::size_t>(comm.ranks()));
  comm.allGather(own, all);
  onAllRanks(comm, [&] {
    if (comm.rank() != 0) return;
    Manifest manifest = describe(training, position);
    for (std::size_t i = 0; i < all.size(); i += 2)
      manifest.shares.push_back({all[i], all[i + 1]});
    writeDurably(partial + "/manifest", manifest.text());
    syncFolder(partial);
    publish(partial, path);
    syncFolder(folder);
    removeOld(folder, keep);
  });
  return path;
}

std::string findCheckpoint(const Communicator& comm, const std::string& folder) {
  std::string newest;
  if (comm.rank() == 0) {
    const std::vector<std::string> all = listCheckpoints(folder);
    if (!all.empty()) newest = all.back();
  }
  std::array<std::uint64_t, 1> size{newest.size()};
  comm.broadcast(size, 0);
  newest.resize(size[0]);
  comm.broadcast(newest, 0);
  return newest;
}

CheckpointPosition loadCheckpoint(const Communicator& comm,
                                  ParallelTraining& training,
                                  const std::string& path) {
  Manifest manifest;
  onAllRanks(comm, [&] {
    manifest = readManifest(path);
    requireSame(manifest, training, path);
  });
  requireAgreement(comm, "checkpoints", {manifest.text()});
  // What one rank has kept means something only to the same one of as many.
  const bool sameRanks = manifest.shares.size() == static_cast<std::size_t>(comm.ranks());
  std::vector<std::byte> rankState;
  onAllRanks(comm, [&] {
    for (std::size_t rank = 0; rank < manifest.shares.size(); ++rank) {
      std::vector<std::byte> state = readShare(
          path, manifest, rank, [&](std::size_t unit, std::size_t begin, const UnitState& values) {
            training.restore(unit, begin, values);
          });
      if (sameRanks && rank == static_cast<std::size_t>(comm.rank())) rankState = std::move(state);
    }
  });
  training.restored(manifest.updates, manifest.skipped, manifest.scale);
  training.restoreRankState(rankState);
  return manifest.position;
}

}  // namespace rondo::train
