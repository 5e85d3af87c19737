// What each rank tells the others about the call it is in: read by ranks that wait longer than they
// should, to say "rank 3 called something else" or "rank 3 has not called yet" instead of hanging.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

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
  std::uint8_t op = 0;          ///< ReduceOp; 0 where nothing is reduced

  friend constexpr bool operator==(const CallSignature&, const CallSignature&) = default;

  /// A fingerprint of all fields, carried by every slot: equal calls, equal fingerprints.
  constexpr std::uint64_t fingerprint() const {
    std::uint64_t hash = sequence;
    for (const std::uint64_t word : {count, geometry, packed()})
      hash = mix(hash ^ word);
    return hash;
  }

  constexpr std::uint64_t packed() const {
    return std::uint64_t{root} | std::uint64_t{collective} << 32 | std::uint64_t{type} << 40 |
           std::uint64_t{op} << 48;
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

/// The line in which one rank publishes its current call. One writer, any readers.
///
///     word 0 version | 1 sequence | 2 count | 3 geometry | 4 packed fields | 5 finished | 6 left |
///     7 -
class alignas(64) CallRecord {
 public:
  static constexpr std::size_t kWords = 8;

  /// A record as it travels to ranks that do not share memory with its owner.
  using Words = std::array<std::uint64_t, kWords>;

  /// The owner's record as it is. @threads that of the owner, or any: then a call that begins
  /// meanwhile may make read() of the copy give nothing.
  Words words() const {
    Words words{};
    words[kVersion] = words_[kVersion].beginRead();
    for (std::size_t word = kVersion + 1; word < kWords; ++word)
      words[word] = words_[word].part();
    if (!words_[kVersion].endRead(words[kVersion])) words[kVersion] = 0;
    return words;
  }

  /// Takes over what words() of another rank's record gave. @threads one at a time; readers any.
  void adopt(const Words& words) {
    words_[kVersion].beginChange();
    for (std::size_t word = kVersion + 1; word < kWords; ++word)
      words_[word].endChange(words[word]);
    words_[kVersion].endChange(words[kVersion]);
  }

  /// Owner: a call begins.
  void begin(const CallSignature& call) {
    words_[kVersion].beginChange();
    words_[kSequence].setPart(call.sequence);
    words_[kCount].setPart(call.count);
    words_[kGeometry].setPart(call.geometry);
    words_[kPacked].setPart(call.packed());
    words_[kVersion].endChange(call.sequence);
  }

  /// Owner: call `sequence` is complete on this rank.
  void finish(std::uint64_t sequence) { words_[kFinished].endChange(sequence); }

  /// Owner: this rank has given up its communicator in good order.
  void leave() { words_[kLeft].endChange(1); }

  bool hasLeft() const { return words_[kLeft].beginRead() != 0; }

  /// Sequence number of the last call this rank completed.
  std::uint64_t finished() const { return words_[kFinished].beginRead(); }

  /// The call this rank is in, or its last one; nothing if it is just being rewritten.
  std::optional<CallSignature> read() const {
    const std::uint64_t version = words_[kVersion].beginRead();
    CallSignature call;
    call.sequence = words_[kSequence].part();
    call.count = words_[kCount].part();
    call.geometry = words_[kGeometry].part();
    const std::uint64_t packed = words_[kPacked].part();
    if (!words_[kVersion].endRead(version) || version != call.sequence) return std::nullopt;
    call.root = static_cast<std::uint32_t>(packed);
    call.collective = static_cast<std::uint8_t>(packed >> 32);
    call.type = static_cast<std::uint8_t>(packed >> 40);
    call.op = static_cast<std::uint8_t>(packed >> 48);
    return call;
  }

 private:
  enum Word { kVersion, kSequence, kCount, kGeometry, kPacked, kFinished, kLeft };

  std::array<host::RecordWord, kWords> words_{};
};

static_assert(sizeof(CallRecord) == 64);

}  // namespace rondo
