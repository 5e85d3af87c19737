#include "src/coded_plan.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "collectives/coded.h"

namespace rondo {

namespace {

/// Pieces that a channel's share is cut into, if they stay above kMinPieceBytes, as encoded: enough
/// that ranks work while others send, few enough that the cost of a step does not show.
constexpr std::size_t kPieces = 8;
constexpr std::size_t kMinPieceBytes = 8192;

/// The algorithm that carries codes, unless another one was asked for.
Result<AlgorithmId> codedAlgorithm(const PlanRequest& request,
                                   const PlanFacts& facts,
                                   const PlanSettings& settings) {
  const std::string_view name = codedAlgorithmName(request.collective);
  const std::optional<AlgorithmId> algorithm = findAlgorithm(request.collective, name);
  if (!algorithm.has_value())
    return Status::notSupported("{} cannot be compressed", collectiveName(request.collective));
  const PlanRule* const rule =
      findPlanRule(settings.rules, request.collective, callBytes(request, facts.ranks));
  if (rule == nullptr || rule->algorithm == *algorithm) return *algorithm;
  return Status::notSupported(
      "compressed {}: algorithm {}, which was asked for by name, carries elements only as they "
      "are; ask for {} or for none",
      collectiveName(request.collective), algorithmInfo(rule->algorithm).name, name);
}

}  // namespace

Result<Plan> makeCodedPlan(const PlanRequest& request,
                           std::size_t blocks,
                           bool uniform,
                           const PlanFacts& facts,
                           const PlanSettings& settings) {
  const Result<AlgorithmId> algorithm = codedAlgorithm(request, facts, settings);
  RONDO_RETURN_IF_ERROR(algorithm.status());
  const std::size_t blockBytes = encodedBytes(request.coded->codec, 1, request.coded->blockElems);
  if (blockBytes > facts.slotBytes) {
    return Status::notSupported(
        "a block of {} elements of codec {} has {} bytes, more than a slot's {}; pass a smaller "
        "blockElems, or raise RONDO_CHUNK_BYTES",
        request.coded->blockElems, codecName(request.coded->codec), blockBytes, facts.slotBytes);
  }
  Plan plan;
  plan.algorithm = *algorithm;
  plan.channels = settings.channels > 0 && uniform ? settings.channels : 1;
  const std::size_t share = ceilDiv(blocks, static_cast<std::size_t>(plan.channels));
  const std::size_t piece = std::max(ceilDiv(share, kPieces), ceilDiv(kMinPieceBytes, blockBytes));
  plan.chunkElems = std::min(piece, facts.slotBytes / blockBytes);
  return plan;
}

}  // namespace rondo
