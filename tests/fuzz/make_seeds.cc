// Writes well-formed inputs for the fuzzers into folders of the folder it is given, named after
// them: what a mutation starts from.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "src/bootstrap/handshake.h"
#include "src/bootstrap/rendezvous_messages.h"
#include "src/control/messages.h"
#include "src/rank_info.h"
#include "transports/connection.h"
#include "transports/tcp/wire.h"

namespace rondo {
namespace {

using Bytes = std::vector<std::byte>;

void write(const std::filesystem::path& path, std::initializer_list<int> head, const Bytes& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  for (const int byte : head)
    file.put(static_cast<char>(byte));
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

void writeHandshakes(const std::filesystem::path& folder, const MessageAuthenticator& mac) {
  const SecretKey key(Nonce{std::byte{1}});
  ClientHandshake client(mac, key, {PeerRole::kData, 1, 2}, Nonce{std::byte{3}});
  ServerHandshake server(mac, key, Nonce{std::byte{4}});
  Bytes toServer = client.takeOutput();
  while (server.wanted() > 0 && toServer.size() >= server.wanted()) {
    const Bytes part(toServer.begin(),
                     toServer.begin() + static_cast<std::ptrdiff_t>(server.wanted()));
    toServer.erase(toServer.begin(), toServer.begin() + static_cast<std::ptrdiff_t>(part.size()));
    (void)server.receive(part);
  }
  const Bytes hello = server.takeOutput();
  const Bytes proof(sizeof(Mac), std::byte{5});
  ClientHandshake fresh(mac, key, {PeerRole::kData, 1, 2}, Nonce{std::byte{3}});
  Bytes clientSays = fresh.takeOutput();
  clientSays.insert(clientSays.end(), proof.begin(), proof.end());
  Bytes serverSays = hello;
  serverSays.insert(serverSays.end(), proof.begin(), proof.end());
  write(folder / "to_server", {0, 255}, clientSays);
  write(folder / "to_client", {1, 255}, serverSays);
}

void writeFrames(const std::filesystem::path& folder) {
  Bytes stream;
  appendJoin(stream, {.patience = std::chrono::seconds{1}, .payload = "host a"});
  write(folder / "join", {255}, stream);
  appendEntry(stream, {.rank = 1, .payload = "host b"});
  appendFailure(stream, Status::timeout("missing: rank 2"));
  appendFarewell(stream);
  write(folder / "all", {3}, stream);
}

void writeControlMessages(const std::filesystem::path& folder) {
  RankNews news;
  news.record[0] = 7;
  news.posted = 3;
  Bytes stream;
  appendOpenData(stream, {.channel = 1, .slotBytes = 65536, .slotCount = 4});
  write(folder / "open_data", {255}, stream);
  Bytes lastChannel;
  appendOpenData(lastChannel, {.channel = kHostChannel, .slotBytes = 65536, .slotCount = 4});
  write(folder / "open_data_of_the_last_channel", {255}, lastChannel);
  appendAsk(stream);
  appendNews(stream, ControlMessage::kNews, news);
  appendControlFailure(stream, Status::timeout("rank 2 waited too long"));
  appendNews(stream, ControlMessage::kGoodbye, news);
  write(folder / "all", {200}, stream);
}

/// Appends `message` as it is in memory, which is how it crosses the wire.
template <class Message>
void appendRaw(Bytes& stream, const Message& message) {
  const auto bytes = std::as_bytes(std::span(&message, 1));
  stream.insert(stream.end(), bytes.begin(), bytes.end());
}

void writeTcpWires(const std::filesystem::path& folder) {
  Bytes slots;
  for (const std::uint32_t bytes : {64U, 0U, 17U, 40U, 64U}) {
    appendRaw(slots, tcp::SlotHeader{bytes, tcp::kSlot, bytes});
    slots.insert(slots.end(), bytes, std::byte{9});
  }
  appendRaw(slots, tcp::SlotHeader{0, tcp::kGoodbye, 0});
  write(folder / "to_receiver", {0, 0x95, 31}, slots);
  Bytes credits;
  for (const std::uint64_t released : {1U, 2U, 4U, 5U})
    appendRaw(credits, tcp::Credit{released});
  write(folder / "to_sender", {1, 0x95, 7}, credits);
}

void writeIntroductions(const std::filesystem::path& folder) {
  RankInfo info;
  info.transports = {"shm", "tcp"};
  info.offers = {"4711\nrondo-0123\nhost", "10.0.0.1:4000,[fd00::1]:4000"};
  // A number that is none of the whole ones was once taken for one.
  std::string huge = encodeRankInfo(info);
  huge.replace(huge.find("\"slotBytes\":0") + 12, 1, "1e89");
  const std::vector<std::string> inputs = {
      '\0' + encodeRankInfo(info), '\0' + huge,           '\1' + encodeTexts({"", "no socket"}),
      '\2' + info.offers[0],       "\3[fe80::1%lo]:4000", "\003127.0.0.1:65535"};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto bytes = std::as_bytes(std::span(inputs[i]));
    write(folder / std::to_string(i), {}, {bytes.begin(), bytes.end()});
  }
}

}  // namespace
}  // namespace rondo

int main(int argc, char** argv) {
  const auto mac = rondo::MessageAuthenticator::shared();
  if (argc != 2 || !mac.ok()) {
    std::fprintf(stderr, "usage: make_seeds FOLDER (needs libsodium)\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  rondo::writeHandshakes(folder / "handshake", *mac);
  rondo::writeFrames(folder / "frame");
  rondo::writeControlMessages(folder / "control");
  rondo::writeTcpWires(folder / "tcp_wire");
  rondo::writeIntroductions(folder / "introduction");
  return 0;
}
