// What it costs to average the gradients of a model of many tensors, by the ways there are: a call
// for each, all calls as one group, GradientBuckets, and buckets that compress. Ranks are started
// by a launcher:
//
//     rondo run -n 2 -- gradients_bench [TENSORS] [MEAN-ELEMENTS]

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "perf/timing.h"
#include "rondo/rondo.hpp"
#include "rondo/train/gradient_buckets.h"

namespace rondo {

namespace {

constexpr int kRounds = 9;

/// Sizes of tensors as models have them: for each matrix a few vectors that are much smaller.
std::vector<std::size_t> countsOf(std::size_t tensors, std::size_t mean) {
  std::vector<std::size_t> counts;
  for (std::size_t tensor = 0; tensor < tensors; ++tensor) {
    const bool matrix = tensor % 4 == 0;
    counts.push_back(matrix ? mean * 7 / 2 + tensor % 97 : mean / 6 + tensor % 13);
  }
  return counts;
}

class Gradients {
 public:
  Gradients(const Communicator& comm, std::vector<std::size_t> counts)
      : comm_(comm), counts_(std::move(counts)) {
    for (const std::size_t count : counts_)
      tensors_.emplace_back(count, 1.0F);
  }

  std::size_t bytes() const {
    std::size_t elems = 0;
    for (const std::size_t count : counts_)
      elems += count;
    return elems * sizeof(float);
  }

  double oneByOne() {
    return medianTogether(comm_, kRounds, [this] { reduceAll(); });
  }

  double grouped() {
    return medianTogether(comm_, kRounds, [this] {
      Group group;
      reduceAll();
      group.end();
    });
  }

  /// In the buckets' own memory, as a trainer that asks for views has it.
  double inBuckets(const std::optional<train::GradientCompression>& compression) {
    train::BucketOptions options;
    options.compression = compression;
    std::vector<train::GradientSpec> specs;
    for (const std::size_t count : counts_)
      specs.push_back({std::to_string(specs.size()), rondoFloat32, count});
    train::GradientBuckets buckets(comm_, specs, options);
    const auto pass = [&] {
      for (std::size_t tensor = counts_.size(); tensor-- > 0;)
        buckets.markReady(tensor);
      buckets.finish();
    };
    pass();  // buckets are made again after it
    pass();
    return medianTogether(comm_, kRounds, pass);
  }

 private:
  void reduceAll() {
    for (std::vector<float>& tensor : tensors_)
      comm_.allReduce(tensor, rondoAvg);
  }

  const Communicator& comm_;
  const std::vector<std::size_t> counts_;
  std::vector<std::vector<float>> tensors_;
};

void measure(const Communicator& comm, std::size_t tensors, std::size_t mean) {
  Gradients gradients(comm, countsOf(tensors, mean));
  gradients.oneByOne();  // connections are made
  const double oneByOne = gradients.oneByOne();
  const double grouped = gradients.grouped();
  const double buckets = gradients.inBuckets(std::nullopt);
  const double coded = gradients.inBuckets(train::GradientCompression{});
  if (comm.rank() != 0) return;
  std::printf("%zu tensors, %.1f MiB, %d ranks; median of %d passes in ms, and of one by one\n",
              tensors, static_cast<double>(gradients.bytes()) / (1 << 20), comm.ranks(), kRounds);
  const auto print = [&](const char* name, double seconds) {
    std::printf("%-16s %9.2f %6.2f\n", name, 1e3 * seconds, seconds / oneByOne);
  };
  print("one by one", oneByOne);
  print("one group", grouped);
  print("buckets", buckets);
  print("buckets, int8", coded);
}

}  // namespace

}  // namespace rondo

int main(int argc, char** argv) {
  const long tensors = argc > 1 ? std::atol(argv[1]) : 1000;
  const long mean = argc > 2 ? std::atol(argv[2]) : 8192;
  if (argc > 3 || tensors < 1 || mean < 1) {
    std::fprintf(stderr,
                 "usage: rondo run -n RANKS -- gradients_bench [TENSORS] [MEAN-ELEMENTS]\n");
    return 2;
  }
  try {
    rondo::measure(rondo::Communicator::createFromEnvironment(), static_cast<std::size_t>(tensors),
                   static_cast<std::size_t>(mean));
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "gradients_bench: %s\n", failure.what());
    return 1;
  }
}
