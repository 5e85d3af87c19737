#include "tests/cuda/entry_kernels.h"

#include "tests/cuda/run_lanes.h"

namespace rondo::testing {

EntryKernel entryKernel(DataType type) {
  switch (type) {
#define RONDO_CASE(name, cppType, bytes, text) \
  case DataType::k##name:                      \
    return runLanes<DataType::k##name>;
    RONDO_FOR_EACH_DATA_TYPE(RONDO_CASE)
#undef RONDO_CASE
  }
  return nullptr;
}

}  // namespace rondo::testing
