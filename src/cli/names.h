// Finds what a word on the command line stands for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collectives/registry.h"
#include "kernels/data_type.h"
#include "src/status.h"

namespace rondo::cli {

/// "all_reduce", or as the program of nccl-tests is called, "all_reduce_perf".
/// @errors InvalidArgument, listing the names
Result<Collective> findCollective(std::string_view name);

/// "float", "bfloat16", ... and their usual other names, such as "fp16" and "f8e4m3".
/// @errors InvalidArgument, listing the names
Result<DataType> findDataType(std::string_view name);

/// "sum", "prod", ...; "mulsum" is premulsum.
/// @errors InvalidArgument, listing the names
Result<ReduceOp> findReduceOp(std::string_view name);

/// @errors InvalidArgument, listing the algorithms of `collective`
Result<AlgorithmId> findAlgorithmNamed(Collective collective, std::string_view name);

std::vector<Collective> allCollectives();
std::vector<DataType> allDataTypes();
std::vector<ReduceOp> allReduceOps();
std::vector<AlgorithmId> algorithmsOf(Collective collective);

/// "a, b, c".
std::string joined(const std::vector<std::string_view>& words);

/// "all_reduce, reduce_scatter, ...": all of them.
std::string namesOfCollectives();

}  // namespace rondo::cli
