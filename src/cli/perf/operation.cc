#include "src/cli/perf/operation.h"

#include <string_view>

#include "src/cli/names.h"

namespace rondo::perf {

namespace {

constexpr std::string_view kMessagesName = "send_recv";
constexpr std::string_view kBlocksSuffix = "_v";

}  // namespace

std::string operationName(Operation operation) {
  if (operation.form == Form::kMessages) return std::string(kMessagesName);
  std::string name(collectiveName(operation.collective));
  if (operation.form == Form::kBlocks) name += kBlocksSuffix;
  return name;
}

std::string namesOfOperations() {
  std::string names = cli::namesOfCollectives();
  for (const Collective collective : cli::allCollectives()) {
    if (hasBlocksForm(collective)) names += ", " + operationName({collective, Form::kBlocks});
  }
  return names + ", " + std::string(kMessagesName);
}

Result<Operation> findOperation(const std::string& name) {
  std::string_view stem = name;
  constexpr std::string_view kProgramSuffix = "_perf";
  if (stem.ends_with(kProgramSuffix)) stem.remove_suffix(kProgramSuffix.size());
  // nccl-tests has no underscore here.
  if (stem == kMessagesName || stem == "sendrecv")
    return Operation{Collective::kBroadcast, Form::kMessages};
  if (stem.ends_with(kBlocksSuffix)) {
    stem.remove_suffix(kBlocksSuffix.size());
    const Result<Collective> collective = cli::findCollective(stem);
    if (collective.ok() && hasBlocksForm(*collective)) return Operation{*collective, Form::kBlocks};
  } else if (const Result<Collective> collective = cli::findCollective(stem); collective.ok()) {
    return Operation{*collective, Form::kCollective};
  }
  return Status::invalidArgument("\"{}\" is no operation; there are {}", name, namesOfOperations());
}

}  // namespace rondo::perf
