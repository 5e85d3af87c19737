// A transport that has trouble: any other one, with what networks do to it.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "transports/transport.h"

namespace rondo::testing {

/// @threads as the transport within; cut() one at a time with all but traffic()
class FaultyTransport final : public Transport {
 public:
  /// @param longestPause calls of progress() that in a row do nothing, at random; 0: none
  FaultyTransport(std::shared_ptr<Transport> inner, unsigned seed, unsigned longestPause)
      : inner_(std::move(inner)), random_(seed), longestPause_(longestPause) {}

  /// Nothing crosses from now on, and the ends of the connections have noticed.
  void cut() { cut_ = true; }

  std::string_view name() const override { return inner_->name(); }

  bool sharesMemory() const override { return inner_->sharesMemory(); }

  Result<std::string> offer() override { return inner_->offer(); }

  bool canReach(int peer, std::string_view offer) const override {
    return inner_->canReach(peer, offer);
  }

  Status open(const std::vector<std::string>& offers, Deadline deadline) override {
    return inner_->open(offers, deadline);
  }

  Result<ConnectionMemory> connect(int from, int to, int channel) override {
    return inner_->connect(from, to, channel);
  }

  Result<bool> progress() override {
    if (cut_) return false;
    if (pause_ > 0) {
      --pause_;
      return false;
    }
    if (longestPause_ > 0) pause_ = static_cast<unsigned>(random_()) % longestPause_;
    return inner_->progress();
  }

  bool flushed() const override { return cut_ || inner_->flushed(); }

  bool taken() const override { return cut_ || inner_->taken(); }

  Traffic traffic(int peer) const override { return inner_->traffic(peer); }

  bool drained(int peer) const override { return cut_ || inner_->drained(peer); }

  std::string whyLost(int peer) const override {
    return cut_ ? "cut by the test" : inner_->whyLost(peer);
  }

  void watch(std::vector<int>& descriptors) const override { inner_->watch(descriptors); }

  std::size_t memoryBytes() const override { return inner_->memoryBytes(); }

  void close() override { inner_->close(); }

 private:
  const std::shared_ptr<Transport> inner_;
  std::minstd_rand random_;
  const unsigned longestPause_;
  unsigned pause_ = 0;
  bool cut_ = false;
};

}  // namespace rondo::testing
