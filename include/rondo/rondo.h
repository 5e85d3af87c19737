// Rondo: collective communication for machine learning. The whole contract of the C interface.
//
// Plain C99; nothing but standard headers. The C++ interface over it is rondo/rondo.hpp.
// What each variable of the environment does: docs/configuration.md. In which order and precision
// elements are added: docs/numerics.md.
//
// A communicator handle stands for one rank. The rules of the collectives, once for all:
//
//   call            send holds     recv holds     in place means           root   NULL allowed
//   --------------  -------------  -------------  -----------------------  -----  ----------------
//   AllReduce       count          count          recv = send              -      -
//   ReduceScatter   count x ranks  count          recv = send + r x count  -      -
//   AllGather       count          count x ranks  send = recv + r x count  -      -
//   Broadcast       count at root  count          recv = send (at root)    yes    send, not at root
//   Reduce          count          count at root  recv = send (at root)    yes    recv, not at root
//   AllToAll        count x ranks  count x ranks  recv = send              -      -
//   Gather          count          count x ranks  send = recv + r x count  yes    recv, not at root
//                                  at root        (at root)
//   Scatter         count x ranks  count          recv = send + r x count  yes    send, not at root
//                   at root                       (at root)
//   Barrier         -              -              -                        -      -
//
//   (r: the calling rank; sums of pointers and counts are in elements.)
//
//   Overlap     send and recv are the same in the sense of "in place", or share no byte.
//   NULL        besides the table: every pointer, where count is 0. A buffer that a rank may leave
//               NULL is not looked at on that rank.
//   Zero count  legal. Nothing is read or written and nobody waits, but all ranks must call.
//   Alignment   buffers are aligned to their element; 64 bytes are best.
//   Limit       count x ranks x bytes per element is at most PTRDIFF_MAX.
//   Agreement   call, count, type, op and root are the same on all ranks (premulsum: the factor
//               may differ).
//   Order       all ranks make their calls on a communicator in the same order. That is the order
//               in which they are carried out, whatever streams and threads they are issued on.
//   Threads     one thread at a time per communicator handle; different handles are independent,
//               and ranks that share a process call from different threads, or from one thread in
//               one group (rondoGroupStart). Any thread may call rondoCommAbort and the queries
//               (rondoCommGet..., Count, Rank) at any time.
//   Failure     the contents of recv are undefined. What else is lost: rondoResult_t.
#ifndef RONDO_RONDO_H_
#define RONDO_RONDO_H_

#include <stddef.h>
#include <stdint.h>

#define RONDO_MAJOR 0
#define RONDO_MINOR 1
#define RONDO_PATCH 0

/// A version as one number that grows with it: 1.2.3 is 10203.
#define RONDO_VERSION_CODE(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))

/// The version of this header; rondoGetVersion() gives that of the library.
#define RONDO_VERSION RONDO_VERSION_CODE(RONDO_MAJOR, RONDO_MINOR, RONDO_PATCH)

/// Marks what the shared library exports.
#define RONDO_EXPORT __attribute__((visibility("default")))

// In C++ an enum gets a fixed type, so that any value can be passed in and checked.
#ifdef __cplusplus
#define RONDO_ENUM_TYPE : int
extern "C" {
#else
#define RONDO_ENUM_TYPE
#endif

/// How a call ended. The tens say what is lost:
///   0x  nothing
///   1x  the call only: it had no effect, and the communicator works on
///   2x  a connection: the operation failed and the communicator is unusable
///   3x  the communicator, with every operation on it
/// After 2x and 3x only rondoCommAbort, rondoCommDestroy and the queries are allowed. If a function
/// that makes something returns such a code, it made nothing, and nothing else is lost.
typedef enum rondoResult RONDO_ENUM_TYPE {
  rondoSuccess = 0,
  rondoInProgress = 1,  ///< Not an error: the work goes on in the background.

  rondoInvalidArgument = 10,  ///< A value that is never right, or not for this communicator.
  rondoInvalidUsage = 11,     ///< Right values at a wrong time, e.g. use after destroy.
  rondoNotSupported = 12,     ///< Legal, but this build or this kind of communicator cannot.

  rondoPeerLost = 20,  ///< Another rank died or closed its connection.
  rondoTimeout = 21,   ///< Another rank did not come within the operation timeout.

  rondoMismatch = 30,      ///< The ranks made calls that do not belong together.
  rondoAborted = 31,       ///< rondoCommAbort was called, here or on another rank.
  rondoOutOfMemory = 32,   ///< The system refused memory.
  rondoSystemError = 33,   ///< A system call failed; the message holds its error text.
  rondoInternalError = 34  ///< A fault of this library. Please report it.
} rondoResult_t;

/// Element types. Two of them at different ranks of one call are a mismatch.
typedef enum rondoDataType RONDO_ENUM_TYPE {
  rondoInt8 = 0,
  rondoUint8 = 1,
  rondoInt16 = 2,
  rondoUint16 = 3,
  rondoInt32 = 4,
  rondoUint32 = 5,
  rondoInt64 = 6,
  rondoUint64 = 7,
  rondoFloat16 = 8,   /**< IEEE 754
                         binary16 */
  rondoBfloat16 = 9,  ///< the upper half of a float
  rondoFloat32 = 10,
  rondoFloat64 = 11,
  rondoFloat8E4m3 = 12,  /**< OCP e4m3: no infinity,
                            largest number 448 */
  rondoFloat8E5m2 = 13,  ///< OCP e5m2
  rondoBool = 14,        ///< one byte; any nonzero value is true, results are 0 or 1
  rondoComplex64 = 15,   ///< real part, imaginary part: two rondoFloat32
  rondoComplex128 = 16   ///< real part, imaginary part: two rondoFloat64
} rondoDataType_t;

/// Reductions. Values from rondoRedOpFirstDynamic on are handles made at run time
/// (rondoRedOpCreatePreMulSum, rondoRedOpCreateUser); they belong to one communicator handle.
/// Complex numbers can be summed, averaged, and reduced by what rondoRedOpCreateUser made.
typedef enum rondoRedOp RONDO_ENUM_TYPE {
  rondoSum = 0,   ///< truth values: or
  rondoProd = 1,  ///< truth values: and
  rondoMin = 2,   ///< NaN wins; -0 is below +0; truth values: and
  rondoMax = 3,   ///< NaN wins; truth values: or
  rondoAvg = 4,   ///< sum, then one division by the number of ranks; not for truth values
  rondoRedOpFirstDynamic = 0x40000000
} rondoRedOp_t;

/// Where the scalar of a reduction lies.
typedef enum rondoScalarResidence RONDO_ENUM_TYPE {
  rondoScalarHostImmediate = 0,  ///< host memory, read before the call returns
  rondoScalarDevice = 1          ///< memory of the communicator, read when an operation is issued
} rondoScalarResidence_t;

/// One rank's communicator. An opaque value; a wrong or destroyed one is refused, not followed.
typedef struct rondoComm* rondoComm_t;

/// Where an operation is queued. Declared as CUDA declares its own stream, so that a cudaStream_t
/// is passed as it is to device communicators; NULL is then the default stream. Host communicators
/// take streams of rondoStreamCreate, an opaque value each, and NULL: the call then runs in the
/// caller's thread and returns when it is complete on this rank. A stream of the other kind is
/// refused (InvalidArgument).
typedef struct CUstream_st* rondoStream_t;

/// A point in the work of streams on host memory (rondoEventCreate). An opaque value; a wrong or
/// destroyed one is refused, not followed.
typedef struct rondoEvent* rondoEvent_t;

/// A buffer that was registered with a communicator (rondoCommRegister). An opaque value; a wrong
/// or deregistered one is refused, not followed.
typedef struct rondoRegistration* rondoRegistration_t;

/// The value of a number in rondoConfig_t that was not set; a text is not set if it is NULL.
#define RONDO_UNDEFINED INT64_MIN

/// Shows that a rondoConfig_t was made by RONDO_CONFIG_INITIALIZER.
#define RONDO_CONFIG_MAGIC 0x6f646e72u

/// What a program may choose for its communicators. Start from RONDO_CONFIG_INITIALIZER, then set
/// fields. The order of strength: built-in default, this struct, then the environment, so that
/// whoever runs a program can overrule it; an overruled field is logged at level info.
/// Texts need to live only until the call that takes the struct returns.
typedef struct rondoConfig {
  size_t size;       ///< sizeof(rondoConfig_t) as the program was compiled; older ones are fine
  uint32_t magic;    ///< RONDO_CONFIG_MAGIC
  uint32_t version;  ///< RONDO_VERSION as the program was compiled

  /// Name of the communicator in messages and logs. Default: "world". RONDO_COMM_NAME.
  const char* name;
  /// Which algorithm runs a collective, e.g. "all_reduce:ring,broadcast:tree". Collectives that are
  /// not named are left to the planner. Must be the same on all ranks. Default: none.
  /// RONDO_ALGORITHM.
  const char* algorithm;
  /// How much is logged: "error", "warn", "info", "debug" or "trace". The log is one per process:
  /// the communicator created last decides. Default: "warn". RONDO_LOG_LEVEL.
  const char* logLevel;
  /// 1: an element's result depends on the inputs and the number of ranks alone, not on the size of
  /// the message or the machine; large messages may be slower. Default: 0. RONDO_REPRODUCIBLE.
  int64_t reproducible;
  /// Parallel lanes per operation, 1 to 32; 0: the planner's choice. More use more of the memory
  /// bandwidth and cost more latency and memory. Default: 0. RONDO_CHANNELS.
  int64_t channels;
  /// Bytes of one slot, a multiple of 64 from 64 to 64 MiB; 0: the planner's choice. Larger ones
  /// cost fewer synchronisations but overlap less. Default: 0. RONDO_CHUNK_BYTES.
  int64_t chunkBytes;
  /// Slots of a connection, 2 to 64; 0: the planner's choice. More let a fast rank run ahead of a
  /// slow one and take more memory. Default: 0. RONDO_SLOTS_PER_CONNECTION.
  int64_t slotsPerConnection;
  /// Milliseconds until an operation that waits for another rank fails; 0: never.
  /// Default: 1800000 (30 minutes). RONDO_OPERATION_TIMEOUT_MS.
  int64_t operationTimeoutMs;
  /// Milliseconds until such a wait is logged as a warning; 0: never.
  /// Default: 30000 (30 seconds). RONDO_WARNING_MS.
  int64_t warningMs;
  /// Milliseconds that a rank that is a process waits for the others to join; 0: for ever.
  /// Default: 300000 (5 minutes). RONDO_INIT_TIMEOUT_MS.
  int64_t initTimeoutMs;
  /// Bytes that the slots of all communicators of this process may take together, where ranks are
  /// processes; 0: no limit. When half are used, new connections make do with two slots; when all
  /// are, an operation that needs another connection fails with rondoOutOfMemory.
  /// Default: 33554432 (32 MiB). RONDO_SLOT_MEMORY_BYTES.
  int64_t slotMemoryBytes;
  /// Where the buffers of rondoCommInitRank's and rondoCommInitFromEnvironment's communicators lie:
  /// on the CUDA device of that number, as CUDA counts in this process, or with -1 in host memory.
  /// On all ranks the one or the other. Default: -1. RONDO_DEVICE, which also takes "host", and
  /// "local": the device whose number is the launcher's local rank.
  int64_t device;
  /// 0: no call on the communicator waits for other ranks, nor does the one that makes it; see
  /// "Communicators whose calls do not wait". Default: 1. RONDO_BLOCKING.
  int64_t blocking;
} rondoConfig_t;

/// A configuration with nothing set.
#define RONDO_CONFIG_INITIALIZER                                                                 \
  {                                                                                              \
    sizeof(rondoConfig_t), RONDO_CONFIG_MAGIC, RONDO_VERSION, NULL, NULL, NULL, RONDO_UNDEFINED, \
        RONDO_UNDEFINED, RONDO_UNDEFINED, RONDO_UNDEFINED, RONDO_UNDEFINED, RONDO_UNDEFINED,     \
        RONDO_UNDEFINED, RONDO_UNDEFINED, RONDO_UNDEFINED, RONDO_UNDEFINED                       \
  }

/// How compressed collectives pack elements for the wire. docs/compression.md has the layout and
/// the errors.
typedef enum rondoCodec RONDO_ENUM_TYPE {
  rondoCodecFloat16 = 0,
  rondoCodecBfloat16 = 1,
  rondoCodecFloat8E4m3 = 2,
  rondoCodecFloat8E5m2 = 3,
  rondoCodecInt8 = 4  ///< a byte per element and a scale of four bytes per block
} rondoCodec_t;

/// What compression has rounded away so far, to be added to the next call's elements
/// (rondoErrorFeedbackCreate). An opaque value; a wrong or destroyed one is refused, not followed.
typedef struct rondoErrorFeedback* rondoErrorFeedback_t;

/// What a compressed collective came to.
typedef struct rondoCompressionReport {
  uint64_t wireBytes;   ///< that this rank sent to others: codes and scales
  uint64_t plainBytes;  ///< that it would have sent without a codec
  /// 1: some element of the result is infinite or NaN, on whichever rank. Some rank's input was, or
  /// something was beyond what the codec or the element type holds. The same on all ranks.
  int32_t nonFinite;
  /// 1: the error feedback was set to zero: after the call because of `nonFinite`, or before it
  /// because its last call was another one. The second may differ between ranks.
  int32_t feedbackReset;
} rondoCompressionReport_t;

/// Shows that a rondoCompression_t was made by RONDO_COMPRESSION_INITIALIZER.
#define RONDO_COMPRESSION_MAGIC 0x63646e72u

/// How a compressed collective compresses. Start from RONDO_COMPRESSION_INITIALIZER, then set
/// fields. `codec`, `blockElems`, the tensors and `betweenHosts` are the same on all ranks.
typedef struct rondoCompression {
  size_t size;       ///< sizeof(rondoCompression_t) as the program was compiled
  uint32_t magic;    ///< RONDO_COMPRESSION_MAGIC
  uint32_t version;  ///< RONDO_VERSION as the program was compiled

  /// Default: rondoCodecInt8.
  rondoCodec_t codec;
  /// Elements of a block of int8, a multiple of 16 from 16 to 16384. Smaller ones follow the
  /// elements more closely, and send more scales. Default: 256.
  int64_t blockElems;
  /// Elements of each tensor in the buffer, one after another; their sum is that of the buffer with
  /// the most elements: `count` in an all-reduce, else count x ranks. Blocks begin at each
  /// tensor's first element, so that what is beside a tensor does not change its bits. Must stay
  /// as it is until the call is complete. NULL: the buffer is one tensor.
  const size_t* tensorCounts;
  size_t tensors;  ///< in `tensorCounts`
  /// What compression rounds away is added to the next call's elements. NULL: it is lost. On
  /// devices all ranks pass one, or none.
  rondoErrorFeedback_t feedback;
  /// 1: compress between hosts only; not supported yet. Default: 0.
  int64_t betweenHosts;
  /// Filled in when the call is complete and has succeeded; NULL: nobody wants it. On devices a
  /// call that has a report or a feedback returns only then.
  rondoCompressionReport_t* report;
} rondoCompression_t;

/// int8 with blocks of 256 elements, one tensor, no error feedback.
#define RONDO_COMPRESSION_INITIALIZER                                                   \
  {                                                                                     \
    sizeof(rondoCompression_t), RONDO_COMPRESSION_MAGIC, RONDO_VERSION, rondoCodecInt8, \
        RONDO_UNDEFINED, NULL, 0, NULL, RONDO_UNDEFINED, NULL                           \
  }

/// Tells the version of the library that runs.
/// @param version receives a RONDO_VERSION_CODE.
/// @threads  any.
/// @errors   InvalidArgument.
RONDO_EXPORT rondoResult_t rondoGetVersion(int* version);

/// Says what a result means, in a few words.
/// @return a static text, also for values that are no result.
/// @threads  any.
RONDO_EXPORT const char* rondoGetErrorString(rondoResult_t result);

/// Gives the full message of a failure: which rank and call, what was wrong, what to do.
/// @param comm the communicator of the failed call, destroyed or not; NULL: any call.
/// @return the message of the last call on `comm` that failed in the calling thread, among the
///   thread's last 8 failures; "" if there is none. Valid until the calling thread's next call that
///   fails, or its end.
/// @threads  any; each sees its own failures only.
RONDO_EXPORT const char* rondoGetLastError(rondoComm_t comm);

/// Makes the communicators of all ranks in this process, for ranks that are threads.
/// @param comms  room for `ranks` handles; the k-th receives the handle of rank k. Written only on
///   success. Each is then used by a thread of its own.
/// @param ranks  1 or more.
/// @param config NULL: everything from the environment and the defaults.
/// @threads  any.
/// @errors   InvalidArgument (a value in `config` or the environment, named in the message),
///   OutOfMemory, SystemError.
RONDO_EXPORT rondoResult_t rondoCommInitAll(rondoComm_t* comms,
                                            int ranks,
                                            const rondoConfig_t* config);

/// Makes the communicators of all ranks in this process, for ranks that are threads and whose
/// buffers are memory of CUDA devices. Operations are queued on a CUDA stream of the rank's device
/// and return at once, but for the first call of each operation, type and count, which returns once
/// all ranks have made it, and for ranks that share a device, which wait for each other in each
/// call.
/// @param comms   room for `ranks` handles; the k-th receives the handle of rank k. Written only on
///   success. Each is then used by a thread of its own.
/// @param ranks   1 or more.
/// @param devices the number of each rank's device, as CUDA counts; at most 8 ranks may share one.
/// @param config  NULL: everything from the environment and the defaults.
/// @threads  any.
/// @errors   InvalidArgument (a device that is not there, a value in `config` or the environment),
///   NotSupported (no driver, no GPU, a library built without kernels for it), OutOfMemory,
///   SystemError (what the driver says).
RONDO_EXPORT rondoResult_t rondoCommInitAllOnDevices(rondoComm_t* comms,
                                                     int ranks,
                                                     const int* devices,
                                                     const rondoConfig_t* config);

/// What the ranks of one communicator need to find and trust each other. Holds a secret: pass it on
/// as you would a password.
typedef struct rondoUniqueId {
  char bytes[128];  ///< opaque; may contain zeros
} rondoUniqueId_t;

/// Makes the id of a communicator to be. One process calls it, hands the id to all ranks by its own
/// means (a file, MPI, a socket), and must live until they have joined.
/// @param id receives the id. Written only on success.
/// @threads  any.
/// @errors   InvalidArgument, NotSupported (libsodium is not installed), SystemError (no port).
RONDO_EXPORT rondoResult_t rondoGetUniqueId(rondoUniqueId_t* id);

/// Makes the communicator of one rank, whose peers are other processes (or threads), on this host
/// or others, that call with the same id. Collective: returns once all have called.
/// @param comm   receives the handle. Written only on success.
/// @param ranks  1 or more; the same on all ranks.
/// @param id     from rondoGetUniqueId; good for one communicator.
/// @param rank   0 to ranks - 1; each once.
/// @param config NULL: everything from the environment and the defaults. Its `device` says where
///   buffers are; on a device the first call of each operation, type and count returns once all
///   ranks have made it, later ones when they are queued.
/// @threads  any.
/// @errors   InvalidArgument, Timeout (names the missing ranks), Mismatch (settings, ranks or
///   versions differ), NotSupported (two ranks cannot reach each other, with the reason for each
///   transport; libsodium is not installed; no driver, GPU or kernels for a device), PeerLost,
///   OutOfMemory, SystemError.
RONDO_EXPORT rondoResult_t rondoCommInitRank(
    rondoComm_t* comm, int ranks, rondoUniqueId_t id, int rank, const rondoConfig_t* config);

/// Makes the communicator of the rank that the environment says this process is: number, number of
/// ranks and how to meet come from RONDO_RANK, RONDO_RANKS and RONDO_ROOT, or from torchrun, Open
/// MPI, MPICH or Slurm, the first that is there (docs/bootstrap.md lists the variables).
/// Collective: returns once all ranks have called. May be called again for further communicators.
/// @param comm   receives the handle; rondoCommRank and rondoCommCount then tell who it is. Written
///   only on success.
/// @param config NULL: everything from the environment and the defaults.
/// @threads  one at a time per process.
/// @errors   InvalidArgument (no launcher is there, or a variable is missing or wrong; named in the
///   message), and those of rondoCommInitRank.
RONDO_EXPORT rondoResult_t rondoCommInitFromEnvironment(rondoComm_t* comm,
                                                        const rondoConfig_t* config);

/// The colour of a rank that shall be in none of the communicators that a split makes.
#define RONDO_NO_COLOR (-1)

/// Makes new communicators out of the ranks of one: ranks that pass the same colour go together,
/// ordered by key, and by rank where keys are equal. Collective: all ranks of `comm` call it, like
/// an operation; it returns when this rank's part is ready. The new communicators do not depend on
/// `comm`: either may be destroyed first.
/// @param color   0 or more, or RONDO_NO_COLOR.
/// @param key     any number.
/// @param newComm receives the handle, or NULL at a rank without colour. Written only on success.
/// @param config  NULL: as `comm`, with ".<color>" added to its name.
/// @threads  as operations: the calls of one communicator run one after another.
/// @errors   InvalidArgument (a rank's colour is another negative number: on all ranks, and `comm`
///   remains usable; a value in `config`), those of operations and of rondoCommInitRank.
RONDO_EXPORT rondoResult_t rondoCommSplit(
    rondoComm_t comm, int color, int key, rondoComm_t* newComm, const rondoConfig_t* config);

/// Gives up this rank's part in a communicator in good order: waits for what was issued on streams
/// and until the other ranks have taken what it sent them (at most the operation time-out), and
/// tells them that it goes. Only
/// rondoCommDestroy may follow, which else does the same.
/// @threads  no other call on `comm` may be running.
/// @errors   InvalidArgument, InvalidUsage (finalized before), the failure of the communicator.
RONDO_EXPORT rondoResult_t rondoCommFinalize(rondoComm_t comm);

/// Ends this rank's use of a communicator and frees what it holds. Not collective: other ranks may
/// destroy theirs earlier or later, but an operation that still needs this rank will fail there.
/// Waits for what was issued on streams, unless the communicator has failed.
/// In a process that was forked off since the communicator was made it does nothing and succeeds;
/// any other call is InvalidUsage there. The parent goes on.
/// @param comm the handle is refused from now on. NULL does nothing.
/// @threads  no other call on `comm` may be running or follow.
/// @errors   InvalidUsage (destroyed before, or never made).
RONDO_EXPORT rondoResult_t rondoCommDestroy(rondoComm_t comm);

/// Stops all ranks' pending operations; they, what was issued on streams, and all later ones fail
/// with Aborted. Waits for none of them. The handle remains and is to be destroyed.
/// @threads  any, at any time.
/// @errors   InvalidArgument, InvalidUsage.
RONDO_EXPORT rondoResult_t rondoCommAbort(rondoComm_t comm);

/// Tells whether the communicator failed, without waiting.
/// @param result receives rondoSuccess, or the failure that made the communicator unusable; then
///   rondoGetLastError gives its message. Of a communicator whose calls do not wait also
///   rondoInProgress, as long as something that returned that is not complete, and after that once
///   the first failure of such a call that concerned the call alone.
/// @threads  any, at any time.
/// @errors   InvalidArgument, InvalidUsage.
RONDO_EXPORT rondoResult_t rondoCommGetAsyncError(rondoComm_t comm, rondoResult_t* result);

/// Returns when rondoCommGetAsyncError would not say rondoInProgress any more: what returned that
/// before this call is complete. Of a communicator whose calls wait: at once.
/// @return what rondoCommGetAsyncError would then say.
/// @threads  any, at any time, except that a communicator that is destroyed meanwhile must not be
///   waited for.
/// @order    results of the calls that were waited for are visible to the calling thread.
/// @errors   InvalidArgument, InvalidUsage, those of the calls.
RONDO_EXPORT rondoResult_t rondoCommSynchronize(rondoComm_t comm);

// Communicators whose calls do not wait (`blocking` 0 in rondoConfig_t):
//
//   rondoCommInitRank(&comm, ranks, id, rank, &config);       // rondoInProgress, at once
//   prepare();
//   rondoCommSynchronize(comm);                               // or ask rondoCommGetAsyncError
//   rondoAllReduce(grad, grad, count, rondoFloat32, rondoSum, comm, NULL);    // rondoInProgress
//   compute();                                                // without touching grad
//   rondoCommSynchronize(comm);                               // grad now holds the sum
//
//   Making     rondoCommInitRank, rondoCommInitFromEnvironment and rondoCommSplit check what they
//              are given and write the handle, for which the ranks then meet. Until that is done
//              only rondoCommGetAsyncError, rondoCommSynchronize, rondoCommAbort and
//              rondoCommDestroy take the handle; all else is InvalidUsage. rondoCommInitAll, for
//              whose ranks nobody is waited, succeeds or fails at once.
//   Calls      that would carry something out in the calling thread (operations with NULL,
//              rondoGroupEnd, rondoCommFinalize) return rondoInProgress, and are carried out in the
//              order of their issue by a thread of the communicator. What is wrong with arguments
//              is told at once, what happens later by rondoCommGetAsyncError. Several may be in
//              progress. Buffers and arrays stay as they are until then. Calls on streams of
//              rondoStreamCreate return rondoSuccess, as they do else. On devices an operation is
//              on its CUDA stream once it is in progress no more.
//   Groups     may be about several communicators, some of which wait and some of which do not:
//              rondoGroupEnd waits for the former, and returns rondoInProgress if there are others.
//              Each of these tells what came of its part.
//   One thread may so make and drive several ranks, without groups.
//   Ending     rondoCommFinalize returns rondoInProgress; rondoCommDestroy, which waits for all
//              that is in progress, returns at once after it. rondoCommAbort also ends what is in
//              progress, and the making: rondoCommGetAsyncError then says Aborted.

/// Tells the number of ranks.
/// @threads  any.
/// @errors   InvalidArgument, InvalidUsage.
RONDO_EXPORT rondoResult_t rondoCommCount(rondoComm_t comm, int* ranks);

/// Tells this handle's rank, 0 to count - 1.
/// @threads  any.
/// @errors   InvalidArgument, InvalidUsage.
RONDO_EXPORT rondoResult_t rondoCommRank(rondoComm_t comm, int* rank);

/// Tells which transport leads to another rank: how the two were found to reach each other when the
/// communicator was made. Single connections that find no memory there use the next transport that
/// leads to it; a warning in the log says so.
/// @param peer 0 to count - 1.
/// @param name receives "shm" (memory of one host), "tcp", "inproc" (ranks that are threads of one
///   process), "verbs" (InfiniBand and RoCE), "cuda_ipc" (ranks on CUDA devices whose kernels use
///   each other's memory), or "self" for this handle's own rank. A static text, valid for ever;
///   more names may come with more transports.
/// @threads  any, at any time.
/// @errors   InvalidArgument, InvalidUsage.
RONDO_EXPORT rondoResult_t rondoCommGetTransport(rondoComm_t comm, int peer, const char** name);

/// How a call would be carried out, and why so. Texts without a pointer end with a zero.
typedef struct rondoCallPlan {
  size_t size;             ///< sizeof(rondoCallPlan_t), set by the caller
  const char* algorithm;   ///< "ring"; static text
  const char* protocol;    ///< how data is handed over: "slots" or "mailboxes", on devices also
                           ///< "lines" or "wide_lines"; static text
  int64_t channels;        ///< parallel lanes
  size_t chunkBytes;       ///< most of a message in one slot
  double predictedMicros;  ///< what the cost model expects, on this host
  char transports[64];     ///< those that lead to the other ranks: "shm, tcp"
  char why[256];           ///< why this algorithm, and the next best with its prediction
} rondoCallPlan_t;

/// Tells what the planner chooses for a call, without making it. The same on all ranks.
/// @param collective as in RONDO_ALGORITHM: "all_reduce", "reduce_scatter", "all_gather",
///   "broadcast", "reduce", "all_to_all", "gather", "scatter" or "barrier".
/// @param count, type, op, root as in the call; op and root are not looked at where there is none.
/// @param plan   its `size` is set; receives the rest. Written only on success.
/// @threads  any, at any time.
/// @errors   InvalidArgument, InvalidUsage, NotSupported (what the call would say).
RONDO_EXPORT rondoResult_t rondoCommQuery(rondoComm_t comm,
                                          const char* collective,
                                          size_t count,
                                          rondoDataType_t type,
                                          rondoRedOp_t op,
                                          int root,
                                          rondoCallPlan_t* plan);

/// Has this rank ready for calls like the one named: it is planned, and its connections are made,
/// so that the calls allocate nothing. All ranks do so, like an operation, in the same order.
/// @param collective as for rondoCommQuery; also "send" and "recv", then `root` is the peer, and
///   connections are all that there is to make.
/// @param count, type, op, root as in the call.
/// @threads @order  as operations; never waits on host memory. On devices the peer warms up, too.
/// @errors   those of the call; InvalidUsage (in a group).
RONDO_EXPORT rondoResult_t rondoCommWarmUp(rondoComm_t comm,
                                           const char* collective,
                                           size_t count,
                                           rondoDataType_t type,
                                           rondoRedOp_t op,
                                           int root);

/// Most transports that rondoMemoryUse_t tells apart.
#define RONDO_MOST_TRANSPORTS 8

/// Memory that a communicator's connections take, in bytes.
typedef struct rondoMemoryUse {
  size_t size;          ///< sizeof(rondoMemoryUse_t), set by the caller
  size_t bytes;         ///< all of this rank's communicator; of ranks that are threads, of all
  size_t processSlots;  ///< slots of all communicators of this process whose ranks are processes
  size_t processLimit;  ///< what that may come to (RONDO_SLOT_MEMORY_BYTES); 0: no limit
  size_t transports;    ///< entries of `byTransport` that are used

  struct {
    const char* name;  ///< static text, as rondoCommGetTransport's
    size_t bytes;      ///< slots, their counters, and what ranks of one host share besides
  } byTransport[RONDO_MOST_TRANSPORTS];
} rondoMemoryUse_t;

/// Tells what memory connections take now.
/// @param use its `size` is set; receives the rest. Written only on success.
/// @threads  as operations; waits for what was issued.
/// @errors   InvalidArgument, InvalidUsage, the failure of the communicator.
RONDO_EXPORT rondoResult_t rondoCommGetMemory(rondoComm_t comm, rondoMemoryUse_t* use);

// Memory for buffers. Any memory can be a buffer; what follows can make operations on it faster.
//
//   Ranks that are threads read each other's buffers where they are, wherever they come from.
//   Ranks that are processes of one host copy, unless a buffer is memory of rondoMemAlloc.
//   To ranks on other hosts, over InfiniBand or RoCE, adapters send from a buffer where it is, if
//   it is registered with the communicator, wherever it comes from; else it is copied first.
//   Until an operation is complete on a rank its buffers may be read by others, or by adapters, so
//   they must live that long; an operation that fails returns when nobody reads them any more.

/// Allocates memory for buffers, of the host or of a CUDA device. Host memory is zeros, lies in a
/// file without a name that other processes can map, and starts on a page, on one of 2 MiB where
/// the kernel gives such; each allocation takes whole pages and a file descriptor, so that it is
/// for few large buffers. After fork() it is the same memory in both processes.
/// @param memory receives the address. Written only on success.
/// @param bytes  0 is legal and gives an address of its own.
/// @param device the number of a CUDA device, as CUDA counts in this process; -1: host memory.
/// @threads  any.
/// @errors   InvalidArgument, OutOfMemory (memory, or file descriptors, ran out), NotSupported (no
///   driver, no GPU), SystemError.
RONDO_EXPORT rondoResult_t rondoMemAlloc(void** memory, size_t bytes, int device);

/// Frees memory of rondoMemAlloc, of whatever device. No operation may be using it. In a process
/// that was forked off since it was allocated it does nothing and succeeds.
/// @param memory NULL does nothing.
/// @threads  any.
/// @errors   InvalidArgument (no memory of rondoMemAlloc, or freed before), InvalidUsage (it is
///   registered: the message says with which communicator).
RONDO_EXPORT rondoResult_t rondoMemFree(void* memory);

/// Registers a buffer with a communicator: operations of this handle whose buffers lie in it may be
/// carried out without copies where the way to the other rank allows it. Results do not depend on
/// it, and ranks may differ in what they register. Registering the same range again counts.
/// Where InfiniBand or RoCE adapters lead to other ranks it registers the buffer with them, once
/// for each, which locks its memory and takes the longer the larger it is: register what is used
/// again and again, once and as a whole. Where an adapter does not take it, mostly for a limit of
/// locked memory, what is sent from it is copied as if it were not registered, and one warning
/// names limit and cure. On Linux before 5.12 a child that is forked off lacks the pages of buffers
/// that adapters know.
/// A buffer on a device has to be memory of the communicator's device; nothing uses that yet.
/// @param buffer       the first byte. Memory of rondoMemAlloc cannot be freed while registered;
///   other memory must not be either, by the caller's own care.
/// @param bytes        1 or more; of memory of rondoMemAlloc, not beyond its end.
/// @param registration receives the handle. Written only on success.
/// @threads  as a collective on `comm`; not collective. On host memory waits for what was issued.
/// @errors   InvalidArgument, InvalidUsage, OutOfMemory.
RONDO_EXPORT rondoResult_t rondoCommRegister(rondoComm_t comm,
                                             void* buffer,
                                             size_t bytes,
                                             rondoRegistration_t* registration);

/// Takes a registration back, once for each time that it was made. Destroying the communicator
/// takes all back. On return no adapter reads the buffer any more, whatever became of operations.
/// @threads  as a collective on `comm`; not collective. On host memory waits for what was issued;
///   on devices no operation may be using the buffer.
/// @errors   InvalidArgument (no registration), InvalidUsage (deregistered before, or of another
///   communicator).
RONDO_EXPORT rondoResult_t rondoCommDeregister(rondoComm_t comm, rondoRegistration_t registration);

/// Makes a reduction that multiplies this rank's input by a factor, rounds the product to the
/// element's type, and sums.
/// @param op        receives the reduction, for use with `comm` only. Written only on success.
/// @param scalar    the factor: one element of `type`.
/// @param type      the only element type the reduction can be used with; not rondoBool, nor a
///   complex one.
/// @param residence where `scalar` lies. With rondoScalarDevice it is in the communicator's memory
///   (of the host, or of its CUDA device), read anew by each operation when that is issued, after
///   what is on the operation's stream then, and stays there until rondoRedOpDestroy.
/// @threads  as a collective on `comm`; not collective.
/// @errors   InvalidArgument, InvalidUsage, OutOfMemory (256 are alive already).
RONDO_EXPORT rondoResult_t rondoRedOpCreatePreMulSum(rondoRedOp_t* op,
                                                     const void* scalar,
                                                     rondoDataType_t type,
                                                     rondoScalarResidence_t residence,
                                                     rondoComm_t comm);

/// What a program's own reduction does to a piece of the data: inout[i] = inout[i] op in[i] for i
/// from 0 to count - 1, where `inout` stands for lower ranks than `in` unless the reduction is
/// commutative. Pieces are of any size. Must not call Rondo, wait for other ranks, or throw.
/// @param inout   `count` elements, aligned to their size, complex ones to that of a part.
/// @param in      as many, aligned like these, maybe another rank's buffer; not to be changed.
/// @param context as passed to rondoRedOpCreateUser.
/// @threads  of the operation: the caller's, the stream's or the communicator's; several at a time
///   where several ranks of a process use one context.
typedef void (*rondoReduceFunction_t)(
    void* inout, const void* in, size_t count, rondoDataType_t type, void* context);

/// Makes a reduction out of a function, for any element type. Host communicators only.
/// All ranks use reductions of functions that do the same, and agree on `commutative`: that they do
/// the same is not checked, that both are functions and equally commutative is.
/// @param op          receives the reduction, for use with `comm` only. Written only on success.
/// @param function    associative, at least nearly: pieces are combined in any grouping.
/// @param commutative 1: a op b is b op a, and may be computed as that; 0: the operands are in rank
///   order, whatever that costs.
/// @param context     passed to `function`; not looked at.
/// @threads  as a collective on `comm`; not collective. `context` lives until what uses the
///   reduction is complete.
/// @errors   InvalidArgument, InvalidUsage, NotSupported (a communicator on devices), OutOfMemory
///   (256 are alive already).
RONDO_EXPORT rondoResult_t rondoRedOpCreateUser(rondoRedOp_t* op,
                                                rondoReduceFunction_t function,
                                                int commutative,
                                                void* context,
                                                rondoComm_t comm);

/// Frees a reduction made by rondoRedOpCreatePreMulSum or rondoRedOpCreateUser. Operations that
/// were issued with it are carried out as if it still were.
/// @threads  as a collective on `comm`; not collective.
/// @errors   InvalidArgument (a built-in one, or never made), InvalidUsage (destroyed before).
RONDO_EXPORT rondoResult_t rondoRedOpDestroy(rondoRedOp_t op, rondoComm_t comm);

/// Reduces `count` elements over all ranks into `recv` on each rank.
/// @param send   `count` elements of `type`.
/// @param recv   `count` elements; may equal `send`.
/// @param stream device communicators: a CUDA stream of the device; host communicators: one of
///   rondoStreamCreate, or NULL.
/// @threads @order  see the table above; with NULL, on return the result is complete on this rank.
/// @errors   InvalidArgument, InvalidUsage, NotSupported, PeerLost, Timeout, Mismatch, Aborted.
RONDO_EXPORT rondoResult_t rondoAllReduce(const void* send,
                                          void* recv,
                                          size_t count,
                                          rondoDataType_t type,
                                          rondoRedOp_t op,
                                          rondoComm_t comm,
                                          rondoStream_t stream);

/// Reduces `ranks` blocks of `count` elements over all ranks; block r ends up on rank r.
/// @param send   all blocks, in rank order.
/// @param recv   one block; may be this rank's block of `send`.
/// @param count  elements of one block.
/// @param stream device communicators: a CUDA stream of the device; host communicators: one of
///   rondoStreamCreate, or NULL.
/// @threads @order  see the table above; with NULL, on return the result is complete on this rank.
/// @errors   InvalidArgument, InvalidUsage, NotSupported, PeerLost, Timeout, Mismatch, Aborted.
RONDO_EXPORT rondoResult_t rondoReduceScatter(const void* send,
                                              void* recv,
                                              size_t count,
                                              rondoDataType_t type,
                                              rondoRedOp_t op,
                                              rondoComm_t comm,
                                              rondoStream_t stream);

/// Gathers one block of `count` elements from each rank, on all ranks.
/// @param send   this rank's block; may be its place in `recv`.
/// @param recv   all blocks, in rank order.
/// @param count  elements of one block.
/// @param stream device communicators: a CUDA stream of the device; host communicators: one of
///   rondoStreamCreate, or NULL.
/// @threads @order  see the table above; with NULL, on return the result is complete on this rank.
/// @errors   InvalidArgument, InvalidUsage, NotSupported, PeerLost, Timeout, Mismatch, Aborted.
RONDO_EXPORT rondoResult_t rondoAllGather(const void* send,
                                          void* recv,
                                          size_t count,
                                          rondoDataType_t type,
                                          rondoComm_t comm,
                                          rondoStream_t stream);

/// Copies `count` elements from the root to every rank.
/// @param send   the elements at the root; not looked at elsewhere.
/// @param recv   `count` elements, also at the root; there it may equal `send`.
/// @param root   the rank that has the elements.
/// @param stream device communicators: a CUDA stream of the device; host communicators: one of
///   rondoStreamCreate, or NULL.
/// @threads @order  see the table above; with NULL, on return the result is complete on this rank.
/// @errors   InvalidArgument, InvalidUsage, NotSupported, PeerLost, Timeout, Mismatch, Aborted.
RONDO_EXPORT rondoResult_t rondoBroadcast(const void* send,
                                          void* recv,
                                          size_t count,
                                          rondoDataType_t type,
                                          int root,
                                          rondoComm_t comm,
                                          rondoStream_t stream);

/// Reduces `count` elements over all ranks into `recv` at the root.
/// @param send   `count` elements of `type`.
/// @param recv   the result at the root, where it may equal `send`; not looked at elsewhere.
/// @param root   the rank that receives the result.
/// @param stream device communicators: a CUDA stream of the device; host communicators: one of
///   rondoStreamCreate, or NULL.
/// @threads @order  see the table above; with NULL, on return the result is complete at the root,
///   and `send` may be changed elsewhere.
/// @errors   InvalidArgument, InvalidUsage, NotSupported, PeerLost, Timeout, Mismatch, Aborted.
RONDO_EXPORT rondoResult_t rondoReduce(const void* send,
                                       void* recv,
                                       size_t count,
                                       rondoDataType_t type,
                                       rondoRedOp_t op,
                                       int root,
                                       rondoComm_t comm,
                                       rondoStream_t stream);

/// Exchanges blocks of `count` elements: block p of `send` goes to rank p, where it becomes the
/// calling rank's block of `recv`.
/// @param send   count x ranks elements: a block for each rank, in rank order.
/// @param recv   count x ranks elements: a block from each rank, in rank order; may equal `send`.
/// @param stream device communicators: a CUDA stream of the device; host communicators: one of
///   rondoStreamCreate, or NULL.
/// @threads @order  see the table above; with NULL, on return the result is complete on this rank.
/// @errors   InvalidArgument, InvalidUsage, NotSupported, PeerLost, Timeout, Mismatch, Aborted.
RONDO_EXPORT rondoResult_t rondoAllToAll(const void* send,
                                         void* recv,
                                         size_t count,
                                         rondoDataType_t type,
                                         rondoComm_t comm,
                                         rondoStream_t stream);

/// Collects a block of `count` elements from every rank at the root.
/// @param send   `count` elements: the rank's block.
/// @param recv   count x ranks elements at the root: the blocks of all ranks, in rank order; not
///   looked at elsewhere.
/// @param root   the rank that receives.
/// @param stream device communicators: a CUDA stream of the device; host communicators: one of
///   rondoStreamCreate, or NULL.
/// @threads @order  see the table above; with NULL, on return the result is complete at the root,
///   and `send` may be changed elsewhere.
/// @errors   InvalidArgument, InvalidUsage, NotSupported, PeerLost, Timeout, Mismatch, Aborted.
RONDO_EXPORT rondoResult_t rondoGather(const void* send,
                                       void* recv,
                                       size_t count,
                                       rondoDataType_t type,
                                       int root,
                                       rondoComm_t comm,
                                       rondoStream_t stream);

/// Hands a block of `count` elements from the root to every rank.
/// @param send   count x ranks elements at the root: a block for each rank, in rank order; not
///   looked at elsewhere.
/// @param recv   `count` elements: the rank's block.
/// @param root   the rank that sends.
/// @param stream device communicators: a CUDA stream of the device; host communicators: one of
///   rondoStreamCreate, or NULL.
/// @threads @order  see the table above; with NULL, on return the result is complete on this rank.
/// @errors   InvalidArgument, InvalidUsage, NotSupported, PeerLost, Timeout, Mismatch, Aborted.
RONDO_EXPORT rondoResult_t rondoScatter(const void* send,
                                        void* recv,
                                        size_t count,
                                        rondoDataType_t type,
                                        int root,
                                        rondoComm_t comm,
                                        rondoStream_t stream);

// Operations whose blocks may be of different sizes. Where a buffer holds a block per rank, an
// array of counts says how many elements each has, and an array of displacements how many elements
// from the buffer's start it begins; both by rank. Beyond the rules of the operations of one size:
//
//   Empty blocks  are legal; their displacement is not looked at. NULL is allowed for a buffer
//                 without a single element.
//   Overlap       blocks of an output share no byte.
//   In place      as there, the own block being at displacements[r]; never for AllToAllV.
//   Arrays        stay as they are until the call, or its group, is complete.
//   Agreement     AllGatherV, ReduceScatterV: `counts` is the same on all ranks. Else what a rank
//                 sends to another one is as much as that one receives from it. Ranks that differ
//                 get Mismatch, in this call or in a later one that exchanges data between them.
//   Kind          any; on devices not while a stream is captured (NotSupported).

/// Gathers blocks of different sizes on every rank. See rondoAllGather.
/// @param send          counts[r] elements of rank r.
/// @param recv          the blocks of all ranks.
/// @param counts        elements of each rank's block.
/// @param displacements where it goes in `recv`; may differ from rank to rank.
/// @param stream        of rondoStreamCreate, or NULL.
/// @threads @order  see the table above; with NULL, on return the result is complete on this rank.
/// @errors   InvalidArgument, InvalidUsage, NotSupported, PeerLost, Timeout, Mismatch, Aborted.
RONDO_EXPORT rondoResult_t rondoAllGatherV(const void* send,
                                           void* recv,
                                           const size_t* counts,
                                           const size_t* displacements,
                                           rondoDataType_t type,
                                           rondoComm_t comm,
                                           rondoStream_t stream);

/// Reduces over all ranks; rank r receives counts[r] elements of the result. See
/// rondoReduceScatter; elements are added in rank order.
/// @param send          a block for each rank.
/// @param recv          counts[r] elements of rank r.
/// @param counts        elements of each rank's block.
/// @param displacements where it is in `send`; may differ from rank to rank.
/// @param stream        of rondoStreamCreate, or NULL.
/// @threads @order  see the table above; with NULL, on return the result is complete on this rank.
/// @errors   InvalidArgument, InvalidUsage, NotSupported, PeerLost, Timeout, Mismatch, Aborted.
RONDO_EXPORT rondoResult_t rondoReduceScatterV(const void* send,
                                               void* recv,
                                               const size_t* counts,
                                               const size_t* displacements,
                                               rondoDataType_t type,
                                               rondoRedOp_t op,
                                               rondoComm_t comm,
                                               rondoStream_t stream);

/// Exchanges blocks of different sizes between all ranks. See rondoAllToAll.
/// @param send              a block for each rank, which shares no byte with `recv`.
/// @param sendCounts        elements of each; what rank p receives from this one.
/// @param sendDisplacements where each begins in `send`.
/// @param recv              a block from each rank.
/// @param recvCounts        elements of each; what rank p sends to this one.
/// @param recvDisplacements where each goes in `recv`.
/// @param stream            of rondoStreamCreate, or NULL.
/// @threads @order  see the table above; with NULL, on return the result is complete on this rank.
/// @errors   InvalidArgument, InvalidUsage, NotSupported, PeerLost, Timeout, Mismatch, Aborted.
RONDO_EXPORT rondoResult_t rondoAllToAllV(const void* send,
                                          const size_t* sendCounts,
                                          const size_t* sendDisplacements,
                                          void* recv,
                                          const size_t* recvCounts,
                                          const size_t* recvDisplacements,
                                          rondoDataType_t type,
                                          rondoComm_t comm,
                                          rondoStream_t stream);

/// Collects blocks of different sizes at the root. See rondoGather.
/// @param send              `sendCount` elements: the rank's block.
/// @param sendCount         at the root equal to recvCounts[root].
/// @param recv              the blocks of all ranks, at the root; not looked at elsewhere, nor are
///   the two arrays.
/// @param recvCounts        elements of each rank's block.
/// @param recvDisplacements where each goes in `recv`.
/// @param root              the rank that receives.
/// @param stream            of rondoStreamCreate, or NULL.
/// @threads @order  see the table above; with NULL, on return the result is complete at the root,
///   and `send` may be changed elsewhere.
/// @errors   InvalidArgument, InvalidUsage, NotSupported, PeerLost, Timeout, Mismatch, Aborted.
RONDO_EXPORT rondoResult_t rondoGatherV(const void* send,
                                        size_t sendCount,
                                        void* recv,
                                        const size_t* recvCounts,
                                        const size_t* recvDisplacements,
                                        rondoDataType_t type,
                                        int root,
                                        rondoComm_t comm,
                                        rondoStream_t stream);

/// Hands blocks of different sizes out from the root. See rondoScatter.
/// @param send              a block for each rank, at the root; not looked at elsewhere, nor are
/// the
///   two arrays.
/// @param sendCounts        elements of each.
/// @param sendDisplacements where each begins in `send`.
/// @param recv              `recvCount` elements: the rank's block.
/// @param recvCount         at the root equal to sendCounts[root].
/// @param root              the rank that sends.
/// @param stream            of rondoStreamCreate, or NULL.
/// @threads @order  see the table above; with NULL, on return the result is complete on this rank.
/// @errors   InvalidArgument, InvalidUsage, NotSupported, PeerLost, Timeout, Mismatch, Aborted.
RONDO_EXPORT rondoResult_t rondoScatterV(const void* send,
                                         const size_t* sendCounts,
                                         const size_t* sendDisplacements,
                                         void* recv,
                                         size_t recvCount,
                                         rondoDataType_t type,
                                         int root,
                                         rondoComm_t comm,
                                         rondoStream_t stream);

// Compressed collectives. Elements are encoded when they are sent and decoded when they are
// received; sums are made in fp32. The guarantees, on all ranks of a call:
//
//   Rounding    each rank's contribution is encoded once, the own one of a rank too, and the result
//               of an all-reduce once more: two roundings, whatever the number of ranks. Elements
//               are turned into fp32 first, which rounds doubles, and out of it last, which rounds
//               8- and 16-bit floats.
//   Same bits   all ranks hold the same bits of one element's result. Additions are made in
//               the order of the ranks.
//   Non-finite  input, and what is beyond the codec, becomes infinity or NaN; the report says so on
//               every rank.
//
// They are for float types; ops are rondoSum and rondoAvg. The rules at the head of this file hold
// for them, too.

/// rondoAllReduce, compressed on the wire.
/// @param compression how; read before the call returns, but for what it points to.
/// @threads @order  as rondoAllReduce.
/// @errors   InvalidArgument, InvalidUsage, NotSupported (a report or a feedback while the
///   stream is captured; other ops; a block that no slot holds), PeerLost, Timeout, Mismatch,
///   Aborted, OutOfMemory.
RONDO_EXPORT rondoResult_t rondoAllReduceCompressed(const void* send,
                                                    void* recv,
                                                    size_t count,
                                                    rondoDataType_t type,
                                                    rondoRedOp_t op,
                                                    const rondoCompression_t* compression,
                                                    rondoComm_t comm,
                                                    rondoStream_t stream);

/// rondoReduceScatter, compressed on the wire: one rounding, as the result is not sent. Blocks
/// begin at each rank's first element, too.
/// @param compression as in rondoAllReduceCompressed; its tensors are those of `send`.
/// @threads @order  as rondoReduceScatter.
/// @errors   as rondoAllReduceCompressed.
RONDO_EXPORT rondoResult_t rondoReduceScatterCompressed(const void* send,
                                                        void* recv,
                                                        size_t count,
                                                        rondoDataType_t type,
                                                        rondoRedOp_t op,
                                                        const rondoCompression_t* compression,
                                                        rondoComm_t comm,
                                                        rondoStream_t stream);

/// rondoAllGather, compressed on the wire: one rounding, of the own block too, so that all ranks
/// hold the same. Blocks begin at each rank's first element, too.
/// @param compression as in rondoAllReduceCompressed; its tensors are those of `recv`.
/// @threads @order  as rondoAllGather.
/// @errors   as rondoAllReduceCompressed.
RONDO_EXPORT rondoResult_t rondoAllGatherCompressed(const void* send,
                                                    void* recv,
                                                    size_t count,
                                                    rondoDataType_t type,
                                                    const rondoCompression_t* compression,
                                                    rondoComm_t comm,
                                                    rondoStream_t stream);

/// Makes an error feedback: memory for what compression rounds away, empty at first. Each rank has
/// one for each buffer that it reduces again and again. It takes the shape of the call it is first
/// used in: 4 bytes for each element that the rank contributes and, in an all-reduce, for each that
/// it owns. A call of another shape (operation, op, count, codec, block, tensors, ranks, or plan)
/// begins again with zeros, as does the call after one whose result was not finite; the report says
/// so. What does not fail in between stays.
/// @param feedback receives the handle. Written only on success.
/// @threads  any. A handle is used by one call at a time; a second one is refused (InvalidUsage).
/// @errors   InvalidArgument, OutOfMemory (4096 are alive).
RONDO_EXPORT rondoResult_t rondoErrorFeedbackCreate(rondoErrorFeedback_t* feedback);

/// Gives an error feedback up; a call that is using it does so still.
/// @param feedback the handle is refused from now on. NULL does nothing.
/// @threads  no other call with `feedback` may be running or follow.
/// @errors   InvalidArgument (never made), InvalidUsage (destroyed before).
RONDO_EXPORT rondoResult_t rondoErrorFeedbackDestroy(rondoErrorFeedback_t feedback);

/// Sets an error feedback to zero.
/// @threads  any.
/// @errors   InvalidArgument, InvalidUsage (destroyed; a call is using it).
RONDO_EXPORT rondoResult_t rondoErrorFeedbackReset(rondoErrorFeedback_t feedback);

/// Writes an error feedback into memory, for a checkpoint. Of each rank its own.
/// @param bytes    room for `capacity` bytes; NULL: only the size is asked for.
/// @param capacity bytes; too few are an error, and nothing is written.
/// @param size     receives the bytes that the feedback takes.
/// @threads  any.
/// @errors   InvalidArgument, InvalidUsage (destroyed; a call is using it).
RONDO_EXPORT rondoResult_t rondoErrorFeedbackSave(rondoErrorFeedback_t feedback,
                                                  void* bytes,
                                                  size_t capacity,
                                                  size_t* size);

/// Puts an error feedback into the state that rondoErrorFeedbackSave wrote, on this rank or on that
/// of another run; on a machine of the same byte order. Unchanged if it fails.
/// @param bytes checked: a version of another library, or bytes that were changed, are refused.
/// @threads  any.
/// @errors   InvalidArgument, InvalidUsage (destroyed; a call is using it), OutOfMemory.
RONDO_EXPORT rondoResult_t rondoErrorFeedbackLoad(rondoErrorFeedback_t feedback,
                                                  const void* bytes,
                                                  size_t size);

/// Sends `count` elements to rank `peer`, which receives them with rondoRecv. The k-th message that
/// a rank sends to another one is the k-th that the other receives from it; both must give the same
/// type and count. Other ranks need not know.
///
/// By itself the call is a group of one (rondoGroupStart): it returns when `send` may be changed,
/// which may be before the peer has called, or only after it; never rely on the one or the other.
/// Two ranks that send to each other make both calls of each in one group.
///
/// On devices the first message between two ranks returns when both have made theirs, or
/// rondoCommWarmUp; ranks that share a GPU need a stream each.
/// @param send   `count` elements.
/// @param count  elements; 0 is legal, and still is a message, which the peer receives with count
/// 0.
/// @param peer   the rank that receives. May be the calling rank, if the same group receives it.
/// @param stream of rondoStreamCreate, or NULL.
/// @threads  as for collectives: one thread at a time per communicator handle.
/// @order    messages between two ranks keep the order of their calls; there is none between
///   messages of different pairs, nor between messages and collectives.
/// @errors   InvalidArgument, InvalidUsage, NotSupported (while a stream is captured), PeerLost,
///   Timeout, Mismatch (type or count differ at the two ends; the message names both), Aborted,
///   OutOfMemory.
RONDO_EXPORT rondoResult_t rondoSend(const void* send,
                                     size_t count,
                                     rondoDataType_t type,
                                     int peer,
                                     rondoComm_t comm,
                                     rondoStream_t stream);

/// Receives `count` elements that rank `peer` sends with rondoSend, which has the rules.
/// @param recv   room for `count` elements.
/// @param count  elements, exactly as many as are sent.
/// @param peer   the rank that sends. May be the calling rank, if the same group sends it.
/// @param stream of rondoStreamCreate, or NULL.
/// @threads @order  see rondoSend; on return `recv` holds the elements.
/// @errors   see rondoSend.
RONDO_EXPORT rondoResult_t rondoRecv(void* recv,
                                     size_t count,
                                     rondoDataType_t type,
                                     int peer,
                                     rondoComm_t comm,
                                     rondoStream_t stream);

/// The largest tag of a message.
#define RONDO_MAX_TAG 65535

/// Sends as rondoSend does, to a rondoRecvTagged with the same tag: the k-th message with a tag
/// from one rank to another is the k-th that the other receives with that tag, in whatever order
/// messages with different tags are sent and received. rondoSend and rondoRecv use tag 0. A message
/// that comes before one with a tag that is waited for is put aside in memory of the library's.
/// @param tag 0 to RONDO_MAX_TAG.
/// @threads @order @errors  see rondoSend; OutOfMemory also for messages put aside. A wait that
///   takes long, or too long, names the tag and those of messages put aside.
RONDO_EXPORT rondoResult_t rondoSendTagged(const void* send,
                                           size_t count,
                                           rondoDataType_t type,
                                           int peer,
                                           int tag,
                                           rondoComm_t comm,
                                           rondoStream_t stream);

/// Receives what rank `peer` sends with rondoSendTagged and the same tag; see there.
/// @param tag 0 to RONDO_MAX_TAG.
/// @threads @order @errors  see rondoSendTagged and rondoRecv.
RONDO_EXPORT rondoResult_t rondoRecvTagged(void* recv,
                                           size_t count,
                                           rondoDataType_t type,
                                           int peer,
                                           int tag,
                                           rondoComm_t comm,
                                           rondoStream_t stream);

/// Begins a group: until the matching rondoGroupEnd, collectives and messages of the calling thread
/// are checked and noted, not carried out. Groups may be nested; only the outermost counts.
/// A group may be about several communicators, and about several ranks of one: so a thread that
/// made all ranks with rondoCommInitAll may call for all of them.
/// Buffers must stay as they are until the group has ended. All other functions work as usual in a
/// group, at once.
/// @threads  any; each thread has a group of its own.
/// @errors   none.
RONDO_EXPORT rondoResult_t rondoGroupStart(void);

/// Ends a group without carrying anything out. Inside another group it makes that one's end return
/// InvalidUsage and carry nothing out either.
/// @threads  the thread that called rondoGroupStart.
/// @errors   InvalidUsage (no rondoGroupStart).
RONDO_EXPORT rondoResult_t rondoGroupCancel(void);

/// Ends a group. The outermost one's end carries all its calls out and returns when they are
/// complete on the ranks that the group is about, or issues them if they are on streams; the next
/// group then begins empty, whatever came of this one.
///
/// All messages of one communicator in a group are carried out together, in an order in which no
/// set of messages that fits together waits for ever. Its collectives follow each other in the
/// order of their calls; messages and collectives do not wait for each other.
///
/// A call that is refused in a group returns its error at once, and makes the group's end return
/// the first such error and carry nothing out. If a communicator fails, all those of the group
/// fail that were not done.
/// @threads  the thread that called rondoGroupStart.
/// @order    on return the results of all calls without a stream are complete on the ranks of the
///   group; of calls on
///   a communicator on devices as if made one after another now, messages first. A group with such
///   a communicator has no other (NotSupported).
/// @errors   InvalidUsage (no rondoGroupStart; a communicator that was destroyed meanwhile), those
///   of the calls.
RONDO_EXPORT rondoResult_t rondoGroupEnd(void);

/// Returns after every rank has called it. What a rank wrote before is visible to all ranks after.
/// @param stream device communicators: a CUDA stream of the device; host communicators: one of
///   rondoStreamCreate, or NULL.
/// @threads @order  see the table above.
/// @errors   InvalidArgument, InvalidUsage, NotSupported, PeerLost, Timeout, Mismatch, Aborted.
RONDO_EXPORT rondoResult_t rondoBarrier(rondoComm_t comm, rondoStream_t stream);

// Streams on host memory. A stream is a queue of calls that a thread of the library's carries out,
// one after another, while the program computes:
//
//   rondoStreamCreate(&stream);
//   rondoAllReduce(grad, grad, count, rondoFloat32, rondoSum, comm, stream);  // returns at once
//   compute();                                                  // without touching grad
//   rondoStreamSynchronize(stream);                             // grad now holds the sum
//
//   Calls      on a stream check their arguments and return; what is wrong with these is told at
//              once. What happens later is told by rondoStreamSynchronize, and by
//              rondoCommGetAsyncError if the communicator has failed. Buffers, and the arrays of
//              calls with blocks of different sizes, stay as they are until the call is complete.
//   Beginning  a call begins when what was issued before it on its stream, and what was issued
//              before it on its communicator on any stream or none, is complete. A call with NULL
//              takes its place in that order, too: it waits for what was issued on its
//              communicator, then runs in the calling thread.
//   Deadlock   is impossible if each rank issues its calls on all communicators in one order that
//              is the same on all ranks, whatever streams they go on. Calls on different
//              communicators may be issued in different orders if these share no stream, and no
//              event makes the one wait for the other; on one stream, a rank that issues A, B and
//              a rank that issues B, A wait for each other until the operation time-out.
//   Lifetime   streams and communicators may be destroyed in any order. rondoCommFinalize and
//              rondoCommDestroy first wait for what was issued on the communicator, unless it has
//              failed; rondoCommAbort waits for nothing, and what was issued fails with Aborted.
//   Groups     all calls of one host communicator in a group are on one stream, or all with NULL
//              (InvalidUsage); different communicators may be on different ones. rondoGroupEnd
//              issues what is on streams, and carries out the rest itself. The calls on one stream
//              are carried out together, as those with NULL are.
//   Processor  a stream's thread sleeps while it has nothing to do. It may use the processors that
//              the thread that made the stream may use then.
//   Fork       in a process that was forked off a stream or event is refused (InvalidUsage), and
//              destroying it does nothing.

/// Makes a stream on host memory, with a thread of its own.
/// @param stream receives the handle. Written only on success.
/// @threads  any.
/// @errors   InvalidArgument, OutOfMemory (4096 are alive), SystemError (no thread).
RONDO_EXPORT rondoResult_t rondoStreamCreate(rondoStream_t* stream);

/// Waits for all that was issued on a stream, as rondoStreamSynchronize does, and ends it.
/// @param stream the handle is refused from now on. NULL does nothing.
/// @threads  no other call with `stream` may be running or follow.
/// @errors   InvalidArgument (no stream on host memory), InvalidUsage (destroyed before), the first
///   failure on the stream that was not told yet; the stream is destroyed then, too.
RONDO_EXPORT rondoResult_t rondoStreamDestroy(rondoStream_t stream);

/// Returns when all calls that were issued on a stream before are complete.
/// @param stream NULL: returns at once, as calls with NULL are complete when they return.
/// @threads  any.
/// @order    results of those calls are visible to the calling thread.
/// @errors   InvalidArgument, InvalidUsage, and the first failure of a call on the stream since the
///   last one that this function returned. Later calls on the stream are carried out nevertheless,
///   if their communicators can.
RONDO_EXPORT rondoResult_t rondoStreamSynchronize(rondoStream_t stream);

/// Tells without waiting whether all calls that were issued on a stream are complete.
/// @return rondoInProgress if not; else what rondoStreamSynchronize would return, which still does.
/// @threads @order  as rondoStreamSynchronize.
/// @errors   those of rondoStreamSynchronize.
RONDO_EXPORT rondoResult_t rondoStreamQuery(rondoStream_t stream);

/// Makes what is issued on a stream from now on wait until the event is complete, as it was
/// recorded last. Returns at once; an event that was never recorded is complete.
/// @param stream NULL: the calling thread waits.
/// @threads  any.
/// @errors   InvalidArgument, InvalidUsage.
RONDO_EXPORT rondoResult_t rondoStreamWaitEvent(rondoStream_t stream, rondoEvent_t event);

/// Makes an event for streams on host memory.
/// @param event receives the handle. Written only on success.
/// @threads  any.
/// @errors   InvalidArgument, OutOfMemory (4096 are alive).
RONDO_EXPORT rondoResult_t rondoEventCreate(rondoEvent_t* event);

/// Gives an event up. Waits for nobody; streams that wait for it do so still.
/// @param event the handle is refused from now on. NULL does nothing.
/// @threads  no other call with `event` may be running or follow.
/// @errors   InvalidArgument (never made), InvalidUsage (destroyed before).
RONDO_EXPORT rondoResult_t rondoEventDestroy(rondoEvent_t event);

/// Records an event on a stream: it is complete when all calls issued there before are, whether
/// they succeeded or not. It may be recorded again; who waited for it before is not concerned.
/// @param stream NULL: the event is complete at once.
/// @threads  any.
/// @errors   InvalidArgument, InvalidUsage.
RONDO_EXPORT rondoResult_t rondoEventRecord(rondoEvent_t event, rondoStream_t stream);

/// Returns when an event is complete, as it was recorded last.
/// @threads  any.
/// @order    results of the calls before it are visible to the calling thread.
/// @errors   InvalidArgument, InvalidUsage; not those of the calls.
RONDO_EXPORT rondoResult_t rondoEventSynchronize(rondoEvent_t event);

/// Tells without waiting whether an event is complete, as it was recorded last.
/// @return rondoInProgress if not.
/// @threads @order  as rondoEventSynchronize.
/// @errors   InvalidArgument, InvalidUsage.
RONDO_EXPORT rondoResult_t rondoEventQuery(rondoEvent_t event);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // RONDO_RONDO_H_
