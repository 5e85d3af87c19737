#include "examples/train_gpt/text_data.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <utility>

#include "examples/train_gpt/random_numbers.h"
#include "rondo/rondo.hpp"

namespace rondo::train {

namespace {

std::uint64_t sequencesIn(std::size_t bytes, int length) {
  const std::uint64_t sequences = bytes == 0 ? 0 : (bytes - 1) / static_cast<std::uint64_t>(length);
  if (sequences > 0) return sequences;
  throw Error(rondoInvalidArgument, "the text has " + std::to_string(bytes) +
                                        " bytes; a sequence takes " + std::to_string(length + 1));
}

}  // namespace

TextData::TextData(std::vector<std::uint8_t> text, int length, std::uint64_t seed)
    : text_(std::move(text)),
      length_(length),
      seed_(seed),
      sequences_(sequencesIn(text_.size(), length)) {
  shuffle(0);
}

std::vector<std::uint8_t> TextData::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::uint8_t> bytes;
  if (file) bytes.assign(std::istreambuf_iterator<char>(file), {});
  if (file) return bytes;
  throw Error(rondoSystemError, "cannot read " + path + ": " + std::strerror(errno));
}

/// Fisher and Yates.
void TextData::shuffle(std::uint64_t epoch) {
  epoch_ = epoch;
  order_.resize(sequences_);
  std::iota(order_.begin(), order_.end(), 0U);
  RandomNumbers random(seed_, "epoch " + std::to_string(epoch));
  for (std::size_t left = order_.size(); left > 1; --left)
    std::swap(order_[left - 1], order_[random.below(left)]);
}

TokenBatch TextData::batch(std::uint64_t first, int count) {
  TokenBatch batch{length_, {}, {}};
  for (std::uint64_t number = first; number < first + static_cast<std::uint64_t>(count); ++number) {
    if (number / sequences_ != epoch_) shuffle(number / sequences_);
    const std::uint8_t* from =
        text_.data() + order_[number % sequences_] * static_cast<std::size_t>(length_);
    batch.tokens.insert(batch.tokens.end(), from, from + length_);
    batch.targets.insert(batch.targets.end(), from + 1, from + 1 + length_);
  }
  return batch;
}

}  // namespace rondo::train
