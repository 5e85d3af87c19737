// What transports/transport.h promises, as tests that every transport has to pass. This file has
// what a transport's own test program needs to put it through them (see transport_test.cc); the
// tests are in transport_body.cc.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "transports/transport.h"

namespace rondo::testing {

/// One rank's transport with what it stands on. To the other ranks its destruction is the end of a
/// process, in good order if close() came before.
class TransportRank {
 public:
  virtual ~TransportRank() = default;

  virtual Transport& transport() = 0;

  /// What else a rank does once its transport is open.
  virtual Status start() { return {}; }

 protected:
  TransportRank() = default;
  TransportRank(const TransportRank&) = default;
  TransportRank& operator=(const TransportRank&) = default;
};

/// Which rank a transport is made for.
struct RankPlace {
  int rank = 0;
  int ranks = 1;
  SlotShape slots;
  int job = 0;  ///< several may live in one process at a time
};

/// A transport that is to be tested.
struct TransportKind {
  std::string name;  ///< in the names of its tests
  std::function<std::unique_ptr<TransportRank>(const RankPlace&)> make;
};

/// In a failed test's description.
inline std::ostream& operator<<(std::ostream& out, const TransportKind& kind) {
  return out << kind.name;
}

/// A transport that needs nothing but itself.
template <class T>
class PlainRank final : public TransportRank {
 public:
  template <class... Args>
  explicit PlainRank(Args&&... args) : transport_(std::forward<Args>(args)...) {}

  Transport& transport() override { return transport_; }

 private:
  T transport_;
};

/// The tests; made for each TransportKind by INSTANTIATE_TEST_SUITE_P.
class TransportTest : public ::testing::TestWithParam<TransportKind> {};

/// Names the tests of INSTANTIATE_TEST_SUITE_P.
inline std::string nameOfKind(const ::testing::TestParamInfo<TransportKind>& info) {
  return info.param.name;
}

}  // namespace rondo::testing
