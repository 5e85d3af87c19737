#include "src/cuda/device.h"

#include <cstring>
#include <utility>

#include "kernels/cuda/device_library.h"

namespace rondo::cuda {

CurrentDevice::CurrentDevice(const Device& device)
    : driver_(device.driver()), pushed_(driver_.contextPush(device.context()) == kSuccess) {}

CurrentDevice::~CurrentDevice() {
  if (!pushed_) return;  // the context is gone; the caller's stays
  Context ours = nullptr;
  (void)driver_.contextPop(&ours);
}

Memory::Memory(Memory&& other) noexcept
    : owner_(std::move(other.owner_)),
      kind_(other.kind_),
      device_(other.device_),
      host_(other.host_),
      bytes_(other.bytes_) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(kind_, other.kind_);
  std::swap(device_, other.device_);
  std::swap(host_, other.host_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void Memory::leaveBehind() {
  // The device must stay, too, with the code that still runs on it: kept alive by what is never
  // freed.
  if (owner_ != nullptr) (void)new std::shared_ptr<const Device>(std::move(owner_));
  owner_ = nullptr;
}

Memory::~Memory() {
  // A driver that refuses has ended, and the memory with it.
  if (owner_ != nullptr) (void)owner_->undo(*this);
}

Status Memory::copyOut(void* to, std::size_t bytes) const {
  return owner_->copyOut(to, *this, bytes);
}

Result<std::shared_ptr<const Device>> Device::open(const Driver& driver, int ordinal) {
  const std::shared_ptr<Device> device(new Device(driver, ordinal));
  RONDO_RETURN_IF_ERROR(device->start());
  return std::shared_ptr<const Device>(device);
}

Status Device::start() {
  int count = 0;
  RONDO_RETURN_IF_ERROR(driver_.check(driver_.deviceGetCount(&count), "counting CUDA devices"));
  if (ordinal_ < 0 || ordinal_ >= count) {
    return Status::invalidArgument("CUDA device {}: the driver sees {}; pass 0 to {}", ordinal_,
                                   count, count - 1);
  }
  RONDO_RETURN_IF_ERROR(
      driver_.check(driver_.deviceGet(&handle_, ordinal_), "finding the CUDA device"));
  RONDO_RETURN_IF_ERROR(
      driver_.check(driver_.deviceAttribute(&multiprocessors_, kDeviceMultiprocessorCount, handle_),
                    fmt::format("asking for the multiprocessors of CUDA device {}", ordinal_)));
  std::array<char, 128> model{};
  (void)driver_.deviceGetName(model.data(), static_cast<int>(model.size()), handle_);
  name_ = fmt::format("CUDA device {} ({})", ordinal_, model.data());
  RONDO_RETURN_IF_ERROR(driver_.check(driver_.deviceUuid(&uuid_, handle_),
                                      fmt::format("asking for the identity of {}", name_)));
  RONDO_RETURN_IF_ERROR(driver_.check(driver_.primaryContextRetain(&context_, handle_),
                                      fmt::format("opening {}", name_)));
  const CurrentDevice current(*this);
  RONDO_RETURN_IF_ERROR(driver_.check(driver_.streamCreate(&copies_, kStreamNonBlocking),
                                      fmt::format("making a stream on {}", name_)));
  return loadKernels();
}

Status Device::loadKernels() {
  for (std::size_t type = 0; type < kernels_.size(); ++type) {
    const auto dataType = static_cast<DataType>(type);
    RONDO_RETURN_IF_ERROR(
        loadKernel(device::deviceLibrary(dataType), device::entryName(dataType), kernels_[type]));
  }
  RONDO_RETURN_IF_ERROR(
      loadKernel(device::messageLibrary(), device::kMessageEntry, messageKernel_));
  return loadKernel(device::codedLibrary(), device::kCodedEntry, codedKernel_);
}

Status Device::loadKernel(std::span<const std::byte> image,
                          const std::string& entry,
                          Function& to) {
  const Result<Module> module = moduleOf(image);
  RONDO_RETURN_IF_ERROR(module.status());
  return driver_.check(driver_.moduleFunction(&to, *module, entry.c_str()),
                       fmt::format("finding kernel {} for {}", entry, name_));
}

/// Several types share an image, which is loaded once.
Result<Module> Device::moduleOf(std::span<const std::byte> image) {
  if (image.empty()) {
    return Status::notSupported(
        "{}: this library was built without a CUDA compiler and has no kernels; build it with nvcc "
        "13 or later",
        name_);
  }
  if (const auto found = modules_.find(image.data()); found != modules_.end()) return found->second;
  Module module = nullptr;
  const Status loaded = driver_.check(driver_.moduleLoad(&module, image.data()),
                                      fmt::format("loading the kernels for {}", name_));
  if (!loaded.ok()) {
    return Status::notSupported(
        "{}; was this library built for it? See CMAKE_CUDA_ARCHITECTURES in docs/building.md",
        loaded.message());
  }
  return modules_.emplace(image.data(), module).first->second;
}

/// What the driver says here can only be that it has ended, and all this with it.
Device::~Device() {
  if (context_ == nullptr) return;
  {
    const CurrentDevice current(*this);
    for (const auto& [image, module] : modules_)
      (void)driver_.moduleUnload(module);
    if (copies_ != nullptr) (void)driver_.streamDestroy(copies_);
  }
  (void)driver_.primaryContextRelease(handle_);
}

Result<Memory> Device::allocate(std::size_t bytes) const {
  const CurrentDevice current(*this);
  Memory memory;
  RONDO_RETURN_IF_ERROR(driver_.check(driver_.memoryAllocate(&memory.device_, bytes),
                                      fmt::format("allocating {} bytes on {}", bytes, name_)));
  memory.bytes_ = bytes;
  memory.owner_ = shared_from_this();
  RONDO_RETURN_IF_ERROR(driver_.check(driver_.memorySet(memory.device_, 0, bytes, copies_),
                                      fmt::format("clearing memory on {}", name_)));
  RONDO_RETURN_IF_ERROR(driver_.check(driver_.streamSynchronize(copies_),
                                      fmt::format("clearing memory on {}", name_)));
  return memory;
}

Result<Memory> Device::allocateOnHost(std::size_t bytes) const {
  const CurrentDevice current(*this);
  const std::string what = fmt::format("allocating {} bytes of pinned host memory", bytes);
  Memory memory;
  RONDO_RETURN_IF_ERROR(
      driver_.check(driver_.hostAllocate(&memory.host_, bytes, kHostPortable | kHostMapped), what));
  memory.bytes_ = bytes;
  memory.kind_ = Memory::Kind::kPinned;
  memory.owner_ = shared_from_this();
  std::memset(memory.host_, 0, bytes);
  RONDO_RETURN_IF_ERROR(
      driver_.check(driver_.hostDevicePointer(&memory.device_, memory.host_, 0), what));
  return memory;
}

Result<Memory> Device::copyOf(const void* data, std::size_t bytes) const {
  Result<Memory> memory = allocate(bytes);
  RONDO_RETURN_IF_ERROR(memory.status());
  RONDO_RETURN_IF_ERROR(copyIn(*memory, data, bytes));
  return memory;
}

Status Device::copyIn(const Memory& to, const void* from, std::size_t bytes) const {
  const CurrentDevice current(*this);
  const std::string what = fmt::format("copying {} bytes to {}", bytes, name_);
  RONDO_RETURN_IF_ERROR(
      driver_.check(driver_.copyToDevice(to.device_, from, bytes, copies_), what));
  return driver_.check(driver_.streamSynchronize(copies_), what);
}

Status Device::copyOut(void* to, const Memory& from, std::size_t bytes) const {
  const CurrentDevice current(*this);
  const std::string what = fmt::format("copying {} bytes from {}", bytes, name_);
  RONDO_RETURN_IF_ERROR(
      driver_.check(driver_.copyFromDevice(to, from.device_, bytes, copies_), what));
  return driver_.check(driver_.streamSynchronize(copies_), what);
}

Result<IpcHandle> Device::exportMemory(const Memory& memory) const {
  const CurrentDevice current(*this);
  IpcHandle handle{};
  RONDO_RETURN_IF_ERROR(driver_.check(driver_.ipcHandle(&handle, memory.device_),
                                      fmt::format("exporting memory of {}", name_)));
  return handle;
}

Result<Memory> Device::importMemory(const IpcHandle& handle, std::size_t bytes) const {
  const CurrentDevice current(*this);
  Memory memory;
  RONDO_RETURN_IF_ERROR(
      driver_.check(driver_.ipcOpen(&memory.device_, handle, kIpcLazyPeerAccess),
                    fmt::format("importing memory of another process on {}", name_)));
  memory.bytes_ = bytes;
  memory.kind_ = Memory::Kind::kImported;
  memory.owner_ = shared_from_this();
  return memory;
}

Result<Memory> Device::mapHostMemory(void* host, std::size_t bytes) const {
  const CurrentDevice current(*this);
  const std::string what = fmt::format("mapping {} bytes of host memory on {}", bytes, name_);
  RONDO_RETURN_IF_ERROR(
      driver_.check(driver_.hostRegister(host, bytes, kHostPortable | kHostMapped), what));
  Memory memory;
  memory.host_ = host;
  memory.bytes_ = bytes;
  memory.kind_ = Memory::Kind::kMapped;
  memory.owner_ = shared_from_this();
  RONDO_RETURN_IF_ERROR(driver_.check(driver_.hostDevicePointer(&memory.device_, host, 0), what));
  return memory;
}

Result<bool> Device::reach(int ordinal) const {
  if (ordinal == ordinal_) return true;
  const std::string what = fmt::format("reaching CUDA device {} from {}", ordinal, name_);
  int other = 0;
  int can = 0;
  RONDO_RETURN_IF_ERROR(driver_.check(driver_.deviceGet(&other, ordinal), what));
  RONDO_RETURN_IF_ERROR(driver_.check(driver_.canAccessPeer(&can, handle_, other), what));
  if (can == 0) return false;
  // The context is there already, since the other device is open; it is only asked for.
  Context context = nullptr;
  RONDO_RETURN_IF_ERROR(driver_.check(driver_.primaryContextRetain(&context, other), what));
  const CurrentDevice current(*this);
  const int enabled = driver_.enablePeerAccess(context, 0);
  (void)driver_.primaryContextRelease(other);
  if (enabled == kPeerAccessAlreadyEnabled) return true;
  if (enabled == kTooManyPeers) return false;
  RONDO_RETURN_IF_ERROR(driver_.check(enabled, what));
  return true;
}

int Device::undo(const Memory& memory) const {
  const CurrentDevice current(*this);
  switch (memory.kind_) {
    case Memory::Kind::kOnDevice:
      return driver_.memoryFree(memory.device_);
    case Memory::Kind::kPinned:
      return driver_.hostFree(memory.host_);
    case Memory::Kind::kImported:
      return driver_.ipcClose(memory.device_);
    case Memory::Kind::kMapped:
      return driver_.hostUnregister(memory.host_);
  }
  return kSuccess;
}

}  // namespace rondo::cuda
