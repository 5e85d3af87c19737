#include "src/cli/explain/traffic.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

namespace rondo::cli {

namespace {

/// One rank's schedule, how far it is, and the longest way that led there.
struct PaperRank {
  PaperRank(AlgorithmId id, const ScheduleArgs& args) : schedule(id, args) {}

  AnySchedule schedule;
  std::size_t next = 0;
  int hops = 0;
};

class PaperRun {
 public:
  PaperRun(const Plan& plan, const PlanRequest& request, int ranks, int channel) {
    for (int rank = 0; rank < ranks; ++rank) {
      ranks_.emplace_back(plan.algorithm, scheduleArgs(plan, request, ranks, rank, channel));
    }
  }

  /// Runs until nobody can go on.
  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        while (tryStep(static_cast<int>(rank)))
          moved = true;
      }
    }
  }

  bool complete() const {
    return std::ranges::all_of(
        ranks_, [](const PaperRank& rank) { return rank.next == rank.schedule.size(); });
  }

  std::vector<Message> takeMessages() { return std::move(messages_); }

 private:
  bool tryStep(int self) {
    PaperRank& rank = ranks_[static_cast<std::size_t>(self)];
    if (rank.next == rank.schedule.size()) return false;
    const Step step = rank.schedule.step(rank.next);
    for (int entry = 0; entry < step.recv.count; ++entry) {
      const int peer = rank.schedule.recvPeer(step.recv.first + entry);
      if (underway_[{peer, self}].empty()) return false;
    }
    for (int entry = 0; entry < step.recv.count; ++entry) {
      std::deque<int>& line = underway_[{rank.schedule.recvPeer(step.recv.first + entry), self}];
      rank.hops = std::max(rank.hops, line.front());
      line.pop_front();
    }
    for (int entry = 0; entry < step.send.count; ++entry) {
      const int peer = rank.schedule.sendPeer(step.send.first + entry);
      underway_[{self, peer}].push_back(rank.hops + 1);
      messages_.push_back({rank.hops + 1, self, peer});
    }
    ++rank.next;
    return true;
  }

  std::deque<PaperRank> ranks_;                              // made in place, never moved
  std::map<std::pair<int, int>, std::deque<int>> underway_;  // by sender and receiver: hops
  std::vector<Message> messages_;
};

/// "0 -> 1 2": the receivers of one sender.
std::string senderText(const std::vector<int>& receivers, int sender, std::size_t most) {
  std::string text = fmt::format("{} ->", sender);
  for (std::size_t at = 0; at < receivers.size() && at < most; ++at)
    text += fmt::format(" {}", receivers[at]);
  if (receivers.size() > most) text += fmt::format(" +{}", receivers.size() - most);
  return text;
}

}  // namespace

PlanRequest singleLoop(const Plan& plan, const PlanRequest& request, int ranks) {
  const bool wholeVector = request.collective == Collective::kAllReduce;
  const std::size_t parts = wholeVector ? static_cast<std::size_t>(ranks) : 1;
  PlanRequest single = request;
  single.count =
      std::min(request.count, plan.grain * parts * static_cast<std::size_t>(plan.channels));
  return single;
}

Result<std::vector<Message>> messagesOf(const Plan& plan,
                                        const PlanRequest& request,
                                        int ranks,
                                        int channel) {
  PaperRun paper(plan, request, ranks, channel);
  paper.run();
  if (!paper.complete()) {
    return Status::internal("{} by {} gets stuck on {} ranks", collectiveName(request.collective),
                            algorithmInfo(plan.algorithm).name, ranks);
  }
  std::vector<Message> messages = paper.takeMessages();
  std::ranges::stable_sort(messages, {}, [](const Message& message) {
    return std::tuple(message.hop, message.from, message.to);
  });
  return messages;
}

std::string trafficText(const std::vector<Message>& messages, bool everything) {
  constexpr std::size_t kMost = 8;  // hops, senders of a hop, receivers of a sender
  const std::size_t most = everything ? messages.size() : kMost;
  std::map<int, std::map<int, std::vector<int>>> byHop;
  for (const Message& message : messages)
    byHop[message.hop][message.from].push_back(message.to);
  std::string text;
  std::size_t hopsShown = 0;
  for (const auto& [hop, senders] : byHop) {
    if (hopsShown++ == most) {
      text += fmt::format("  ... {} more hops (--all shows them)\n", byHop.size() - most);
      break;
    }
    text += fmt::format("  hop {:<3}", hop);
    std::size_t sendersShown = 0;
    for (const auto& [sender, receivers] : senders) {
      if (sendersShown++ == most) {
        text += fmt::format("   ... {} more ranks", senders.size() - most);
        break;
      }
      text += "   " + senderText(receivers, sender, most);
    }
    text += "\n";
  }
  return text.empty() ? "  nobody sends\n" : text;
}

}  // namespace rondo::cli
