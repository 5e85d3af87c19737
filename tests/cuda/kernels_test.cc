// The kernels of kernels/cuda/ on the emulator, against the host's lanes: every algorithm with all
// protocols, bit for bit.
#include <gtest/gtest.h>

#include "tests/cuda/device_checks.h"

namespace rondo::testing {
namespace {

using device::kProtocols;
using device::Protocol;

/// All legal shapes of one algorithm, over ranks, channels and sizes.
template <class Check>
void forEachShape(AlgorithmId algorithm, Check check) {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    for (const int channels : {1, 2, 4}) {
      for (const std::size_t count :
           {std::size_t{0}, std::size_t{1}, std::size_t{257}, std::size_t{1500}}) {
        for (const Protocol protocol : kProtocols) {
          OperationShape shape;
          shape.algorithm = algorithm;
          shape.ranks = ranks;
          shape.channels = channels;
          shape.root = ranks - 1;
          shape.count = count;
          shape.protocol = protocol;
          shape.inPlace = (ranks + channels) % 2 == 0;
          if (legal(shape)) check(shape);
        }
      }
    }
  }
}

class Kernels : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Kernels, GiveTheBitsOfTheHost) {
  int shapes = 0;
  forEachShape(algorithmAt(GetParam()), [&](const OperationShape& shape) {
    if (shapes++ % static_cast<int>(kThinning) != 0) return;
    ASSERT_EQ(runOnce(shape, deviceShape(shape), {}), "");
  });
  EXPECT_GT(shapes, 8);
}

std::string algorithmText(const ::testing::TestParamInfo<std::size_t>& row) {
  const AlgorithmInfo& algorithm = algorithmInfo(algorithmAt(row.param));
  return fmt::format("{}_{}", collectiveName(algorithm.collective), algorithm.name);
}

INSTANTIATE_TEST_SUITE_P(Algorithms,
                         Kernels,
                         ::testing::Range(std::size_t{0}, kAlgorithmCount),
                         algorithmText);

}  // namespace
}  // namespace rondo::testing
