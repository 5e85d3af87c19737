// How long the watch over a device's kernels gives other ranks.
#pragma once

#include <chrono>

namespace rondo::cuda {

/// Of ranks that share no memory news come only when they are asked for.
inline constexpr std::chrono::milliseconds kBetweenQuestions{10};

/// For a kernel to end by what a lost peer has left: far more than it takes even with processors
/// that many threads share, little enough for who waits to hear of the loss.
inline constexpr std::chrono::milliseconds kTimeToEnd{2000};

}  // namespace rondo::cuda
