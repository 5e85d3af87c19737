// Ranks on CUDA devices: each thread fills memory of its device in a kernel, and the all-reduce
// queued behind it on the same stream adds it up. Two ranks may share a device, as here.
#include <cstdio>
#include <thread>

#include <cuda_runtime.h>
#include <rondo/rondo.h>

namespace {

constexpr int kRanks = 2;
constexpr int kCount = 1 << 20;

__global__ void fill(float* data, float value) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kCount; i += gridDim.x * blockDim.x)
    data[i] = value;
}

void runRank(rondoComm_t comm, int rank) {
  float* data = nullptr;
  float last = 0;
  cudaStream_t stream = nullptr;
  cudaSetDevice(0);
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaMalloc(&data, kCount * sizeof(float));
  fill<<<32, 256, 0, stream>>>(data, static_cast<float>(rank + 1));
  if (rondoAllReduce(data, data, kCount, rondoFloat32, rondoSum, comm, stream) != rondoSuccess)
    std::fprintf(stderr, "rank %d: %s\n", rank, rondoGetLastError(comm));
  cudaMemcpyAsync(&last, data + kCount - 1, sizeof last, cudaMemcpyDeviceToHost, stream);
  const cudaError_t error = cudaStreamSynchronize(stream);
  if (error != cudaSuccess) std::fprintf(stderr, "rank %d: %s\n", rank, cudaGetErrorString(error));
  if (rank == 0) std::printf("the last element is %g\n", last);  // 1 + 2 = 3
  rondoCommDestroy(comm);
  cudaFree(data);
  cudaStreamDestroy(stream);
}

}  // namespace

int main() {
  const int devices[kRanks] = {0, 0};
  rondoComm_t comms[kRanks];
  if (rondoCommInitAllOnDevices(comms, kRanks, devices, nullptr) != rondoSuccess) {
    std::fprintf(stderr, "%s\n", rondoGetLastError(nullptr));
    return 1;
  }
  std::thread other(runRank, comms[1], 1);
  runRank(comms[0], 0);
  other.join();
}
