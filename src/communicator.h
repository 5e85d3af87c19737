// One rank's communicator: plans a checked call, publishes what it is about to do, and on host
// memory runs the plan's lanes in the calling thread and watches over the wait; on a device it
// hands the call to src/cuda/device_engine.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/host/executor.h"
#include "src/bootstrap/exchange.h"
#include "src/bootstrap/secret_key.h"
#include "src/bootstrap/unique_id.h"
#include "src/collective_call.h"
#include "src/config.h"
#include "src/connection_ends.h"
#include "src/cuda/device_engine.h"
#include "src/cuda/launch_groups.h"
#include "src/error_feedback.h"
#include "src/explanation.h"
#include "src/fork_mark.h"
#include "src/memory_registrations.h"
#include "src/message_operation.h"
#include "src/operation_order.h"
#include "src/planner.h"
#include "src/prepared_operation.h"
#include "src/reduction_table.h"
#include "src/split.h"
#include "src/stall.h"
#include "src/status.h"
#include "src/worker_crew.h"
#include "transports/call_record.h"
#include "transports/rank_group.h"

namespace rondo {

class GroupMember;
class HostStream;

class Communicator {
 public:
  /// The communicators of `ranks` ranks that are threads of this process; the k-th is rank k's.
  /// @errors InvalidArgument
  static Result<std::vector<std::unique_ptr<Communicator>>> createThreads(int ranks,
                                                                          const Config& config);

  /// The communicators of ranks that are threads of this process, each on a CUDA device.
  /// @param devices by rank, as the driver counts; several ranks may be on one
  /// @errors InvalidArgument, NotSupported (no driver, no GPU, no kernels in this build), those of
  ///   cuda::makeLaunchGroups()
  static Result<std::vector<std::unique_ptr<Communicator>>> createOnDevices(
      std::span<const int> devices, const Config& config);

  /// The communicator of one rank whose peers are other processes. Returns once all have joined.
  /// @errors those of joinProcessRanks(), and of createOnDevices() if there is a `config.device`
  static Result<std::unique_ptr<Communicator>> createRank(const UniqueId& id,
                                                          int rank,
                                                          int ranks,
                                                          const Config& config);

  /// The same, for ranks that meet by `exchange` and share `key`.
  static Result<std::unique_ptr<Communicator>> createRank(
      Exchange& exchange, const SecretKey& key, int rank, int ranks, const Config& config);

  /// Waits for what was issued, unless the communicator has failed, then tells the other ranks that
  /// this one has left, once they have taken what it sent.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }

  int ranks() const { return facts_.ranks; }

  /// Whether buffers are memory of a CUDA device, and operations go on streams.
  bool onDevice() const { return device_ != nullptr; }

  /// The number of that device, as the driver counts; empty on host memory.
  std::optional<int> device() const;

  /// The name of the transport that leads to `peer`; "self" for this rank. Static text that ends
  /// with a zero. @threads any
  /// @errors InvalidArgument: no rank of this communicator
  Result<std::string_view> transportTo(int peer) const;

  /// Carries out `call`: on host memory in the calling thread, on a device by a kernel on `stream`.
  /// @param stream null on host communicators: for their streams there is runInTurn()
  /// @threads calls of several threads run one after another
  /// @order   on return the result is complete on this rank; on a device it is for what is queued
  ///          on `stream` later
  /// @errors  NotSupported (the call had no effect); Mismatch, Timeout, PeerLost, Aborted,
  /// OutOfMemory
  ///          (the communicator has failed, on all ranks, for good)
  Status run(const CollectiveCall& call, rondoStream_t stream = nullptr);

  /// The same for a caller that has been given a turn of order().
  Status runInTurn(const CollectiveCall& call, rondoStream_t stream = nullptr);

  /// Launches messages, of a communicator on a device, as one group on `stream`. The first ones
  /// between two ranks return when both have made them.
  /// @errors InvalidArgument, InvalidUsage, NotSupported (nothing was sent); those of run()
  Status runMessages(std::span<const MessageCall> calls, rondoStream_t stream);

  /// The same for a caller that has been given a turn of order().
  Status runMessagesInTurn(std::span<const MessageCall> calls, rondoStream_t stream);

  /// In which its operations are carried out.
  const std::shared_ptr<OperationOrder>& order() const { return order_; }

  /// The communicator of this rank's part: the ranks that pass the same colour, ordered by key and
  /// then by rank. Null for a rank without colour (kNoColor). Collective.
  /// @param config of the new communicator; null: that of this one, whatever its ranks are
  /// @errors InvalidArgument (some rank's colour; on all ranks), those of run() and createRank()
  Result<std::unique_ptr<Communicator>> split(int color, int key, const Config* config);

  /// The same for a caller that has been given a turn of order(), which it keeps meanwhile.
  /// @param inherits `config` is that of this communicator
  Result<std::unique_ptr<Communicator>> splitInTurn(int color,
                                                    int key,
                                                    const Config& config,
                                                    bool inherits);

  /// How `call` would be carried out. @threads any
  /// @errors NotSupported
  Result<Explanation> explain(const CollectiveCall& call) const;

  /// Plans `call` and makes its connections, so that it allocates nothing. On a device collective.
  /// For a caller that has been given a turn of order().
  /// @errors those of run()
  Status warmUpInTurn(const CollectiveCall& call);

  /// Makes the connection for messages to `peer`, or from it, in a turn, too; on a device both, and
  /// the peer must do the same.
  /// @errors OutOfMemory, the failure of the communicator
  Status warmUpMessagesInTurn(int peer, bool sends);

  /// What this rank's connections take now. Waits for what was issued.
  /// @errors the failure of the communicator
  Result<std::vector<TransportMemory>> memory();

  /// Has calls that would be carried out in the calling thread issued on `worker`, which ends
  /// before this does. To be called before any call.
  void carryOutBy(HostStream& worker) { worker_ = &worker; }

  /// Where such calls are issued; null: nowhere, they are carried out in the calling thread.
  HostStream* worker() const { return worker_; }

  /// The settings that it was made with.
  const Config& config() const { return config_; }

  /// Gives this rank's part in the communicator up, once the others have taken what it sent: what
  /// the destructor does, at a time of the caller's choice. Later calls are refused.
  /// @errors InvalidUsage (twice), the failure that ended the communicator
  Status finalize();

  /// The same for a caller that has been given a turn of order().
  Status finalizeInTurn();

  /// Tells the other ranks why a call of this one goes no further, once what was issued before it
  /// is complete. The communicator stays usable: the next call takes the place of the rejected one.
  /// Others that wait for it meanwhile give it 1 s, then fail with Mismatch and this reason.
  /// @return `reason`
  /// @threads any; waits for nobody
  Status reject(const Status& reason);

  /// The same for messages with `peers`.
  Status rejectMessages(std::vector<int> peers, const Status& reason);

  /// All ranks' pending and later calls fail with Aborted. @threads any
  void abort();

  /// The failure that ended the communicator, or ok. @threads any
  Status asyncError() const { return group_->failure(); }

  /// False in a process that was forked off after the communicator was made: there nothing of it
  /// may be used or released, since peers, descriptors and shared memory are its parent's.
  bool inOwnProcess() const { return forkMark_.inOwnProcess(); }

  ReductionTable& reductions() { return reductions_; }

  /// Registers a buffer of this rank. On host memory it waits for what was issued, as does
  /// deregister(): transports are used by one at a time.
  /// @return its handle, for deregister()
  /// @errors those of MemoryRegistrations::add(); InvalidArgument (not of this rank's device)
  Result<std::uint64_t> registerMemory(const void* buffer, std::size_t bytes);

  /// @errors those of MemoryRegistrations::remove()
  Status deregister(std::uint64_t handle);

 private:
  friend class GroupMember;  // runs calls as this class does, but a step at a time

  /// What one call's wait has come to so far.
  struct Watch {
    bool warned = false;
    int rejecting = -1;  ///< the peer whose rejection was seen last; -1: none
    host::Waiter::Clock::time_point rejectionSeen;
  };

  /// @param onDevice startDevice() follows
  Communicator(int rank,
               std::shared_ptr<RankGroup> group,
               std::optional<SecretKey> key,
               const Config& config,
               const PlanFacts& facts,
               bool onDevice);

  /// @param launches empty: buffers are the host's
  static Result<std::vector<std::unique_ptr<Communicator>>> createInProcess(
      int ranks, const Config& config, const cuda::LaunchGroups& launches);
  Status startDevice(std::shared_ptr<cuda::SharedLaunch> launches);
  static void meetOnDevices(std::span<const std::unique_ptr<Communicator>> communicators);

  /// For split(): in its turn.
  Result<std::vector<SplitWish>> gatherWishes(SplitWish own);
  Status gatherBytes(std::span<const std::byte> own, std::span<std::byte> all);
  Result<std::unique_ptr<Communicator>> splitProcesses(SplitExchange& exchange,
                                                       const SplitPart& part,
                                                       int color,
                                                       const Config& config);
  Result<std::unique_ptr<Communicator>> splitThreads(SplitExchange& exchange,
                                                     const SplitPart& part,
                                                     const Config& config);

  /// Runs `body` in a turn that the caller has, if the communicator is usable.
  template <class Body>
  Status inTurn(Collective collective, const Body& body);
  /// Whether `call` can be planned on host memory at all.
  Status checkPlan(const CollectiveCall& call) const;
  Result<PreparedOperation*> prepare(const CollectiveCall& call);
  Result<PreparedOperation> makeOperation(const PlanRequest& request, const CollectiveCall& call);
  /// The residuals of `call`, if it has any.
  /// @errors InvalidUsage: another call has them
  Result<ErrorFeedback::Use> useFeedback(const Plan& plan,
                                         std::size_t results,
                                         const CollectiveCall& call) const;
  /// Runs lanes on the host's memory as part of the call that has begun.
  /// @param fingerprint that slots carry
  Status execute(PreparedOperation& operation,
                 const CollectiveCall& call,
                 std::uint64_t fingerprint,
                 const host::Residuals& residuals = {});
  /// What lanes need to run `call`.
  host::Work makeWork(const PreparedOperation& operation,
                      const CollectiveCall& call,
                      std::uint64_t fingerprint,
                      const host::Residuals& residuals = {}) const;
  /// `call` has been carried out: tells the others, and the caller what compression came to.
  void complete(const PreparedOperation& operation,
                const CollectiveCall& call,
                ErrorFeedback::Use& feedback);
  Status runOnHost(const CollectiveCall& call);
  Status runOnDevice(const CollectiveCall& call, rondoStream_t stream);
  /// `call` with a factor that was read from the device, if it is there.
  Result<CollectiveCall> withFactor(CollectiveCall call, rondoStream_t stream) const;
  Status warmUpDeviceMessages(int peer, bool sends);
  Status launchMessages(std::span<const MessageCall> calls, rondoStream_t stream);
  /// Connects this rank's device with those of the list's peers that it had no messages with.
  Status connectMessages(const MessageList& list);
  Status swapWith(const MessageList& list,
                  std::span<const int> peers,
                  std::span<const std::byte> own,
                  std::span<std::byte> theirs);
  Status launch(const CollectiveCall& call, cuda::DeviceOperation& operation, rondoStream_t stream);
  Status launchWithFeedback(const CollectiveCall& call,
                            cuda::DeviceOperation& operation,
                            rondoStream_t stream);
  /// A round of the call that has begun, by which ranks on devices tell each other something.
  Status gatherRound(std::span<const std::byte> own, std::span<std::byte> all);
  Result<Plan> planOnDevice(const CollectiveCall& call, const PlanRequest& request) const;
  Result<cuda::DeviceOperation*> prepareOnDevice(const CollectiveCall& call,
                                                 const PlanRequest& request,
                                                 const Plan& plan);
  /// The call that follows the last one, made known to the others.
  void beginCall(const PlanRequest& request, const Plan& plan);
  Status failOrReject(const Status& failure);
  /// Before an operation that has failed returns: waits until no peer reads its caller's buffers.
  /// @tparam Operation has withdraw()
  template <class Operation>
  void awaitReaders(Operation& operation);
  Status superviseRun(PreparedOperation& operation, const host::Work& work);
  /// Has helper threads share the lanes of `operation`, if its plan wants that.
  void engageCrew(PreparedOperation& operation);
  /// A slot of the peer belongs to another call.
  Status failMismatch(const host::Blocked& blocked);
  /// Whom a stalled operation waits for; -1: nobody. If it is for some who shall take what was
  /// sent, one that may never do so, if there is such a one.
  int whomToCheck(const host::RunOutcome& outcome);
  /// Whether what this rank waits for can still come from `peer`.
  Status checkPeer(PreparedOperation& operation, const host::Work& work, int peer, Watch& watch);
  /// Gives a peer that rejected its call time to call again.
  Status checkRejection(int peer, const CallRecord& record, Watch& watch);
  Status checkStall(const host::RunOutcome& outcome, const host::Waiter& waiter, Watch& watch);

  Waiting waiting() const { return {rank_, current_, group_->record(rank_)}; }

  /// Tells the ranks that will wait for the next call why it was refused. In a turn.
  void noteRejection(const Status& reason);
  void noteRejectedMessages(std::span<const int> peers, const Status& reason);
  Status finalizedAlready() const;
  void leave();
  std::string describeWait(const host::RunOutcome& outcome);
  /// Makes `failure` the end of the communicator; returns the failure that counts.
  Status failAll(const Status& failure);

  int rank_;
  std::shared_ptr<RankGroup> group_;    // shared by the ranks; the last one frees it
  const std::optional<SecretKey> key_;  // of ranks that are processes
  std::uint64_t rounds_ = 0;            // that ranks on devices have made to prepare operations
  HostStream* worker_ = nullptr;        // not owned
  std::uint64_t splits_ = 0;            // so far: each gives its parts keys of their own
  bool finalized_ = false;              // changed in a turn only
  const ForkMark forkMark_;
  const Config config_;
  const std::unique_ptr<MailboxEnds> mailboxes_;  // null: there are none
  const int mostWorkers_;                         // of this rank, and of those split off
  const PlanFacts facts_;
  const PlanFacts deviceFacts_;  // of operations on device memory
  const PlanSettings settings_;
  const host::WaitPolicy waitPolicy_;
  const host::WaitPolicy crewPolicy_;            // of operations that workers share
  const std::shared_ptr<OperationOrder> order_;  // shared with calls issued on streams
  ConnectionEnds ends_;                          // of the host's memory
  ConnectionEnds messageEnds_;                   // for messages from rank to rank
  MessageState messages_;
  MessageCounts deviceMessages_;               // made on the device
  std::unique_ptr<WorkerCrew> crew_;           // null: no operation has wanted it so far
  PreparedCache<PreparedOperation> prepared_;  // on the host
  ReductionTable reductions_;
  MemoryRegistrations registrations_;
  CallSignature current_;                       // the call that runs, or ran last
  std::unique_ptr<cuda::DeviceEngine> device_;  // null on host memory
};

}  // namespace rondo
