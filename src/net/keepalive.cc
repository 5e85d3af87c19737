#include "src/net/keepalive.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "src/net/socket_option.h"

namespace rondo {

namespace {

constexpr int kIdleSeconds = 10;         ///< of silence before the first probe
constexpr int kIntervalSeconds = 5;      ///< between probes
constexpr int kProbes = 4;               ///< without an answer before the peer is lost
constexpr int kUnacknowledged = 30'000;  ///< milliseconds that sent data may go unacknowledged

}  // namespace

void probeSilentHost(int socket) {
  trySocketOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  trySocketOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  trySocketOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, kIntervalSeconds);
  trySocketOption(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  trySocketOption(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
}

void detectDeadHost(int socket) {
  probeSilentHost(socket);
  trySocketOption(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledged);
}

}  // namespace rondo
