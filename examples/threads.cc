#include <iostream>
#include <thread>
#include <vector>

#include <rondo/rondo.hpp>

int main() {
  std::vector<rondo::Communicator> comms = rondo::Communicator::createAll(4);
  std::vector<std::jthread> ranks;
  for (auto& comm : comms) {
    ranks.emplace_back([&comm] {
      std::vector<float> values(1000, 1.0F + static_cast<float>(comm.rank()));
      comm.allReduce(values);                                // in place, sum
      if (comm.rank() == 0) std::cout << values[0] << "\n";  // 1 + 2 + 3 + 4 = 10
    });
  }
}
