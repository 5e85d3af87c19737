// Checkpoints: on any number of ranks and in any stage the training goes on as if nothing had been;
// damaged ones are named errors on all ranks; a kill at any moment leaves the last good one.
#include "rondo/train/checkpoint.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "src/train/checkpoint_files.h"
#include "tests/multiprocess/forked_ranks.h"
#include "tests/train/rank_threads.h"

namespace rondo::train {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::ForkedRanks;
using ::testing::HasSubstr;
using testing::joinOrExit;
using testing::runRanks;

/// A folder that is removed in the end.
class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "rondo-checkpoint-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }

  ~Folder() { fs::remove_all(path_); }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::unique_ptr<ParallelTraining> make(const Communicator& comm,
                                       int stage,
                                       std::size_t count = 1000,
                                       ParameterPrecision precision = ParameterPrecision::kFp32) {
  TrainingOptions options;
  options.stage = stage;
  options.precision = precision;
  options.buckets.stallAfter = std::chrono::milliseconds{0};
  return makeTraining(comm, {{"a", count, 0}, {"b", 3, 1, 1, false, {3, 1}}}, options);
}

/// Gradients are whole numbers, and the same on all ranks: their mean is exact on any number.
void makeStep(ParallelTraining& training) {
  for (const std::size_t tensor : {1, 0}) {
    float* gradient = training.gradient(tensor);
    for (std::size_t i = 0; i < training.layout()[tensor].count; ++i) {
      gradient[i] = static_cast<float>((i * 7 + training.updates() * 3) % 11) - 5;
    }
    training.ready(tensor);
  }
  training.step(0.01);
}

/// Parameters and optimizer state of all ranks, unit after unit. Collective.
std::vector<float> everythingOf(const Communicator& comm, const ParallelTraining& training) {
  std::vector<float> all;
  for (std::size_t unit = 0; unit < training.layout().units(); ++unit) {
    const UnitState own = training.state(unit);
    std::vector<std::size_t> counts;
    std::vector<std::size_t> places;
    for (int rank = 0; rank < comm.ranks(); ++rank) {
      const Share share = shareOf(training.layout().unitElems(unit), comm.ranks(), rank);
      counts.push_back(share.size());
      places.push_back(share.begin);
    }
    for (const std::span<const float> part : {own.parameters, own.states[0], own.states[1]}) {
      std::vector<float> whole(training.layout().unitElems(unit));
      comm.allGatherV(part, whole, counts, places);
      all.insert(all.end(), whole.begin(), whole.end());
    }
  }
  return all;
}

void save(const Communicator& comm, const ParallelTraining& training, const std::string& folder) {
  saveCheckpoint(comm, training, folder, {training.updates(), 42, 7 * training.updates()});
}

TEST(Checkpoints, GoOnOnAnyNumberOfRanksInAnyStage) {
  // deepspeedai/DeepSpeed#2898
  const Folder folder;
  std::vector<float> saved;
  std::vector<float> later;
  runRanks(4, [&](const Communicator& comm) {
    const auto training = make(comm, 2);
    for (int step = 0; step < 5; ++step)
      makeStep(*training);
    save(comm, *training, folder.path());
    const std::vector<float> now = everythingOf(comm, *training);
    for (int step = 0; step < 5; ++step)
      makeStep(*training);
    const std::vector<float> end = everythingOf(comm, *training);
    if (comm.rank() == 0) {
      saved = now;
      later = end;
    }
  });
  ASSERT_NE(saved, later);
  for (const int ranks : {1, 2, 3, 4, 6, 8}) {
    runRanks(ranks, [&](const Communicator& comm) {
      // What is saved is what is updated, whatever models compute with.
      for (const int stage : {0, 1, 2, 3, 10, 11, 12, 13}) {
        const auto training =
            make(comm, stage % 10, 1000,
                 stage < 10 ? ParameterPrecision::kFp32 : ParameterPrecision::kBf16);
        const std::string path = findCheckpoint(comm, folder.path());
        const CheckpointPosition position = loadCheckpoint(comm, *training, path);
        EXPECT_EQ(position.step, 5U);
        EXPECT_EQ(position.seed, 42U);
        EXPECT_EQ(position.data, 35U);
        EXPECT_TRUE(everythingOf(comm, *training) == saved) << ranks << " ranks, stage " << stage;
        for (int step = 0; step < 5; ++step)
          makeStep(*training);
        EXPECT_TRUE(everythingOf(comm, *training) == later) << ranks << " ranks, stage " << stage;
      }
    });
  }
}

std::vector<std::string> namesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

TEST(Checkpoints, OldOnesGoAndPartialOnesDoNotCount) {
  const Folder folder;
  runRanks(2, [&](const Communicator& comm) {
    EXPECT_EQ(findCheckpoint(comm, folder.path() + "/none"), "");
    const auto training = make(comm, 1);
    for (int step = 0; step < 4; ++step) {
      makeStep(*training);
      saveCheckpoint(comm, *training, folder.path(), {training->updates(), 0, 0}, 2);
    }
    // Again, in the place of the one that is there.
    saveCheckpoint(comm, *training, folder.path(), {4, 9, 0}, 2);
  });
  EXPECT_THAT(namesIn(folder.path()), ElementsAre("step-00000003", "step-00000004"));
  fs::create_directory(folder.path() + "/.step-00000005.partial");
  fs::create_directory(folder.path() + "/step-00000006");
  runRanks(2, [&](const Communicator& comm) {
    const std::string found = findCheckpoint(comm, folder.path());
    EXPECT_THAT(found, HasSubstr("/step-00000004"));
    EXPECT_EQ(loadCheckpoint(comm, *make(comm, 3), found).seed, 9U);
  });
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(Checkpoints, ThatAreDamagedAreNamedOnAllRanks) {
  const Folder folder;
  runRanks(2, [&](const Communicator& comm) {
    const auto training = make(comm, 2);
    makeStep(*training);
    save(comm, *training, folder.path());
    makeStep(*training);
    save(comm, *training, folder.path());
  });
  const std::string path = folder.path() + "/step-00000002";
  const std::string share = path + "/rank-00001";
  const std::string manifest = path + "/manifest";
  const std::string good = contents(share);
  const std::string goodManifest = contents(manifest);
  std::string changed = good;
  changed[good.size() - 2] ^= 1;
  std::string changedManifest = goodManifest;
  changedManifest[goodManifest.find("position 2")] = 'P';

  const auto expectRefusal = [&](const std::string& words, std::size_t count = 1000) {
    runRanks(3, [&](const Communicator& comm) {
      const auto training = make(comm, 1, count);
      try {
        loadCheckpoint(comm, *training, path);
        ADD_FAILURE() << "loaded, but " << words;
      } catch (const Error& error) {
        EXPECT_EQ(error.result(), rondoInvalidArgument);
        EXPECT_THAT(error.what(), HasSubstr(words));
      }
    });
  };
  overwrite(share, good.substr(0, good.size() - 100));
  expectRefusal("rank-00001 has " + std::to_string(good.size() - 100) + " bytes instead of");
  overwrite(share, good.substr(0, 10));
  expectRefusal("rank-00001 is shorter than it says");
  overwrite(share, changed);
  expectRefusal("rank-00001 was changed");
  overwrite(share, contents(folder.path() + "/step-00000001/rank-00001"));
  expectRefusal("rank-00001 is of step 1, its manifest of step 2");
  overwrite(share, contents(path + "/rank-00000"));
  expectRefusal("rank-00001 belongs to another checkpoint");
  overwrite(share, std::string(1000, 'x'));
  expectRefusal("rank-00001 is no share");
  fs::remove(share);
  expectRefusal("rank-00001 is missing");
  overwrite(share, good);
  overwrite(manifest, goodManifest.substr(0, goodManifest.size() / 2));
  expectRefusal("manifest was cut short or changed");
  overwrite(manifest, changedManifest);
  expectRefusal("manifest was cut short or changed");
  overwrite(manifest, "{}");
  expectRefusal("manifest is no manifest");
  fs::remove(manifest);
  expectRefusal("manifest is missing");
  overwrite(manifest, goodManifest);
  expectRefusal("is of another model: its tensor 0 is a (1000 elements", 999);
}

TEST(Checkpoints, AreCollective) {
  // deepspeedai/DeepSpeed#801: only rank 0 saves.
  const Folder folder;
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.operationTimeoutMs = 300;
  config.logLevel = "error";
  const std::vector<Communicator> comms = Communicator::createAll(2, config);
  std::string message;
  std::thread other([&] { make(comms[1], 0); });
  const auto training = make(comms[0], 0);
  other.join();
  try {
    save(comms[0], *training, folder.path());
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_THAT(message, AllOf(HasSubstr("saving a checkpoint is collective: all ranks must call it"),
                             HasSubstr("rank 1")));
}

TEST(Checkpoints, CannotBeWrittenEverywhere) {
  const Folder folder;
  overwrite(folder.path() + "/file", "no folder");
  runRanks(2, [&](const Communicator& comm) {
    const auto training = make(comm, 0);
    try {
      save(comm, *training, folder.path() + "/file");
      ADD_FAILURE() << "saved";
    } catch (const Error& error) {
      EXPECT_EQ(error.result(), rondoSystemError);
      EXPECT_THAT(error.what(), HasSubstr("/file"));
    }
  });
}

/// Saves after each step, for ever.
int saveForEver(int ranks, int rank, const rondoUniqueId_t& id, const std::string& folder) {
  const Communicator comm(joinOrExit(ranks, rank, id));
  const auto training = make(comm, 2, 200000);
  try {
    while (true) {
      makeStep(*training);
      saveCheckpoint(comm, *training, folder, {training->updates(), 0, 0}, 2);
    }
  } catch (const Error& error) {
    return error.result() == rondoPeerLost ? 0 : 1;
  }
}

TEST(Checkpoints, SurviveAKillAtAnyMoment) {
  for (const int victim : {0, 1}) {
    for (int kill = 0; kill < 3; ++kill) {
      const Folder folder;
      {
        ForkedRanks ranks(2, [&](int rank, const rondoUniqueId_t& id) {
          return saveForEver(2, rank, id, folder.path());
        });
        while (listCheckpoints(folder.path()).size() < 2)
          std::this_thread::sleep_for(std::chrono::milliseconds{1 + 3 * kill});
        ranks.signal(victim, SIGKILL);
        ranks.expectSuccess(std::chrono::seconds{60}, victim);
      }
      runRanks(1, [&](const Communicator& comm) {
        const auto training = make(comm, 0, 200000);
        const std::string found = findCheckpoint(comm, folder.path());
        EXPECT_GE(loadCheckpoint(comm, *training, found).step, 1U);
      });
    }
  }
}

TEST(Checkpoints, AreExportedAsSafetensors) {
  const Folder folder;
  std::vector<float> parameters;
  runRanks(3, [&](const Communicator& comm) {
    const auto training = make(comm, 3);
    for (int step = 0; step < 3; ++step)
      makeStep(*training);
    save(comm, *training, folder.path());
    std::vector<float> all;
    for (std::size_t unit = 0; unit < 2; ++unit) {
      const float* values = training->acquire(unit);
      all.insert(all.end(), values, values + training->layout().unitElems(unit));
      training->release(unit);
    }
    if (comm.rank() == 0) parameters = all;
  });
  const std::string file = folder.path() + "/model.safetensors";
  exportSafetensors(folder.path(), file);
  const std::string bytes = contents(file);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  // The size is exact: nothing is stored twice.
  ASSERT_EQ(bytes.size(), 8 + length + 1003 * sizeof(float));
  EXPECT_THAT(bytes.substr(8, length),
              AllOf(HasSubstr(R"("a":{"dtype":"F32","shape":[1000],"data_offsets":[0,4000]})"),
                    HasSubstr(R"("b":{"dtype":"F32","shape":[3,1],"data_offsets":[4000,4012]})")));
  EXPECT_EQ(std::memcmp(bytes.data() + 8 + length, parameters.data(), 1003 * sizeof(float)), 0);
}

}  // namespace
}  // namespace rondo::train
