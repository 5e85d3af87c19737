#include "transports/shm/arena.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/net/errno_text.h"
#include "transports/pages.h"

namespace rondo::shm {

namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Status systemFailure(const char* call, const char* check) {
  const int error = errno;
  return Status::systemError("shared memory: {} failed: {}; {}", call, errnoText(error), check);
}

Result<std::byte*> mapWhole(const FileDescriptor& file, std::size_t bytes) {
  void* data =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
  if (data == MAP_FAILED) {
    return systemFailure("mmap", "check the limits on address space (ulimit -v)");
  }
  return static_cast<std::byte*>(data);
}

}  // namespace

Arena::Arena(FileDescriptor file, std::byte* data, std::size_t bytes)
    : file_(std::move(file)), data_(data), bytes_(bytes) {}

Arena::Arena(Arena&& other) noexcept
    : file_(std::move(other.file_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Arena::~Arena() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Result<Arena> Arena::create(std::size_t bytes) {
  const std::size_t size = wholePages(bytes);
  FileDescriptor file(::memfd_create("rondo", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid()) {
    return systemFailure("memfd_create", "check the limit on open files (ulimit -n)");
  }
  if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0) {
    return systemFailure("ftruncate", "check the limit on file size (ulimit -f)");
  }
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
    return systemFailure("fcntl(F_ADD_SEALS)", "this kernel does not seal memory files");
  }
  return map(std::move(file));
}

Result<Arena> Arena::map(FileDescriptor file) {
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) {
    return Status::systemError("shared memory: the file received is not a sealed memory file");
  }

  struct stat info {};

  if (::fstat(file.get(), &info) != 0) return systemFailure("fstat", "the file is not usable");
  const auto bytes = static_cast<std::size_t>(info.st_size);
  Result<std::byte*> data = mapWhole(file, bytes);
  if (!data.ok()) return std::move(data).status();
  return Arena(std::move(file), *data, bytes);
}

Status Arena::reserve(std::size_t offset, std::size_t bytes) {
  int failed = 0;
  do {
    failed = ::fallocate(file_.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (failed != 0 && errno == EINTR);
  if (failed == 0) return {};
  const int error = errno;
  return Status::outOfMemory(
      "shared memory: no room for {} more bytes: {}; free memory, raise the memory limit of the "
      "container, or make slots fewer or smaller (RONDO_SLOTS_PER_CONNECTION, RONDO_CHUNK_BYTES)",
      bytes, errnoText(error));
}

}  // namespace rondo::shm
