// A libnccl.so.2 of one rank, over the driver double: its all-reduce is a copy, as NCCL's is then.
#include <cstddef>

extern "C" {

int cuMemcpyDtoDAsync_v2(unsigned long long to,
                         unsigned long long from,
                         std::size_t bytes,
                         void* stream);

int ncclGetVersion(int* version) {
  *version = 22700;
  return 0;
}

const char* ncclGetErrorString(int /*result*/) {
  return "as the double says";
}

int ncclCommInitAll(void** comms, int /*count*/, const int* /*devices*/) {
  *comms = nullptr;
  return 0;
}

int ncclCommDestroy(void* /*comm*/) {
  return 0;
}

int ncclAllReduce(const void* send,
                  void* recv,
                  std::size_t count,
                  int /*type*/,
                  int /*op*/,
                  void* /*comm*/,
                  void* stream) {
  return cuMemcpyDtoDAsync_v2(reinterpret_cast<unsigned long long>(recv),
                              reinterpret_cast<unsigned long long>(send), count * sizeof(float),
                              stream);
}
}
