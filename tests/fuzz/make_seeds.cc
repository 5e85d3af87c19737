// Writes well-formed inputs for the fuzzers into folders handshake/ and frame/ of the folder it is
// given: what a mutation starts from.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/bootstrap/handshake.h"
#include "src/bootstrap/rendezvous_messages.h"

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

}  // namespace
}  // namespace rondo

int main(int argc, char** argv) {
  const auto mac = rondo::MessageAuthenticator::shared();
  if (argc != 2 || !mac.ok()) {
    std::fprintf(stderr, "usage: make_seeds FOLDER (needs libsodium)\n");
    return 2;
  }
  rondo::writeHandshakes(std::filesystem::path(argv[1]) / "handshake", *mac);
  rondo::writeFrames(std::filesystem::path(argv[1]) / "frame");
  return 0;
}
