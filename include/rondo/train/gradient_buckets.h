// Gradients of many tensors, averaged over all ranks in few operations, while backward goes on.
//
// Tensors are gathered in buckets. A bucket's all-reduce begins, on a stream, when the last of its
// gradients is ready, so that the wire works while the program computes the gradients that are
// left:
//
//     rondo::train::GradientBuckets buckets(comm, {{"w1", rondoFloat32, 4096}, ...});
//     for (each step) {
//       buckets.zero();
//       for (each layer, last one first) {
//         backward(layer, buckets.view<float>(w));   // adds to the gradient
//         buckets.markReady(w);
//       }
//       buckets.finish();                            // all gradients are means over the ranks now
//     }
//
// With a communicator in reproducible mode the results do not depend on the sizes of buckets, on
// their order, or on whether they overlap with backward; compressed or not.
#ifndef RONDO_TRAIN_GRADIENT_BUCKETS_H_
#define RONDO_TRAIN_GRADIENT_BUCKETS_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rondo/rondo.hpp"

namespace rondo::train {

/// A tensor whose gradient is averaged.
struct GradientSpec {
  std::string name;  ///< in messages; the same on all ranks, and no two alike
  rondoDataType_t type = rondoFloat32;
  std::size_t count = 0;  ///< elements; 0 is legal
  /// The caller's memory for the gradient, `count` elements, which lives as long as the buckets.
  /// Null: the gradient lies in its bucket (GradientBuckets::gradient), which saves two copies.
  void* gradient = nullptr;
  /// How often a pass marks it ready. More than 1 for a tied tensor, which several layers use: its
  /// gradient is ready when all have added to it.
  int uses = 1;
  /// False: sent as it is, even if buckets are compressed. Tensors of the two kinds do not share
  /// buckets.
  bool compress = true;
};

/// How gradients are packed for the wire; docs/compression.md says what that does to them. Types
/// that are no floats are sent as they are.
struct GradientCompression {
  rondoCodec_t codec = rondoCodecInt8;
  std::size_t blockElems = 256;  ///< of int8, a multiple of 16 from 16 to 16384
  /// What a pass rounds away is added to the next one's gradients, so that it is late, not lost. It
  /// takes 4 bytes per element, and 4 more per element that this rank adds up. Dropped when buckets
  /// are made again after the first pass.
  bool errorFeedback = true;
};

/// What becomes of a pass in which a rank neither marked a tensor ready nor said that it is unused.
enum class MissingGradient {
  kError,  ///< finish() throws on all ranks, and names tensors and ranks
  kZero    ///< that rank contributes zeros
};

/// How tensors are put together. The same on all ranks, but for onStall.
struct BucketOptions {
  /// Bytes of a bucket; a larger tensor has one for itself. More: fewer operations. Less: the first
  /// begin earlier, and less is left when backward ends.
  std::size_t capBytes = std::size_t{25} << 20;
  /// Bytes of the bucket that is ready first: what it holds delays all others.
  std::size_t firstCapBytes = std::size_t{1} << 20;
  /// False: nothing begins before finish(). For comparison.
  bool overlap = true;
  /// After the first pass, buckets are made again, in the order in which gradients became ready on
  /// rank 0. False: in reverse order of registration for ever.
  bool rebuild = true;
  rondoRedOp_t op = rondoAvg;
  /// Nothing: gradients are sent as they are. Else `op` is rondoAvg or rondoSum.
  std::optional<GradientCompression> compression{};
  MissingGradient missing = MissingGradient::kError;
  /// How long ranks may stand still, some of them with gradients that others lack, before each rank
  /// reports it, within twice the time. 0: never.
  std::chrono::milliseconds stallAfter{30000};
  /// Receives the report: a line that names tensors and missing ranks. Called by a thread of the
  /// library's, which may not use the buckets. Empty: written to stderr.
  std::function<void(const std::string&)> onStall;
};

/// Where the time of the passes so far went, on this rank.
struct BucketTimes {
  std::size_t passes = 0;                     ///< that were synchronized
  std::size_t operations = 0;                 ///< all-reduces
  std::size_t bytes = 0;                      ///< of gradients given to them
  std::size_t codedBytes = 0;                 ///< that this rank sent of compressed buckets
  std::size_t uncodedBytes = 0;               ///< that these would have been without a codec
  std::chrono::nanoseconds communicating{0};  ///< in all-reduces, with waiting for slower ranks
  std::chrono::nanoseconds exposed{0};        ///< of that, while the program waited in finish()
  std::chrono::nanoseconds copying{0};        ///< between callers' memory and buckets

  /// Communication that backward hid.
  std::chrono::nanoseconds hidden() const {
    return communicating > exposed ? communicating - exposed : std::chrono::nanoseconds{0};
  }
};

/// One rank's buckets. Tensors are known by their place in the list that was passed.
/// @threads marks may come from several threads; everything else from one at a time.
class GradientBuckets {
 public:
  /// Collective over `comm`, whose ranks must pass the same tensors in the same order. Operations
  /// run on communicators that are split off `comm`; that one may be used and destroyed freely.
  /// @param comm on host memory
  /// @errors Mismatch on all ranks: names the first tensor that differs from rank 0's.
  ///   InvalidArgument: two tensors have one name, a tensor without a use. Those of a split.
  GradientBuckets(const Communicator& comm,
                  std::vector<GradientSpec> tensors,
                  BucketOptions options = {});
  /// Waits for what was begun. Not collective.
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  /// Where the gradient of a tensor lies: the caller's memory, or its place in a bucket. Valid
  /// until the next finish(); the values stay across it.
  void* gradient(std::size_t tensor) const;

  /// The same as a range.
  template <Element T>
  std::span<T> view(std::size_t tensor) const {
    return {static_cast<T*>(checkedGradient(tensor, ElementType<T>::value)), countOf(tensor)};
  }

  /// Sets all gradients to zero.
  void zero();

  /// Says that one use of a tensor has added to its gradient; after the last one the gradient is
  /// not touched until finish().
  /// @errors InvalidUsage: more marks than uses; the tensor was said to be unused.
  void markReady(std::size_t tensor);

  /// Says that this rank has no gradient for a tensor in this pass; it contributes zeros then, if
  /// it had none in the passes since the last synchronized one either.
  /// @errors InvalidUsage: it was marked.
  void markUnused(std::size_t tensor);

  /// While it lives, passes only accumulate: finish() exchanges nothing. What they marked counts as
  /// used in the next synchronized pass.
  class NoSync {
   public:
    explicit NoSync(GradientBuckets& buckets) : buckets_(buckets) { buckets_.changeNoSync(1); }

    ~NoSync() { buckets_.changeNoSync(-1); }

    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    GradientBuckets& buckets_;
  };

  /// Ends a pass: completes all buckets and waits for them. Collective, unless under NoSync.
  /// @errors InvalidUsage on all ranks: tensors that ranks used but never marked, by name and rank;
  ///   the gradients are complete nevertheless, with zeros for what is missing. Those of
  ///   operations.
  void finish();

  /// What this rank keeps from pass to pass, for a checkpoint: the order of its buckets, and what
  /// compression has rounded away. Between passes.
  std::vector<std::byte> saveState() const;

  /// Goes on from what saveState() gave on this rank: the next passes have the bits that they would
  /// have had there. Between passes; gradients become zero. Collective: each rank passes its own.
  /// @return false, on all ranks: some rank's is empty or of other tensors, options or ranks. Then
  ///   only what compression has rounded away is forgotten.
  /// @errors InvalidArgument on all ranks: what was saved has been changed.
  bool restoreState(std::span<const std::byte> state);

  /// Number of buckets now.
  std::size_t size() const;

  /// The tensors of a bucket, in the order in which they lie there.
  std::vector<std::size_t> tensorsOf(std::size_t bucket) const;

  BucketTimes times() const;

 private:
  class Impl;

  void changeNoSync(int change);
  void* checkedGradient(std::size_t tensor, rondoDataType_t type) const;
  std::size_t countOf(std::size_t tensor) const;

  int noSync_ = 0;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo::train

#endif  // RONDO_TRAIN_GRADIENT_BUCKETS_H_
