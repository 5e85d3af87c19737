// Rondo's compressed all-reduce between processes of this host, without error feedback. The codec
// is RACE_CODEC's to say: int8, with a scale for 256 elements, or fp16.
#include <cstdlib>
#include <string>

#include "perf/race/harness/failure.h"
#include "perf/race/harness/launch.h"
#include "perf/race/harness/values.h"
#include "perf/race/libraries/rondo_library.h"

namespace rondo::race {

namespace {

rondoCodec_t codecOfEnvironment() {
  const char* const name = std::getenv("RACE_CODEC");  // NOLINT(concurrency-mt-unsafe)
  if (name == nullptr || std::string(name) == "int8") return rondoCodecInt8;
  if (std::string(name) == "fp16") return rondoCodecFloat16;
  fail("RACE_CODEC is int8 or fp16");
}

class CodedLibrary final : public Library {
 public:
  explicit CodedLibrary(rondoComm_t communicator) : communicator_(communicator) {
    how_.codec = codecOfEnvironment();
  }

  CodedLibrary(const CodedLibrary&) = delete;
  CodedLibrary(CodedLibrary&&) = delete;
  CodedLibrary& operator=(const CodedLibrary&) = delete;
  CodedLibrary& operator=(CodedLibrary&&) = delete;

  ~CodedLibrary() override { rondoCommDestroy(communicator_); }

  bool supports(const Work& work) const override {
    return work.operation == Operation::kAllReduce && work.type == DataType::kFloat32;
  }

  void run(const Work& work) override {
    requireSuccess(rondoAllReduceCompressed(work.send, work.recv, work.count, rondoFloat32,
                                            rondoSum, &how_, communicator_, nullptr));
  }

  /// Each contribution is off by half a scale at most, and so is the sum, whose scale is as many
  /// times larger. fp16 holds all these numbers.
  float tolerance(const Work& work) const override {
    constexpr float kMostCode = 127;
    if (how_.codec == rondoCodecFloat16) return 0;
    return static_cast<float>(work.ranks * kHighestInput) / kMostCode;
  }

 private:
  rondoComm_t communicator_;
  rondoCompression_t how_ = RONDO_COMPRESSION_INITIALIZER;
};

}  // namespace

}  // namespace rondo::race

int main(int argc, char** argv) {
  namespace race = rondo::race;
  return race::raceProcesses(argc, argv, race::Waiting::kSpin, [](race::Meeting& meeting) {
    return std::make_unique<race::CodedLibrary>(race::joinRanks(meeting));
  });
}
