#include "examples/train_gpt/device_blas.h"

#include <array>
#include <tuple>

#include <dlfcn.h>

#include "src/loaded_function.h"

namespace rondo::train {

namespace {

/// Of cuBLAS' interface ("cuBLAS", NVIDIA, version 13.0), as the table below; its functions return
/// 0 for success.
constexpr int kNoTranspose = 0;
constexpr int kTranspose = 1;

constexpr std::array kCublasLibraries{"libcublas.so.13", "libcublas.so.12"};

int cublasForm(Form form) {
  return form == Form::kPlain ? kNoTranspose : kTranspose;
}

/// Handle, transpositions, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc; column by column.
template <class T>
using Gemm = int (*)(
    void*, int, int, int, int, int, const T*, const T*, int, const T*, int, const T*, T*, int);

}  // namespace

/// The functions that are used.
struct DeviceBlas::Library {
  int (*create)(void** handle) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  int (*setStream)(void* handle, rondoStream_t stream) = nullptr;
  int (*getVersion)(void* handle, int* version) = nullptr;
  const char* (*statusName)(int status) = nullptr;
  const char* (*statusText)(int status) = nullptr;
  std::tuple<Gemm<float>, Gemm<double>> gemms{};

  /// @errors thrown, NotSupported
  static std::unique_ptr<const Library> load(std::span<const char* const> names);

 private:
  void fill(void* library, const char* name);
};

std::unique_ptr<const DeviceBlas::Library> DeviceBlas::Library::load(
    std::span<const char* const> names) {
  std::string reasons;
  for (const char* name : names) {
    void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);  // stays until the process ends
    if (library == nullptr) {
      reasons += std::string("; ") + ::dlerror();  // NOLINT(concurrency-mt-unsafe)
      continue;
    }
    auto found = std::make_unique<Library>();
    found->fill(library, name);
    return found;
  }
  throw Error(rondoNotSupported,
              "products on a CUDA device need cuBLAS 12 or 13, which does not load here; install "
              "CUDA's libraries" +
                  reasons);
}

void DeviceBlas::Library::fill(void* library, const char* name) {
  const auto find = [&](const char* symbol, auto& function) {
    if (findFunction(library, symbol, function)) return;
    throw Error(rondoNotSupported, std::string(name) + " has no " + symbol);
  };
  find("cublasCreate_v2", create);
  find("cublasDestroy_v2", destroy);
  find("cublasSetStream_v2", setStream);
  find("cublasGetVersion_v2", getVersion);
  find("cublasGetStatusName", statusName);
  find("cublasGetStatusString", statusText);
  find("cublasSgemm_v2", std::get<Gemm<float>>(gemms));
  find("cublasDgemm_v2", std::get<Gemm<double>>(gemms));
}

std::span<const char* const> DeviceBlas::libraries() {
  return kCublasLibraries;
}

DeviceBlas::DeviceBlas(rondoStream_t stream, std::span<const char* const> libraries)
    : library_(Library::load(libraries)), handle_(nullptr, library_->destroy) {
  void* handle = nullptr;
  check(library_->create(&handle), "making a handle");
  handle_.reset(handle);
  check(library_->setStream(handle, stream), "setting its stream");
  int version = 0;
  check(library_->getVersion(handle, &version), "asking for its version");
  name_ = "cuBLAS " + std::to_string(version);
}

DeviceBlas::~DeviceBlas() = default;

void DeviceBlas::check(int status, const char* what) const {
  if (status == 0) return;
  throw Error(rondoSystemError, std::string("cuBLAS, ") + what + ": " +
                                    library_->statusName(status) + " (" +
                                    library_->statusText(status) + ")");
}

template <class T>
void DeviceBlas::gemm(const GemmShape& shape, T alpha, const T* a, const T* b, T beta, T* c) const {
  // cuBLAS takes matrices column by column. What lies row by row is the transposed one to it, and
  // C^T = B^T A^T.
  check(std::get<Gemm<T>>(library_->gemms)(handle_.get(), cublasForm(shape.b), cublasForm(shape.a),
                                           shape.n, shape.m, shape.k, &alpha, b, shape.ldb, a,
                                           shape.lda, &beta, c, shape.ldc),
        "multiplying");
}

template void DeviceBlas::gemm(
    const GemmShape&, float, const float*, const float*, float, float*) const;
template void DeviceBlas::gemm(
    const GemmShape&, double, const double*, const double*, double, double*) const;

}  // namespace rondo::train
