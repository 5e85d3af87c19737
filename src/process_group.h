// The ranks of a communicator that are processes, as one of them sees them: which transport leads
// to whom, what is known of each, and how the end of one is told to all.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <poll.h>

#include "src/bootstrap/roster.h"
#include "src/control/control_plane.h"
#include "transports/host_board.h"
#include "transports/rank_group.h"
#include "transports/transport.h"

namespace rondo {

class ProcessGroup final : public RankGroup, private ControlSubject, private host::WaitPlace {
 public:
  /// What a group is made of.
  struct Parts {
    int rank = 0;
    int ranks = 1;
    std::string communicator;  ///< its name, for the log
    std::shared_ptr<HostBoard> board;
    std::vector<bool> onBoard;  ///< by rank; the own one is
    std::unique_ptr<ControlPlane>
        control;  ///< null: none is to be had, and all ranks are on the board
    std::vector<std::shared_ptr<Transport>> transports;
    /// By peer: the transports that reach it, as places in `transports`, best first.
    std::vector<std::vector<std::size_t>> routes;
    std::chrono::milliseconds connectTimeout{0};
    std::chrono::milliseconds leaveTimeout{0};  ///< for peers to take what was sent; 0: for ever
    std::chrono::milliseconds warningAfter{0};  ///< until that is said in the log; 0: never
  };

  explicit ProcessGroup(Parts parts);
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  ProcessGroup(ProcessGroup&&) = delete;
  ProcessGroup& operator=(ProcessGroup&&) = delete;
  ~ProcessGroup() override;

  /// Connects this rank to the others' control planes, where there are ranks beyond the board.
  Status joinControl(Deadline deadline);

  Result<ConnectionMemory> connection(int from, int to, int channel) override;
  std::optional<MailboxMemory> mailbox(int rank) override;
  CallRecord& record(int rank) override;
  void refresh(int rank) override;
  void awaitRefreshed(int rank, std::chrono::milliseconds atMost) override;
  Status keepInTouch(int rank) override;
  bool mayBeOnItsWay(int rank) override;

  bool needsProgress() const override { return !wires_.empty(); }

  std::string_view transportTo(int rank) const override;
  std::string whyLost(int rank) override;
  void fail(const Status& failure) override;

  void registerMemory(int rank, std::uint64_t number, std::span<const std::byte> memory) override;
  void deregisterMemory(int rank, std::uint64_t number) override;

  host::WaitPlace& waitPlace(int /*rank*/) override { return *this; }

  std::uint32_t& failedFlag() override { return parts_.board->failure().flag; }

  Status failure() const override { return parts_.board->failure().read(); }

  void leave(int rank) override;
  std::string describe() const override;
  std::vector<TransportMemory> memory() const override;

  std::string describeUnsent() const override {
    return "ranks " + listRanks(ranksThatHaveNotTaken());
  }

  std::vector<int> ranksThatHaveNotTaken() const override;

 private:
  /// What is known of a rank that is not reached by the board alone.
  struct RemoteRank {
    CallRecord record;
    std::uint64_t heard = 0;     ///< times that it has told
    std::uint64_t posted = 0;    ///< to this rank, as it last told
    std::uint64_t released = 0;  ///< of this rank's, as it last told
    std::string whyLost;         ///< as the control plane says it
    Deadline lastWords;          ///< from when on the end of a data connection is the peer's own
  };

  // ControlSubject
  RankNews newsFor(int asker) override;
  void learn(int rank, const RankNews& news) override;
  void learnLoss(int rank, const std::string& why) override;
  void learnFailure(const Status& failure) override;

  // host::WaitPlace
  bool progress() override;
  bool flushed() const override;

  void prepareSleep() override { parts_.board->waitPlace().prepareSleep(); }

  void stayAwake() override { parts_.board->waitPlace().stayAwake(); }

  void wake() override { parts_.board->waitPlace().wake(); }

  void sleep(std::chrono::microseconds atMost) override;

  bool onBoard(int rank) const { return parts_.onBoard[static_cast<std::size_t>(rank)]; }

  /// Whether what crosses between this rank and `rank` is not all memory that they share.
  bool overWires(int rank) const {
    return !onBoard(rank) || wired_[static_cast<std::size_t>(rank)];
  }

  void collectEvents();
  void notePassedOver(const Transport& transport, int from, int to, const Status& why) const;
  Status linkTo(int peer);
  Result<ConnectionMemory> connectBy(Transport& transport, int from, int to, int channel);
  Traffic traffic(int peer) const;
  bool drained(int peer) const;
  std::string dataConnectionEnded(int peer) const;
  bool takenByAll() const;
  void awaitTaken();
  void warnOfUntaken() const;

  Parts parts_;
  /// Those of parts_.transports that have connections whose ends do not share memory: only they
  /// have something to move. None, where all ranks share it.
  std::vector<Transport*> wires_;
  mutable std::mutex mutex_;        // guards all of remote_ but the records
  std::vector<RemoteRank> remote_;  // by rank; unused for those reached by the board alone
  std::vector<bool> wired_;         // by rank: some connection with it does not share memory
  std::vector<pollfd> events_;      // what sleep() waits for
  bool left_ = false;
};

}  // namespace rondo
