// A double of libibverbs: a shared library named libibverbs.so.1 that the library loads in place of
// the system's. Its adapters move data between the threads of a process and between the processes
// of a host, and are as strict as real ones: states, attributes, keys, bounds, depths and packet
// numbers are checked. What tests ask of it beyond libibverbs' functions is here; all of it
// concerns the calling process only.
//
// In the environment of the process:
//   RONDOTEST_VERBS_DEVICES=rdma0=roce,rdma1=ib   its adapters, of one port each, on the networks
//                                                 10.<adapter>.1.0/24; two of RoCE if not set;
//                                                 "cable": RoCE with link-local addresses only
//   RONDOTEST_VERBS_DELAY_US=n                    requests are carried out, and completions seen,
//                                                 up to n microseconds late, at random
//   RONDOTEST_VERBS_INLINE=n                      bytes that a queue pair sends inline at most
//   RONDOTEST_VERBS_MESSAGE=n                     bytes of the longest message
//   RONDOTEST_VERBS_REGIONS=n                     memory regions that may be registered at a time
//   RONDOTEST_VERBS_DOWN=rdma0,rdma1              ports that are down
//   RONDOTEST_VERBS_SILENT=rdma1,rdma2:5          ports that are up and lose what they send; that
//                                                 of rdma2 after its first 5 requests
//   RONDOTEST_VERBS_APART=1                       networks that no router joins: each adapter
//                                                 reaches its own only
//   RONDOTEST_VERBS_MEMLOCK=1                     registered memory counts against RLIMIT_MEMLOCK
//   RONDOTEST_VERBS_FAIL=symbol:nth:errno         rondoVerbsFailCall()
#pragma once

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>

extern "C" {

/// Has the `nth` call from now of the function named `symbol` fail with `error`, having done
/// nothing; 1 is the next, 0: every call. One failure at a time; a null symbol takes it back.
void rondoVerbsFailCall(const char* symbol, int nth, int error);

/// Has the `nth` request from now that is carried out complete with `status`; 1 is the next,
/// 0: none.
void rondoVerbsFailRequest(int nth, ibv_wc_status status);

/// Contexts, domains, regions, channels, queues and queue pairs that are alive.
int rondoVerbsObjects(void);

/// Requests that were carried out for queue pairs of this adapter, so far.
int rondoVerbsRequests(const char* adapter);

/// From now on counts the bytes of payload that RDMA WRITEs read, inside of the `bytes` bytes at
/// `begin` and elsewhere; those of WRITEs with immediate data are no payload.
void rondoVerbsCountReads(const void* begin, std::size_t bytes);

std::uint64_t rondoVerbsReadsInside(void);

std::uint64_t rondoVerbsReadsOutside(void);

/// Memory regions that are registered.
int rondoVerbsRegions(void);

/// Takes the adapter's port down, or up again, and says so to all that have it open.
void rondoVerbsSetPort(const char* adapter, int active);

/// Gives the address at `index` of the port's table another last byte, and says so.
void rondoVerbsMoveGid(const char* adapter, int index, unsigned char lastByte);

/// The adapter has failed: nothing crosses any more until its port is taken up, and it says so.
void rondoVerbsBreak(const char* adapter);

/// What was done that is wrong but that no real adapter would have refused; empty: nothing.
const char* rondoVerbsComplaints(void);
}
