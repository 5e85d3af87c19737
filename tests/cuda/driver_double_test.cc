// The driver double itself: memory between processes, registered memory of the host, names of
// devices, and what it refuses as the driver does. No kernels; those are in
// device_communicator_test.cc.
//
// Every body runs in a process of its own, because the driver cannot be used on both sides of a
// fork().
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/cuda/driver.h"
#include "tests/cuda/driver_double/controls.h"
#include "tests/cuda/driver_double/driver_results.h"
#include "transports/pages.h"

namespace rondo::testing {
namespace {

using cuda::DevicePointer;
using cuda::DeviceUuid;
using cuda::Driver;
using cuda::IpcHandle;
using cuda::kSuccess;

const Driver& driver() {
  return **cuda::systemDriver();
}

/// Makes a device current in the calling thread.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    cuda::Context context = nullptr;
    EXPECT_EQ(driver().primaryContextRetain(&context, device), kSuccess);
    EXPECT_EQ(driver().contextPush(context), kSuccess);
  }

  ~OnDevice() {
    cuda::Context context = nullptr;
    EXPECT_EQ(driver().contextPop(&context), kSuccess);
  }

  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  OnDevice(OnDevice&&) = delete;
  OnDevice& operator=(OnDevice&&) = delete;
};

/// One end of what two processes say to each other.
class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}

  template <class Value>
  void send(const Value& value) const {
    EXPECT_EQ(::send(socket_, &value, sizeof value, MSG_NOSIGNAL), ssize_t{sizeof value});
  }

  template <class Value>
  Value receive() const {
    Value value{};
    EXPECT_EQ(::recv(socket_, &value, sizeof value, MSG_WAITALL), ssize_t{sizeof value});
    return value;
  }

  /// The other process has come as far as its call of meet().
  void meet() const {
    send('m');
    EXPECT_EQ(receive<char>(), 'm');
  }

  void awaitEnd() const {
    char byte = 0;
    EXPECT_EQ(::recv(socket_, &byte, 1, 0), 0);
  }

 private:
  int socket_;
};

using Body = std::function<void()>;
using PairBody = std::function<void(const Channel&)>;

pid_t start(const Body& body) {
  const pid_t process = ::fork();
  if (process != 0) return process;
  constexpr unsigned kDeadlineSeconds = 30;
  ::alarm(kDeadlineSeconds);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit noCore{0, 0};
  ::setrlimit(RLIMIT_CORE, &noCore);
  body();
  std::fflush(nullptr);
  ::_exit(::testing::Test::HasFailure() ? 1 : 0);
}

/// @return 0 if all was well, the number of the signal that ended it, or -1
int endOf(pid_t process) {
  int status = 0;
  EXPECT_EQ(::waitpid(process, &status, 0), process);
  if (WIFSIGNALED(status)) return WTERMSIG(status);
  return WEXITSTATUS(status) == 0 ? 0 : -1;
}

void inOneProcess(const Body& body) {
  EXPECT_EQ(endOf(start(body)), 0);
}

struct Ends {
  int owner;
  int opener;
};

Ends inTwoProcesses(const PairBody& owner, const PairBody& opener) {
  int sockets[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  const auto run = [&](const PairBody& body, int own, int other) {
    return start([&, own, other] {
      ::close(sockets[other]);
      body(Channel(sockets[own]));
    });
  };
  const pid_t first = run(owner, 0, 1);
  const pid_t second = run(opener, 1, 0);
  ::close(sockets[0]);
  ::close(sockets[1]);
  return {endOf(first), endOf(second)};
}

void expectBothWell(const PairBody& owner, const PairBody& opener) {
  const Ends ends = inTwoProcesses(owner, opener);
  EXPECT_EQ(ends.owner, 0);
  EXPECT_EQ(ends.opener, 0);
}

DevicePointer allocate(std::size_t bytes) {
  DevicePointer memory = 0;
  EXPECT_EQ(driver().memoryAllocate(&memory, bytes), kSuccess);
  return memory;
}

/// The host may look into emulated memory.
unsigned char* bytesAt(DevicePointer memory) {
  return reinterpret_cast<unsigned char*>(memory);
}

IpcHandle handleOf(DevicePointer memory) {
  IpcHandle handle{};
  EXPECT_EQ(driver().ipcHandle(&handle, memory), kSuccess);
  return handle;
}

DevicePointer open(const IpcHandle& handle) {
  DevicePointer memory = 0;
  EXPECT_EQ(driver().ipcOpen(&memory, handle, cuda::kIpcLazyPeerAccess), kSuccess);
  return memory;
}

/// What an attempt to open gives that must not succeed.
int refusalOf(const IpcHandle& handle) {
  DevicePointer memory = 0;
  const int result = driver().ipcOpen(&memory, handle, cuda::kIpcLazyPeerAccess);
  EXPECT_EQ(memory, 0U);
  return result;
}

/// Shares memory of a device and frees it when the other process says that it has done its part.
PairBody ownerOn(int device) {
  return [device](const Channel& other) {
    const OnDevice on(device);
    const DevicePointer memory = allocate(1000);
    other.send(handleOf(memory));
    other.meet();
    EXPECT_EQ(driver().memoryFree(memory), kSuccess);
    EXPECT_EQ(rondoDoubleObjects(), 0);
  };
}

TEST(SharedMemoryOfTheDriverDouble, IsReadAndWrittenByBoth) {
  constexpr std::size_t kBytes = 10001;
  expectBothWell(
      [](const Channel& other) {
        const OnDevice on(0);
        const DevicePointer memory = allocate(kBytes);
        EXPECT_EQ(memory % 256, 0U);
        EXPECT_EQ(bytesAt(memory)[0], 0xa5);
        bytesAt(memory)[kBytes - 1] = 42;
        other.send(handleOf(memory));
        other.meet();
        EXPECT_EQ(bytesAt(memory)[0], 43);
        other.meet();
        EXPECT_EQ(driver().memoryFree(memory), kSuccess);
        EXPECT_EQ(rondoDoubleObjects(), 0);
      },
      [](const Channel& other) {
        const OnDevice on(1);
        const DevicePointer memory = open(other.receive<IpcHandle>());
        EXPECT_EQ(rondoDoubleObjects(), 1);
        EXPECT_EQ(bytesAt(memory)[1], 0xa5);
        EXPECT_EQ(bytesAt(memory)[kBytes - 1], 42);
        bytesAt(memory)[0] = 43;
        other.meet();
        EXPECT_EQ(driver().ipcClose(memory), kSuccess);
        EXPECT_EQ(rondoDoubleObjects(), 0);
        other.meet();
      });
}

TEST(SharedMemoryOfTheDriverDouble, IsNotOpenedByItsOwner) {
  inOneProcess([] {
    const OnDevice on(0);
    const DevicePointer memory = allocate(8);
    EXPECT_EQ(refusalOf(handleOf(memory)), kInvalidContext);
    EXPECT_EQ(driver().memoryFree(memory), kSuccess);
  });
}

TEST(SharedMemoryOfTheDriverDouble, IsMappedOncePerContext) {
  expectBothWell(ownerOn(0), [](const Channel& other) {
    const auto handle = other.receive<IpcHandle>();
    const OnDevice on(0);
    const DevicePointer first = open(handle);
    EXPECT_EQ(open(handle), first);
    EXPECT_EQ(driver().ipcClose(first), kSuccess);
    {
      const OnDevice elsewhere(1);
      const DevicePointer second = open(handle);
      EXPECT_NE(first, second);
      bytesAt(first)[7] = 9;
      EXPECT_EQ(bytesAt(second)[7], 9);
      EXPECT_EQ(driver().ipcClose(second), kSuccess);
    }
    EXPECT_EQ(driver().ipcClose(first), kSuccess);
    const DevicePointer again = open(handle);
    EXPECT_EQ(driver().ipcClose(again), kSuccess);
    other.meet();
  });
}

TEST(SharedMemoryOfTheDriverDouble, IsOpenedWhileItIsThere) {
  expectBothWell(
      [](const Channel& other) {
        const OnDevice on(0);
        const DevicePointer freed = allocate(100);
        const IpcHandle ofFreed = handleOf(freed);
        EXPECT_EQ(driver().memoryFree(freed), kSuccess);
        other.send(ofFreed);
        other.send(handleOf(allocate(100)));
        other.meet();
      },
      [](const Channel& other) {
        const OnDevice on(0);
        EXPECT_EQ(refusalOf(other.receive<IpcHandle>()), kInvalidHandle);
        const auto handle = other.receive<IpcHandle>();
        const DevicePointer memory = open(handle);
        other.meet();
        other.awaitEnd();
        bytesAt(memory)[0] = 1;  // as long as it is open
        {
          const OnDevice elsewhere(1);
          EXPECT_EQ(refusalOf(handle), kInvalidHandle);
        }
        EXPECT_EQ(driver().ipcClose(memory), kSuccess);
        EXPECT_EQ(refusalOf(handle), kInvalidHandle);
        EXPECT_EQ(rondoDoubleObjects(), 0);
      });
}

TEST(SharedMemoryOfTheDriverDouble, NeedsARightHandleFlagAndContext) {
  expectBothWell(ownerOn(0), [](const Channel& other) {
    const auto handle = other.receive<IpcHandle>();
    EXPECT_EQ(refusalOf(handle), kInvalidContext);
    const OnDevice on(0);
    EXPECT_EQ(refusalOf(IpcHandle{}), kInvalidHandle);
    DevicePointer memory = 0;
    EXPECT_EQ(driver().ipcOpen(&memory, handle, 0), kInvalidValue);
    EXPECT_EQ(rondoDoubleObjects(), 0);
    other.meet();
  });
}

TEST(SharedMemoryOfTheDriverDouble, IsClosedByWhoOpenedIt) {
  expectBothWell(ownerOn(0), [](const Channel& other) {
    const OnDevice on(0);
    const DevicePointer memory = open(other.receive<IpcHandle>());
    const DevicePointer own = allocate(8);
    EXPECT_EQ(driver().memoryFree(memory), kInvalidValue);
    EXPECT_EQ(driver().ipcClose(own), kInvalidValue);
    EXPECT_EQ(driver().ipcClose(memory + 8), kInvalidValue);
    {
      const OnDevice elsewhere(1);
      EXPECT_EQ(driver().ipcClose(memory), kInvalidContext);
    }
    EXPECT_EQ(driver().ipcClose(memory), kSuccess);
    EXPECT_EQ(driver().ipcClose(memory), kInvalidValue);
    EXPECT_EQ(driver().memoryFree(own), kSuccess);
    other.meet();
  });
}

TEST(SharedMemoryOfTheDriverDouble, IsWholeAllocationsOfThisProcess) {
  expectBothWell(ownerOn(0), [](const Channel& other) {
    const OnDevice on(0);
    const DevicePointer opened = open(other.receive<IpcHandle>());
    const DevicePointer own = allocate(1000);
    void* pinned = nullptr;
    EXPECT_EQ(driver().hostAllocate(&pinned, 8, cuda::kHostMapped), kSuccess);
    IpcHandle handle{};
    EXPECT_EQ(driver().ipcHandle(&handle, opened), kInvalidValue);
    EXPECT_EQ(driver().ipcHandle(&handle, own + 256), kInvalidValue);
    EXPECT_EQ(driver().ipcHandle(&handle, reinterpret_cast<DevicePointer>(pinned)), kInvalidValue);
    EXPECT_EQ(driver().memoryFree(reinterpret_cast<DevicePointer>(pinned)), kInvalidValue);
    EXPECT_EQ(driver().hostFree(pinned), kSuccess);
    EXPECT_EQ(driver().ipcClose(opened), kSuccess);
    EXPECT_EQ(driver().memoryFree(own), kSuccess);
    other.meet();
  });
}

TEST(SharedMemoryOfTheDriverDouble, EndsTheProcessThatFreesItTooEarly) {
  const Ends ends = inTwoProcesses(ownerOn(0), [](const Channel& other) {
    const OnDevice on(0);
    open(other.receive<IpcHandle>());
    other.meet();
    other.awaitEnd();
  });
  EXPECT_EQ(ends.owner, SIGABRT);
  EXPECT_EQ(ends.opener, 0);
}

TEST(SharedMemoryOfTheDriverDouble, IsOpenWhileOneContextHasIt) {
  const Ends ends = inTwoProcesses(ownerOn(0), [](const Channel& other) {
    const auto handle = other.receive<IpcHandle>();
    const OnDevice on(0);
    open(handle);
    {
      const OnDevice elsewhere(1);
      EXPECT_EQ(driver().ipcClose(open(handle)), kSuccess);
    }
    other.meet();
    other.awaitEnd();
  });
  EXPECT_EQ(ends.owner, SIGABRT);
  EXPECT_EQ(ends.opener, 0);
}

TEST(SharedMemoryOfTheDriverDouble, IsNotOpenInAProcessThatWasKilled) {
  const Ends ends = inTwoProcesses(
      [](const Channel& other) {
        const OnDevice on(0);
        const DevicePointer memory = allocate(8);
        other.send(handleOf(memory));
        other.awaitEnd();
        EXPECT_EQ(driver().memoryFree(memory), kSuccess);
      },
      [](const Channel& other) {
        const OnDevice on(0);
        open(other.receive<IpcHandle>());
        ::raise(SIGKILL);
      });
  EXPECT_EQ(ends.owner, 0);
  EXPECT_EQ(ends.opener, SIGKILL);
}

/// What cuPointerGetAttribute says of an address.
template <class Value>
Value attributeOf(DevicePointer address, int attribute) {
  Value value{};
  EXPECT_EQ(driver().pointerAttribute(&value, attribute, address), kSuccess);
  return value;
}

TEST(SharedMemoryOfTheDriverDouble, IsMemoryOfADevice) {
  expectBothWell(ownerOn(2), [](const Channel& other) {
    const OnDevice on(1);
    const DevicePointer memory = open(other.receive<IpcHandle>());
    EXPECT_EQ(attributeOf<unsigned>(memory + 999, cuda::kPointerMemoryType),
              cuda::kMemoryTypeDevice);
    EXPECT_EQ(attributeOf<int>(memory, cuda::kPointerDeviceOrdinal), 2);
    EXPECT_EQ(driver().ipcClose(memory), kSuccess);
    unsigned kind = 0;
    EXPECT_EQ(driver().pointerAttribute(&kind, cuda::kPointerMemoryType, memory), kInvalidValue);
    other.meet();
  });
}

TEST(SharedMemoryOfTheDriverDouble, MayBeOnADeviceThatIsNotSeen) {
  expectBothWell(ownerOn(2), [](const Channel& other) {
    ::setenv("RONDOTEST_FIRST_GPU", "4", 1);
    const OnDevice on(1);
    const DevicePointer memory = open(other.receive<IpcHandle>());
    EXPECT_EQ(attributeOf<int>(memory, cuda::kPointerDeviceOrdinal), 1);
    EXPECT_EQ(driver().ipcClose(memory), kSuccess);
    other.meet();
  });
}

TEST(SharedMemoryOfTheDriverDouble, NeedsPeerAccessBetweenDevices) {
  expectBothWell(ownerOn(2), [](const Channel& other) {
    ::setenv("RONDOTEST_NO_PEER_ACCESS", "1", 1);
    const auto handle = other.receive<IpcHandle>();
    int can = 1;
    EXPECT_EQ(driver().canAccessPeer(&can, 0, 2), kSuccess);
    EXPECT_EQ(can, 0);
    {
      const OnDevice on(0);
      EXPECT_EQ(refusalOf(handle), kPeerAccessUnsupported);
    }
    const OnDevice on(2);
    EXPECT_EQ(driver().ipcClose(open(handle)), kSuccess);
    other.meet();
  });
}

TEST(SharedMemoryOfTheDriverDouble, TakesFewDescriptors) {
  constexpr std::size_t kAllocations = 500;
  const auto withFewDescriptors = [](const PairBody& body) {
    return [body](const Channel& other) {
      const rlimit limit{32, 32};
      ::setrlimit(RLIMIT_NOFILE, &limit);
      const OnDevice on(0);
      body(other);
      EXPECT_EQ(rondoDoubleObjects(), 0);
    };
  };
  expectBothWell(withFewDescriptors([](const Channel& other) {
                   std::vector<DevicePointer> all(kAllocations);
                   for (DevicePointer& memory : all) {
                     memory = allocate(8);
                     other.send(handleOf(memory));
                   }
                   other.meet();
                   for (const DevicePointer memory : all)
                     EXPECT_EQ(driver().memoryFree(memory), kSuccess);
                 }),
                 withFewDescriptors([](const Channel& other) {
                   std::vector<DevicePointer> all(kAllocations);
                   for (DevicePointer& memory : all)
                     memory = open(other.receive<IpcHandle>());
                   for (const DevicePointer memory : all)
                     EXPECT_EQ(driver().ipcClose(memory), kSuccess);
                   other.meet();
                 }));
}

/// Four pages of memory that nobody else uses.
class Pages {
 public:
  Pages()
      : memory_(::mmap(
            nullptr, 4 * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}

  ~Pages() { ::munmap(memory_, 4 * kPageBytes); }

  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  Pages(Pages&&) = delete;
  Pages& operator=(Pages&&) = delete;

  std::byte* at(std::size_t offset) const { return static_cast<std::byte*>(memory_) + offset; }

 private:
  void* memory_;
};

int registerMapped(void* memory, std::size_t bytes) {
  return driver().hostRegister(memory, bytes, cuda::kHostMapped);
}

TEST(RegisteredMemoryOfTheDriverDouble, HasPagesOfItsOwn) {
  inOneProcess([] {
    const OnDevice on(0);
    const Pages pages;
    EXPECT_EQ(registerMapped(pages.at(kPageBytes + 100), kPageBytes), kSuccess);  // pages 1 and 2
    EXPECT_EQ(rondoDoubleObjects(), 1);
    constexpr int kTaken = cuda::kHostMemoryAlreadyRegistered;
    EXPECT_EQ(registerMapped(pages.at(kPageBytes + 100), kPageBytes), kTaken);
    EXPECT_EQ(registerMapped(pages.at(0), 4 * kPageBytes), kTaken);
    EXPECT_EQ(registerMapped(pages.at(kPageBytes + 200), 8), kTaken);
    EXPECT_EQ(registerMapped(pages.at(kPageBytes), 8), kTaken);
    EXPECT_EQ(registerMapped(pages.at(3 * kPageBytes - 8), 8), kTaken);
    EXPECT_EQ(registerMapped(pages.at(0), kPageBytes), kSuccess);
    EXPECT_EQ(registerMapped(pages.at(3 * kPageBytes), 8), kSuccess);
    EXPECT_EQ(rondoDoubleObjects(), 3);
  });
}

TEST(RegisteredMemoryOfTheDriverDouble, IsUnregisteredWhereItBegins) {
  inOneProcess([] {
    const OnDevice on(0);
    const Pages pages;
    EXPECT_EQ(driver().hostUnregister(pages.at(0)), kHostMemoryNotRegistered);
    EXPECT_EQ(registerMapped(pages.at(0), 100), kSuccess);
    EXPECT_EQ(driver().hostUnregister(pages.at(8)), kHostMemoryNotRegistered);
    EXPECT_EQ(driver().hostFree(pages.at(0)), kInvalidValue);
    EXPECT_EQ(driver().hostUnregister(pages.at(0)), kSuccess);
    EXPECT_EQ(driver().hostUnregister(pages.at(0)), kHostMemoryNotRegistered);
    EXPECT_EQ(registerMapped(pages.at(0), 100), kSuccess);
    EXPECT_EQ(driver().hostUnregister(pages.at(0)), kSuccess);
    EXPECT_EQ(rondoDoubleObjects(), 0);
  });
}

TEST(RegisteredMemoryOfTheDriverDouble, IsMemoryOfTheHostThatIsThere) {
  inOneProcess([] {
    const OnDevice on(0);
    const Pages pages;
    EXPECT_EQ(registerMapped(nullptr, 8), kInvalidValue);
    EXPECT_EQ(registerMapped(pages.at(0), 0), kInvalidValue);
    const DevicePointer device = allocate(8);
    EXPECT_EQ(registerMapped(bytesAt(device), 8), kInvalidValue);
    void* pinned = nullptr;
    EXPECT_EQ(driver().hostAllocate(&pinned, 8, 0), kSuccess);
    EXPECT_EQ(registerMapped(pinned, 8), cuda::kHostMemoryAlreadyRegistered);
    ::munmap(pages.at(kPageBytes), kPageBytes);
    EXPECT_EQ(registerMapped(pages.at(0), 2 * kPageBytes), kInvalidValue);
    EXPECT_EQ(registerMapped(pages.at(0), kPageBytes), kSuccess);
    const auto address = reinterpret_cast<DevicePointer>(pages.at(8));
    EXPECT_EQ(attributeOf<unsigned>(address, cuda::kPointerMemoryType), cuda::kMemoryTypeHost);
  });
}

TEST(RegisteredMemoryOfTheDriverDouble, HasADevicePointerWhereItIsMapped) {
  inOneProcess([] {
    const OnDevice on(0);
    const Pages pages;
    const auto devicePointerOf = [](void* memory) {
      DevicePointer pointer = 0;
      const int result = driver().hostDevicePointer(&pointer, memory, 0);
      EXPECT_EQ(pointer, result == kSuccess ? reinterpret_cast<DevicePointer>(memory) : 0);
      return result;
    };
    EXPECT_EQ(devicePointerOf(pages.at(0)), kInvalidValue);
    EXPECT_EQ(driver().hostRegister(pages.at(0), 8, cuda::kHostPortable), kSuccess);
    EXPECT_EQ(devicePointerOf(pages.at(0)), kInvalidValue);
    EXPECT_EQ(registerMapped(pages.at(kPageBytes), 8), kSuccess);
    EXPECT_EQ(devicePointerOf(pages.at(kPageBytes + 4)), kSuccess);
    EXPECT_EQ(devicePointerOf(pages.at(kPageBytes + 8)), kInvalidValue);
    EXPECT_EQ(
        driver().hostRegister(pages.at(2 * kPageBytes), 8, cuda::kHostMapped | cuda::kHostPortable),
        kSuccess);
    void* pinned = nullptr;
    EXPECT_EQ(driver().hostAllocate(&pinned, 8, cuda::kHostMapped), kSuccess);
    const OnDevice elsewhere(1);
    EXPECT_EQ(devicePointerOf(pages.at(kPageBytes)), kInvalidValue);
    EXPECT_EQ(devicePointerOf(pages.at(2 * kPageBytes)), kSuccess);
    EXPECT_EQ(devicePointerOf(pinned), kSuccess);
  });
}

DeviceUuid uuidOf(int device) {
  DeviceUuid uuid{};
  EXPECT_EQ(driver().deviceUuid(&uuid, device), kSuccess);
  return uuid;
}

TEST(DevicesOfTheDriverDouble, HaveTheSameNamesInAllProcesses) {
  expectBothWell(
      [](const Channel& other) {
        for (int device = 0; device < 8; ++device)
          other.send(uuidOf(device));
        EXPECT_NE(uuidOf(0), uuidOf(1));
        DeviceUuid uuid{};
        EXPECT_EQ(driver().deviceUuid(&uuid, 8), cuda::kInvalidDevice);
      },
      [](const Channel& other) {
        ::setenv("RONDOTEST_FIRST_GPU", "6", 1);
        ::setenv("RONDOTEST_GPUS", "3", 1);
        std::array<DeviceUuid, 8> all{};
        for (DeviceUuid& uuid : all)
          uuid = other.receive<DeviceUuid>();
        EXPECT_EQ(uuidOf(0), all[6]);
        EXPECT_EQ(uuidOf(1), all[7]);
        for (const DeviceUuid& uuid : all)
          EXPECT_NE(uuidOf(2), uuid);
      });
}

TEST(DriverDouble, FailsTheCallThatTheEnvironmentNames) {
  inOneProcess([] {
    ::setenv("RONDOTEST_FAIL_CALL", "cuMemAlloc_v2:2:2", 1);
    const OnDevice on(0);
    allocate(8);
    DevicePointer memory = 0;
    EXPECT_EQ(driver().memoryAllocate(&memory, 8), cuda::kOutOfMemory);
    allocate(8);
    EXPECT_EQ(rondoDoubleObjects(), 2);
  });
}

std::ptrdiff_t threadsOfThisProcess() {
  const auto threads = std::filesystem::directory_iterator("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

TEST(DriverDouble, MayBeLoadedAndToldWhatToDoBeforeAFork) {
  inOneProcess([] {
    const std::ptrdiff_t threads = threadsOfThisProcess();
    rondoDoubleFailCall("cuMemAlloc_v2", 1, cuda::kOutOfMemory);
    EXPECT_EQ(rondoDoubleObjects(), 0);
    EXPECT_EQ(threadsOfThisProcess(), threads);
    inOneProcess([] {
      const OnDevice on(0);
      DevicePointer memory = 0;
      EXPECT_EQ(driver().memoryAllocate(&memory, 8), cuda::kOutOfMemory);
      memory = allocate(8);
      EXPECT_EQ(driver().memorySet(memory, 7, 8, nullptr), kSuccess);
      EXPECT_EQ(driver().streamSynchronize(nullptr), kSuccess);
      EXPECT_EQ(bytesAt(memory)[7], 7);
    });
  });
}

TEST(DriverDouble, WorksOnOneSideOfAForkOnly) {
  inOneProcess([] {
    const OnDevice on(0);
    inOneProcess([] {
      DevicePointer memory = 0;
      EXPECT_EQ(driver().init(0), kNotInitialized);
      EXPECT_EQ(driver().memoryAllocate(&memory, 8), kNotInitialized);
    });
    allocate(8);
  });
}

}  // namespace
}  // namespace rondo::testing
