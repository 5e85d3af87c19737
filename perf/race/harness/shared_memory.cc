#include "perf/race/harness/shared_memory.h"

#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perf/race/harness/failure.h"

namespace rondo::race {

SharedMemoryName SharedMemory::make(std::size_t bytes) {
  const int descriptor = ::memfd_create("rondo race", MFD_CLOEXEC);
  if (descriptor < 0) failSystem("memfd_create");
  if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) failSystem("ftruncate");
  return {::getpid(), descriptor};
}

SharedMemory::SharedMemory(SharedMemoryName name, std::size_t bytes) : bytes_(bytes) {
  const std::string path =
      "/proc/" + std::to_string(name.maker) + "/fd/" + std::to_string(name.descriptor);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) failSystem("open " + path);
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) failSystem("mmap of shared memory");
  ::close(descriptor);
  data_ = static_cast<std::byte*>(address);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace rondo::race
