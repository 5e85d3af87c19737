#include "transports/shm/arena.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

/// Why there is no memory file, and what helps: limits of the process run out, sandboxes refuse.
Status noMemoryFile(std::size_t bytes) {
  const int error = errno;
  const bool outOfFiles = error == EMFILE || error == ENFILE;
  return Status::systemError(
      "shared memory: {} bytes wanted, but memfd_create failed: {}; {}", bytes, errnoText(error),
      outOfFiles ? "raise the limit on open files (ulimit -n)"
                 : "allow that call in the container's seccomp profile, or do without shared "
                   "memory (RONDO_TRANSPORT=tcp)");
}

/// Of x86-64 and of AArch64 with pages of 4 KiB; elsewhere none are found, and none are missed.
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

/// MADV_POPULATE_WRITE (Linux 5.14) and MADV_COLLAPSE (6.1), by number: C libraries are older.
constexpr int kPopulateWrite = 23;
constexpr int kCollapse = 25;

/// Maps the file where huge pages of it can be mapped as such: at a multiple of their size.
Result<std::byte*> mapWhole(const FileDescriptor& file, std::size_t bytes) {
  const Status failure =
      Status::outOfMemory("shared memory: no address space for {} bytes: check ulimit -v", bytes);
  const std::size_t reserved = bytes + kHugePageBytes;
  void* const space = ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (space == MAP_FAILED) return failure;
  auto* const first = static_cast<std::byte*>(space);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(first) % kHugePageBytes;
  const std::size_t skipped = past == 0 ? 0 : kHugePageBytes - past;
  std::byte* const start = first + skipped;
  void* const data = ::mmap(start, bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file.get(), 0);
  if (data == MAP_FAILED) {
    ::munmap(space, reserved);
    return failure;
  }
  if (skipped > 0) ::munmap(first, skipped);
  ::munmap(start + bytes, kHugePageBytes - skipped);
  return start;
}

/// Growing a file beyond the limit would not only fail but end the process by SIGXFSZ.
Status checkFileSizeLimit(std::size_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  if (bytes <= limit.rlim_cur) return {};
  return Status::outOfMemory(
      "shared memory: {} bytes wanted, but this process may not make files larger than {} bytes; "
      "raise the limit (ulimit -f)",
      bytes, limit.rlim_cur);
}

/// A line of /proc/self/smaps like "ShmemPmdMapped:     2048 kB": its kilobytes, if it is `key`'s.
std::size_t kilobytesOf(std::string_view key, const std::string& line) {
  return line.starts_with(key) ? std::stoul(line.substr(key.size())) : 0;
}

}  // namespace

Arena::Arena(FileDescriptor file, std::byte* data, std::size_t bytes)
    : file_(std::move(file)), data_(data), bytes_(bytes) {}

Arena::Arena(Arena&& other) noexcept
    : file_(std::move(other.file_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      askedForHuge_(std::move(other.askedForHuge_)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(askedForHuge_, other.askedForHuge_);
  return *this;
}

Arena::~Arena() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Result<Arena> Arena::create(std::size_t bytes) {
  const std::size_t size = wholePages(bytes);
  FileDescriptor file(::memfd_create("rondo", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid()) return noMemoryFile(size);
  RONDO_RETURN_IF_ERROR(checkFileSizeLimit(size));
  if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0) {
    return systemFailure("ftruncate", "this kernel does not size memory files");
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
  if (failed == 0) {
    mapPages(offset, bytes);
    return {};
  }
  const int error = errno;
  return Status::outOfMemory(
      "shared memory: no room for {} more bytes: {}; free memory, raise the memory limit of the "
      "container, or make slots fewer or smaller (RONDO_SLOTS_PER_CONNECTION, RONDO_CHUNK_BYTES)",
      bytes, errnoText(error));
}

void Arena::mapPages(std::size_t offset, std::size_t bytes) {
  // Collapsing, not MADV_HUGEPAGE, whose pages come only where the administrator's setting for
  // shared memory says so; its default is never. Where it fails pages stay small: slower to touch
  // first, nothing else.
  const std::size_t first = offset / kHugePageBytes * kHugePageBytes;
  const std::size_t end = offset + bytes;
  for (std::size_t page = first; page < end && page + kHugePageBytes <= bytes_;
       page += kHugePageBytes) {
    askForHugePage(page);
  }
  const std::size_t firstPage = offset / kPageBytes * kPageBytes;
  (void)::madvise(data_ + firstPage, wholePages(end) - firstPage, kPopulateWrite);
}

void Arena::askForHugePage(std::size_t page) {
  const std::size_t index = page / kHugePageBytes;
  if (index >= askedForHuge_.size()) askedForHuge_.resize(index + 1);
  // Once: each time the kernel waits for all processors to empty their lists of pages, one process
  // after the other, which took seconds where ranks were many and processors busy.
  if (askedForHuge_[index]) return;
  askedForHuge_[index] = true;
  (void)::madvise(data_ + page, kHugePageBytes, kCollapse);
}

std::size_t Arena::hugePageBytes() const {
  std::ifstream maps("/proc/self/smaps");
  const std::string own = fmt::format("{:x}-", reinterpret_cast<std::uintptr_t>(data_));
  std::string line;
  while (std::getline(maps, line) && !line.starts_with(own)) {
  }
  std::size_t kilobytes = 0;
  while (std::getline(maps, line) && !line.starts_with("VmFlags:")) {
    kilobytes += kilobytesOf("ShmemPmdMapped:", line) + kilobytesOf("FilePmdMapped:", line);
  }
  return kilobytes * 1024;
}

}  // namespace rondo::shm
