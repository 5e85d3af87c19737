// The communicators of all ranks, and threads that play the ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tests/gpu_check/gpu.h"

namespace rondo::gpucheck {

/// What is chosen for communicators; everything else is left at its default.
struct TeamSettings {
  int ranks = 2;
  std::string algorithms{};           ///< as rondoConfig_t::algorithm; empty: the planner's choice
  std::chrono::seconds patience{10};  ///< until a wait for another rank fails
};

/// One rank of a communicator on GPUs, with a stream of its own.
struct GpuRank {
  int rank = 0;
  rondoComm_t comm = nullptr;  ///< owned by the team
  const Gpu* gpu = nullptr;
  GpuStream stream;
};

/// Runs `body(rank)` for each rank in a thread of its own.
/// @return the failure of the lowest rank that has one, which names the rank
Status runRanks(int ranks, const std::function<Status(int)>& body);

/// The failure of a launch that nobody was waiting for, if there was one.
Status laterFailure(rondoComm_t comm);

/// The same ranks twice, with the same settings: on GPUs, or on host memory for what is right.
/// @threads one at a time; each rank its own part
class HostTeam {
 public:
  /// @errors those of rondoCommInitAll
  static Result<HostTeam> make(const TeamSettings& settings);

  HostTeam(HostTeam&&) noexcept = default;
  HostTeam& operator=(HostTeam&&) = delete;
  HostTeam(const HostTeam&) = delete;
  HostTeam& operator=(const HostTeam&) = delete;
  ~HostTeam();

  int ranks() const { return static_cast<int>(comms_.size()); }

  rondoComm_t comm(int rank) const { return comms_[static_cast<std::size_t>(rank)]; }

 private:
  HostTeam() = default;

  std::vector<rondoComm_t> comms_;
};

/// @threads one at a time; each rank its own part
class GpuTeam {
 public:
  /// Ranks on `gpus` as Gpus::ofRank() deals them out.
  /// @errors those of rondoCommInitAllOnDevices
  static Result<GpuTeam> make(const Gpus& gpus, const TeamSettings& settings);

  GpuTeam(GpuTeam&&) noexcept = default;
  GpuTeam& operator=(GpuTeam&&) = delete;
  GpuTeam(const GpuTeam&) = delete;
  GpuTeam& operator=(const GpuTeam&) = delete;
  ~GpuTeam();

  int ranks() const { return static_cast<int>(ranks_.size()); }

  GpuRank& rank(int number) { return ranks_[static_cast<std::size_t>(number)]; }

  std::chrono::seconds patience() const { return patience_; }

  /// Runs `body(rank)` for each rank in a thread of its own, with its GPU current. Where one fails
  /// the others' waits for it are ended.
  Status run(const std::function<Status(GpuRank&)>& body);

 private:
  GpuTeam() = default;

  std::chrono::seconds patience_{};
  std::vector<GpuRank> ranks_;
};

}  // namespace rondo::gpucheck
