// Products of matrices on a CUDA device, by cuBLAS, which is loaded at run time: neither it nor the
// CUDA toolkit is needed where this is built.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "examples/train_gpt/gemm_shape.h"
#include "rondo/rondo.hpp"

namespace rondo::train {

/// The products of one stream. Fp32 is computed as fp32: cuBLAS takes narrower formats, as TF32,
/// only where it is told to. With a handle of its own for each stream, the same inputs give the
/// same bits on GPUs of one kind (cuBLAS' documentation, "Results reproducibility").
/// @threads one at a time, with the stream's device current
class DeviceBlas {
 public:
  /// Looked for in this order.
  static std::span<const char* const> libraries();

  /// @param stream    a cudaStream_t of the device that is current in the calling thread; null: its
  ///   default stream. It has to live as long as this.
  /// @param libraries names of cuBLAS, the first that loads is used
  /// @errors thrown: NotSupported: there is no cuBLAS, or it lacks a function; SystemError with
  ///   cuBLAS' words: it does not start.
  explicit DeviceBlas(rondoStream_t stream,
                      std::span<const char* const> libraries = DeviceBlas::libraries());
  ~DeviceBlas();
  DeviceBlas(const DeviceBlas&) = delete;
  DeviceBlas& operator=(const DeviceBlas&) = delete;

  /// What computes, for people.
  const std::string& name() const { return name_; }

  /// C = alpha A B + beta C, as Blas::gemm, but a, b and c are memory of the device.
  /// @tparam T float or double
  /// @order  as work that is queued on the stream; returns at once
  /// @errors thrown: SystemError with cuBLAS' words.
  template <class T>
  void gemm(const GemmShape& shape, T alpha, const T* a, const T* b, T beta, T* c) const;

 private:
  struct Library;

  void check(int status, const char* what) const;

  std::unique_ptr<const Library> library_;
  std::unique_ptr<void, int (*)(void*)> handle_;
  std::string name_;
};

extern template void DeviceBlas::gemm(
    const GemmShape&, float, const float*, const float*, float, float*) const;
extern template void DeviceBlas::gemm(
    const GemmShape&, double, const double*, const double*, double, double*) const;

}  // namespace rondo::train
