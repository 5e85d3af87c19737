// The functions of the CUDA driver that the library uses, as one table: found at run time, so that
// the library needs neither driver nor toolkit where it is built, and replaced by a double in
// tests, so that every call can be seen to fail. Types and numbers are those of the driver's
// interface
// ("CUDA Driver API", NVIDIA, version 13.0), declared here by what they are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/rondo.h"
#include "src/status.h"

namespace rondo::cuda {

using DevicePointer = std::uint64_t;
using Context = struct CUctx_st*;
using Module = struct CUmod_st*;
using Function = struct CUfunc_st*;
using Event = struct CUevent_st*;
using Stream = rondoStream_t;

/// Results that are told apart; all others are failures.
inline constexpr int kSuccess = 0;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kNoDevice = 100;
inline constexpr int kInvalidDevice = 101;
inline constexpr int kNotReady = 600;
inline constexpr int kPeerAccessAlreadyEnabled = 704;
inline constexpr int kTooManyPeers = 711;
inline constexpr int kHostMemoryAlreadyRegistered = 712;

/// Flags and attributes.
inline constexpr unsigned kHostPortable = 1;  ///< also when memory is registered
inline constexpr unsigned kHostMapped = 2;    ///< also when memory is registered
inline constexpr unsigned kIpcLazyPeerAccess = 1;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr int kCaptureModeRelaxed = 2;
inline constexpr int kDeviceMultiprocessorCount = 16;
inline constexpr int kPointerMemoryType = 2;
inline constexpr int kPointerDeviceOrdinal = 9;
inline constexpr unsigned kMemoryTypeHost = 1;
inline constexpr unsigned kMemoryTypeDevice = 2;

/// Names an allocation to another process of the host.
struct IpcHandle {
  std::byte opaque[64];
};

/// Names a device to all processes, whatever number it has in each.
struct DeviceUuid {
  std::byte bytes[16];

  bool operator==(const DeviceUuid&) const = default;
};

/// Every function: X(member, symbol, parameters). All return one of the results above.
#define RONDO_CUDA_FUNCTIONS(X)                                                                    \
  X(init, "cuInit", (unsigned flags))                                                              \
  X(deviceGetCount, "cuDeviceGetCount", (int* count))                                              \
  X(deviceGet, "cuDeviceGet", (int* device, int ordinal))                                          \
  X(deviceGetName, "cuDeviceGetName", (char* name, int length, int device))                        \
  X(deviceUuid, "cuDeviceGetUuid_v2", (DeviceUuid * uuid, int device))                             \
  X(canAccessPeer, "cuDeviceCanAccessPeer", (int* can, int device, int peer))                      \
  X(primaryContextRetain, "cuDevicePrimaryCtxRetain", (Context * context, int device))             \
  X(primaryContextRelease, "cuDevicePrimaryCtxRelease_v2", (int device))                           \
  X(contextPush, "cuCtxPushCurrent_v2", (Context context))                                         \
  X(contextPop, "cuCtxPopCurrent_v2", (Context * context))                                         \
  X(contextDevice, "cuCtxGetDevice", (int* device))                                                \
  X(contextSynchronize, "cuCtxSynchronize", ())                                                    \
  X(exchangeCaptureMode, "cuThreadExchangeStreamCaptureMode", (int* mode))                         \
  X(deviceAttribute, "cuDeviceGetAttribute", (int* value, int attribute, int device))              \
  X(enablePeerAccess, "cuCtxEnablePeerAccess", (Context peer, unsigned flags))                     \
  X(memoryAllocate, "cuMemAlloc_v2", (DevicePointer * memory, std::size_t bytes))                  \
  X(memoryFree, "cuMemFree_v2", (DevicePointer memory))                                            \
  X(memorySet, "cuMemsetD8Async",                                                                  \
    (DevicePointer memory, unsigned char value, std::size_t bytes, Stream stream))                 \
  X(copyToDevice, "cuMemcpyHtoDAsync_v2",                                                          \
    (DevicePointer to, const void* from, std::size_t bytes, Stream stream))                        \
  X(copyFromDevice, "cuMemcpyDtoHAsync_v2",                                                        \
    (void* to, DevicePointer from, std::size_t bytes, Stream stream))                              \
  X(hostAllocate, "cuMemHostAlloc", (void** memory, std::size_t bytes, unsigned flags))            \
  X(hostFree, "cuMemFreeHost", (void* memory))                                                     \
  X(hostDevicePointer, "cuMemHostGetDevicePointer_v2",                                             \
    (DevicePointer * pointer, void* memory, unsigned flags))                                       \
  X(hostRegister, "cuMemHostRegister_v2", (void* memory, std::size_t bytes, unsigned flags))       \
  X(hostUnregister, "cuMemHostUnregister", (void* memory))                                         \
  X(ipcHandle, "cuIpcGetMemHandle", (IpcHandle * handle, DevicePointer memory))                    \
  X(ipcOpen, "cuIpcOpenMemHandle_v2", (DevicePointer * memory, IpcHandle handle, unsigned flags))  \
  X(ipcClose, "cuIpcCloseMemHandle", (DevicePointer memory))                                       \
  X(pointerAttribute, "cuPointerGetAttribute",                                                     \
    (void* value, int attribute, DevicePointer pointer))                                           \
  X(moduleLoad, "cuModuleLoadData", (Module * module, const void* image))                          \
  X(moduleUnload, "cuModuleUnload", (Module module))                                               \
  X(moduleFunction, "cuModuleGetFunction", (Function * function, Module module, const char* name)) \
  X(launchKernel, "cuLaunchKernel",                                                                \
    (Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,           \
     unsigned blockY, unsigned blockZ, unsigned sharedBytes, Stream stream, void** parameters,     \
     void** extra))                                                                                \
  X(streamCreate, "cuStreamCreate", (Stream * stream, unsigned flags))                             \
  X(streamDestroy, "cuStreamDestroy_v2", (Stream stream))                                          \
  X(streamSynchronize, "cuStreamSynchronize", (Stream stream))                                     \
  X(streamWaitEvent, "cuStreamWaitEvent", (Stream stream, Event event, unsigned flags))            \
  X(streamIsCapturing, "cuStreamIsCapturing", (Stream stream, int* status))                        \
  X(streamContext, "cuStreamGetCtx", (Stream stream, Context * context))                           \
  X(eventCreate, "cuEventCreate", (Event * event, unsigned flags))                                 \
  X(eventRecord, "cuEventRecord", (Event event, Stream stream))                                    \
  X(eventQuery, "cuEventQuery", (Event event))                                                     \
  X(eventDestroy, "cuEventDestroy_v2", (Event event))                                              \
  X(errorName, "cuGetErrorName", (int error, const char** name))                                   \
  X(errorString, "cuGetErrorString", (int error, const char** text))

/// @threads any
struct Driver {
#define RONDO_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  RONDO_CUDA_FUNCTIONS(RONDO_MEMBER)
#undef RONDO_MEMBER

  /// Success, or a failure that says what was tried and what the driver calls its error.
  /// OutOfMemory for that error, SystemError for all others.
  /// @param what "allocating 4096 bytes on CUDA device 0"
  Status check(int result, std::string_view what) const;
};

/// The driver of this machine, loaded and initialised once per process.
/// @errors NotSupported: no driver, too old a driver, or no GPU; the message says which.
/// @threads any
Result<const Driver*> systemDriver();

}  // namespace rondo::cuda
