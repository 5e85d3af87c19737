// The functions of the driver double; see controls.h.
#include "src/cuda/driver.h"

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "kernels/cuda/device_library.h"
#include "kernels/cuda/launch.h"
#include "tests/cuda/coded_kernel.h"
#include "tests/cuda/driver_double/controls.h"
#include "tests/cuda/driver_double/driver_results.h"
#include "tests/cuda/driver_double/fake_gpu.h"
#include "tests/cuda/driver_double/fake_memory.h"
#include "tests/cuda/emulator/machine.h"
#include "tests/cuda/entry_kernels.h"
#include "tests/cuda/message_kernel.h"

namespace rondo::testing {
namespace {

using namespace rondo::cuda;  // NOLINT(google-build-using-namespace): all of it is spoken here

int numberFrom(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

/// The same in all processes of the host, and in no other host's.
DeviceUuid uuidOf(int gpu) {
  struct Parts {
    std::uint64_t host;
    std::uint64_t gpu;
  };

  std::ifstream stream("/proc/sys/kernel/random/boot_id");
  std::string host;
  stream >> host;
  return std::bit_cast<DeviceUuid>(
      Parts{std::hash<std::string>{}(host), static_cast<std::uint64_t>(gpu)});
}

/// A device: what a context, and the default stream in it, belong to.
struct Gpu {
  Gpu(int number, const DeviceUuid& name) : ordinal(number), uuid(name), defaultStream(number) {}

  int ordinal;
  DeviceUuid uuid;
  FakeStream defaultStream;
};

/// A call that shall fail.
struct Failure {
  /// As RONDOTEST_FAIL_CALL has it.
  static Failure fromEnvironment() {
    const char* text = std::getenv("RONDOTEST_FAIL_CALL");
    if (text == nullptr) return {};
    Failure failure;
    char symbol[64] = {};
    if (std::sscanf(text, "%63[^:]:%d:%d", symbol, &failure.in, &failure.error) != 3) {
      std::fprintf(stderr, "driver double: RONDOTEST_FAIL_CALL=%s is not symbol:nth:error\n", text);
      std::abort();
    }
    failure.symbol = symbol;
    return failure;
  }

  std::string symbol;  // empty: none
  int in = 0;          // 1: the next call of it
  int error = 0;
};

/// All that the double holds.
struct World {
  World() {
    const int first = numberFrom("RONDOTEST_FIRST_GPU", 0);
    for (int ordinal = 0; ordinal < numberFrom("RONDOTEST_GPUS", 8); ++ordinal)
      gpus.push_back(std::make_unique<Gpu>(ordinal, uuidOf(first + ordinal)));
  }

  std::vector<std::unique_ptr<Gpu>> gpus;
  FakeMemory memory;
  std::atomic<int> objects = 0;  // streams and events
  std::atomic<bool> peerAccess = numberFrom("RONDOTEST_NO_PEER_ACCESS", 0) == 0;
  const bool allMemory = numberFrom("RONDOTEST_ALL_MEMORY", 0) != 0;
  const bool blocking = numberFrom("CUDA_LAUNCH_BLOCKING", 0) != 0;
  std::mutex mutex;                                            // guards what follows
  std::map<FakeStream*, std::shared_ptr<FakeStream>> streams;  // others may wait for them
  std::map<std::string, int, std::less<>> calls;
  Failure failure = Failure::fromEnvironment();
  pid_t process = 0;  // that has called cuInit
};

World& world() {
  static World* the = new World;  // never destroyed: threads may still use it
  return *the;
}

thread_local std::vector<Context> contexts;

/// Whether the driver works here: not before cuInit, nor in a child of the process that called it.
/// @param symbol  what is called; cuInit makes it work
bool worksHere(World& all, std::string_view symbol) {
  if (all.process == 0 && symbol == "cuInit") all.process = ::getpid();
  return all.process == ::getpid();
}

/// Counts a call of `symbol`. @return the error that it shall give, or kSuccess
int enter(const char* symbol) {
  World& all = world();
  const std::scoped_lock lock(all.mutex);
  ++all.calls[symbol];
  if (all.failure.symbol == symbol && --all.failure.in == 0)
    return std::exchange(all.failure, {}).error;
  return worksHere(all, symbol) ? kSuccess : kNotInitialized;
}

Gpu* gpuOf(Context context) {
  return reinterpret_cast<Gpu*>(context);
}

Gpu* currentGpu() {
  return contexts.empty() ? nullptr : gpuOf(contexts.back());
}

FakeStream* streamOf(Stream stream) {
  if (stream != nullptr) return reinterpret_cast<FakeStream*>(stream);
  Gpu* gpu = currentGpu();
  return gpu == nullptr ? nullptr : &gpu->defaultStream;
}

void* pointer(DevicePointer address) {
  return reinterpret_cast<void*>(address);
}

/// What a cuda::Function of the double is: takes a copy of a launch's arguments, and gives what its
/// threads run.
using Kernel = std::function<std::function<void()>(const void* arguments)>;

template <class Args>
Kernel kernelOf(void (*body)(const Args& args)) {
  return [body](const void* arguments) {
    return [body, args = *static_cast<const Args*>(arguments)] { body(args); };
  };
}

std::map<std::string, Kernel, std::less<>> allKernels() {
  std::map<std::string, Kernel, std::less<>> kernels;
  for (int type = 0; type < kDataTypeCount; ++type) {
    const auto dataType = static_cast<DataType>(type);
    kernels.emplace(device::entryName(dataType), kernelOf(entryKernel(dataType)));
  }
  kernels.emplace(device::kMessageEntry, kernelOf(messageKernel));
  kernels.emplace(device::kCodedEntry, kernelOf(codedKernel));
  return kernels;
}

/// The kernel of that name; null if there is none.
const Kernel* kernelNamed(std::string_view name) {
  static const auto* const kKernels = new std::map(allKernels());  // threads may still use it
  const auto found = kKernels->find(name);
  return found == kKernels->end() ? nullptr : &found->second;
}

/// The GPU of that name, if this process sees it.
const Gpu* gpuNamed(const DeviceUuid& uuid) {
  for (const auto& gpu : world().gpus) {
    if (gpu->uuid == uuid) return gpu.get();
  }
  return nullptr;
}

/// Maps memory of another process for `gpu`.
int openShared(DevicePointer* memory, const IpcHandle& handle, const Gpu& gpu) {
  const auto contents = HandleContents::of(handle);
  if (!contents.has_value()) return kInvalidHandle;
  const bool near = contents->device == gpu.uuid || world().peerAccess;
  if (!near) return kPeerAccessUnsupported;
  const Gpu* home = gpuNamed(contents->device);
  void* opened = nullptr;
  const int result = world().memory.open(
      &opened, contents->range, home == nullptr ? gpu.ordinal : home->ordinal, gpu.ordinal);
  if (result == kSuccess) *memory = reinterpret_cast<DevicePointer>(opened);
  return result;
}

int launch(std::function<void()> body, emulator::Launch launch, FakeStream& stream) {
  stream.queue([body = std::move(body), launch] {
    // Others launch on other streams meanwhile, and the host may raise a flag.
    emulator::Machine machine({.external = true, .deadline = std::chrono::minutes(10)});
    machine.launch(launch, body);
    const emulator::Outcome outcome = machine.run();
    if (outcome.finished) return;
    std::fprintf(stderr, "%s\n", outcome.report.c_str());
    std::abort();
  });
  if (world().blocking && !stream.capturing()) stream.synchronize();
  return kSuccess;
}

}  // namespace
}  // namespace rondo::testing

using namespace rondo::testing;  // NOLINT(google-build-using-namespace)
using namespace rondo::cuda;     // NOLINT(google-build-using-namespace)

/// Begins each function: its call is counted, and fails if that was asked for.
#define RONDO_ENTER(symbol) \
  if (const int failure = enter(symbol); failure != kSuccess) return failure

/// Begins those that need a current context.
#define RONDO_ENTER_CONTEXT(symbol) \
  RONDO_ENTER(symbol);              \
  if (currentGpu() == nullptr) return kInvalidContext

extern "C" {

int cuInit(unsigned /*flags*/) {
  RONDO_ENTER("cuInit");
  return world().gpus.empty() ? kNoDevice : kSuccess;
}

int cuDeviceGetCount(int* count) {
  RONDO_ENTER("cuDeviceGetCount");
  *count = static_cast<int>(world().gpus.size());
  return kSuccess;
}

int cuDeviceGet(int* device, int ordinal) {
  RONDO_ENTER("cuDeviceGet");
  *device = ordinal;
  return kSuccess;
}

int cuDeviceGetName(char* name, int length, int /*device*/) {
  RONDO_ENTER("cuDeviceGetName");
  std::snprintf(name, static_cast<std::size_t>(length), "emulated");
  return kSuccess;
}

int cuDeviceGetUuid_v2(DeviceUuid* uuid, int device) {
  RONDO_ENTER("cuDeviceGetUuid_v2");
  const auto ordinal = static_cast<std::size_t>(device);
  if (ordinal >= world().gpus.size()) return kInvalidDevice;
  *uuid = world().gpus[ordinal]->uuid;
  return kSuccess;
}

int cuDeviceCanAccessPeer(int* can, int /*device*/, int /*peer*/) {
  RONDO_ENTER("cuDeviceCanAccessPeer");
  *can = world().peerAccess ? 1 : 0;
  return kSuccess;
}

int cuDevicePrimaryCtxRetain(Context* context, int device) {
  RONDO_ENTER("cuDevicePrimaryCtxRetain");
  *context = reinterpret_cast<Context>(world().gpus[static_cast<std::size_t>(device)].get());
  return kSuccess;
}

int cuDevicePrimaryCtxRelease_v2(int /*device*/) {
  RONDO_ENTER("cuDevicePrimaryCtxRelease_v2");
  return kSuccess;
}

int cuCtxPushCurrent_v2(Context context) {
  RONDO_ENTER("cuCtxPushCurrent_v2");
  contexts.push_back(context);
  return kSuccess;
}

int cuCtxPopCurrent_v2(Context* context) {
  RONDO_ENTER("cuCtxPopCurrent_v2");
  if (contexts.empty()) return kInvalidContext;
  *context = contexts.back();
  contexts.pop_back();
  return kSuccess;
}

int cuCtxGetDevice(int* device) {
  RONDO_ENTER("cuCtxGetDevice");
  const Gpu* gpu = currentGpu();
  if (gpu == nullptr) return kInvalidContext;
  *device = gpu->ordinal;
  return kSuccess;
}

int cuCtxSynchronize() {
  RONDO_ENTER("cuCtxSynchronize");
  Gpu* gpu = currentGpu();
  if (gpu == nullptr) return kInvalidContext;
  std::map<FakeStream*, std::shared_ptr<FakeStream>> streams;
  {
    const std::scoped_lock lock(world().mutex);
    streams = world().streams;
  }
  gpu->defaultStream.synchronize();
  for (const auto& [handle, stream] : streams) {
    if (stream->device() == gpu->ordinal) stream->synchronize();
  }
  return kSuccess;
}

int cuThreadExchangeStreamCaptureMode(int* /*mode*/) {
  RONDO_ENTER("cuThreadExchangeStreamCaptureMode");
  return kSuccess;
}

int cuDeviceGetAttribute(int* value, int /*attribute*/, int /*device*/) {
  RONDO_ENTER("cuDeviceGetAttribute");
  *value = 132;
  return kSuccess;
}

int cuCtxEnablePeerAccess(Context /*peer*/, unsigned /*flags*/) {
  RONDO_ENTER("cuCtxEnablePeerAccess");
  return world().peerAccess ? kSuccess : kPeerAccessUnsupported;
}

int cuMemAlloc_v2(DevicePointer* memory, std::size_t bytes) {
  RONDO_ENTER_CONTEXT("cuMemAlloc_v2");
  void* made = nullptr;
  const int result = world().memory.allocate(&made, bytes, currentGpu()->ordinal);
  *memory = reinterpret_cast<DevicePointer>(made);
  return result;
}

int cuMemFree_v2(DevicePointer memory) {
  RONDO_ENTER("cuMemFree_v2");
  return world().memory.free(pointer(memory));
}

int cuMemsetD8Async(DevicePointer memory, unsigned char value, std::size_t bytes, Stream stream) {
  RONDO_ENTER("cuMemsetD8Async");
  streamOf(stream)->queue([=] { std::memset(pointer(memory), value, bytes); });
  return kSuccess;
}

int cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, Stream stream) {
  RONDO_ENTER("cuMemcpyHtoDAsync_v2");
  streamOf(stream)->queue([=] { std::memcpy(pointer(to), from, bytes); });
  return kSuccess;
}

int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned /*flags*/) {
  RONDO_ENTER_CONTEXT("cuMemHostAlloc");
  return world().memory.allocateOnHost(memory, bytes, currentGpu()->ordinal);
}

int cuMemFreeHost(void* memory) {
  RONDO_ENTER("cuMemFreeHost");
  return world().memory.freeOnHost(memory);
}

int cuMemHostGetDevicePointer_v2(DevicePointer* device, void* memory, unsigned flags) {
  RONDO_ENTER_CONTEXT("cuMemHostGetDevicePointer_v2");
  const auto address = reinterpret_cast<DevicePointer>(memory);
  if (flags != 0 || !world().memory.mappedFor(address, currentGpu()->ordinal)) return kInvalidValue;
  *device = address;
  return kSuccess;
}

int cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags) {
  RONDO_ENTER_CONTEXT("cuMemHostRegister_v2");
  return world().memory.registerHost(memory, bytes, flags, currentGpu()->ordinal);
}

int cuMemHostUnregister(void* memory) {
  RONDO_ENTER_CONTEXT("cuMemHostUnregister");
  return world().memory.unregisterHost(memory);
}

int cuIpcGetMemHandle(IpcHandle* handle, DevicePointer memory) {
  RONDO_ENTER_CONTEXT("cuIpcGetMemHandle");
  const auto place = world().memory.find(memory);
  if (!place.has_value()) return kInvalidValue;
  const Gpu& home = *world().gpus[static_cast<std::size_t>(place->device)];
  return world().memory.share(handle, pointer(memory), home.uuid);
}

int cuIpcOpenMemHandle_v2(DevicePointer* memory, IpcHandle handle, unsigned flags) {
  RONDO_ENTER_CONTEXT("cuIpcOpenMemHandle_v2");
  if (flags != kIpcLazyPeerAccess) return kInvalidValue;
  return openShared(memory, handle, *currentGpu());
}

int cuIpcCloseMemHandle(DevicePointer memory) {
  RONDO_ENTER_CONTEXT("cuIpcCloseMemHandle");
  return world().memory.close(pointer(memory), currentGpu()->ordinal);
}

int cuPointerGetAttribute(void* value, int attribute, DevicePointer address) {
  RONDO_ENTER("cuPointerGetAttribute");
  auto place = world().memory.find(address);
  if (!place.has_value() && world().allMemory && currentGpu() != nullptr)
    place = FakeMemory::Place{.device = currentGpu()->ordinal};
  if (!place.has_value()) return kInvalidValue;
  const unsigned kind = place->onHost ? kMemoryTypeHost : kMemoryTypeDevice;
  if (attribute == kPointerMemoryType) std::memcpy(value, &kind, sizeof kind);
  if (attribute == kPointerDeviceOrdinal) std::memcpy(value, &place->device, sizeof place->device);
  return kSuccess;
}

int cuModuleLoadData(Module* module, const void* image) {
  RONDO_ENTER("cuModuleLoadData");
  *module = static_cast<Module>(const_cast<void*>(image));
  return kSuccess;
}

int cuModuleUnload(Module /*module*/) {
  RONDO_ENTER("cuModuleUnload");
  return kSuccess;
}

int cuModuleGetFunction(Function* function, Module /*module*/, const char* name) {
  RONDO_ENTER("cuModuleGetFunction");
  const Kernel* const kernel = kernelNamed(name);
  *function = reinterpret_cast<Function>(const_cast<Kernel*>(kernel));
  return kernel == nullptr ? kNotFound : kSuccess;
}

int cuLaunchKernel(Function function,
                   unsigned gridX,
                   unsigned /*gridY*/,
                   unsigned /*gridZ*/,
                   unsigned /*blockX*/,
                   unsigned /*blockY*/,
                   unsigned /*blockZ*/,
                   unsigned sharedBytes,
                   Stream stream,
                   void** parameters,
                   void** /*extra*/) {
  RONDO_ENTER("cuLaunchKernel");
  // Fewer threads than a GPU's: kernels do with any number of warps, and each costs time here.
  constexpr unsigned kThreads = 64;
  return launch(
      (*reinterpret_cast<const Kernel*>(function))(parameters[0]),
      {.name = "launch", .blocks = gridX, .threads = kThreads, .sharedBytes = sharedBytes},
      *streamOf(stream));
}

int cuStreamCreate(Stream* stream, unsigned /*flags*/) {
  RONDO_ENTER_CONTEXT("cuStreamCreate");
  auto made = std::make_shared<FakeStream>(currentGpu()->ordinal);
  *stream = reinterpret_cast<Stream>(made.get());
  ++world().objects;
  const std::scoped_lock lock(world().mutex);
  world().streams.emplace(made.get(), made);
  return kSuccess;
}

int cuStreamDestroy_v2(Stream stream) {
  RONDO_ENTER("cuStreamDestroy_v2");
  std::shared_ptr<FakeStream> last;  // ends its thread outside the lock
  {
    const std::scoped_lock lock(world().mutex);
    const auto place = world().streams.find(reinterpret_cast<FakeStream*>(stream));
    if (place == world().streams.end()) return kInvalidValue;
    last = std::move(place->second);
    world().streams.erase(place);
  }
  --world().objects;
  return kSuccess;
}

int cuStreamSynchronize(Stream stream) {
  RONDO_ENTER("cuStreamSynchronize");
  streamOf(stream)->synchronize();
  return kSuccess;
}

int cuStreamWaitEvent(Stream stream, Event event, unsigned /*flags*/) {
  RONDO_ENTER("cuStreamWaitEvent");
  reinterpret_cast<FakeEvent*>(event)->awaitOn(*streamOf(stream));
  return kSuccess;
}

int cuStreamIsCapturing(Stream stream, int* status) {
  RONDO_ENTER("cuStreamIsCapturing");
  *status = streamOf(stream)->capturing() ? 1 : 0;
  return kSuccess;
}

int cuStreamGetCtx(Stream stream, Context* context) {
  RONDO_ENTER("cuStreamGetCtx");
  const auto ordinal = static_cast<std::size_t>(streamOf(stream)->device());
  *context = reinterpret_cast<Context>(world().gpus[ordinal].get());
  return kSuccess;
}

int cuEventCreate(Event* event, unsigned /*flags*/) {
  RONDO_ENTER("cuEventCreate");
  *event = reinterpret_cast<Event>(new FakeEvent);
  ++world().objects;
  return kSuccess;
}

int cuEventRecord(Event event, Stream stream) {
  RONDO_ENTER("cuEventRecord");
  reinterpret_cast<FakeEvent*>(event)->record(*streamOf(stream));
  return kSuccess;
}

int cuEventQuery(Event event) {
  RONDO_ENTER("cuEventQuery");
  return reinterpret_cast<FakeEvent*>(event)->done() ? kSuccess : kNotReady;
}

int cuEventDestroy_v2(Event event) {
  RONDO_ENTER("cuEventDestroy_v2");
  delete reinterpret_cast<FakeEvent*>(event);
  --world().objects;
  return kSuccess;
}

int cuGetErrorName(int error, const char** name) {
  static thread_local std::string text;
  text = "DOUBLE_ERROR_" + std::to_string(error);
  *name = text.c_str();
  return kSuccess;
}

int cuGetErrorString(int /*error*/, const char** text) {
  *text = "as the test asked";
  return kSuccess;
}

void rondoDoubleFailCall(const char* symbol, int nth, int error) {
  const std::scoped_lock lock(world().mutex);
  world().failure = {symbol == nullptr ? "" : symbol, nth, error};
}

int rondoDoubleCalls(const char* symbol) {
  const std::scoped_lock lock(world().mutex);
  const auto found = world().calls.find(symbol);
  return found == world().calls.end() ? 0 : found->second;
}

int rondoDoubleObjects() {
  return world().objects + world().memory.objects();
}

void rondoDoublePeerAccess(int possible) {
  world().peerAccess = possible != 0;
}

void rondoDoubleBeginCapture(Stream stream) {
  reinterpret_cast<FakeStream*>(stream)->beginCapture();
}

void rondoDoubleEndCapture(Stream stream) {
  (void)reinterpret_cast<FakeStream*>(stream)->endCapture();
}

void rondoDoubleReplay(Stream stream) {
  reinterpret_cast<FakeStream*>(stream)->replay();
}
}
