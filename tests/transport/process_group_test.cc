// What a rank's group asks of its transports, and when.
#include "src/process_group.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "transports/private_connection.h"

namespace rondo::testing {
namespace {

constexpr SlotShape kSlots{64, 2};

/// Reaches everybody and moves nothing; counts how often it is asked for something to move.
class IdleTransport final : public Transport {
 public:
  explicit IdleTransport(bool sharesMemory) : sharesMemory_(sharesMemory) {}

  int asked() const { return asked_; }

  /// No connection from now on.
  void runOutOfMemory() { hasMemory_ = false; }

  std::string_view name() const override { return sharesMemory_ ? "memory" : "wire"; }

  bool sharesMemory() const override { return sharesMemory_; }

  Result<std::string> offer() override { return std::string("here"); }

  bool canReach(int, std::string_view) const override { return true; }

  Status open(const std::vector<std::string>&, Deadline) override { return {}; }

  Result<ConnectionMemory> connect(int from, int to, int channel) override {
    if (!hasMemory_) return noMemory(from, to, channel, kSlots);
    connections_.push_back(PrivateConnection::make(kSlots.bytes, kSlots.count));
    return connections_.back()->memory();
  }

  Result<bool> progress() override {
    ++asked_;
    return false;
  }

  bool flushed() const override {
    ++asked_;
    return true;
  }

  void watch(std::vector<int>&) const override { ++asked_; }

  std::size_t memoryBytes() const override { return 0; }

 private:
  const bool sharesMemory_;
  bool hasMemory_ = true;
  mutable int asked_ = 0;
  std::vector<std::unique_ptr<PrivateConnection>> connections_;
};

class ProcessGroupTest : public ::testing::Test {
 protected:
  /// Rank 0 of two, both of which share memory and have a wire, too.
  static ProcessGroup::Parts parts(const std::shared_ptr<IdleTransport>& memory,
                                   const std::shared_ptr<IdleTransport>& wire) {
    ProcessGroup::Parts parts;
    parts.ranks = 2;
    parts.board = std::make_shared<PrivateBoard>();
    parts.onBoard = {true, true};
    parts.transports = {memory, wire};
    parts.routes = {{}, {0, 1}};
    return parts;
  }

  /// One turn of a rank that waits.
  void wait() {
    (void)place_.progress();
    (void)place_.flushed();
    place_.sleep(std::chrono::microseconds{1});
  }

  std::shared_ptr<IdleTransport> memory_ = std::make_shared<IdleTransport>(true);
  std::shared_ptr<IdleTransport> wire_ = std::make_shared<IdleTransport>(false);
  ProcessGroup group_{parts(memory_, wire_)};
  host::WaitPlace& place_ = group_.waitPlace(0);
};

TEST_F(ProcessGroupTest, NothingIsAskedWhereAllConnectionsShareMemory) {
  ASSERT_TRUE(group_.connection(0, 1, 0).ok());
  wait();
  EXPECT_EQ(memory_->asked(), 0);
  EXPECT_EQ(wire_->asked(), 0);
}

TEST_F(ProcessGroupTest, AWireIsAskedOnceATurnFromItsFirstConnectionOn) {
  wait();
  EXPECT_EQ(wire_->asked(), 0);
  memory_->runOutOfMemory();
  for (int channel = 0; channel < 3; ++channel)
    ASSERT_TRUE(group_.connection(0, 1, channel).ok());
  (void)place_.progress();
  EXPECT_EQ(wire_->asked(), 1);
  wait();
  EXPECT_GE(wire_->asked(), 4);
  EXPECT_EQ(memory_->asked(), 0);
}

TEST_F(ProcessGroupTest, NamesTheTransportThatIsTriedFirst) {
  EXPECT_EQ(group_.transportTo(1), "memory");
}

}  // namespace
}  // namespace rondo::testing
