#include "transports/verbs/device.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include <fcntl.h>
#include <sys/resource.h>

#include "src/log.h"
#include "src/net/errno_text.h"
#include "src/net/name_filter.h"

namespace rondo::verbs {

namespace {

/// More would not help pairs of hosts, and offers are short.
constexpr std::size_t kMostGids = 4;

/// The vendors that the kernel's soft-RoCE and soft-iWARP drivers give.
constexpr std::uint32_t kSoftRoceVendor = 0xffffff;
constexpr std::uint32_t kSoftIwarpVendor = 0x626d74;

void doNotBlock(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags >= 0) (void)::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

const char* stateName(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_DOWN:
      return "DOWN";
    case IBV_PORT_INIT:
      return "INIT (no subnet manager has set it up)";
    case IBV_PORT_ARMED:
      return "ARMED (the subnet manager is not done)";
    default:
      return "not ACTIVE";
  }
}

std::string listGids(const std::vector<PortGid>& gids) {
  std::string text;
  for (const PortGid& entry : gids) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", entry.index, gidText(entry.gid),
                        entry.roceV1 ? " (RoCE v1)" : "");
  }
  return text.empty() ? "empty" : text;
}

}  // namespace

std::string verbsErrorText(int error) {
  const std::string text = errnoText(error);
  if (error != ENOMEM && error != EAGAIN && error != EPERM) return text;
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return text;
  if (limit.rlim_cur == RLIM_INFINITY) {
    return text +
           "; locked memory is not limited (memlock), so the adapter or its host has no room "
           "for more: make connections fewer (RONDO_CHANNELS, fewer communicators), or do "
           "without the adapter (RONDO_IB_DEVICES)";
  }
  return fmt::format(
      "{}; adapters use locked memory, and this process may lock {} bytes (memlock): raise that "
      "with ulimit -l unlimited, LimitMEMLOCK=infinity (systemd) or --ulimit memlock=-1 (docker)",
      text, limit.rlim_cur);
}

// Devices.

Result<std::shared_ptr<Device>> Device::open(const Library& library, ibv_device* device) {
  const std::string name = library.getDeviceName(device);
  errno = 0;
  ibv_context* const context = library.openDevice(device);
  if (context == nullptr) {
    return Status::systemError("cannot open {}: {}", name, verbsErrorText(errno));
  }
  const std::shared_ptr<Device> opened(new Device(library, name, context));
  RONDO_RETURN_IF_ERROR(opened->prepare());
  return opened;
}

Status Device::prepare() {
  if (const int error = library_.queryDevice(context(), &attributes_)) {
    return Status::systemError("cannot query {}: {}", name_, errnoText(error));
  }
  errno = 0;
  domain_.reset(library_.allocateDomain(context()));
  if (domain_ == nullptr) {
    return Status::systemError("{} gives no protection domain: {}", name_, verbsErrorText(errno));
  }
  channel_.reset(library_.createChannel(context()));
  if (channel_ == nullptr) {
    return Status::systemError("{} gives no completion channel: {}", name_, verbsErrorText(errno));
  }
  doNotBlock(channel_->fd);
  doNotBlock(context()->async_fd);
  return {};
}

bool Device::emulated() const {
  return name_.starts_with("rxe") || name_.starts_with("siw") ||
         attributes_.vendor_id == kSoftRoceVendor || attributes_.vendor_id == kSoftIwarpVendor;
}

std::optional<Device::Event> Device::nextEvent() {
  ibv_async_event event{};
  while (library_.getAsyncEvent(context(), &event) == 0) {
    const ibv_event_type type = event.event_type;
    const int port = event.element.port_num;
    // At once: an object cannot be destroyed while an event about it is not acknowledged.
    library_.acknowledgeAsyncEvent(&event);
    switch (type) {
      case IBV_EVENT_PORT_ACTIVE:
      case IBV_EVENT_PORT_ERR:
      case IBV_EVENT_LID_CHANGE:
      case IBV_EVENT_GID_CHANGE:
        return Event{type, port};
      case IBV_EVENT_DEVICE_FATAL:
      case IBV_EVENT_CQ_ERR:
        return Event{type, 0};
      default:
        // Of one queue pair: its completions tell. Or of the subnet manager, or good news.
        break;
    }
  }
  return std::nullopt;
}

// Ports.

std::vector<PortGid> chooseGids(const std::vector<PortGid>& table) {
  std::vector<PortGid> routable;
  std::vector<PortGid> linkLocal;
  for (const PortGid& entry : table) {
    if (entry.roceV1) continue;
    std::vector<PortGid>& list = isLinkLocal(entry.gid) ? linkLocal : routable;
    if (list.size() < kMostGids) list.push_back(entry);
  }
  return routable.empty() ? linkLocal : routable;
}

Port::Port(std::shared_ptr<Device> device, std::uint8_t number)
    : device_(std::move(device)),
      number_(number),
      name_(fmt::format("{} port {}", device_->name(), number)) {}

Result<std::shared_ptr<Port>> Port::find(std::shared_ptr<Device> device,
                                         std::uint8_t number,
                                         const Settings& settings) {
  const std::shared_ptr<Port> port(new Port(std::move(device), number));
  ibv_port_attr attributes{};
  RONDO_RETURN_IF_ERROR(port->query(attributes));
  if (attributes.state != IBV_PORT_ACTIVE) {
    return Status::notSupported("{} is {}", port->name_, stateName(attributes.state));
  }
  port->ethernet_ = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
  port->lid_ = attributes.lid;
  port->mtu_ = attributes.active_mtu;
  port->mostBytes_ = attributes.max_msg_sz;
  port->needsGlobal_ = port->ethernet_ || (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
  RONDO_RETURN_IF_ERROR(port->readGids(attributes.gid_tbl_len, settings));
  return port;
}

Status Port::query(ibv_port_attr& attributes) const {
  // As the inline function of verbs.h does, which would have to be linked.
  ibv_context* const context = device_->context();
  const verbs_context* const extended = verbs_get_ctx_op(context, query_port);
  attributes = {};
  const int error =
      extended != nullptr
          ? extended->query_port(context, number_, &attributes, sizeof attributes)
          : device_->library().queryPort(context, number_,
                                         reinterpret_cast<_compat_ibv_port_attr*>(&attributes));
  if (error == 0) return {};
  return Status::systemError("cannot query {}: {}", name_, errnoText(error));
}

Status Port::readGids(int entries, const Settings& settings) {
  std::vector<PortGid> table;
  for (std::uint32_t index = 0; index < static_cast<std::uint32_t>(entries); ++index) {
    ibv_gid_entry entry{};
    const int error =
        device_->library().queryGid(device_->context(), number_, index, &entry, 0, sizeof entry);
    if (error != 0) continue;  // this place of the table is free
    PortGid found{index, {}, entry.gid_type == IBV_GID_TYPE_ROCE_V1};
    std::memcpy(found.gid.data(), entry.gid.raw, found.gid.size());
    if (found.gid != Gid{}) table.push_back(found);
    if (!ethernet_) break;  // the first is the port's own
  }
  if (!ethernet_) {
    gids_ = std::move(table);
  } else if (!settings.gidIndex) {
    gids_ = chooseGids(table);
  } else {
    const auto wanted = std::ranges::find(table, *settings.gidIndex, &PortGid::index);
    if (wanted == table.end()) {
      return Status::invalidArgument("RONDO_IB_GID_INDEX is {}, but the GIDs of {} are: {}",
                                     *settings.gidIndex, name_, listGids(table));
    }
    gids_ = {*wanted};
  }
  if (!gids_.empty()) return {};
  return Status::notSupported("{} has no {}; its GIDs: {}", name_,
                              ethernet_ ? "GID of RoCE v2" : "GID", listGids(table));
}

PortOffer Port::offer() const {
  PortOffer offer{.ethernet = ethernet_, .gids = {}};
  for (const PortGid& entry : gids_)
    offer.gids.push_back(entry.gid);
  return offer;
}

std::string Port::describe() const {
  return ethernet_ ? fmt::format("{} (RoCE, GIDs: {})", name_, listGids(gids_))
                   : fmt::format("{} (InfiniBand, LID {})", name_, lid_);
}

void Port::use(std::size_t gid) {
  used_.resize(gids_.size());
  if (used_[gid]) return;
  used_[gid] = true;
  checkAddresses();  // what happened to it before was not looked at
}

void Port::onEvent(const Device::Event& event, std::chrono::milliseconds patience) {
  if (event.port != 0 && event.port != number_) return;
  switch (event.type) {
    case IBV_EVENT_PORT_ERR:
      backBy_ = Deadline::within(patience);
      break;
    case IBV_EVENT_DEVICE_FATAL:
      setFault("has failed: its adapter needs a reset");
      break;
    case IBV_EVENT_CQ_ERR:
      setFault("has lost a completion: a queue of its adapter has failed");
      break;
    default:
      if (event.type == IBV_EVENT_PORT_ACTIVE) backBy_ = Deadline();
      checkAddresses();
  }
}

std::string Port::suspicion() const {
  if (!fault_.empty()) return fault_;
  return backBy_.never() ? "" : "has gone down";
}

std::string Port::trouble() const {
  if (used_.empty()) return {};
  if (!fault_.empty()) return fault_;
  return backBy_.passed() ? "has gone down" : "";
}

/// Queue pairs keep the addresses they were made with.
void Port::checkAddresses() {
  if (used_.empty()) return;
  ibv_port_attr attributes{};
  if (!ethernet_ && query(attributes).ok() && attributes.lid != lid_) {
    setFault(fmt::format("had LID {} and has LID {} now", lid_, attributes.lid));
  }
  for (std::size_t at = 0; at < gids_.size(); ++at) {
    if (!used_[at]) continue;
    const PortGid& used = gids_[at];
    ibv_gid_entry entry{};
    const int error = device_->library().queryGid(device_->context(), number_, used.index, &entry,
                                                  0, sizeof entry);
    Gid now{};
    if (error == 0) std::memcpy(now.data(), entry.gid.raw, now.size());
    if (now == used.gid) continue;
    setFault(fmt::format("had GID {} at index {} and has {} there now", gidText(used.gid),
                         used.index, now == Gid{} ? "none" : gidText(now)));
  }
}

void Port::setFault(std::string fault) {
  if (fault_.empty()) fault_ = std::move(fault);
}

// All of them.

namespace {

/// Looks through the adapters of the host.
class PortSearch {
 public:
  PortSearch(const Library& library, const Settings& settings)
      : library_(library), settings_(settings), filter_(settings.devices) {}

  Result<PortSearchResult> run() {
    int count = 0;
    errno = 0;
    ibv_device** const devices = library_.getDeviceList(&count);
    if (devices == nullptr || count == 0) {
      if (devices != nullptr) library_.freeDeviceList(devices);
      return Status::notSupported("this machine has no InfiniBand or RoCE adapter");
    }
    // Before any memory is registered; without it a forked child could take it from its parent.
    (void)library_.forkInit();
    for (int at = 0; at < count && error_.ok(); ++at)
      search(devices[at]);
    library_.freeDeviceList(devices);
    if (!error_.ok()) return error_;
    return std::move(found_);
  }

 private:
  void search(ibv_device* named) {
    const std::string name = library_.getDeviceName(named);
    if (found_.usable.size() == kMostPorts) {
      found_.passedOver.push_back(
          fmt::format("{} is not used: a rank has {} ports at most, of which RONDO_IB_DEVICES can "
                      "choose others",
                      name, kMostPorts));
      RONDO_LOG(kInfo, kTransport, "{}", found_.passedOver.back());
      return;
    }
    if (!anyPortAllowed(name)) {
      passOver(Status::notSupported("{} is ruled out by RONDO_IB_DEVICES", name));
      return;
    }
    Result<std::shared_ptr<Device>> device = Device::open(library_, named);
    if (!device.ok()) {
      passOver(device.status());
      return;
    }
    for (int number = 1; number <= (*device)->ports() && found_.usable.size() < kMostPorts;
         ++number) {
      if (portAllowed(name, number)) {
        search(*device, static_cast<std::uint8_t>(number));
      } else {
        passOver(Status::notSupported("{} port {} is ruled out by RONDO_IB_DEVICES", name, number));
      }
    }
  }

  bool portAllowed(const std::string& device, int number) const {
    return filter_.accepts(device, fmt::format("{}:{}", device, number));
  }

  /// Asked before an adapter is opened, which may take long or disturb others' work on it; how many
  /// ports it has is not known then.
  bool anyPortAllowed(const std::string& device) const {
    constexpr int kLastNumber = std::numeric_limits<std::uint8_t>::max();
    for (int number = 1; number <= kLastNumber; ++number)
      if (portAllowed(device, number)) return true;
    return false;
  }

  void search(const std::shared_ptr<Device>& device, std::uint8_t number) {
    Result<std::shared_ptr<Port>> port = Port::find(device, number, settings_);
    if (port.ok()) {
      found_.usable.push_back(*std::move(port));
    } else if (port.status().code() == StatusCode::kInvalidArgument) {
      error_ = std::move(port).status();
    } else {
      passOver(port.status());
    }
  }

  void passOver(const Status& why) {
    RONDO_LOG(kDebug, kTransport, "{}", why.message());
    found_.passedOver.emplace_back(why.message());
  }

  const Library& library_;
  const Settings& settings_;
  const NameFilter filter_;
  PortSearchResult found_;
  Status error_;
};

}  // namespace

Result<PortSearchResult> searchPorts(const Library& library, const Settings& settings) {
  return PortSearch(library, settings).run();
}

Result<std::vector<std::shared_ptr<Port>>> findPorts(const Library& library,
                                                     const Settings& settings) {
  Result<PortSearchResult> found = searchPorts(library, settings);
  RONDO_RETURN_IF_ERROR(found.status());
  if (!found->usable.empty()) return std::move(found->usable);
  std::string reasons;
  for (const std::string& reason : found->passedOver)
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", reason);
  return Status::notSupported("no port can be used: {}", reasons);
}

}  // namespace rondo::verbs
