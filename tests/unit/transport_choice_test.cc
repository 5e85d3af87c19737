// Which transport leads to whom, as ranks choose alike.
#include "src/transport_choice.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/rank_info.h"
#include "transports/shm/shm_transport.h"

namespace rondo {
namespace {

/// Reaches ranks whose offers are equal to its own.
class FakeTransport final : public Transport {
 public:
  FakeTransport(std::string_view name, bool sharesMemory, std::string place)
      : name_(name), sharesMemory_(sharesMemory), place_(std::move(place)) {}

  std::string_view name() const override { return name_; }

  bool sharesMemory() const override { return sharesMemory_; }

  Result<std::string> offer() override {
    if (place_.empty()) return Status::systemError("no port");
    return place_;
  }

  bool canReach(int /*peer*/, std::string_view offer) const override { return offer == place_; }

  Status open(const std::vector<std::string>& offers, Deadline /*deadline*/) override {
    opened_ = offers;
    return opens_;
  }

  Result<ConnectionMemory> connect(int /*from*/, int /*to*/, int /*channel*/) override {
    return ConnectionMemory{};
  }

  std::size_t memoryBytes() const override { return 0; }

  std::string whyNoPath(int peer) const override {
    return peer == unreached_ ? "it failed its trial" : "";
  }

  /// No path to `peer` has passed a trial.
  void failTrialsTowards(int peer) { unreached_ = peer; }

  const std::vector<std::string>& opened() const { return opened_; }

  void failToOpen(Status why) { opens_ = std::move(why); }

 private:
  std::string_view name_;
  bool sharesMemory_;
  std::string place_;
  std::vector<std::string> opened_;
  Status opens_;
  int unreached_ = -1;
};

/// Ranks with one transport within a host and one between all; an empty network is none.
class Job {
 public:
  struct Rank {
    std::string host;
    std::string network = "net";
  };

  explicit Job(const std::vector<Rank>& ranks) {
    for (const Rank& rank : ranks) {
      memory_.push_back(std::make_shared<FakeTransport>("memory", true, rank.host));
      network_.push_back(std::make_shared<FakeTransport>("network", false, rank.network));
      lists_.push_back({memory_.back(), network_.back()});
      own_.push_back(makeOffers(lists_.back()));
      offers_.push_back(own_.back().offers);
    }
  }

  FakeTransport& memory(int rank) { return *memory_[static_cast<std::size_t>(rank)]; }

  FakeTransport& network(int rank) { return *network_[static_cast<std::size_t>(rank)]; }

  void open() {
    for (std::size_t rank = 0; rank < lists_.size(); ++rank) {
      outcomes_.push_back(openTransports(lists_[rank], static_cast<int>(rank), offers_,
                                         own_[rank].reasons, Deadline::immediate()));
    }
  }

  Result<std::vector<std::vector<std::size_t>>> routes(int rank) const {
    return chooseRoutes(lists_[static_cast<std::size_t>(rank)], rank, offers_, outcomes_);
  }

  std::vector<bool> servedBefore(std::size_t place, int rank) const {
    return rondo::servedBefore(lists_[static_cast<std::size_t>(rank)], place, rank, offers_,
                               outcomes_);
  }

  /// The transports of `rank` to `peer` in words: "memory network ".
  std::string route(int rank, int peer) const {
    const auto all = routes(rank);
    if (!all.ok()) return std::string(all.status().message());
    std::string text;
    for (const std::size_t place : (*all)[static_cast<std::size_t>(peer)])
      text += std::string(lists_[static_cast<std::size_t>(rank)][place]->name()) + ' ';
    return text;
  }

 private:
  std::vector<std::shared_ptr<FakeTransport>> memory_;
  std::vector<std::shared_ptr<FakeTransport>> network_;
  std::vector<TransportList> lists_;
  std::vector<OwnOffers> own_;
  std::vector<Offers> offers_;
  std::vector<Outcomes> outcomes_;
};

TEST(TransportChoice, TakesAllThatBothHaveBestFirst) {
  Job job({{"a"}, {"a"}, {"b"}});
  job.open();
  EXPECT_EQ(job.route(0, 1), "memory network ");
  EXPECT_EQ(job.route(1, 0), "memory network ");
  EXPECT_EQ(job.route(0, 2), "network ");
  EXPECT_EQ(job.route(2, 0), "network ");
  EXPECT_EQ(job.route(0, 0), "");
}

TEST(TransportChoice, PassesOverPathsThatFailedTheirTrial) {
  Job job({{"a"}, {"a"}, {"b"}});
  job.open();
  job.network(0).failTrialsTowards(1);
  EXPECT_EQ(job.route(0, 1), "memory ");
  EXPECT_EQ(job.route(0, 2), "network ");
  job.network(0).failTrialsTowards(2);
  EXPECT_EQ(job.route(0, 1),
            "ranks 0 and 2 cannot reach each other; memory: they do not share what it needs; "
            "network: it failed its trial");
}

TEST(TransportChoice, KnowsWhomABetterTransportServes) {
  Job job({{"a"}, {"a"}, {"b"}});
  job.open();
  EXPECT_EQ(job.servedBefore(0, 0), (std::vector{true, false, false}));
  EXPECT_EQ(job.servedBefore(1, 0), (std::vector{true, true, false}));
  EXPECT_EQ(job.servedBefore(1, 2), (std::vector{false, false, true}));
}

TEST(TransportChoice, OpensOnlyTowardsThoseWhoCanBeReached) {
  Job job({{"a"}, {"b"}, {"a"}});
  job.open();
  EXPECT_EQ(job.memory(0).opened(), (std::vector<std::string>{"a", "", "a"}));
  EXPECT_TRUE(job.memory(1).opened().empty()) << "it leads nowhere";
}

TEST(TransportChoice, OneThatCannotOpenMemoryTakesItFromItsHostOnly) {
  Job job({{"a"}, {"a"}, {"a"}, {"b"}, {"b"}});
  job.memory(1).failToOpen(Status::outOfMemory("no memory"));
  job.open();
  for (const auto& [rank, peer] : {std::pair{0, 1}, {1, 0}, {0, 2}, {2, 0}, {1, 2}})
    EXPECT_EQ(job.route(rank, peer), "network ") << rank << " to " << peer;
  EXPECT_EQ(job.route(3, 4), "memory network ");
  EXPECT_EQ(job.route(4, 3), "memory network ");
}

TEST(TransportChoice, RanksOfOneHostDoWithoutANetwork) {
  Job job({{"a", ""}, {"a", ""}});
  job.open();
  EXPECT_EQ(job.route(0, 1), "memory ");
}

void expectParts(const Status& status, const std::vector<std::string>& parts) {
  EXPECT_EQ(status.code(), StatusCode::kNotSupported);
  for (const std::string& part : parts)
    EXPECT_NE(status.message().find(part), std::string_view::npos) << status.message();
}

TEST(TransportChoice, APairWithoutATransportIsNamedWithAllReasons) {
  Job job({{"a"}, {"b"}, {"c", ""}});
  job.open();
  EXPECT_EQ(job.routes(0).status().code(), StatusCode::kNotSupported);
  expectParts(job.routes(0).status(),
              {"ranks 0 and 2", "memory: they do not share", "network: rank 2: no port"});
  expectParts(job.routes(2).status(), {"ranks 2 and 0", "network: rank 2: no port"});
}

TEST(TransportChoice, SaysWhoDidNotOpenWhereThatIsAllThereIs) {
  Job job({{"a", ""}, {"a", ""}});
  job.memory(1).failToOpen(Status::outOfMemory("no memory"));
  job.open();
  expectParts(job.routes(0).status(), {"ranks 0 and 1", "memory: rank 1: no memory"});
}

TEST(TransportChoice, RanksMustMakeAsManyOffers) {
  RankInfo first;
  first.transports = {"shm", "tcp"};
  first.offers = {"a", "b"};
  RankInfo other = first;
  other.offers.pop_back();
  EXPECT_TRUE(checkAgreement(std::array{first, first}).ok());
  const Status differ = checkAgreement(std::array{first, other});
  EXPECT_EQ(differ.code(), StatusCode::kMismatch);
  EXPECT_NE(differ.message().find("rank 1"), std::string_view::npos) << differ.message();
}

TEST(TransportChoice, AHostIdentityThatFitsNoOfferIsAReasonAndNoCrash) {
  const SecretKey key(std::array<std::byte, SecretKey::kBytes>{});
  const auto shm =
      std::make_shared<shm::ShmTransport>(0, std::string(1024, 'h'), SlotShape{64, 2}, key);
  const OwnOffers own = makeOffers({shm});
  EXPECT_EQ(own.offers, Offers{""});
  EXPECT_NE(own.reasons.front().find("RONDO_HOST_ID"), std::string::npos) << own.reasons.front();
}

}  // namespace
}  // namespace rondo
