// What the command says and needs to know about the machine it runs on.
#pragma once

#include <cstddef>
#include <string>

namespace rondo::cli {

/// The processor's name, e.g. "AMD EPYC 7R13"; "unknown processor" if the system does not say.
std::string processorModel();

/// Bytes of memory that the machine has; 0 if the system does not say.
std::size_t totalMemoryBytes();

/// Bytes that can be had without swapping: what the system reports as available, within the limit
/// of this process's control groups.
std::size_t availableMemoryBytes();

}  // namespace rondo::cli
