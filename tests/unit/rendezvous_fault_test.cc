// The rendezvous when ranks are late, missing, double or dead, while strangers of every kind knock
// at its door, and under signals.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "src/bootstrap/handshake.h"
#include "src/bootstrap/rendezvous_messages.h"
#include "src/log.h"
#include "src/net/interfaces.h"
#include "src/net/socket.h"
#include "tests/unit/rendezvous_ranks.h"
#include "tests/unit/stranger_flood.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;
using namespace testing_ranks;  // NOLINT(google-build-using-namespace)

SocketAddress addressOf(const UniqueId& id) {
  return readUniqueId(id)->addresses.front();
}

FileDescriptor connectTo(const UniqueId& id) {
  Result<FileDescriptor> socket = connectOnce(addressOf(id), Deadline::within(kPatience));
  EXPECT_TRUE(socket.ok()) << socket.status().message();
  return socket.ok() ? *std::move(socket) : FileDescriptor{};
}

/// An id with the address of `id` and a secret of its own.
UniqueId withOtherSecret(const UniqueId& id) {
  return *makeUniqueId(std::vector{addressOf(id)});
}

/// Sends, and does not mind if nobody wants it.
void throwAt(int socket, std::string_view text) {
  (void)::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// Whether the root closes the connection within `limit`, whatever it says before.
bool isDropped(int socket, milliseconds limit) {
  const Deadline deadline = Deadline::within(limit);
  std::array<std::byte, 256> bytes;
  for (;;) {
    const Result<std::size_t> received = recvSome(socket, bytes, "the root");
    if (!received.ok()) return true;
    if (*received == 0 && !*waitUntilReady(socket, POLLIN, deadline)) return false;
  }
}

TEST(RendezvousFault, RanksComeBeforeTheRootListens) {
  // An id whose port is free, made by a root that is gone.
  RendezvousSettings settings = loopbackSettings();
  const int port = addressOf(startRendezvous()->id()).port();
  settings.portFirst = settings.portLast = port;
  const std::array<SocketAddress, 1> addresses = {
      SocketAddress::loopback(AddressFamily::kIpv4, static_cast<std::uint16_t>(port))};
  Status status;
  std::thread early(
      [&] { status = connectWithRetry(addresses, Deadline::within(kPatience)).status(); });
  std::this_thread::sleep_for(milliseconds{300});
  const auto rendezvous = startRendezvous(settings);
  early.join();
  ASSERT_NE(rendezvous, nullptr);
  EXPECT_TRUE(status.ok()) << status.message();
  expectComplete(joinAll(rendezvous->id(), allRanks(2)));
}

TEST(RendezvousFault, NoRootIsATimeoutThatNamesIt) {
  auto rendezvous = startRendezvous();
  const UniqueId id = rendezvous->id();
  rendezvous.reset();
  const auto start = Deadline::Clock::now();
  const Payloads result = joinRendezvous(id, 0, 2, "", loopbackSettings(milliseconds{500}));
  const auto took = Deadline::Clock::now() - start;
  expectFailure(result, StatusCode::kTimeout, {addressOf(id).text(), "Connection refused"});
  EXPECT_GE(took, milliseconds{500});
  EXPECT_LT(took, milliseconds{10000});
}

TEST(RendezvousFault, MissingRanksAreNamedToAll) {
  const auto rendezvous = startRendezvous();
  const milliseconds timeout{700};
  const auto start = Deadline::Clock::now();
  const std::vector<Payloads> results =
      joinAll(rendezvous->id(), {{0, 6, timeout}, {1, 6, timeout}, {4, 6, timeout}});
  EXPECT_GE(Deadline::Clock::now() - start, timeout);
  EXPECT_LT(Deadline::Clock::now() - start, timeout + std::chrono::seconds{10});
  for (const Payloads& result : results) {
    expectFailure(result, StatusCode::kTimeout, {"only 3 of 6", "rank 2, 3, 5"});
  }
  // A rank that comes later is told at once.
  expectFailure(joinRendezvous(rendezvous->id(), 2, 6, "", loopbackSettings()),
                StatusCode::kTimeout, {"rank 2, 3, 5"});
  // The process is none the worse for it.
  expectComplete(joinAll(startRendezvous()->id(), allRanks(2)));
}

TEST(RendezvousFault, TwoRanksWithOneNumber) {
  const auto rendezvous = startRendezvous();
  for (const Payloads& result : joinAll(rendezvous->id(), {{0, 3}, {1, 3}, {1, 3}})) {
    expectFailure(result, StatusCode::kMismatch, {"rank 1 joined twice"});
  }
}

TEST(RendezvousFault, DifferentNumbersOfRanks) {
  const auto rendezvous = startRendezvous();
  for (const Payloads& result : joinAll(rendezvous->id(), {{0, 4}, {3, 8}})) {
    expectFailure(result, StatusCode::kMismatch, {"rank 0", "rank 3", "one of 4", "one of 8"});
  }
}

/// Joins as far as being entered in the roster.
FileDescriptor enterByHand(const UniqueId& id, const PeerIdentity& self) {
  FileDescriptor socket = connectTo(id);
  const Status status = authenticateAsClient(socket.get(), readUniqueId(id)->secret, self,
                                             Deadline::within(kPatience));
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::byte> join;
  appendJoin(join, {.patience = kPatience, .payload = ""});
  EXPECT_TRUE(sendAll(socket.get(), join, Deadline::within(kPatience), "the root").ok());
  return socket;
}

TEST(RendezvousFault, ARankThatDiesWhileItWaitsIsNamed) {
  const auto rendezvous = startRendezvous();
  FileDescriptor dying = enterByHand(rendezvous->id(), {PeerRole::kRendezvous, 2, 4});
  std::thread death([&] {
    std::this_thread::sleep_for(milliseconds{100});
    dying.reset();
  });
  for (const Payloads& result : joinAll(rendezvous->id(), {{0, 4}, {1, 4}})) {
    expectFailure(result, StatusCode::kPeerLost, {"rank 2", "closed its connection"});
  }
  death.join();
}

TEST(RendezvousFault, ARankOutOfRangeIsNamed) {
  const auto rendezvous = startRendezvous();
  Payloads waiting = Status::internal("has not run");
  std::thread rank(
      [&] { waiting = joinRendezvous(rendezvous->id(), 0, 4, "", loopbackSettings()); });
  std::this_thread::sleep_for(milliseconds{50});
  const FileDescriptor odd = enterByHand(rendezvous->id(), {PeerRole::kRendezvous, 4, 4});
  rank.join();
  expectFailure(waiting, StatusCode::kMismatch, {"rank 4 of 4"});
}

TEST(RendezvousFault, RanksAreToldWhenTheRootGoes) {
  auto rendezvous = startRendezvous();
  const UniqueId id = rendezvous->id();
  std::thread owner([&] {
    std::this_thread::sleep_for(milliseconds{200});
    rendezvous.reset();
  });
  for (const Payloads& result : joinAll(id, {{0, 3}, {1, 3}})) {
    expectFailure(result, StatusCode::kAborted, {"ended its rendezvous"});
  }
  owner.join();
}

TEST(RendezvousFault, TheTableIsDeliveredThoughTheOwnerGoesAtOnce) {
  for (int run = 0; run < 20; ++run) {
    auto rendezvous = startRendezvous();
    const UniqueId id = rendezvous->id();
    Payloads other = Status::internal("has not run");
    std::thread rank([&] { other = joinRendezvous(id, 1, 2, payloadOf(1), loopbackSettings()); });
    const Payloads own = joinRendezvous(id, 0, 2, payloadOf(0), loopbackSettings());
    rendezvous.reset();
    rank.join();
    expectComplete({own, other});
  }
}

TEST(RendezvousFault, AnotherSecretIsRefusedSoon) {
  const auto rendezvous = startRendezvous();
  const auto start = Deadline::Clock::now();
  expectFailure(joinRendezvous(withOtherSecret(rendezvous->id()), 0, 2, "", loopbackSettings()),
                StatusCode::kMismatch, {"unique id may be that of another run"});
  EXPECT_LT(Deadline::Clock::now() - start, std::chrono::seconds{10});
  expectComplete(joinAll(rendezvous->id(), allRanks(2)));
}

TEST(RendezvousFault, StrangersAreDropped) {
  const auto rendezvous = startRendezvous();
  const UniqueId& id = rendezvous->id();
  const FileDescriptor http = connectTo(id);
  throwAt(http.get(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(isDropped(http.get(), milliseconds{1000}));

  // Its secret is right, but it sends no Join: a frame too long, or of another kind.
  const SecretKey secret = readUniqueId(id)->secret;
  for (const RendezvousMessage type : {RendezvousMessage::kJoin, RendezvousMessage::kEntry}) {
    const FileDescriptor odd = connectTo(id);
    ASSERT_TRUE(authenticateAsClient(odd.get(), secret, {PeerRole::kRendezvous, 0, 2},
                                     Deadline::within(kPatience))
                    .ok());
    const std::vector<std::byte> payload(type == RendezvousMessage::kJoin ? kMaxJoinBytes + 1 : 4);
    ASSERT_TRUE(sendFrame(odd.get(), static_cast<std::uint16_t>(type), payload,
                          Deadline::within(kPatience), "the root")
                    .ok());
    EXPECT_TRUE(isDropped(odd.get(), milliseconds{1000}));
  }
  // It came for another service.
  const FileDescriptor astray = connectTo(id);
  ASSERT_TRUE(authenticateAsClient(astray.get(), secret, {PeerRole::kData, 0, 2},
                                   Deadline::within(kPatience))
                  .ok());
  EXPECT_TRUE(isDropped(astray.get(), milliseconds{1000}));

  // Silent, or too slow.
  const auto start = Deadline::Clock::now();
  const FileDescriptor silent = connectTo(id);
  EXPECT_TRUE(isDropped(silent.get(), kHandshakeTimeout * 2));
  EXPECT_GE(Deadline::Clock::now() - start, kHandshakeTimeout - milliseconds{100});
  expectComplete(joinAll(id, allRanks(2)));
}

TEST(RendezvousFault, StrangersDisturbNothing) {
  const auto rendezvous = startRendezvous();
  const UniqueId& id = rendezvous->id();
  std::vector<FileDescriptor> held;  // more than may be half open
  for (int i = 0; i < 300; ++i)
    held.push_back(connectTo(id));
  std::atomic<bool> stop = false;
  std::vector<std::thread> attackers;
  attackers.emplace_back([&] {  // garbage, of all lengths
    for (unsigned i = 0; !stop; ++i) {
      const Result<FileDescriptor> socket = connectOnce(addressOf(id), Deadline::within(kPatience));
      std::string garbage(i % 200, '\0');
      for (char& byte : garbage)
        byte = static_cast<char>(i = i * 1103515245U + 12345U);
      if (socket.ok()) throwAt(socket->get(), garbage);
    }
  });
  attackers.emplace_back([&] {  // another secret
    while (!stop) {
      (void)joinRendezvous(withOtherSecret(id), 0, 8, "", loopbackSettings(milliseconds{50}));
    }
  });
  attackers.emplace_back([&] {  // one byte at a time
    while (!stop) {
      const Result<FileDescriptor> socket = connectOnce(addressOf(id), Deadline::within(kPatience));
      for (int i = 0; socket.ok() && i < 20 && !stop; ++i) {
        throwAt(socket->get(), "R");
        std::this_thread::sleep_for(milliseconds{5});
      }
    }
  });
  std::vector<Payloads> results(8, Status::internal("has not run"));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 8; ++rank) {
    ranks.emplace_back([&, rank] {
      std::this_thread::sleep_for(milliseconds{50} * rank);
      results[static_cast<std::size_t>(rank)] =
          joinRendezvous(id, rank, 8, payloadOf(rank), loopbackSettings());
    });
  }
  for (std::thread& rank : ranks)
    rank.join();
  stop = true;
  for (std::thread& attacker : attackers)
    attacker.join();
  expectComplete(results);
}

/// Whoever takes all places, again and again, is dropped for newcomers, and may fill no log.
TEST(RendezvousFault, AFloodOfStrangersKeepsNoRankOut) {
  const std::string path =
      testing::TempDir() + "rondo_flood_test." + std::to_string(::getpid()) + ".log";
  ASSERT_TRUE(configureLog({LogLevel::kWarn, path}).ok());
  const auto rendezvous = startRendezvous();
  const auto start = Deadline::Clock::now();
  int most = 0;
  {
    const StrangerFlood flood(addressOf(rendezvous->id()));
    expectComplete(joinAll(rendezvous->id(), allRanks(8)));
    EXPECT_GT(flood.dropped(), 0);
    most = flood.mostLines();
  }
  EXPECT_LT(Deadline::Clock::now() - start, kPatience / 2);
  ASSERT_TRUE(configureLog({}).ok());
  std::ifstream file(path);
  int lines = 0;
  for (std::string line; std::getline(file, line);)
    lines += line.find("dropped a stranger") != std::string::npos ? 1 : 0;
  std::filesystem::remove(path);
  EXPECT_GT(lines, 0);
  EXPECT_LE(lines, most);
}

TEST(RendezvousFault, PublicAddressesAreDroppedWhereOnlyPrivateOnesAreTrusted) {
  RendezvousSettings settings = loopbackSettings();
  settings.privateOnly = true;
  const auto rendezvous = startRendezvous(settings);
  const Result<std::vector<InterfaceAddress>> all = findInterfaceAddresses();
  ASSERT_TRUE(all.ok());
  const auto isPublic = [](const InterfaceAddress& one) {
    return one.up && one.running && !one.address.isPrivate();
  };
  const auto found = std::ranges::find_if(*all, isPublic);
  if (found == all->end()) {
    std::printf("not tried: this host has private addresses only\n");
  } else {
    const SocketAddress address = found->address.withPort(addressOf(rendezvous->id()).port());
    const Result<FileDescriptor> visitor = connectOnce(address, Deadline::within(kPatience));
    ASSERT_TRUE(visitor.ok()) << visitor.status().message();
    EXPECT_TRUE(isDropped(visitor->get(), milliseconds{1000}));
  }
  expectComplete(joinAll(rendezvous->id(), allRanks(2)));
}

// Field case N01.
TEST(RendezvousFault, ATimerThatInterruptsEveryCallDisturbsNothing) {
  struct sigaction action {};

  struct sigaction before {};

  action.sa_handler = [](int) {};  // no SA_RESTART
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  const itimerval every{.it_interval = {0, 1000}, .it_value = {0, 1000}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &every, nullptr), 0);
  for (int run = 0; run < 20; ++run) {
    const auto rendezvous = startRendezvous();
    ASSERT_NE(rendezvous, nullptr);
    expectComplete(joinAll(rendezvous->id(), allRanks(4)));
  }
  const itimerval off{};
  ::setitimer(ITIMER_REAL, &off, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
}

std::size_t countEntries(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

TEST(RendezvousFault, LeavesNothingBehind) {
  const auto cycle = [] {
    auto rendezvous = startRendezvous();
    expectComplete(joinAll(rendezvous->id(), allRanks(2)));
    (void)joinAll(startRendezvous()->id(), {{0, 2, milliseconds{1}}});
  };
  cycle();
  const std::size_t descriptors = countEntries("/proc/self/fd");
  const std::size_t threads = countEntries("/proc/self/task");
  for (int run = 0; run < 20; ++run)
    cycle();
  EXPECT_EQ(countEntries("/proc/self/fd"), descriptors);
  // A thread that was joined may be listed for a moment more.
  for (int wait = 0; wait < 100 && countEntries("/proc/self/task") > threads; ++wait) {
    std::this_thread::sleep_for(milliseconds{10});
  }
  EXPECT_LE(countEntries("/proc/self/task"), threads);
}

std::string hexOf(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes)
    hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

TEST(RendezvousFault, TheSecretIsNeitherLoggedNorInErrors) {
  const std::string path =
      testing::TempDir() + "rondo_rendezvous_test." + std::to_string(::getpid()) + ".log";
  ASSERT_TRUE(configureLog({LogLevel::kTrace, path}).ok());
  std::string said;
  std::vector<std::string> secrets;
  const auto remember = [&](const UniqueId& id) {
    const SecretKey secret = readUniqueId(id)->secret;
    const std::string raw(reinterpret_cast<const char*>(secret.bytes().data()), SecretKey::kBytes);
    // A part of it would be as bad.
    for (const std::string& form : {raw.substr(0, 8), raw.substr(12, 8), hexOf(raw).substr(0, 12),
                                    hexOf(raw).substr(30, 12)}) {
      secrets.push_back(form);
    }
  };
  {
    const auto good = startRendezvous();
    remember(good->id());
    expectComplete(joinAll(good->id(), allRanks(3)));
    const auto bad = startRendezvous();
    const UniqueId other = withOtherSecret(bad->id());
    remember(bad->id());
    remember(other);
    said += joinRendezvous(other, 0, 2, "", loopbackSettings()).status().message();
    throwAt(connectTo(bad->id()).get(), "GET / HTTP/1.1\r\n\r\n");
    for (const Payloads& result : joinAll(bad->id(), {{0, 2}, {0, 2}}))
      said += result.status().message();
    UniqueId damaged = other;
    damaged.bytes[100] ^= std::byte{1};
    said += readUniqueId(damaged).status().message();
  }
  ASSERT_TRUE(configureLog({}).ok());
  std::ifstream file(path, std::ios::binary);
  said.append(std::istreambuf_iterator<char>(file), {});
  std::filesystem::remove(path);
  for (const char* line : {"joins the root at", "rank 0 joined twice", "dropped a stranger",
                           "rendezvous advertises 127.0.0.1 (lo)"}) {
    EXPECT_NE(said.find(line), std::string::npos) << "the log lacks: " << line;
  }
  for (const std::string& secret : secrets)
    EXPECT_EQ(said.find(secret), std::string::npos);
}

}  // namespace
}  // namespace rondo
