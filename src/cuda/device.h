// One CUDA device as a communicator uses it: its primary context, the kernels, and memory that
// frees itself.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "kernels/data_type.h"
#include "src/cuda/driver.h"
#include "src/status.h"

namespace rondo::cuda {

class Device;

/// Makes a device's context the calling thread's for as long as this object lives; then the one
/// before is again, so that no caller notices.
class CurrentDevice {
 public:
  explicit CurrentDevice(const Device& device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  CurrentDevice(CurrentDevice&&) = delete;
  CurrentDevice& operator=(CurrentDevice&&) = delete;

 private:
  const Driver& driver_;
  bool pushed_;
};

/// Memory that kernels of a device can use; what was done to get it is undone with this object,
/// unless it is left behind.
class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  /// For kernels.
  template <class T>
  T* onDevice() const {
    return reinterpret_cast<T*>(device_);
  }

  /// For the host; null for memory on a device, or of another process.
  template <class T>
  T* onHost() const {
    return static_cast<T*>(host_);
  }

  std::size_t bytes() const { return bytes_; }

  /// Whether it is memory that `device` gave.
  bool isOf(const Device& device) const { return owner_.get() == &device; }

  /// Copies the first `bytes` bytes to `to`, on the host. There must be some.
  /// @errors SystemError
  Status copyOut(void* to, std::size_t bytes) const;

  /// Never frees it: a kernel that does not end may still use it.
  void leaveBehind();

 private:
  friend class Device;

  /// What to do with it in the end.
  enum class Kind : std::uint8_t { kOnDevice, kPinned, kImported, kMapped };

  std::shared_ptr<const Device> owner_;  // null: nothing to do
  Kind kind_ = Kind::kOnDevice;
  DevicePointer device_ = 0;
  void* host_ = nullptr;
  std::size_t bytes_ = 0;
};

/// @threads any
class Device : public std::enable_shared_from_this<Device> {
 public:
  /// @param ordinal as the driver counts
  /// @errors InvalidArgument (no such device), NotSupported (the library was built without
  ///   kernels, or without any for this device), SystemError, OutOfMemory.
  static Result<std::shared_ptr<const Device>> open(const Driver& driver, int ordinal);

  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  Device(Device&&) = delete;
  Device& operator=(Device&&) = delete;

  const Driver& driver() const { return driver_; }

  int ordinal() const { return ordinal_; }

  /// "CUDA device 0 (NVIDIA H100)".
  const std::string& name() const { return name_; }

  Context context() const { return context_; }

  /// Blocks of a kernel that certainly run at the same time: one on each multiprocessor.
  int residentBlocks() const { return multiprocessors_; }

  /// The kernel that runs lanes of `type`.
  Function kernel(DataType type) const { return kernels_[static_cast<std::size_t>(type)]; }

  /// The kernel that moves messages from rank to rank.
  Function messageKernel() const { return messageKernel_; }

  /// The kernel of compressed collectives.
  Function codedKernel() const { return codedKernel_; }

  /// Memory on the device, zero at first.
  /// @errors OutOfMemory, SystemError.
  Result<Memory> allocate(std::size_t bytes) const;

  /// Memory of the host that all devices see, zero at first.
  /// @errors OutOfMemory, SystemError.
  Result<Memory> allocateOnHost(std::size_t bytes) const;

  /// The same at all processes that see this device.
  const DeviceUuid& uuid() const { return uuid_; }

  /// A name by which other processes of the host can import `memory`, which allocate() gave. They
  /// get the pages that it lies on: give it 2 MiB, or a multiple, to have these for itself.
  /// @errors SystemError: this system has no way.
  Result<IpcHandle> exportMemory(const Memory& memory) const;

  /// Memory of another process, as long as that has not freed it.
  /// @errors SystemError: there is no way to it, or it is this process's.
  Result<Memory> importMemory(const IpcHandle& handle, std::size_t bytes) const;

  /// Memory of the host, which others may have mapped, too.
  /// @param memory whole pages that nothing else has to do with
  /// @errors OutOfMemory, SystemError.
  Result<Memory> mapHostMemory(void* memory, std::size_t bytes) const;

  /// Memory on the device that holds a copy of `bytes` bytes.
  Result<Memory> copyOf(const void* data, std::size_t bytes) const;

  /// What went before is there when it returns.
  Status copyIn(const Memory& to, const void* from, std::size_t bytes) const;

  /// Lets kernels of this device use memory of another one, which is open in this process.
  /// @return false if the hardware has no way.
  /// @errors SystemError.
  Result<bool> reach(int ordinal) const;

 private:
  friend class Memory;

  Device(const Driver& driver, int ordinal) : driver_(driver), ordinal_(ordinal) {}

  Status start();
  Status loadKernels();
  Status loadKernel(std::span<const std::byte> image, const std::string& entry, Function& to);
  Result<Module> moduleOf(std::span<const std::byte> image);
  int undo(const Memory& memory) const;
  Status copyOut(void* to, const Memory& from, std::size_t bytes) const;

  const Driver& driver_;
  int ordinal_;
  int handle_ = 0;
  std::string name_;
  DeviceUuid uuid_{};
  Context context_ = nullptr;
  int multiprocessors_ = 0;
  std::map<const std::byte*, Module> modules_;  // by image
  Stream copies_ = nullptr;                     // so that copies wait for nobody's kernels
  std::array<Function, kDataTypeCount> kernels_{};
  Function messageKernel_ = nullptr;
  Function codedKernel_ = nullptr;
};

}  // namespace rondo::cuda
