// How ranks on different hosts (or without memory to share) know about each other while nothing is
// wrong with the data, and when something is: links on which they ask what a rank is doing, pass on
// a failure, and see that a process is gone. Links form a tree over all ranks, so that a failure
// reaches everyone, and there is one to each rank that this one exchanges data with.
//
// A thread serves the links and lets in the data connections of others. It sleeps unless somebody
// says something, so it answers for a rank whose program computes, and costs nothing when all is
// well.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "src/bootstrap/doorkeeper.h"
#include "src/control/control_link.h"
#include "src/control/messages.h"
#include "src/net/advertised_addresses.h"

namespace rondo {

/// The rank for which a control plane speaks. Its members are called by the control plane's thread,
/// or under its lock: they must not wait, nor call it.
class ControlSubject {
 public:
  /// What to tell rank `asker`.
  virtual RankNews newsFor(int asker) = 0;

  /// Rank `rank` has answered, or left.
  virtual void learn(int rank, const RankNews& news) = 0;

  /// The link to `rank` has ended without a goodbye.
  /// @param why "its process has ended", with what the system says.
  virtual void learnLoss(int rank, const std::string& why) = 0;

  /// Some rank has ended the communicator.
  virtual void learnFailure(const Status& failure) = 0;

 protected:
  ControlSubject() = default;
  ~ControlSubject() = default;
  ControlSubject(const ControlSubject&) = default;
  ControlSubject& operator=(const ControlSubject&) = default;
};

/// Which rank of which communicator, and how it may be reached.
struct ControlSettings {
  int rank = 0;
  int ranks = 1;
  AddressRule addresses;
  PortRange ports;
  bool privateOnly = false;  ///< turn away who does not come by a private network
  /// For a data connection that has proved itself to say which one it is. Long: it is a rank's, and
  /// a rank that is stopped for a while must not lose it.
  std::chrono::milliseconds openingTimeout{60000};
};

/// @threads any, unless a member says otherwise.
class ControlPlane {
 public:
  /// Listens.
  /// @errors InvalidArgument (settings), NotSupported (no libsodium), SystemError (no port).
  static Result<std::unique_ptr<ControlPlane>> open(const ControlSettings& settings,
                                                    const SecretKey& key);

  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;
  ControlPlane(ControlPlane&&) = delete;
  ControlPlane& operator=(ControlPlane&&) = delete;

  ~ControlPlane();

  /// Says goodbye on all links and ends them and the thread, within a second or two. From then on
  /// nobody can connect, and asking and spreading do nothing. @threads the one that has called
  /// start()
  void leave();

  /// Where this rank can be reached, best first, for the others.
  const std::vector<SocketAddress>& addresses() const { return addresses_; }

  /// The same as one word, for learnPeers() of the others.
  std::string addressWord() const;

  /// Learns where the others are, before start(). May be called by several, each of which knows
  /// some of them.
  /// @param words by rank; empty for those that are not known
  /// @errors InvalidArgument: some are no such words.
  Status learnPeers(const std::vector<std::string>& words);

  /// Starts the thread; does nothing if it runs. Only then others can connect.
  /// @param subject must outlive this object.
  /// @errors SystemError.
  Status start(ControlSubject& subject);

  /// The rank above this one in the tree of all ranks; -1 for the root.
  int treeParent() const;

  /// Links this rank to its parent in the tree.
  /// @errors those of dial().
  Status joinTree(Deadline deadline);

  /// Makes sure that there is a link to `peer`.
  /// @errors those of dial().
  Status link(int peer, Deadline deadline);

  /// An authenticated connection to `peer` for `role`.
  /// @errors Timeout, PeerLost (nobody listens there any more), Mismatch, SystemError; the message
  ///   names the rank and its addresses. Aborted if the communicator fails meanwhile.
  Result<FileDescriptor> dial(int peer, PeerRole role, Deadline deadline) const;

  /// A data connection to `peer`, which finds it by takeDataSocket().
  /// @errors those of dial()
  Result<FileDescriptor> dialData(int peer, const OpenData& opening, Deadline deadline) const;

  /// Has `peer` tell its news; nothing happens if there is no link to it.
  void ask(int peer);

  /// Tells all ranks that the communicator has failed; only the first failure is told.
  void spread(const Status& failure);

  /// A data connection that another rank has opened.
  struct DataSocket {
    int from = 0;
    OpenData opening;
    FileDescriptor socket;
  };

  /// The one that rank `from` has opened on `channel`, once it is there.
  std::optional<DataSocket> takeDataSocket(DataWire wire, int from, int channel);

  /// Any that has come.
  std::optional<DataSocket> takeDataSocket(DataWire wire);

 private:
  struct Opening;  // a data connection that has not said which one it is

  using DataKey = std::tuple<DataWire, int, int>;  // wire, from, channel

  ControlPlane(const ControlSettings& settings,
               const SecretKey& key,
               const MessageAuthenticator& authenticator,
               FileDescriptor listener,
               FileDescriptor wake,
               std::vector<SocketAddress> addresses);

  void run();
  bool over() const;
  void collectEvents();
  void handleEvents();
  Deadline nextDeadline() const;
  void welcome(Doorkeeper::Visitor visitor);
  void addLink(int peer, FileDescriptor socket);
  void serveLink(ControlLink& link, short events);
  Status receiveFrames(ControlLink& link);
  void onFrame(ControlLink& link, const Frame& frame);
  void serveOpening(Opening& opening);
  Status receiveOpening(Opening& opening);
  void spreadLocked(const Status& failure, const ControlLink* except);
  ControlLink* findLink(int peer);
  void wake() const;

  const ControlSettings settings_;
  const SecretKey key_;
  const FileDescriptor wake_;  ///< an eventfd
  const std::vector<SocketAddress> addresses_;
  std::vector<std::vector<SocketAddress>> peers_;
  ControlSubject* subject_ = nullptr;
  std::optional<Doorkeeper> door_;  // until leave(); used by the thread only
  std::vector<pollfd> events_;      // likewise: of wake_, links_, openings_, door_
  std::size_t polledLinks_ = 0;
  std::size_t doorEvents_ = 0;  // where door_'s begin
  mutable std::mutex mutex_;    // guards what follows
  std::vector<std::unique_ptr<ControlLink>> links_;
  std::vector<std::unique_ptr<Opening>> openings_;
  std::map<DataKey, DataSocket> arrived_;
  Status failure_;
  std::optional<Deadline> leaving_;  ///< until when goodbyes may take
  std::thread thread_;
};

}  // namespace rondo
