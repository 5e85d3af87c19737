// A cuBLAS that multiplies in memory of the host, by definition, and says what it was asked for.
// RONDOTEST_WRONG_PRODUCT=n has the n-th product be wrong.
#pragma once

#include <string>
#include <vector>

namespace rondo::testing {

/// What tests see and set of the library; one object in a process.
struct CublasDouble {
  std::vector<std::string> calls{};  ///< names of its functions, in order
  int handles = 0;                   ///< that are alive
  void* stream = nullptr;            ///< that was set last
  int failing = 0;                   ///< number of the call, from 1, that fails; 0: none
};

extern "C" {

/// The object of the library, by a function that tests load.
CublasDouble* cublasDoubleState();
}

}  // namespace rondo::testing
