// Products of matrices on a GPU by cuBLAS, as training there makes them, beside those of the host.
#include <cmath>
#include <string>
#include <vector>

#include "examples/train_gpt/blas.h"
#include "examples/train_gpt/device_blas.h"
#include "examples/train_gpt/random_numbers.h"
#include "tests/gpu_check/section.h"

namespace rondo::gpucheck {

namespace {

using train::DeviceBlas;
using train::Form;
using train::GemmShape;

/// Of A and B; larger than the shapes below need, by leading dimensions.
constexpr std::size_t kElems = 200 * 200;

/// Whole numbers whose sums of products fit into 24 bits, so that any order of additions is exact;
/// those of A have up to 13 bits themselves, which formats that are narrower than fp32 would round.
template <class T>
std::vector<T> wholeNumbers(const char* name, std::uint64_t limit) {
  train::RandomNumbers random(5, name);
  std::vector<T> values(kElems);
  for (T& value : values)
    value = static_cast<T>(random.below(limit)) - static_cast<T>(limit / 2);
  return values;
}

/// The matrices of one product in a GPU's memory.
struct DeviceMatrices {
  GpuBuffer a, b, c;

  static Result<DeviceMatrices> allocate(const Gpu& gpu, std::size_t bytes) {
    Result<GpuBuffer> a = GpuBuffer::allocate(gpu, bytes);
    RONDO_RETURN_IF_ERROR(a.status());
    Result<GpuBuffer> b = GpuBuffer::allocate(gpu, bytes);
    RONDO_RETURN_IF_ERROR(b.status());
    Result<GpuBuffer> c = GpuBuffer::allocate(gpu, bytes);
    RONDO_RETURN_IF_ERROR(c.status());
    return DeviceMatrices{*std::move(a), *std::move(b), *std::move(c)};
  }
};

struct ProductBench {
  const Section& section;
  const Gpu& gpu;
  const GpuStream& stream;
  const DeviceBlas& products;
};

template <class T>
Status multiplyOnGpu(const ProductBench& bench,
                     const GemmShape& shape,
                     const std::vector<T>& a,
                     const std::vector<T>& b,
                     std::vector<T>& c) {
  const std::size_t bytes = kElems * sizeof(T);
  const Result<DeviceMatrices> held = DeviceMatrices::allocate(bench.gpu, bytes);
  RONDO_RETURN_IF_ERROR(held.status());
  const cuda::Driver& driver = *bench.gpu.driver;
  const cuda::Stream stream = bench.stream.get();
  const auto put = [&](const GpuBuffer& to, const std::vector<T>& from) {
    return bench.gpu.check(driver.copyToDevice(to.address(), from.data(), bytes, stream),
                           "copying to it");
  };
  RONDO_RETURN_IF_ERROR(put(held->a, a));
  RONDO_RETURN_IF_ERROR(put(held->b, b));
  RONDO_RETURN_IF_ERROR(put(held->c, c));
  RONDO_RETURN_IF_ERROR(bench.stream.await(bench.section.deadline));
  try {
    bench.products.gemm(shape, T{1}, reinterpret_cast<const T*>(held->a.at(0)),
                        reinterpret_cast<const T*>(held->b.at(0)), T{2},
                        reinterpret_cast<T*>(held->c.at(0)));
  } catch (const Error& error) {
    return Status::systemError("{}", error.what());
  }
  RONDO_RETURN_IF_ERROR(bench.stream.await(bench.section.deadline));
  RONDO_RETURN_IF_ERROR(bench.gpu.check(
      driver.copyFromDevice(c.data(), held->c.address(), bytes, stream), "copying from it"));
  return bench.stream.await(bench.section.deadline);
}

template <class T>
Status compare(const ProductBench& bench, const GemmShape& shape) {
  const std::vector<T> a = wholeNumbers<T>("a", 1U << 14U);
  const std::vector<T> b = wholeNumbers<T>("b", 17);
  const std::vector<T> before = wholeNumbers<T>("c", 17);
  std::vector<T> wanted = before;
  train::Blas().gemm(shape, T{1}, a.data(), b.data(), T{2}, wanted.data());
  std::vector<T> found = before;
  RONDO_RETURN_IF_ERROR(multiplyOnGpu(bench, shape, a, b, found));
  for (std::size_t i = 0; i < kElems; ++i) {
    if (found[i] == wanted[i]) continue;
    return Status::internal("wrong result: element {} is {}, and must be {}", i, found[i],
                            wanted[i]);
  }
  return {};
}

std::string formText(Form form) {
  return form == Form::kPlain ? "plain" : "transposed";
}

void checkForms(const ProductBench& bench) {
  constexpr Form kForms[] = {Form::kPlain, Form::kTransposed};
  bench.section.report.expect(8);
  for (const Form formA : kForms) {
    for (const Form formB : kForms) {
      if (bench.section.outOfTime()) return;
      const GemmShape shape{formA, formB, 67, 129, 65, 131, 133, 137};
      const std::string text = formText(formA) + " times " + formText(formB);
      bench.section.report.check(compare<float>(bench, shape), "float, " + text);
      bench.section.report.check(compare<double>(bench, shape), "double, " + text);
    }
  }
}

}  // namespace

void checkProducts(const Section& section) {
  section.report.doing("loading cuBLAS");
  const Gpu& gpu = section.gpus.all.front();
  const OnGpu current(gpu);
  const Result<GpuStream> stream = GpuStream::create(gpu);
  if (!stream.ok()) return section.report.check(stream.status(), "making a stream");
  try {
    const DeviceBlas products(stream->get());
    section.report.row({{"library", products.name()}}, products.name());
    checkForms({section, gpu, *stream, products});
  } catch (const Error& error) {
    if (error.result() == rondoNotSupported) return section.report.notRun(error.what());
    section.report.check(Status::systemError("{}", error.what()), "starting cuBLAS");
  }
}

}  // namespace rondo::gpucheck
