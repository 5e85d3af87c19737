// What each rank tells the others about the call it is in: read by ranks that wait longer than they
// should, to say "rank 3 called something else" or "rank 3 has not called yet" instead of hanging.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/memory_order.h"

namespace rondo {

/// One call, as far as all ranks must agree on it, plus where its rank stands.
struct CallSignature {
  std::uint64_t sequence = 0;  ///< 1 for the communicator's first call on that rank; 0: none yet
  std::uint64_t count = 0;     ///< elements, as passed
  std::uint64_t geometry = 0;  ///< hash of the plan: algorithm, channels, chunk
  std::uint32_t root = 0;
  std::uint8_t collective = 0;  ///< Collective
  std::uint8_t type = 0;        ///< DataType
  /// ReduceOp, or behind these a program's function (src/stall.h); 0 where nothing is reduced
  std::uint8_t op = 0;
  std::uint8_t shape = 0;  ///< kVaried, kPairs
  std::uint8_t codec = 0;  ///< 1 + Codec, to kMostCodec; 0: elements travel as they are

  static constexpr std::uint8_t kVaried = 1;  ///< blocks of different sizes
  static constexpr std::uint8_t kPairs = 2;   ///< elements are two of `type` each, as is `count`
  static constexpr std::uint8_t kMostCodec = 31;

  /// Where in packed(); its last bit is the record's own.
  static constexpr int kShapeBit = 56;
  static constexpr int kCodecBit = 58;

  friend constexpr bool operator==(const CallSignature&, const CallSignature&) = default;

  constexpr bool varied() const { return (shape & kVaried) != 0; }

  constexpr bool pairs() const { return (shape & kPairs) != 0; }

  /// A fingerprint of all fields, carried by every slot: equal calls, equal fingerprints.
  constexpr std::uint64_t fingerprint() const {
    // Mixed before the count comes in: call 13 of 113 elements is not call 15 of 115.
    std::uint64_t hash = mix(sequence);
    for (const std::uint64_t word : {count, geometry, packed()})
      hash = mix(hash ^ word);
    return hash;
  }

  constexpr std::uint64_t packed() const {
    return std::uint64_t{root} | std::uint64_t{collective} << 32 | std::uint64_t{type} << 40 |
           std::uint64_t{op} << 48 | std::uint64_t{shape} << kShapeBit |
           std::uint64_t{codec} << kCodecBit;
  }

 private:
  /// The finaliser of MurmurHash3 (Appleby, 2011; public domain constants): a bijection that
  /// spreads every bit, so that two different words never give the same hash.
  static constexpr std::uint64_t mix(std::uint64_t word) {
    word = (word ^ (word >> 33)) * 0xff51afd7ed558ccdULL;
    word = (word ^ (word >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return word ^ (word >> 33);
  }
};

/// What one rank publishes of its calls: the one it is in, the last few, and the last one that it
/// refused to begin, and the last messages that it refused. One writer, any readers. A call that
/// begins writes two lines, one that ends the first of them again.
///
///     word 0    the current call: version, count, geometry, packed fields; its version is its
///               sequence number
///     word 4    finished | left | message groups begun | and finished
///     word 8    the last kHistory calls, four words each, at their sequence number mod kHistory
///     word 40   rejection: version, sequence, then its text, padded with zeros
///     word 64   rejection of messages: version, group, ranks at their other ends, then its text
class alignas(64) CallRecord {
 public:
  /// Calls that are remembered.
  static constexpr std::size_t kHistory = 8;
  static constexpr std::size_t kWords = 96;

  /// A record as it travels to ranks that do not share memory with its owner.
  using Words = std::array<std::uint64_t, kWords>;

  /// Owner: a call begins.
  void begin(const CallSignature& call) {
    writeCall(kCurrent, call);
    writeCall(placeOf(call.sequence), call);
  }

  /// Owner: call `sequence` is complete on this rank.
  void finish(std::uint64_t sequence) { words_[kFinished].endChange(sequence); }

  /// Owner: this rank has given up its communicator in good order.
  void leave() { words_[kLeft].endChange(1); }

  /// Owner: what would have been call `sequence` was refused before its first step.
  /// @param why cut to what fits
  void reject(std::uint64_t sequence, std::string_view why) {
    const std::uint64_t version = words_[kRejection].beginRead() + 1;
    words_[kRejection].beginChange();
    words_[kRejectedSequence].setPart(sequence);
    writeText(kRejectedText, kMessageRejection, why);
    words_[kRejection].endChange(version);
  }

  /// Owner: a group of messages was refused before anything of it was sent.
  /// @param peers the ranks at their other ends; the first kMostRejectedPeers count, which is
  /// enough:
  ///   one that gives up tells all others
  /// @param why   cut to what fits
  void rejectMessages(std::span<const int> peers, std::string_view why) {
    const std::uint64_t version = words_[kMessageRejection].beginRead() + 1;
    words_[kMessageRejection].beginChange();
    words_[kRejectedGroup].setPart(messageGroupsBegun() + 1);
    for (std::size_t place = 0; place < kMostRejectedPeers; ++place) {
      const bool used = place < peers.size();
      words_[kRejectedPeers + place].setPart(used ? static_cast<std::uint64_t>(peers[place]) + 1
                                                  : 0);
    }
    writeText(kRejectedMessageText, kWords, why);
    words_[kMessageRejection].endChange(version);
  }

  /// Owner: a group with messages from rank to rank begins. Of these not all ranks know.
  void beginMessages() { words_[kGroupsBegun].endChange(messageGroupsBegun() + 1); }

  /// Owner: all messages of the group are complete on this rank.
  void finishMessages() { words_[kGroupsFinished].endChange(messageGroupsFinished() + 1); }

  std::uint64_t messageGroupsBegun() const { return words_[kGroupsBegun].beginRead(); }

  std::uint64_t messageGroupsFinished() const { return words_[kGroupsFinished].beginRead(); }

  bool hasLeft() const { return words_[kLeft].beginRead() != 0; }

  /// Sequence number of the last call this rank completed.
  std::uint64_t finished() const { return words_[kFinished].beginRead(); }

  /// The call this rank is in, or its last one; nothing if it is just being rewritten.
  std::optional<CallSignature> read() const { return readCall(kCurrent); }

  /// Call `sequence`, if it is one of the last kHistory.
  std::optional<CallSignature> call(std::uint64_t sequence) const {
    const std::optional<CallSignature> found = readCall(placeOf(sequence));
    return found.has_value() && found->sequence == sequence ? found : std::nullopt;
  }

  /// The call with that fingerprint, if it is one of the last kHistory.
  std::optional<CallSignature> callOf(std::uint64_t fingerprint) const {
    for (std::size_t place = 0; place < kHistory; ++place) {
      const std::optional<CallSignature> found = readCall(placeOf(place));
      if (found.has_value() && found->sequence > 0 && found->fingerprint() == fingerprint) {
        return found;
      }
    }
    return std::nullopt;
  }

  struct Rejection {
    std::uint64_t sequence = 0;  ///< what the call's number would have been
    std::string why;
  };

  /// The last call this rank refused, if any.
  std::optional<Rejection> rejection() const {
    const std::uint64_t version = words_[kRejection].beginRead();
    Rejection rejection{words_[kRejectedSequence].part(),
                        readText(kRejectedText, kMessageRejection)};
    if (version == 0 || !words_[kRejection].endRead(version)) return std::nullopt;
    return rejection;
  }

  static constexpr std::size_t kMostRejectedPeers = 8;

  /// Why this rank refused its last group of messages, if one with `peer` was among them, and it
  /// has begun no group since.
  std::optional<std::string> rejectionOfMessages(int peer) const {
    const std::uint64_t version = words_[kMessageRejection].beginRead();
    const std::uint64_t group = words_[kRejectedGroup].part();
    bool concerned = false;
    for (std::size_t place = 0; place < kMostRejectedPeers; ++place)
      concerned |= words_[kRejectedPeers + place].part() == static_cast<std::uint64_t>(peer) + 1;
    std::string why = readText(kRejectedMessageText, kWords);
    if (version == 0 || !words_[kMessageRejection].endRead(version)) return std::nullopt;
    if (!concerned || messageGroupsBegun() >= group) return std::nullopt;
    return why;
  }

  /// The record as it is; groups of words that are just being rewritten have version 0. @threads
  /// any
  Words words() const {
    Words words{};
    // First: whoever sees a call finished also finds it, or a later one, in the rest.
    for (const std::size_t word : kCounters)
      words[word] = words_[word].beginRead();
    forEachGroup([&](std::size_t first, std::size_t count) {
      const std::uint64_t version = words_[first].beginRead();
      for (std::size_t word = first + 1; word < first + count; ++word)
        words[word] = words_[word].part();
      if (words_[first].endRead(version)) words[first] = version;
    });
    return words;
  }

  /// Takes over what words() of another rank's record gave. @threads one at a time; readers any
  void adopt(const Words& words) {
    forEachGroup([&](std::size_t first, std::size_t count) {
      if (words[first] == 0 || words[first] == words_[first].beginRead()) return;
      words_[first].beginChange();
      for (std::size_t word = first + 1; word < first + count; ++word)
        words_[word].setPart(words[word]);
      words_[first].endChange(words[first]);
    });
    for (const std::size_t word : kCounters)
      words_[word].endChange(words[word]);
  }

 private:
  static constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
  static constexpr std::size_t kCallWords = 4;
  /// Among the packed fields: this place has held a call, so version 0 means that it is being
  /// rewritten.
  static constexpr std::uint64_t kWritten = std::uint64_t{1} << 63;
  static_assert((CallSignature{.shape = CallSignature::kVaried | CallSignature::kPairs,
                               .codec = CallSignature::kMostCodec}
                     .packed() &
                 kWritten) == 0);
  static_assert((CallSignature::kVaried | CallSignature::kPairs) << CallSignature::kShapeBit % 8 <
                1 << CallSignature::kCodecBit % 8);

  static constexpr std::size_t kCurrent = 0;
  static constexpr std::size_t kFinished = 4;
  static constexpr std::size_t kLeft = 5;
  static constexpr std::size_t kGroupsBegun = 6;
  static constexpr std::size_t kGroupsFinished = 7;
  static constexpr std::size_t kCounters[] = {kFinished, kLeft, kGroupsBegun, kGroupsFinished};
  static constexpr std::size_t kEarlier = 8;
  static constexpr std::size_t kRejection = kEarlier + kHistory * kCallWords;
  static constexpr std::size_t kRejectedSequence = kRejection + 1;
  static constexpr std::size_t kRejectedText = kRejection + 2;
  static constexpr std::size_t kMessageRejection = 64;
  static constexpr std::size_t kRejectedGroup = kMessageRejection + 1;
  static constexpr std::size_t kRejectedPeers = kMessageRejection + 2;
  static constexpr std::size_t kRejectedMessageText = kRejectedPeers + kMostRejectedPeers;

  static constexpr std::size_t placeOf(std::uint64_t sequence) {
    return kEarlier + static_cast<std::size_t>(sequence % kHistory) * kCallWords;
  }

  /// Calls `visit(first, count)` for the words that are written as one, the first being the
  /// version.
  template <class Visit>
  static void forEachGroup(Visit visit) {
    visit(kCurrent, kCallWords);
    for (std::size_t place = 0; place < kHistory; ++place)
      visit(placeOf(place), kCallWords);
    visit(kRejection, kMessageRejection - kRejection);
    visit(kMessageRejection, kWords - kMessageRejection);
  }

  /// As much of `text` as fits into the words from `first` to before `end`.
  void writeText(std::size_t first, std::size_t end, std::string_view text) {
    for (std::size_t word = first; word < end; ++word) {
      const std::string_view part = text.substr(0, kWordBytes);
      std::uint64_t packed = 0;
      std::memcpy(&packed, part.data(), part.size());
      words_[word].setPart(packed);
      text.remove_prefix(part.size());
    }
  }

  std::string readText(std::size_t first, std::size_t end) const {
    std::string text;
    for (std::size_t word = first; word < end; ++word) {
      const std::uint64_t packed = words_[word].part();
      text.append(reinterpret_cast<const char*>(&packed), kWordBytes);
    }
    return text.substr(0, text.find('\0'));
  }

  void writeCall(std::size_t at, const CallSignature& call) {
    words_[at].beginChange();
    words_[at + 1].setPart(call.count);
    words_[at + 2].setPart(call.geometry);
    words_[at + 3].setPart(call.packed() | kWritten);
    words_[at].endChange(call.sequence);
  }

  /// Nothing while it is being rewritten. A place that holds no call yet reads as call 0.
  std::optional<CallSignature> readCall(std::size_t at) const {
    CallSignature call;
    call.sequence = words_[at].beginRead();
    call.count = words_[at + 1].part();
    call.geometry = words_[at + 2].part();
    const std::uint64_t packed = words_[at + 3].part();
    if (!words_[at].endRead(call.sequence)) return std::nullopt;
    if (call.sequence == 0) {
      return packed == 0 ? std::optional(CallSignature{}) : std::nullopt;
    }
    call.root = static_cast<std::uint32_t>(packed);
    call.collective = static_cast<std::uint8_t>(packed >> 32);
    call.type = static_cast<std::uint8_t>(packed >> 40);
    call.op = static_cast<std::uint8_t>(packed >> 48);
    call.shape = static_cast<std::uint8_t>(packed >> CallSignature::kShapeBit &
                                           (CallSignature::kVaried | CallSignature::kPairs));
    call.codec = static_cast<std::uint8_t>((packed & ~kWritten) >> CallSignature::kCodecBit);
    return call;
  }

  std::array<host::RecordWord, kWords> words_{};
};

static_assert(sizeof(CallRecord) == 8 * CallRecord::kWords);

}  // namespace rondo
