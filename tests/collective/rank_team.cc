#include "tests/collective/rank_team.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <execinfo.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

namespace rondo::testing {

namespace {

/// Time for ranks to return once what they wait for was aborted.
constexpr std::chrono::seconds kRescueTime{10};

struct OwnActivity {
  std::mutex* mutex = nullptr;
  std::string* text = nullptr;
};

thread_local OwnActivity ownActivity;

/// Runs in the stuck thread: async-signal-safe but for the first use of backtrace(), which
/// installHandler() makes.
void printStack(int) {
  constexpr int kFrames = 32;
  void* frames[kFrames];
  backtrace_symbols_fd(frames, backtrace(frames, kFrames), STDERR_FILENO);
}

void installHandler() {
  void* frame = nullptr;
  (void)backtrace(&frame, 1);
  struct sigaction action = {};
  action.sa_handler = printStack;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR2, &action, nullptr);
}

}  // namespace

std::chrono::seconds defaultDeadline() {
  // Ten times what the slowest quick test takes on two loaded cores with a sanitizer.
  constexpr std::chrono::seconds kDefault{60};
  const char* const text = std::getenv("RONDOTEST_DEADLINE_S");  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr ? std::chrono::seconds(std::atoi(text)) : kDefault;
}

RankTeam::RankTeam(int ranks) {
  installHandler();
  // All members first: threads look their own up, so the vector must not grow any more.
  for (int rank = 0; rank < ranks; ++rank)
    members_.push_back(std::make_unique<Member>());
  for (int rank = 0; rank < ranks; ++rank) {
    members_[static_cast<std::size_t>(rank)]->thread = std::thread([this, rank] { serve(rank); });
  }
}

RankTeam::~RankTeam() {
  stopping_ = true;
  for (const auto& member : members_) {
    member->start.release();
    member->thread.join();
  }
}

RankTeam& RankTeam::shared() {
  static RankTeam team(kMaxRanks);
  return team;
}

void RankTeam::note(std::string activity) {
  if (ownActivity.mutex == nullptr) return;
  const std::scoped_lock lock(*ownActivity.mutex);
  *ownActivity.text = std::move(activity);
}

void RankTeam::serve(int rank) {
  Member& own = *members_[static_cast<std::size_t>(rank)];
  ownActivity = {&own.mutex, &own.activity};
  for (;;) {
    own.start.acquire();
    if (stopping_) return;
    (*body_)(rank);
    const std::scoped_lock lock(mutex_);
    own.running = false;
    if (--running_ == 0) done_.notify_one();
  }
}

bool RankTeam::run(int ranks,
                   const std::function<void(int)>& body,
                   const std::function<void()>& rescue,
                   std::chrono::seconds deadline) {
  if (ranks > static_cast<int>(members_.size())) {
    ADD_FAILURE() << "the team has " << members_.size() << " threads, not " << ranks;
    return false;
  }
  {
    const std::scoped_lock lock(mutex_);
    body_ = &body;
    running_ = ranks;
    for (int rank = 0; rank < ranks; ++rank)
      members_[static_cast<std::size_t>(rank)]->running = true;
  }
  for (int rank = 0; rank < ranks; ++rank)
    members_[static_cast<std::size_t>(rank)]->start.release();
  if (waitForAll(deadline)) return true;
  reportStuck(deadline);
  if (rescue) rescue();
  if (!waitForAll(kRescueTime)) {
    std::fputs("ranks do not return after being aborted: ending the process\n", stderr);
    std::abort();
  }
  return false;
}

bool RankTeam::waitForAll(std::chrono::seconds deadline) {
  std::unique_lock lock(mutex_);
  return done_.wait_for(lock, deadline, [this] { return running_ == 0; });
}

void RankTeam::reportStuck(std::chrono::seconds deadline) {
  std::vector<int> stuck;
  {
    const std::scoped_lock lock(mutex_);
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (members_[rank]->running) stuck.push_back(static_cast<int>(rank));
    }
  }
  ADD_FAILURE() << stuck.size() << " ranks did not return within " << deadline.count() << " s";
  for (const int rank : stuck) {
    Member& member = *members_[static_cast<std::size_t>(rank)];
    {
      const std::scoped_lock lock(member.mutex);
      std::fprintf(stderr, "rank %d: %s; stack:\n", rank, member.activity.c_str());
    }
    pthread_kill(member.thread.native_handle(), SIGUSR2);
    // One after the other, so that the stacks do not mix.
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
  }
}

}  // namespace rondo::testing
