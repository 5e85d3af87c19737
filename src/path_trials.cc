#include "src/path_trials.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "src/rank_info.h"

namespace rondo {

namespace {

/// The trials of one communicator.
class PathTrials {
 public:
  PathTrials(Exchange& exchange,
             const TransportList& transports,
             int rank,
             const std::vector<Offers>& offers,
             const std::vector<Outcomes>& outcomes)
      : exchange_(exchange), rank_(rank) {
    for (std::size_t place = 0; place < transports.size(); ++place) {
      if (!transports[place]->triesPaths()) continue;
      Trying trying{transports[place].get(), {}, {}};
      for (const Outcomes& outcome : outcomes)
        trying.opened.push_back(outcome[place].empty());
      if (std::ranges::count(trying.opened, true) < 2) continue;
      trying.served = servedBefore(transports, place, rank, offers, outcomes);
      trying_.push_back(std::move(trying));
    }
  }

  /// The same on all ranks.
  bool needed() const { return !trying_.empty(); }

  Status run(Deadline deadline) {
    const Result<std::vector<Words>> invitations = tell(
        [](const Trying& one) { return one.transport->inviteToTrials(one.opened, one.served); });
    RONDO_RETURN_IF_ERROR(invitations.status());
    for (std::size_t at = 0; at < trying_.size(); ++at)
      if (takesPart(at)) trying_[at].transport->acceptTrials((*invitations)[at], deadline);
    // A message that comes too early is repeated by adapters much later.
    RONDO_RETURN_IF_ERROR(exchange_.allGather({}).status());
    const Result<std::vector<Words>> findings =
        tell([&](const Trying& one) { return one.transport->runTrials(deadline); });
    RONDO_RETURN_IF_ERROR(findings.status());
    for (std::size_t at = 0; at < trying_.size(); ++at)
      if (takesPart(at)) trying_[at].transport->learnTrials((*findings)[at]);
    return {};
  }

 private:
  using Words = std::vector<std::string>;  // by rank

  struct Trying {
    Transport* transport;
    std::vector<bool> opened;  // by rank
    std::vector<bool> served;  // by rank
  };

  bool takesPart(std::size_t at) const {
    return trying_[at].opened[static_cast<std::size_t>(rank_)];
  }

  /// @return for each that tries, the words of all ranks.
  Result<std::vector<Words>> tell(const std::function<std::string(const Trying&)>& say) {
    std::vector<std::string> own;
    for (std::size_t at = 0; at < trying_.size(); ++at) {
      own.push_back(takesPart(at) ? say(trying_[at]) : std::string());
      RONDO_CHECK(own.back().size() <= kMaxTrialBytes);
    }
    const Result<Words> texts = exchange_.allGather(encodeTexts(own));
    RONDO_RETURN_IF_ERROR(texts.status());
    std::vector<Words> words(trying_.size());
    for (std::size_t rank = 0; rank < texts->size(); ++rank) {
      const auto said = decodeTexts(static_cast<int>(rank), (*texts)[rank], trying_.size());
      RONDO_RETURN_IF_ERROR(said.status());
      for (std::size_t at = 0; at < trying_.size(); ++at)
        words[at].push_back((*said)[at]);
    }
    return words;
  }

  Exchange& exchange_;
  int rank_;
  std::vector<Trying> trying_;
};

}  // namespace

Status tryPaths(Exchange& exchange,
                const TransportList& transports,
                int rank,
                const std::vector<Offers>& offers,
                const std::vector<Outcomes>& outcomes,
                Deadline deadline) {
  PathTrials trials(exchange, transports, rank, offers, outcomes);
  return trials.needed() ? trials.run(deadline) : Status();
}

}  // namespace rondo
