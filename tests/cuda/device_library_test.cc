// How the host finds the kernels (kernels/cuda/device_library.h), in a build with a CUDA compiler
// and in one without. What is in the images: kernel_budget_test.
#include "kernels/cuda/device_library.h"

#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

namespace rondo::device {
namespace {

constexpr DataType typeAt(int place) {
  return static_cast<DataType>(place);
}

TEST(DeviceLibrary, HasAnImageForEveryTypeOrNone) {
  for (int place = 0; place < kDataTypeCount; ++place)
    EXPECT_EQ(deviceLibrary(typeAt(place)).empty(), !RONDO_HAS_DEVICE_LIBRARY) << place;
  EXPECT_EQ(messageLibrary().empty(), !RONDO_HAS_DEVICE_LIBRARY);
  EXPECT_EQ(codedLibrary().empty(), !RONDO_HAS_DEVICE_LIBRARY);
}

TEST(DeviceLibrary, ImagesAreFatBinaries) {
  constexpr std::uint32_t kMagic = 0xba55ed50;  // fatbinary_section.h of the CUDA toolkit
  for (int place = 0; place < kDataTypeCount && RONDO_HAS_DEVICE_LIBRARY; ++place) {
    const auto image = deviceLibrary(typeAt(place));
    std::uint32_t magic = 0;
    std::memcpy(&magic, image.data(), sizeof magic);
    EXPECT_EQ(magic, kMagic) << entryName(typeAt(place));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(image.data()) % 8, 0u);
  }
}

TEST(DeviceLibrary, RelatedTypesShareAnImage) {
  EXPECT_EQ(deviceLibrary(DataType::kInt8).data(), deviceLibrary(DataType::kBool).data());
}

TEST(DeviceLibrary, NamesItsKernels) {
  EXPECT_EQ(entryName(DataType::kFloat32), "rondoRun_float");
  EXPECT_EQ(entryName(DataType::kFloat8E4m3), "rondoRun_fp8_e4m3");
}

}  // namespace
}  // namespace rondo::device
