// Linked into every test of verbs: when all is over, nothing of the double is left, and nothing was
// done that it only notes.
#include <gtest/gtest.h>

#include "tests/verbs/verbs_double/controls.h"

namespace rondo::testing {
namespace {

class NoLeftovers final : public ::testing::Environment {
 public:
  void TearDown() override {
    EXPECT_EQ(rondoVerbsObjects(), 0);
    EXPECT_STREQ(rondoVerbsComplaints(), "");
  }
};

[[maybe_unused]] const auto* const kRegistered =
    ::testing::AddGlobalTestEnvironment(new NoLeftovers);

}  // namespace
}  // namespace rondo::testing
