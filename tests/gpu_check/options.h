// The command line of rondo-gpu-check.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/gpu_check/section.h"

namespace rondo::gpucheck {

struct Options {
  std::string json;  ///< path; empty: none
  std::chrono::seconds total{280};
  std::vector<std::string> sections;  ///< empty: all
  Extent extent;
  bool oneProcess = false;   ///< else each section has its own
  bool part = false;         ///< the process of a section: says nothing about the whole
  bool processRank = false;  ///< process_rank.h
};

/// @param sections names that may be asked for
/// @return nothing where the program has no more to do, with `exitStatus` set
std::optional<Options> readOptions(int argc,
                                   char** argv,
                                   const std::vector<std::string>& sections,
                                   int& exitStatus);

}  // namespace rondo::gpucheck
