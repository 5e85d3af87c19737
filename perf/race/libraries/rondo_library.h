// Rondo in the race, over a communicator that exists.
#pragma once

#include "perf/race/harness/library.h"
#include "rondo/rondo.h"

namespace rondo::race {

/// Ends the race with Rondo's own message unless `result` is success.
void requireSuccess(rondoResult_t result);

/// Owns the communicator.
class RondoLibrary final : public Library {
 public:
  explicit RondoLibrary(rondoComm_t communicator) : communicator_(communicator) {}

  RondoLibrary(const RondoLibrary&) = delete;
  RondoLibrary(RondoLibrary&&) = delete;
  RondoLibrary& operator=(const RondoLibrary&) = delete;
  RondoLibrary& operator=(RondoLibrary&&) = delete;
  ~RondoLibrary() override;

  bool supports(const Work& work) const override;

  void run(const Work& work) override;

 private:
  rondoComm_t communicator_;
};

}  // namespace rondo::race
