// A text as training data: its bytes are the tokens, cut into sequences that each epoch visits in
// another order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/train_gpt/gpt.h"

namespace rondo::train {

/// @threads one at a time
class TextData {
 public:
  /// @param text   of more bytes than `length`
  /// @param length tokens of a sequence
  /// @errors thrown, InvalidArgument: the text is too short.
  TextData(std::vector<std::uint8_t> text, int length, std::uint64_t seed);

  /// Reads a file.
  /// @errors thrown, SystemError with the system's reason.
  static std::vector<std::uint8_t> read(const std::string& path);

  /// Sequences `first` to `first + count` of the endless order that the seed defines. Which rank
  /// takes which is the caller's business: the order knows of no ranks.
  TokenBatch batch(std::uint64_t first, int count);

  std::uint64_t sequences() const { return sequences_; }

 private:
  void shuffle(std::uint64_t epoch);

  std::vector<std::uint8_t> text_;
  int length_;
  std::uint64_t seed_;
  std::uint64_t sequences_;
  std::uint64_t epoch_ = 0;
  std::vector<std::uint32_t> order_;  // of epoch_
};

}  // namespace rondo::train
