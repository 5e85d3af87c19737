// One collective call of all ranks with its buffers, inputs and expected results: prepared by one
// thread, executed by the ranks, verified by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tests/collective/communicators.h"
#include "tests/collective/guarded_buffer.h"
#include "tests/collective/rank_team.h"
#include "tests/collective/reference.h"
#include "tests/collective/test_inputs.h"

namespace rondo::testing {

struct CallSpec {
  Collective collective = Collective::kAllReduce;
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  std::size_t count = 0;  ///< as in the C API
  int root = 0;
  bool inPlace = false;
  std::size_t sendShift = 0;  ///< bytes beyond a 64-byte boundary; multiples of the element
  std::size_t recvShift = 0;
  InputKind inputs = InputKind::kOrdinary;
  std::uint64_t seed = 1;
  bool expectsResults = true;  ///< false: not to be verified; saves the reference's time

  PlanRequest request() const;

  /// "all_reduce half sum count 17 in place ..."
  std::string text() const;
};

class PreparedCall {
 public:
  /// @param inputs what each rank contributes; empty: made from `spec`
  PreparedCall(const CallSpec& spec,
               const Communicators& communicators,
               std::vector<Bytes> inputs = {});

  /// Makes the call as `rank`; if there is RONDOTEST_REGISTER in the environment, with its buffers
  /// registered meanwhile. @threads each rank its own
  void execute(int rank);

  /// What is wrong after all ranks executed; empty if nothing. Frees nothing: may be executed again
  /// after rearm().
  std::string verify();

  /// Puts the buffers back into their state before the call.
  void rearm();

  /// What the call left in the output of `rank`.
  std::span<std::byte> output(int rank) { return outputOf(ranks_[static_cast<std::size_t>(rank)]); }

  rondoResult_t result(int rank) const { return ranks_[static_cast<std::size_t>(rank)].result; }

 private:
  struct Rank {
    rondoComm_t comm = nullptr;
    GuardedBuffer send;
    GuardedBuffer recv;      // unused in place
    std::size_t sendAt = 0;  // bytes into the shared buffer, in place
    std::size_t recvAt = 0;
    std::size_t sendBytes = 0;  // what the call reads and writes
    std::size_t recvBytes = 0;
    bool shared = false;  // in place: `send` holds both
    Bytes input;
    Bytes factor;
    rondoResult_t result = rondoInProgress;
    std::string message;
  };

  void layOut(Rank& rank, int number);
  void fill(Rank& rank);
  std::byte* sendOf(Rank& rank) const;
  std::byte* recvOf(Rank& rank) const;
  std::span<std::byte> outputOf(Rank& rank) const;
  rondoResult_t call(Rank& rank, rondoRedOp_t op) const;
  rondoResult_t callRegistered(Rank& rank, rondoRedOp_t op) const;
  void expectResults(const Communicators& communicators);
  Bytes expectedAt(std::size_t rank, const std::vector<Bytes>& inputs, const Bytes& reduced) const;
  std::string verifyRank(int number);

  CallSpec spec_;
  std::vector<Rank> ranks_;
  std::vector<Bytes> expected_;  // per rank; empty where nothing is written
};

/// Prepares, executes with RankTeam::shared() and verifies `spec`.
/// @return what is wrong; empty if nothing
std::string runAndVerify(const CallSpec& spec,
                         const Communicators& communicators,
                         std::vector<Bytes> inputs = {});

}  // namespace rondo::testing
