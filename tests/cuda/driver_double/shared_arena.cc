#include "tests/cuda/driver_double/shared_arena.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transports/pages.h"

namespace rondo::testing {

namespace {

/// In front of each allocation.
constexpr std::size_t kHeaderBytes = kPageBytes;

std::size_t mappedBytes(const SharedRange& range) {
  return kHeaderBytes + wholePages(range.bytes);
}

std::uint64_t newId() {
  std::uint64_t id = 0;
  if (::getrandom(&id, sizeof id, 0) != sizeof id) std::abort();
  return id;
}

struct flock lockOf(const SharedRange& range, int kind) {
  struct flock lock {};

  lock.l_type = static_cast<short>(kind);
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(range.offset);
  lock.l_len = 1;
  return lock;
}

/// @return false if another process has a lock that excludes this one
bool setLock(int file, const SharedRange& range, int kind) {
  struct flock lock = lockOf(range, kind);
  return ::fcntl(file, F_SETLK, &lock) == 0;
}

/// The process that has the range open; 0 if none has.
pid_t openerOf(int file, const SharedRange& range) {
  struct flock lock = lockOf(range, F_WRLCK);
  if (::fcntl(file, F_GETLK, &lock) != 0) std::abort();
  return lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}

/// Whether a process is there and is not about to end: one that ends keeps its locks for a moment
/// after others can know that it does.
bool lives(pid_t process) {
  constexpr unsigned kExiting = 4;  // PF_EXITING of the kernel
  std::ifstream stream("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const std::size_t name = text.rfind(')');  // the only field that may hold spaces
  if (name == std::string::npos) return false;
  char state = 0;
  unsigned flags = 0;
  const char* const fields = text.c_str() + name + 1;
  if (std::sscanf(fields, " %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2) return false;
  return state != 'Z' && state != 'X' && (flags & kExiting) == 0;
}

/// Waits while processes that end have the range open, and takes it.
void takeFromOpeners(int file, const SharedRange& range) {
  while (!setLock(file, range, F_WRLCK)) {
    const pid_t opener = openerOf(file, range);
    if (opener != 0 && lives(opener)) {
      std::fprintf(stderr,
                   "driver double: process %d frees %llu bytes of device memory that process %d "
                   "has open\n",
                   static_cast<int>(::getpid()), static_cast<unsigned long long>(range.bytes),
                   static_cast<int>(opener));
      std::abort();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

std::shared_ptr<const ArenaFile> openedFile(
    const std::string& path, const std::vector<std::shared_ptr<const ArenaFile>>& known) {
  for (const auto& file : known) {
    if (file->isAt(path.c_str())) return file;
  }

  // Another process may have the number of one that has ended, and anything at its descriptor.
  struct stat status {};

  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  return descriptor < 0 ? nullptr : std::make_shared<const ArenaFile>(descriptor);
}

bool reaches(const ArenaFile& file, const SharedRange& range) {
  struct stat status {};

  return ::fstat(file.descriptor(), &status) == 0 &&
         static_cast<std::uint64_t>(status.st_size) >= range.offset + mappedBytes(range);
}

/// Memory of `range`, which begins with its id if that is right.
SharedMemory mapShared(const SharedRange& range, std::shared_ptr<const ArenaFile> file) {
  Mapping mapping(file->descriptor(), range.offset, mappedBytes(range));
  return {range, std::move(mapping), std::move(file)};
}

bool holdsId(const SharedMemory& memory) {
  return memory.mapping.data() != nullptr &&
         std::memcmp(memory.mapping.data(), &memory.range.id, sizeof memory.range.id) == 0;
}

}  // namespace

Mapping::Mapping(int file, std::uint64_t offset, std::size_t bytes) : bytes_(bytes) {
  const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* const mapped =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, static_cast<off_t>(offset));
  if (mapped != MAP_FAILED) data_ = static_cast<std::byte*>(mapped);
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

ArenaFile::ArenaFile(int descriptor) : descriptor_(descriptor) {}

ArenaFile::~ArenaFile() {
  ::close(descriptor_);
}

bool ArenaFile::isAt(const char* path) const {
  struct stat own {};

  struct stat there {};

  return ::fstat(descriptor_, &own) == 0 && ::stat(path, &there) == 0 &&
         own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

std::byte* SharedMemory::data() const {
  return mapping.data() + kHeaderBytes;
}

std::optional<SharedMemory> SharedArena::allocate(std::size_t bytes) {
  SharedRange range{.process = ::getpid(), .file = -1, .offset = 0, .bytes = bytes, .id = newId()};
  const std::scoped_lock lock(mutex_);
  if (!grow(range)) return std::nullopt;
  SharedMemory memory = mapShared(range, file_);
  if (memory.mapping.data() == nullptr) return std::nullopt;
  std::memcpy(memory.mapping.data(), &range.id, sizeof range.id);
  return memory;
}

bool SharedArena::grow(SharedRange& range) {
  if (file_ == nullptr) {
    const int descriptor = ::memfd_create("emulated GPUs", MFD_CLOEXEC);
    if (descriptor < 0) return false;
    file_ = std::make_shared<const ArenaFile>(descriptor);
  }
  range.file = file_->descriptor();
  range.offset = end_;
  const std::uint64_t end = end_ + mappedBytes(range);
  if (::ftruncate(range.file, static_cast<off_t>(end)) != 0) return false;
  end_ = end;
  return true;
}

void SharedArena::release(SharedMemory memory) {
  const int file = memory.file->descriptor();
  takeFromOpeners(file, memory.range);
  // Takes the id away, too: nobody can open it any more.
  (void)::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(memory.range.offset),
                    static_cast<off_t>(mappedBytes(memory.range)));
  setLock(file, memory.range, F_UNLCK);
}

std::optional<SharedMemory> openShared(const SharedRange& range,
                                       const std::vector<std::shared_ptr<const ArenaFile>>& known) {
  const std::string path =
      "/proc/" + std::to_string(range.process) + "/fd/" + std::to_string(range.file);
  auto file = openedFile(path, known);
  if (file == nullptr || !reaches(*file, range)) return std::nullopt;
  if (!setLock(file->descriptor(), range, F_RDLCK)) return std::nullopt;  // is being freed
  SharedMemory memory = mapShared(range, std::move(file));
  if (holdsId(memory)) return memory;
  unlockShared(memory);
  return std::nullopt;
}

void unlockShared(const SharedMemory& memory) {
  setLock(memory.file->descriptor(), memory.range, F_UNLCK);
}

}  // namespace rondo::testing
