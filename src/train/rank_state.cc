#include "src/train/rank_state.h"

#include <array>
#include <cstring>
#include <span>
#include <string>

#include "src/train/agreement.h"

namespace rondo::train {

namespace {

/// "RONDORST" as a number, which also tells the byte order.
constexpr std::uint64_t kMagic = 0x5453524f444e4f52U;

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  if (more.empty()) return;
  const std::size_t size = bytes.size();
  bytes.resize(size + more.size());
  std::memcpy(bytes.data() + size, more.data(), more.size());
}

void append(std::vector<std::byte>& bytes, std::uint64_t word) {
  append(bytes, std::as_bytes(std::span(&word, 1)));
}

/// Takes words and bytes off a span; what is not there is zero, and remembered.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}

  std::uint64_t word() {
    std::uint64_t word = 0;
    const auto bytes = take(sizeof word);
    if (!bytes.empty()) std::memcpy(&word, bytes.data(), sizeof word);
    return word;
  }

  /// Empty if there are not as many.
  std::span<const std::byte> take(std::uint64_t count) {
    if (count > left_.size()) {
      cutShort_ = true;
      left_ = {};
      return {};
    }
    const auto taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }

  bool cutShort() const { return cutShort_; }

  bool atEnd() const { return !cutShort_ && left_.empty(); }

 private:
  std::span<const std::byte> left_;
  bool cutShort_ = false;
};

}  // namespace

std::vector<std::byte> RankState::bytes() const {
  std::vector<std::byte> bytes;
  append(bytes, kMagic);
  append(bytes, fingerprint);
  append(bytes, rebuilt ? 1 : 0);
  append(bytes, order.size());
  for (const std::size_t tensor : order)
    append(bytes, tensor);
  append(bytes, feedbacks.size());
  for (const std::vector<std::byte>& feedback : feedbacks) {
    append(bytes, feedback.size());
    append(bytes, feedback);
  }
  return bytes;
}

std::optional<RankState> RankState::parse(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  if (reader.word() != kMagic) return std::nullopt;
  RankState state;
  state.fingerprint = reader.word();
  state.rebuilt = reader.word() != 0;
  for (std::uint64_t left = reader.word(); left > 0 && !reader.cutShort(); --left)
    state.order.push_back(reader.word());
  for (std::uint64_t left = reader.word(); left > 0 && !reader.cutShort(); --left) {
    const auto feedback = reader.take(reader.word());
    state.feedbacks.emplace_back(feedback.begin(), feedback.end());
  }
  return reader.atEnd() ? std::optional(std::move(state)) : std::nullopt;
}

std::uint64_t fingerprintOf(const std::vector<std::string>& lines, const Communicator& comm) {
  std::uint64_t hash =
      hashText("rank " + std::to_string(comm.rank()) + " of " + std::to_string(comm.ranks()));
  for (const std::string& line : lines)
    hash = hashText(line, hash);
  return hash;
}

bool allHaveTheSame(const Communicator& comm, const std::optional<RankState>& state) {
  std::string order;
  for (std::size_t i = 0; state && i < state->order.size(); ++i)
    order += std::to_string(state->order[i]) + ' ';
  const std::uint64_t hash = hashText(order);
  // The least hash is the greatest, too, if all are the same.
  std::array<std::uint64_t, 3> least{state ? 1U : 0U, hash, ~hash};
  comm.allReduce(least, rondoMin);
  return least[0] == 1 && least[1] == ~least[2];
}

}  // namespace rondo::train
