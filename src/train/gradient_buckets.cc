#include "rondo/train/gradient_buckets.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "src/train/agreement.h"
#include "src/train/aligned_buffer.h"
#include "src/train/bucket_plan.h"
#include "src/train/coded_exchange.h"
#include "src/train/completion_thread.h"
#include "src/train/mark_ledger.h"
#include "src/train/rank_state.h"
#include "src/train/stall_watch.h"

namespace rondo::train {

namespace {

using Clock = std::chrono::steady_clock;

struct Bucket {
  BucketLayout layout;
  AlignedBuffer memory;
  std::unique_ptr<CodedExchange> coded;  ///< null: sent as it is
  Event done;
  std::size_t incomplete = 0;  ///< members that this pass still needs
};

struct Place {
  std::size_t bucket = 0;
  std::size_t offsetElems = 0;
};

std::string describe(const GradientSpec& tensor) {
  return tensor.name + " (type " + std::to_string(static_cast<int>(tensor.type)) + ", " +
         std::to_string(tensor.count) + " elements, " + std::to_string(tensor.uses) + " uses" +
         (tensor.compress ? ")" : ", not compressed)");
}

/// What ranks must agree on.
std::vector<std::string> describe(const std::vector<GradientSpec>& tensors,
                                  const BucketOptions& options) {
  std::vector<std::string> lines;
  for (const GradientSpec& tensor : tensors)
    lines.push_back(describe(tensor));
  lines.push_back("caps of " + std::to_string(options.firstCapBytes) + " and " +
                  std::to_string(options.capBytes) + " bytes");
  lines.push_back(describe(options.compression));
  return lines;
}

/// Whether `order` has each of `tensors` tensors once.
bool isOrderOf(std::size_t tensors, std::span<const std::size_t> order) {
  std::vector<bool> seen(tensors);
  for (const std::size_t tensor : order) {
    if (tensor >= tensors || seen[tensor]) return false;
    seen[tensor] = true;
  }
  return order.size() == tensors;
}

void checkSpecs(const std::vector<GradientSpec>& tensors) {
  std::set<std::string> names;
  for (const GradientSpec& tensor : tensors) {
    if (tensor.uses < 1) {
      throw Error(rondoInvalidArgument, "gradients: " + tensor.name + " has " +
                                            std::to_string(tensor.uses) +
                                            " uses; a tensor has 1 or more");
    }
    if (!names.insert(tensor.name).second) {
      throw Error(rondoInvalidArgument, "gradients: two tensors are called " + tensor.name +
                                            "; register a tied one once, with its uses");
    }
    static_cast<void>(bytesOf(tensor.type));
  }
}

MarkLedger ledgerOf(const std::vector<GradientSpec>& tensors, int rank) {
  std::vector<MarkedTensor> marked;
  for (const GradientSpec& tensor : tensors)
    marked.push_back({tensor.name, tensor.uses});
  return {"gradients", std::move(marked), rank};
}

}  // namespace

class GradientBuckets::Impl {
 public:
  Impl(const Communicator& comm, std::vector<GradientSpec> tensors, BucketOptions options)
      : tensors_(std::move(tensors)),
        options_(std::move(options)),
        comm_(comm.split(0, comm.rank())),
        rank_(comm_.rank()),
        ledger_(ledgerOf(tensors_, rank_)) {
    const std::vector<std::string> lines = describe(tensors_, options_);
    requireAgreement(comm_, "gradients", lines);
    checkSpecs(tensors_);
    fingerprint_ = fingerprintOf(lines, comm_);
    std::vector<std::size_t> order(tensors_.size());
    std::iota(order.rbegin(), order.rend(), std::size_t{0});
    build(std::move(order));
    if (options_.stallAfter.count() > 0) startWatch();
  }

  /// What others still wait for will not come.
  ~Impl() {
    watch_.reset();
    if (launched_ > 0) static_cast<void>(rondoCommAbort(comm_.handle()));
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const GradientSpec& tensor(std::size_t index) const { return tensors_.at(index); }

  void* gradient(std::size_t index) const {
    void* own = tensors_.at(index).gradient;
    return own != nullptr ? own : placeOf(index);
  }

  void zero() {
    for (std::size_t index = 0; index < tensors_.size(); ++index)
      clear(gradient(index), index);
  }

  void markReady(std::size_t index) {
    {
      const std::lock_guard lock(mutex_);
      if (!ledger_.markReady(index)) return;
    }
    copyIn(index);
    const std::lock_guard lock(mutex_);
    arrival_.push_back(index);
    --buckets_[places_[index].bucket].incomplete;
    if (options_.overlap && synchronizing_) launchComplete();
  }

  void markUnused(std::size_t index) {
    const std::lock_guard lock(mutex_);
    ledger_.markUnused(index);
  }

  /// Whether marks begin operations, and finish() completes them.
  void setSynchronizing(bool on) {
    const std::lock_guard lock(mutex_);
    synchronizing_ = on;
  }

  void finish() {
    if (!synchronizing_) {
      endPass();
      return;
    }
    completeBuckets();
    const Clock::time_point begin = Clock::now();
    launchComplete();
    const bool missing = waitForAll();
    countCodedBytes();
    const std::chrono::nanoseconds waited = Clock::now() - begin;
    times_.exposed += waited;
    if (!options_.overlap) inline_ += waited;
    ++times_.passes;
    launched_ = 0;
    const std::string problem = missing ? describeMissing() : std::string();
    const bool first = std::exchange(rebuilt_, true) == false;
    if (options_.rebuild && first) rebuild();
    endPass();
    if (!problem.empty()) throw Error(rondoInvalidUsage, problem);
  }

  std::vector<std::byte> saveState() const {
    RankState state{fingerprint_, rebuilt_, order_, {}};
    for (const Bucket& bucket : buckets_) {
      if (bucket.coded) state.feedbacks.push_back(bucket.coded->saveFeedback());
    }
    return state.bytes();
  }

  bool restoreState(std::span<const std::byte> bytes) {
    std::optional<RankState> state = RankState::parse(bytes);
    if (state && (state->fingerprint != fingerprint_ || !isOrderOf(tensors_.size(), state->order)))
      state.reset();
    if (!allHaveTheSame(comm_, state)) {
      for (const Bucket& bucket : buckets_) {
        if (bucket.coded) bucket.coded->resetFeedback();
      }
      return false;
    }
    build(std::move(state->order));
    rebuilt_ = state->rebuilt;
    onAllRanks(comm_, [&] { loadFeedbacks(state->feedbacks); });
    return true;
  }

  std::size_t size() const { return buckets_.size(); }

  std::vector<std::size_t> tensorsOf(std::size_t bucket) const {
    std::vector<std::size_t> tensors;
    for (const BucketMember& member : buckets_.at(bucket).layout.members)
      tensors.push_back(member.tensor);
    return tensors;
  }

  BucketTimes times() const {
    const std::lock_guard lock(mutex_);
    BucketTimes times = times_;
    times.communicating = completions_.busy() + inline_;
    times.copying = std::chrono::nanoseconds(copying_);
    return times;
  }

 private:
  /// @errors thrown, InvalidArgument
  void loadFeedbacks(const std::vector<std::vector<std::byte>>& feedbacks) const {
    std::size_t next = 0;
    for (const Bucket& bucket : buckets_) {
      if (!bucket.coded) continue;
      if (next == feedbacks.size()) break;
      bucket.coded->loadFeedback(feedbacks[next++]);
    }
  }

  void startWatch() {
    const auto progress = [this] {
      const std::lock_guard lock(mutex_);
      return progressOf(ledger_);
    };
    watch_.emplace(comm_.split(0, rank_), ledger_.names(), options_.stallAfter, progress,
                   options_.onStall);
  }

  std::byte* placeOf(std::size_t index) const {
    const Place& place = places_[index];
    return buckets_[place.bucket].memory.data() + place.offsetElems * bytesOf(tensors_[index].type);
  }

  std::size_t bytes(std::size_t index) const {
    return tensors_[index].count * bytesOf(tensors_[index].type);
  }

  void clear(void* memory, std::size_t index) const {
    if (bytes(index) > 0) std::memset(memory, 0, bytes(index));
  }

  void copyIn(std::size_t index) {
    if (tensors_[index].gradient == nullptr || bytes(index) == 0) return;
    const Clock::time_point begin = Clock::now();
    std::memcpy(placeOf(index), tensors_[index].gradient, bytes(index));
    copying_ += (Clock::now() - begin).count();
  }

  void copyOut(const Bucket& bucket) {
    const Clock::time_point begin = Clock::now();
    for (const BucketMember& member : bucket.layout.members) {
      const GradientSpec& tensor = tensors_[member.tensor];
      if (tensor.gradient == nullptr || tensor.count == 0) continue;
      std::memcpy(tensor.gradient, placeOf(member.tensor), bytes(member.tensor));
    }
    copying_ += (Clock::now() - begin).count();
  }

  /// Begins the buckets that are complete and whose predecessors were begun: so all ranks begin
  /// them in one order.
  void launchComplete() {
    while (launched_ < buckets_.size() && buckets_[launched_].incomplete == 0)
      launch(buckets_[launched_++]);
  }

  /// The only place that knows how a bucket is reduced.
  void launch(Bucket& bucket) {
    std::byte* data = bucket.memory.data();
    const auto& [type, compressed, elems, members] = bucket.layout;
    rondoStream_t stream = options_.overlap ? stream_.handle() : nullptr;
    throwIfFailed(
        compressed ? rondoAllReduceCompressed(data, data, elems, type, options_.op,
                                              &bucket.coded->how(), comm_.handle(), stream)
                   : rondoAllReduce(data, data, elems, type, options_.op, comm_.handle(), stream),
        comm_.handle());
    ++times_.operations;
    times_.bytes += bucket.layout.bytes();
    if (options_.overlap) {
      bucket.done.record(stream);
      completions_.add(bucket.done, [this, &bucket] { copyOut(bucket); });
    } else {
      copyOut(bucket);
    }
  }

  /// Gives what was not marked in this pass its value: what earlier passes left, or zero.
  void completeBuckets() {
    const std::lock_guard lock(mutex_);
    for (std::size_t index = 0; index < tensors_.size(); ++index) {
      if (ledger_.completeNow(index)) continue;
      if (ledger_.contributes(index)) {
        copyIn(index);
      } else {
        clear(placeOf(index), index);
      }
      arrival_.push_back(index);
    }
    for (Bucket& bucket : buckets_)
      bucket.incomplete = 0;
  }

  /// @return whether a rank lacks marks, which all ranks learn alike
  bool waitForAll() {
    const rondoResult_t result = rondoStreamSynchronize(stream_);
    completions_.drain();
    throwIfFailed(result);
    return options_.missing == MissingGradient::kError && ledger_.anyMissing(comm_);
  }

  /// Adds up what the pass has sent.
  void countCodedBytes() {
    for (const Bucket& bucket : buckets_) {
      if (!bucket.coded) continue;
      times_.codedBytes += bucket.coded->report().wireBytes;
      times_.uncodedBytes += bucket.coded->report().plainBytes;
    }
  }

  std::string describeMissing() const {
    return ledger_.describeMissing(comm_) +
           "; mark each tensor ready or unused in each pass, or choose MissingGradient::kZero";
  }

  void endPass() {
    const std::lock_guard lock(mutex_);
    ledger_.endPass(synchronizing_);
    for (Bucket& bucket : buckets_)
      bucket.incomplete = bucket.layout.members.size();
    arrival_.clear();
  }

  /// Lays the buckets out anew, in the order in which rank 0's gradients came. Values stay.
  void rebuild() {
    std::vector<std::uint32_t> order(arrival_.begin(), arrival_.end());
    comm_.broadcast(order, 0);
    std::vector<Bucket> old = std::move(buckets_);
    build({order.begin(), order.end()});
    for (const Bucket& bucket : old) {
      for (const BucketMember& member : bucket.layout.members) {
        const std::size_t size = bytesOf(bucket.layout.type);
        if (bytes(member.tensor) == 0) continue;
        std::memcpy(placeOf(member.tensor), bucket.memory.data() + member.offsetElems * size,
                    bytes(member.tensor));
      }
    }
  }

  void build(std::vector<std::size_t> order) {
    order_ = std::move(order);
    buckets_.clear();
    places_.resize(tensors_.size());
    for (BucketLayout& layout : planBuckets(tensors_, order_, options_)) {
      for (const BucketMember& member : layout.members)
        places_[member.tensor] = {buckets_.size(), member.offsetElems};
      Bucket& bucket = buckets_.emplace_back();
      bucket.memory = AlignedBuffer(layout.bytes());
      bucket.incomplete = layout.members.size();
      if (layout.compressed)
        bucket.coded = std::make_unique<CodedExchange>(*options_.compression, countsOf(layout));
      bucket.layout = std::move(layout);
    }
  }

  /// Elements of a bucket's tensors.
  std::vector<std::size_t> countsOf(const BucketLayout& layout) const {
    std::vector<std::size_t> counts;
    for (const BucketMember& member : layout.members)
      counts.push_back(tensors_[member.tensor].count);
    return counts;
  }

  const std::vector<GradientSpec> tensors_;
  const BucketOptions options_;
  const Communicator comm_;
  const int rank_;
  mutable std::mutex mutex_;  // marks of several threads, and the watch
  MarkLedger ledger_;
  std::uint64_t fingerprint_ = 0;     // of what ranks agreed on
  std::vector<std::size_t> order_;    // in which buckets were filled
  std::vector<std::size_t> arrival_;  // in this pass
  bool synchronizing_ = true;
  bool rebuilt_ = false;
  std::size_t launched_ = 0;  // buckets of this pass
  BucketTimes times_;
  std::chrono::nanoseconds inline_{0};  // communication in the caller's thread
  std::atomic<std::chrono::nanoseconds::rep> copying_{0};
  std::vector<Place> places_;  // by tensor
  std::vector<Bucket> buckets_;
  // Destroyed first, in this order: the watch reads the state, the thread waits for the stream.
  Stream stream_;
  CompletionThread completions_;
  std::optional<StallWatch> watch_;
};

GradientBuckets::GradientBuckets(const Communicator& comm,
                                 std::vector<GradientSpec> tensors,
                                 BucketOptions options)
    : impl_(std::make_unique<Impl>(comm, std::move(tensors), std::move(options))) {}

GradientBuckets::~GradientBuckets() = default;

void* GradientBuckets::gradient(std::size_t tensor) const {
  return impl_->gradient(tensor);
}

void GradientBuckets::zero() {
  impl_->zero();
}

void GradientBuckets::markReady(std::size_t tensor) {
  impl_->markReady(tensor);
}

void GradientBuckets::markUnused(std::size_t tensor) {
  impl_->markUnused(tensor);
}

void GradientBuckets::changeNoSync(int change) {
  noSync_ += change;
  impl_->setSynchronizing(noSync_ == 0);
}

void GradientBuckets::finish() {
  impl_->finish();
}

std::vector<std::byte> GradientBuckets::saveState() const {
  return impl_->saveState();
}

bool GradientBuckets::restoreState(std::span<const std::byte> state) {
  return impl_->restoreState(state);
}

std::size_t GradientBuckets::size() const {
  return impl_->size();
}

std::vector<std::size_t> GradientBuckets::tensorsOf(std::size_t bucket) const {
  return impl_->tensorsOf(bucket);
}

BucketTimes GradientBuckets::times() const {
  return impl_->times();
}

void* GradientBuckets::checkedGradient(std::size_t tensor, rondoDataType_t type) const {
  if (impl_->tensor(tensor).type == type) return impl_->gradient(tensor);
  throw Error(rondoInvalidArgument, "gradients: " + impl_->tensor(tensor).name +
                                        " has another type than the view that is asked for");
}

std::size_t GradientBuckets::countOf(std::size_t tensor) const {
  return impl_->tensor(tensor).count;
}

}  // namespace rondo::train
