// The C++20 interface: owning handles, ranges instead of pointers and counts, and exceptions
// instead of results. Header-only, over rondo.h, whose rules for buffers, threads and order hold
// here, too.
//
//     std::vector<rondo::Communicator> ranks = rondo::Communicator::createAll(4);
//     // in the thread of rank r:
//     ranks[r].allReduce(gradients);              // in place, sum
//     ranks[r].allReduce(input, output, rondoMax);
//
// The inline namespace keeps these names apart from those inside the static library.
#ifndef RONDO_RONDO_HPP_
#define RONDO_RONDO_HPP_

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rondo/rondo.h"

namespace rondo {
inline namespace v0 {

/// A call that failed; what() is the full message.
class Error : public std::runtime_error {
 public:
  Error(rondoResult_t result, const std::string& message)
      : std::runtime_error(message), result_(result) {}

  /// Its tens say what is lost.
  rondoResult_t result() const noexcept { return result_; }

 private:
  rondoResult_t result_;
};

/// The rondoDataType_t of a C++ type. Specialise it for 8- and 16-bit floats:
///
///     template <>
///     struct rondo::ElementType<MyHalf> {
///       static constexpr rondoDataType_t value = rondoFloat16;
///     };
template <class T>
struct ElementType {};

template <>
struct ElementType<bool> {
  static constexpr rondoDataType_t value = rondoBool;
};

template <>
struct ElementType<std::byte> {
  static constexpr rondoDataType_t value = rondoUint8;
};

template <>
struct ElementType<float> {
  static constexpr rondoDataType_t value = rondoFloat32;
};

template <>
struct ElementType<double> {
  static constexpr rondoDataType_t value = rondoFloat64;
};

template <>
struct ElementType<std::complex<float>> {
  static constexpr rondoDataType_t value = rondoComplex64;
};

template <>
struct ElementType<std::complex<double>> {
  static constexpr rondoDataType_t value = rondoComplex128;
};

/// Integers, by size and sign.
template <std::integral T>

requires(sizeof(T) <= sizeof(std::int64_t)) struct ElementType<T> {
 private:
  static constexpr rondoDataType_t choose(rondoDataType_t ifSigned, rondoDataType_t ifUnsigned) {
    return std::is_signed_v<T> ? ifSigned : ifUnsigned;
  }

 public:
  static constexpr rondoDataType_t value = sizeof(T) == 1   ? choose(rondoInt8, rondoUint8)
                                           : sizeof(T) == 2 ? choose(rondoInt16, rondoUint16)
                                           : sizeof(T) == 4 ? choose(rondoInt32, rondoUint32)
                                                            : choose(rondoInt64, rondoUint64);
};

/// A type that can be communicated.
template <class T>
concept Element = std::is_trivially_copyable_v<T> && requires {
  { ElementType<T>::value } -> std::convertible_to<rondoDataType_t>;
};

/// A vector, array or span of elements.
template <class Range>
concept ElementRange = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    Element<std::ranges::range_value_t<Range>>;

/// One whose elements can be written.
template <class Range>
concept WritableElementRange = ElementRange<Range> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

/// Two ranges of one element type, from the first into the second.
template <class Send, class Recv>
concept SendAndRecv = ElementRange<const Send> && WritableElementRange<Recv> &&
    std::same_as<std::ranges::range_value_t<Send>, std::ranges::range_value_t<Recv>>;

/// Throws Error unless `result` is rondoSuccess, or rondoInProgress, which is no failure.
/// @param comm the communicator of the failed call, if it has one.
inline void throwIfFailed(rondoResult_t result, rondoComm_t comm = nullptr) {
  if (result == rondoSuccess || result == rondoInProgress) [[likely]]
    return;
  throw Error(result, std::string(rondoGetErrorString(result)) + ": " + rondoGetLastError(comm));
}

/// A reduction made by Communicator::preMulSum or reduction; destroy it before its communicator.
class MadeReduction {
 public:
  MadeReduction(rondoComm_t comm, rondoRedOp_t op) noexcept : comm_(comm), op_(op) {}

  MadeReduction(MadeReduction&& other) noexcept
      : comm_(std::exchange(other.comm_, nullptr)), op_(other.op_) {}

  MadeReduction& operator=(MadeReduction&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(op_, other.op_);
    return *this;
  }

  ~MadeReduction() {
    if (comm_ != nullptr) static_cast<void>(rondoRedOpDestroy(op_, comm_));
  }

  /// Implicit, so that it goes where a built-in reduction goes.
  operator rondoRedOp_t() const noexcept { return op_; }  // NOLINT(google-explicit-constructor)

 private:
  rondoComm_t comm_;
  rondoRedOp_t op_;
};

using PreMulSum = MadeReduction;

/// Elements in host memory that other ranks of this host can map (rondoMemAlloc). Zero at first.
/// Owns them; empty after a move. A contiguous range.
template <Element T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count) {
    void* memory = nullptr;
    throwIfFailed(rondoMemAlloc(&memory, count * sizeof(T), -1));
    data_ = static_cast<T*>(memory);
  }

  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}

  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }

  /// Memory that is registered still is not freed.
  ~Buffer() { static_cast<void>(rondoMemFree(data_)); }

  T* data() noexcept { return data_; }

  const T* data() const noexcept { return data_; }

  std::size_t size() const noexcept { return count_; }

  T* begin() noexcept { return data_; }

  T* end() noexcept { return data_ + count_; }

  const T* begin() const noexcept { return data_; }

  const T* end() const noexcept { return data_ + count_; }

  T& operator[](std::size_t at) noexcept { return data_[at]; }

  const T& operator[](std::size_t at) const noexcept { return data_[at]; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

/// A buffer registered by Communicator::registerBuffer; destroy it before its communicator.
class Registration {
 public:
  Registration(rondoComm_t comm, rondoRegistration_t handle) noexcept
      : comm_(comm), handle_(handle) {}

  Registration(Registration&& other) noexcept
      : comm_(std::exchange(other.comm_, nullptr)), handle_(other.handle_) {}

  Registration& operator=(Registration&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  ~Registration() {
    if (comm_ != nullptr) static_cast<void>(rondoCommDeregister(comm_, handle_));
  }

 private:
  rondoComm_t comm_;
  rondoRegistration_t handle_;
};

/// A group of calls of this thread, between its making and end():
///
///     rondo::Group group;
///     comm.send(right, next);
///     comm.recv(left, before);
///     group.end();                // carries both out together
///
/// Ranges that calls in it are given must live until end(). See rondoGroupStart.
/// @threads the one that made it
class Group {
 public:
  Group() { throwIfFailed(rondoGroupStart()); }

  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Without end(), as when something has thrown, nothing is carried out.
  ~Group() {
    if (open_) static_cast<void>(rondoGroupCancel());
  }

  /// Carries the calls out, unless the group is part of another one.
  void end() {
    open_ = false;
    throwIfFailed(rondoGroupEnd());
  }

 private:
  bool open_ = true;
};

/// A point in the work of streams on host memory. Owns its handle; empty after a move.
/// @threads any
class Event {
 public:
  Event() { throwIfFailed(rondoEventCreate(&handle_)); }

  Event(Event&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

  Event& operator=(Event&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  ~Event() { static_cast<void>(rondoEventDestroy(handle_)); }

  rondoEvent_t handle() const noexcept { return handle_; }

  /// Complete when all that was issued on `stream` so far is.
  void record(rondoStream_t stream) const { throwIfFailed(rondoEventRecord(handle_, stream)); }

  /// Returns when it is complete, as recorded last.
  void synchronize() const { throwIfFailed(rondoEventSynchronize(handle_)); }

  /// Whether it is complete, without waiting.
  bool complete() const {
    const rondoResult_t result = rondoEventQuery(handle_);
    if (result != rondoInProgress) throwIfFailed(result);
    return result == rondoSuccess;
  }

 private:
  rondoEvent_t handle_ = nullptr;
};

/// A stream on host memory; see rondoStreamCreate. Owns its handle; empty after a move.
/// @threads any
class Stream {
 public:
  Stream() { throwIfFailed(rondoStreamCreate(&handle_)); }

  Stream(Stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

  Stream& operator=(Stream&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  /// Waits for what was issued; failures that synchronize() has not told are lost.
  ~Stream() { static_cast<void>(rondoStreamDestroy(handle_)); }

  rondoStream_t handle() const noexcept { return handle_; }

  /// Implicit, so that it goes where a rondoStream_t goes.
  operator rondoStream_t() const noexcept {
    return handle_;
  }  // NOLINT(google-explicit-constructor)

  /// Returns when all that was issued is complete; throws the first failure since the last throw.
  void synchronize() const { throwIfFailed(rondoStreamSynchronize(handle_)); }

  /// Whether all that was issued is complete, without waiting; throws as synchronize().
  bool complete() const {
    const rondoResult_t result = rondoStreamQuery(handle_);
    if (result != rondoInProgress) throwIfFailed(result);
    return result == rondoSuccess;
  }

  /// Makes what is issued from now on wait for `event`.
  void wait(const Event& event) const {
    throwIfFailed(rondoStreamWaitEvent(handle_, event.handle()));
  }

 private:
  rondoStream_t handle_ = nullptr;
};

/// What compression has rounded away so far; see rondoErrorFeedbackCreate. Owns its handle; empty
/// after a move.
/// @threads any; one call at a time uses it
class ErrorFeedback {
 public:
  ErrorFeedback() { throwIfFailed(rondoErrorFeedbackCreate(&handle_)); }

  ErrorFeedback(ErrorFeedback&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

  ErrorFeedback& operator=(ErrorFeedback&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  ~ErrorFeedback() { static_cast<void>(rondoErrorFeedbackDestroy(handle_)); }

  /// For rondoCompression_t::feedback.
  rondoErrorFeedback_t handle() const noexcept { return handle_; }

  /// Sets it to zero.
  void reset() const { throwIfFailed(rondoErrorFeedbackReset(handle_)); }

  /// What a checkpoint needs of it.
  std::vector<std::byte> save() const {
    std::size_t size = 0;
    throwIfFailed(rondoErrorFeedbackSave(handle_, nullptr, 0, &size));
    std::vector<std::byte> bytes(size);
    throwIfFailed(rondoErrorFeedbackSave(handle_, bytes.data(), bytes.size(), &size));
    return bytes;
  }

  /// Goes on from what save() gave.
  void load(std::span<const std::byte> bytes) const {
    throwIfFailed(rondoErrorFeedbackLoad(handle_, bytes.data(), bytes.size()));
  }

 private:
  rondoErrorFeedback_t handle_ = nullptr;
};

/// The operations of one rank's communicator on one stream, or in the calling thread. Owns nothing.
/// @threads  one thread at a time per communicator.
class Operations {
 public:
  int rank() const {
    int rank = 0;
    check(rondoCommRank(handle_, &rank));
    return rank;
  }

  int ranks() const {
    int ranks = 0;
    check(rondoCommCount(handle_, &ranks));
    return ranks;
  }

  /// Reduces over all ranks into `recv` on each.
  template <class Send, class Recv>
  requires SendAndRecv<Send, Recv>

  void allReduce(const Send& send, Recv&& recv, rondoRedOp_t op = rondoSum) const {
    checkSizes("allReduce", std::ranges::size(send), std::ranges::size(recv));
    check(rondoAllReduce(std::ranges::data(send), std::ranges::data(recv), std::ranges::size(recv),
                         typeOf<Recv>(), op, handle_, stream_));
  }

  /// Reduces `data` over all ranks, in place.
  template <WritableElementRange Data>
  void allReduce(Data&& data, rondoRedOp_t op = rondoSum) const {
    allReduce(data, data, op);
  }

  /// Reduces over all ranks; this rank receives its block of the result.
  /// @param send one block of recv's size per rank, in rank order.
  template <class Send, class Recv>
  requires SendAndRecv<Send, Recv>

  void reduceScatter(const Send& send, Recv&& recv, rondoRedOp_t op = rondoSum) const {
    checkSizes("reduceScatter", std::ranges::size(send), allBlocks(std::ranges::size(recv)));
    check(rondoReduceScatter(std::ranges::data(send), std::ranges::data(recv),
                             std::ranges::size(recv), typeOf<Recv>(), op, handle_, stream_));
  }

  /// Gathers all ranks' blocks, in rank order.
  /// @param recv room for one block of send's size per rank.
  template <class Send, class Recv>
  requires SendAndRecv<Send, Recv>

  void allGather(const Send& send, Recv&& recv) const {
    checkSizes("allGather", allBlocks(std::ranges::size(send)), std::ranges::size(recv));
    check(rondoAllGather(std::ranges::data(send), std::ranges::data(recv), std::ranges::size(send),
                         typeOf<Recv>(), handle_, stream_));
  }

  /// allReduce(), reduceScatter() and allGather(), compressed on the wire; see
  /// rondoAllReduceCompressed. `how` starts from RONDO_COMPRESSION_INITIALIZER.
  template <class Send, class Recv>
  requires SendAndRecv<Send, Recv>

  void allReduceCompressed(const Send& send,
                           Recv&& recv,
                           const rondoCompression_t& how,
                           rondoRedOp_t op = rondoSum) const {
    checkSizes("allReduceCompressed", std::ranges::size(send), std::ranges::size(recv));
    check(rondoAllReduceCompressed(std::ranges::data(send), std::ranges::data(recv),
                                   std::ranges::size(recv), typeOf<Recv>(), op, &how, handle_,
                                   stream_));
  }

  template <class Send, class Recv>
  requires SendAndRecv<Send, Recv>

  void reduceScatterCompressed(const Send& send,
                               Recv&& recv,
                               const rondoCompression_t& how,
                               rondoRedOp_t op = rondoSum) const {
    checkSizes("reduceScatterCompressed", std::ranges::size(send),
               allBlocks(std::ranges::size(recv)));
    check(rondoReduceScatterCompressed(std::ranges::data(send), std::ranges::data(recv),
                                       std::ranges::size(recv), typeOf<Recv>(), op, &how, handle_,
                                       stream_));
  }

  template <class Send, class Recv>
  requires SendAndRecv<Send, Recv>

  void allGatherCompressed(const Send& send, Recv&& recv, const rondoCompression_t& how) const {
    checkSizes("allGatherCompressed", allBlocks(std::ranges::size(send)), std::ranges::size(recv));
    check(rondoAllGatherCompressed(std::ranges::data(send), std::ranges::data(recv),
                                   std::ranges::size(send), typeOf<Recv>(), &how, handle_,
                                   stream_));
  }

  /// Overwrites `data` on every rank by the root's.
  template <WritableElementRange Data>
  void broadcast(Data&& data, int root) const {
    check(rondoBroadcast(std::ranges::data(data), std::ranges::data(data), std::ranges::size(data),
                         typeOf<Data>(), root, handle_, stream_));
  }

  /// Reduces over all ranks into the root's `recv`; other ranks may pass an empty one.
  template <class Send, class Recv>
  requires SendAndRecv<Send, Recv>

  void reduce(const Send& send, Recv&& recv, int root, rondoRedOp_t op = rondoSum) const {
    if (rank() == root) checkSizes("reduce", std::ranges::size(send), std::ranges::size(recv));
    check(rondoReduce(std::ranges::data(send), std::ranges::data(recv), std::ranges::size(send),
                      typeOf<Recv>(), op, root, handle_, stream_));
  }

  /// Sends block p of `send` to rank p, and receives a block from each rank, in rank order.
  /// @param send one block per rank, all of one size.
  /// @param recv of send's size; may be the same range.
  template <class Send, class Recv>
  requires SendAndRecv<Send, Recv>

  void allToAll(const Send& send, Recv&& recv) const {
    const std::size_t block = oneBlock("allToAll", std::ranges::size(recv));
    checkSizes("allToAll", std::ranges::size(send), std::ranges::size(recv));
    check(rondoAllToAll(std::ranges::data(send), std::ranges::data(recv), block, typeOf<Recv>(),
                        handle_, stream_));
  }

  /// Collects all ranks' blocks at the root, in rank order.
  /// @param recv at the root room for one block of send's size per rank; elsewhere it may be empty.
  template <class Send, class Recv>
  requires SendAndRecv<Send, Recv>

  void gather(const Send& send, Recv&& recv, int root) const {
    if (rank() == root)
      checkSizes("gather", allBlocks(std::ranges::size(send)), std::ranges::size(recv));
    check(rondoGather(std::ranges::data(send), std::ranges::data(recv), std::ranges::size(send),
                      typeOf<Recv>(), root, handle_, stream_));
  }

  /// Hands the root's blocks out, in rank order.
  /// @param send at the root one block of recv's size per rank; elsewhere it may be empty.
  template <class Send, class Recv>
  requires SendAndRecv<Send, Recv>

  void scatter(const Send& send, Recv&& recv, int root) const {
    if (rank() == root)
      checkSizes("scatter", std::ranges::size(send), allBlocks(std::ranges::size(recv)));
    check(rondoScatter(std::ranges::data(send), std::ranges::data(recv), std::ranges::size(recv),
                       typeOf<Recv>(), root, handle_, stream_));
  }

  /// Gathers blocks of different sizes; see rondoAllGatherV.
  /// @param counts, displacements one per rank
  template <class Send, class Recv>
  requires SendAndRecv<Send, Recv>

  void allGatherV(const Send& send,
                  Recv&& recv,
                  std::span<const std::size_t> counts,
                  std::span<const std::size_t> displacements) const {
    checkArrays("allGatherV", counts, displacements);
    check(rondoAllGatherV(std::ranges::data(send), std::ranges::data(recv), counts.data(),
                          displacements.data(), typeOf<Recv>(), handle_, stream_));
  }

  /// Reduces, and hands out blocks of different sizes; see rondoReduceScatterV.
  /// @param counts, displacements one per rank
  template <class Send, class Recv>
  requires SendAndRecv<Send, Recv>

  void reduceScatterV(const Send& send,
                      Recv&& recv,
                      std::span<const std::size_t> counts,
                      std::span<const std::size_t> displacements,
                      rondoRedOp_t op = rondoSum) const {
    checkArrays("reduceScatterV", counts, displacements);
    check(rondoReduceScatterV(std::ranges::data(send), std::ranges::data(recv), counts.data(),
                              displacements.data(), typeOf<Recv>(), op, handle_, stream_));
  }

  /// Exchanges blocks of different sizes; see rondoAllToAllV. All arrays have one entry per rank.
  template <class Send, class Recv>
  requires SendAndRecv<Send, Recv>

  void allToAllV(const Send& send,
                 std::span<const std::size_t> sendCounts,
                 std::span<const std::size_t> sendDisplacements,
                 Recv&& recv,
                 std::span<const std::size_t> recvCounts,
                 std::span<const std::size_t> recvDisplacements) const {
    checkArrays("allToAllV", sendCounts, sendDisplacements);
    checkArrays("allToAllV", recvCounts, recvDisplacements);
    check(rondoAllToAllV(std::ranges::data(send), sendCounts.data(), sendDisplacements.data(),
                         std::ranges::data(recv), recvCounts.data(), recvDisplacements.data(),
                         typeOf<Recv>(), handle_, stream_));
  }

  /// Collects blocks of different sizes at the root; see rondoGatherV. Elsewhere than there all but
  /// `send` may be empty.
  template <class Send, class Recv>
  requires SendAndRecv<Send, Recv>

  void gatherV(const Send& send,
               Recv&& recv,
               std::span<const std::size_t> counts,
               std::span<const std::size_t> displacements,
               int root) const {
    if (rank() == root) checkArrays("gatherV", counts, displacements);
    check(rondoGatherV(std::ranges::data(send), std::ranges::size(send), std::ranges::data(recv),
                       counts.data(), displacements.data(), typeOf<Recv>(), root, handle_,
                       stream_));
  }

  /// Hands blocks of different sizes out; see rondoScatterV. Elsewhere than at the root all but
  /// `recv` may be empty.
  template <class Send, class Recv>
  requires SendAndRecv<Send, Recv>

  void scatterV(const Send& send,
                std::span<const std::size_t> counts,
                std::span<const std::size_t> displacements,
                Recv&& recv,
                int root) const {
    if (rank() == root) checkArrays("scatterV", counts, displacements);
    check(rondoScatterV(std::ranges::data(send), counts.data(), displacements.data(),
                        std::ranges::data(recv), std::ranges::size(recv), typeOf<Recv>(), root,
                        handle_, stream_));
  }

  /// Sends `data` to rank `peer`, which receives it with recv() and the same tag; see
  /// rondoSendTagged.
  /// @param data no temporary container: in a group it is read later.
  template <ElementRange Data>
  requires std::ranges::borrowed_range<Data>

  void send(Data&& data, int peer, int tag = 0) const {
    check(rondoSendTagged(std::ranges::data(data), std::ranges::size(data), typeOf<Data>(), peer,
                          tag, handle_, stream_));
  }

  /// Receives into `data` what rank `peer` sends with that tag; of just that size.
  template <WritableElementRange Data>
  requires std::ranges::borrowed_range<Data>

  void recv(Data&& data, int peer, int tag = 0) const {
    check(rondoRecvTagged(std::ranges::data(data), std::ranges::size(data), typeOf<Data>(), peer,
                          tag, handle_, stream_));
  }

  /// Returns after every rank has called it.
  void barrier() const { check(rondoBarrier(handle_, stream_)); }

 protected:
  Operations(rondoComm_t handle, rondoStream_t stream) noexcept
      : handle_(handle), stream_(stream) {}

  void check(rondoResult_t result) const { throwIfFailed(result, handle_); }

  rondoComm_t handle_;
  rondoStream_t stream_;

 private:
  friend class Communicator;

  template <class Range>
  static constexpr rondoDataType_t typeOf() {
    return ElementType<std::ranges::range_value_t<Range>>::value;
  }

  std::size_t allBlocks(std::size_t block) const {
    return block * static_cast<std::size_t>(ranks());
  }

  /// What `all` elements of a block per rank are each.
  std::size_t oneBlock(const char* call, std::size_t all) const {
    const auto n = static_cast<std::size_t>(ranks());
    if (all % n == 0) return all / n;
    throw Error(rondoInvalidArgument, std::string(call) + ": " + std::to_string(all) +
                                          " elements are no whole number of blocks for " +
                                          std::to_string(n) + " ranks");
  }

  void checkArrays(const char* call,
                   std::span<const std::size_t> counts,
                   std::span<const std::size_t> displacements) const {
    const auto n = static_cast<std::size_t>(ranks());
    if (counts.size() == n && displacements.size() == n) [[likely]]
      return;
    throw Error(rondoInvalidArgument, std::string(call) + ": " + std::to_string(counts.size()) +
                                          " counts and " + std::to_string(displacements.size()) +
                                          " displacements; pass one of both for each of " +
                                          std::to_string(n) + " ranks");
  }

  static void checkSizes(const char* call, std::size_t send, std::size_t recv) {
    if (send == recv) [[likely]]
      return;
    throw Error(rondoInvalidArgument, std::string(call) + ": send and recv stand for " +
                                          std::to_string(send) + " and " + std::to_string(recv) +
                                          " elements; make them agree");
  }
};

/// One rank's communicator. Owns its handle; empty after a move.
/// @threads  one thread at a time, except abort(), complete(), synchronize() and asyncError().
class Communicator : public Operations {
 public:
  /// The communicators of all ranks of this process; the k-th is rank k's, for a thread of its own.
  static std::vector<Communicator> createAll(
      int ranks, const rondoConfig_t& config = rondoConfig_t RONDO_CONFIG_INITIALIZER) {
    std::vector<rondoComm_t> handles(ranks > 0 ? static_cast<std::size_t>(ranks) : 1);
    throwIfFailed(rondoCommInitAll(handles.data(), ranks, &config));
    return std::vector<Communicator>(handles.begin(), handles.end());
  }

  /// Rank `rank` of `ranks` that are processes; returns once all have called with the same id.
  static Communicator create(int ranks,
                             const rondoUniqueId_t& id,
                             int rank,
                             const rondoConfig_t& config = rondoConfig_t RONDO_CONFIG_INITIALIZER) {
    rondoComm_t handle = nullptr;
    throwIfFailed(rondoCommInitRank(&handle, ranks, id, rank, &config));
    return Communicator(handle);
  }

  /// The rank that the environment says this process is; see rondoCommInitFromEnvironment. Returns
  /// once all ranks have called.
  static Communicator createFromEnvironment(
      const rondoConfig_t& config = rondoConfig_t RONDO_CONFIG_INITIALIZER) {
    rondoComm_t handle = nullptr;
    throwIfFailed(rondoCommInitFromEnvironment(&handle, &config));
    return Communicator(handle);
  }

  /// The id of a communicator to be; see rondoGetUniqueId.
  static rondoUniqueId_t makeUniqueId() {
    rondoUniqueId_t id;
    throwIfFailed(rondoGetUniqueId(&id));
    return id;
  }

  /// Takes ownership of a handle.
  explicit Communicator(rondoComm_t handle) noexcept : Operations(handle, nullptr) {}

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  Communicator(Communicator&& other) noexcept
      : Operations(std::exchange(other.handle_, nullptr), nullptr) {}

  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  ~Communicator() { static_cast<void>(rondoCommDestroy(handle_)); }

  /// The operations of this communicator issued on a stream, to be used while both live:
  ///
  ///     comm.on(stream).allReduce(gradients);
  ///
  /// Ranges must live until the operation is complete.
  Operations on(rondoStream_t stream) const noexcept { return Operations(handle_, stream); }

  /// For the C functions; still owned by this object.
  rondoComm_t handle() const noexcept { return handle_; }

  /// Which transport leads to rank `peer`: "shm", "tcp", "inproc" or "self"; static text.
  /// @threads any
  const char* transport(int peer) const {
    const char* name = nullptr;
    check(rondoCommGetTransport(handle_, peer, &name));
    return name;
  }

  /// The communicator of the ranks that pass the same colour, ordered by key and then by rank;
  /// empty for RONDO_NO_COLOR. All ranks call it; see rondoCommSplit.
  Communicator split(int color, int key = 0) const {
    rondoComm_t part = nullptr;
    check(rondoCommSplit(handle_, color, key, &part, nullptr));
    return Communicator(part);
  }

  /// Gives this rank's part up once the others have taken what it sent; only the destructor may
  /// follow.
  void finalize() const { check(rondoCommFinalize(handle_)); }

  /// Stops all ranks' operations, for good.
  void abort() const { check(rondoCommAbort(handle_)); }

  /// Whether nothing is in progress, of a communicator whose calls do not wait; throws what it came
  /// to, once. See rondoCommGetAsyncError.
  bool complete() const {
    const rondoResult_t result = asyncError();
    check(result);
    return result == rondoSuccess;
  }

  /// Returns when nothing is in progress; throws as complete().
  void synchronize() const { check(rondoCommSynchronize(handle_)); }

  /// How a call would be carried out, and why so; see rondoCommQuery.
  rondoCallPlan_t query(const char* collective,
                        std::size_t count,
                        rondoDataType_t type,
                        rondoRedOp_t op = rondoSum,
                        int root = 0) const {
    rondoCallPlan_t plan{};
    plan.size = sizeof plan;
    check(rondoCommQuery(handle_, collective, count, type, op, root, &plan));
    return plan;
  }

  /// Has this rank ready for such calls; all ranks do so. See rondoCommWarmUp.
  void warmUp(const char* collective,
              std::size_t count,
              rondoDataType_t type,
              rondoRedOp_t op = rondoSum,
              int root = 0) const {
    check(rondoCommWarmUp(handle_, collective, count, type, op, root));
  }

  /// What memory connections take now.
  rondoMemoryUse_t memory() const {
    rondoMemoryUse_t use{};
    use.size = sizeof use;
    check(rondoCommGetMemory(handle_, &use));
    return use;
  }

  /// rondoSuccess, or the failure that made the communicator unusable; see rondoCommGetAsyncError.
  rondoResult_t asyncError() const {
    rondoResult_t result = rondoSuccess;
    check(rondoCommGetAsyncError(handle_, &result));
    return result;
  }

  /// Registers a range, which then may be communicated without copies; see rondoCommRegister.
  template <WritableElementRange Range>
  Registration registerBuffer(Range&& range) const {
    rondoRegistration_t registration = nullptr;
    check(rondoCommRegister(handle_, std::ranges::data(range),
                            std::ranges::size(range) * sizeof(std::ranges::range_value_t<Range>),
                            &registration));
    return Registration(handle_, registration);
  }

  /// The sum of all ranks' inputs, each times its rank's factor; for elements of type T.
  template <Element T>
  PreMulSum preMulSum(T factor) const {
    rondoRedOp_t op = rondoSum;
    check(rondoRedOpCreatePreMulSum(&op, &factor, ElementType<T>::value, rondoScalarHostImmediate,
                                    handle_));
    return PreMulSum(handle_, op);
  }

  /// A reduction by `function`; see rondoRedOpCreateUser.
  MadeReduction reduction(rondoReduceFunction_t function,
                          bool commutative,
                          void* context = nullptr) const {
    rondoRedOp_t op = rondoSum;
    check(rondoRedOpCreateUser(&op, function, commutative ? 1 : 0, context, handle_));
    return MadeReduction(handle_, op);
  }
};

}  // namespace v0
}  // namespace rondo

#endif  // RONDO_RONDO_HPP_
