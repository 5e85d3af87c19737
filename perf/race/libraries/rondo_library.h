// Rondo in the race, over a communicator that exists.
#pragma once

#include <vector>

#include "perf/race/harness/library.h"
#include "perf/race/harness/meeting.h"
#include "rondo/rondo.h"

namespace rondo::race {

/// Ends the race with Rondo's own message unless `result` is success.
void requireSuccess(rondoResult_t result);

/// The communicator of a rank that is a process.
rondoComm_t joinRanks(Meeting& meeting);

/// Where a rank's buffers come from.
enum class BufferSource {
  kProgram,  ///< private memory, as all libraries get it
  kRondo     ///< rondoMemAlloc
};

/// Owns the communicator.
class RondoLibrary final : public Library {
 public:
  explicit RondoLibrary(rondoComm_t communicator, BufferSource buffers = BufferSource::kProgram)
      : communicator_(communicator), source_(buffers) {}

  RondoLibrary(const RondoLibrary&) = delete;
  RondoLibrary(RondoLibrary&&) = delete;
  RondoLibrary& operator=(const RondoLibrary&) = delete;
  RondoLibrary& operator=(RondoLibrary&&) = delete;
  ~RondoLibrary() override;

  bool supports(const Work& /*work*/) const override { return true; }

  void run(const Work& work) override;

  std::byte* allocate(std::size_t bytes) override;

 private:
  rondoComm_t communicator_;
  BufferSource source_;
  std::vector<void*> allocated_;
};

}  // namespace rondo::race
