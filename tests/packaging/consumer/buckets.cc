// Uses the trainer layer of an installed Rondo.
#include <cstdio>

#include <rondo/train/gradient_buckets.h>

int main() {
  const auto comms = rondo::Communicator::createAll(1);
  rondo::train::GradientBuckets buckets(comms[0], {{"w", rondoFloat32, 4}});
  buckets.view<float>(0)[3] = 7;
  buckets.markReady(0);
  buckets.finish();
  std::printf("%g\n", static_cast<double>(buckets.view<float>(0)[3]));
  return buckets.view<float>(0)[3] == 7 ? 0 : 1;
}
