// The way between processes: a Unix socket to each that a packet goes to, and a thread that takes
// what comes. The upper bits of a queue pair's number say which process has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace rondo::testing {

class World;
struct Packet;
enum class Verdict : std::uint32_t;

/// @threads the world's mutex is held; the thread takes it itself
class PeerProcesses {
 public:
  static constexpr int kPairBits = 12;  ///< of 24: 4096 queue pairs in each of 4096 processes

  explicit PeerProcesses(World& world);
  ~PeerProcesses();
  PeerProcesses(const PeerProcesses&) = delete;
  PeerProcesses& operator=(const PeerProcesses&) = delete;

  /// The upper bits of this process's queue pairs.
  std::uint32_t own() const { return own_; }

  /// Sends a packet to the process that has its queue pair; its verdict comes later.
  /// @return false: there is no such process.
  bool send(const Packet& packet, const std::byte* payload);

  void wake() const;

 private:
  struct Link;

  void run();
  void serve(Link& link);
  void take(Link& link);
  void flush(Link& link);
  void append(Link& link, const void* data, std::size_t bytes);
  Link* linkTo(std::uint32_t process);

  World& world_;
  std::uint32_t own_ = 0;
  int listener_ = -1;
  int wake_ = -1;
  std::map<std::uint32_t, Link*> byProcess_;  // those made here
  std::vector<std::unique_ptr<Link>> links_;
};

}  // namespace rondo::testing
