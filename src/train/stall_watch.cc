#include "src/train/stall_watch.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace rondo::train {

namespace {

constexpr std::size_t kMostTensorsNamed = 8;

std::string rankList(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text;
}

/// Whether `progress` has the gradient of `tensor` in pass `pass`, or is past it.
bool has(const PassProgress& progress, std::uint64_t pass, std::size_t tensor) {
  return progress.pass > pass || (progress.pass == pass && progress.ready[tensor] != 0);
}

void toStderr(const std::string& line) {
  std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace

PassProgress progressOf(const MarkLedger& ledger) {
  PassProgress progress{ledger.pass(), {}};
  for (std::size_t tensor = 0; tensor < ledger.size(); ++tensor) {
    const Mark mark = ledger.of(tensor);
    progress.ready.push_back(mark == Mark::kReady || mark == Mark::kUnused ? 1 : 0);
  }
  return progress;
}

std::string describeStall(const std::vector<PassProgress>& now,
                          const std::vector<PassProgress>& before,
                          const std::vector<std::string>& names,
                          std::chrono::milliseconds period) {
  if (now != before) return {};
  const std::uint64_t pass = std::ranges::min_element(now, {}, &PassProgress::pass)->pass;
  std::string text;
  std::size_t found = 0;
  for (std::size_t tensor = 0; tensor < names.size(); ++tensor) {
    std::vector<int> ready;
    std::vector<int> missing;
    for (std::size_t rank = 0; rank < now.size(); ++rank)
      (has(now[rank], pass, tensor) ? ready : missing).push_back(static_cast<int>(rank));
    if (ready.empty() || missing.empty()) continue;
    if (++found > kMostTensorsNamed) continue;
    text += (found == 1 ? "" : "; ") + names[tensor] + ": missing on " + rankList(missing) +
            ", ready on " + rankList(ready);
  }
  if (found == 0) return {};
  if (found > kMostTensorsNamed)
    text += "; and " + std::to_string(found - kMostTensorsNamed) + " more";
  return "gradients: nothing moved for " + std::to_string(period.count()) + " ms in pass " +
         std::to_string(pass) + ": " + text;
}

StallWatch::StallWatch(Communicator comm,
                       std::vector<std::string> names,
                       std::chrono::milliseconds period,
                       std::function<PassProgress()> progress,
                       std::function<void(const std::string&)> report)
    : comm_(std::move(comm)),
      names_(std::move(names)),
      period_(period),
      progress_(std::move(progress)),
      report_(report ? std::move(report) : toStderr),
      thread_([this] { serve(); }) {}

StallWatch::~StallWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  static_cast<void>(rondoCommAbort(comm_.handle()));
  thread_.join();
}

void StallWatch::serve() try {
  std::vector<PassProgress> before;
  std::string last;
  while (pause()) {
    std::vector<PassProgress> now = exchange();
    std::string text = describeStall(now, before, names_, period_);
    if (!text.empty() && text != last) report_(text);
    last = std::move(text);
    before = std::move(now);
  }

} catch (const Error&) {  // a rank has ended its watch, or itself; operations tell of the latter
}

/// False when the watch ends.
bool StallWatch::pause() {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, period_, [this] { return stopping_; });
}

std::vector<PassProgress> StallWatch::exchange() {
  const PassProgress own = progress_();
  const std::size_t bytes = sizeof own.pass + own.ready.size();
  std::vector<std::uint8_t> message(bytes);
  std::memcpy(message.data(), &own.pass, sizeof own.pass);
  std::ranges::copy(own.ready, message.begin() + sizeof own.pass);
  const auto ranks = static_cast<std::size_t>(comm_.ranks());
  std::vector<std::uint8_t> messages(bytes * ranks);
  comm_.allGather(message, messages);

  std::vector<PassProgress> all(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto from = messages.begin() + static_cast<std::ptrdiff_t>(rank * bytes);
    std::memcpy(&all[rank].pass, &*from, sizeof own.pass);
    all[rank].ready.assign(from + sizeof own.pass, from + static_cast<std::ptrdiff_t>(bytes));
  }
  return all;
}

}  // namespace rondo::train
