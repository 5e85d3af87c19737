// The compiled kernels, as the CUDA driver loads them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "kernels/data_type.h"

namespace rondo::device {

/// The fat binary that holds the kernel of `type`: machine code of all architectures that the
/// library was built for, and PTX for later ones. Several types share one, and a program loads it
/// once: their spans are the same. Empty in a library that was built without a CUDA compiler.
std::span<const std::byte> deviceLibrary(DataType type);

/// The fat binary that holds the kernel of messages from rank to rank.
std::span<const std::byte> messageLibrary();

/// The name of that kernel, which takes one MessageArgs (kernels/cuda/message_launch.h).
inline constexpr const char* kMessageEntry = "rondoRun_messages";

/// The fat binary that holds the kernel of compressed collectives.
std::span<const std::byte> codedLibrary();

/// The name of that kernel, which takes one LaunchArgs, with lanes as kernels/cuda/coded_launch.h
/// has them.
inline constexpr const char* kCodedEntry = "rondoRun_coded";

/// The name of the kernel in deviceLibrary() that runs lanes of `type`: "rondoRun_float". It takes
/// one LaunchArgs (kernels/cuda/launch.h).
std::string entryName(DataType type);

}  // namespace rondo::device
