// One point-to-point call of one rank, after its arguments were checked (src/argument_checks.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/data_type.h"
#include "src/format.h"

namespace rondo {

struct MessageCall {
  bool sends = false;            ///< else receives
  int peer = 0;                  ///< may be the rank itself
  const void* source = nullptr;  ///< of one that sends; null where count is 0
  void* target = nullptr;        ///< of one that receives; null where count is 0
  std::size_t count = 0;
  DataType type = DataType::kUint8;

  std::size_t bytes() const { return count * elementBytes(type); }
};

/// What the two ends of a message must agree on, as its slots carry it: the type in the highest
/// byte, the count below, whole, so that an end that disagrees can say what the other one meant.
class MessageLabel {
 public:
  static constexpr std::size_t kMostElems = (std::size_t{1} << 56) - 1;

  explicit constexpr MessageLabel(const MessageCall& call)
      : word_(static_cast<std::uint64_t>(call.type) << 56 | call.count) {}

  explicit constexpr MessageLabel(std::uint64_t word) : word_(word) {}

  constexpr std::uint64_t word() const { return word_; }

  /// "float count 100".
  std::string text() const {
    return fmt::format("{} count {}", dataTypeName(static_cast<DataType>(word_ >> 56)),
                       word_ & kMostElems);
  }

 private:
  std::uint64_t word_;
};

}  // namespace rondo
