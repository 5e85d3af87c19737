#include "src/coded_plan.h"

#include <algorithm>
#include <optional>

#include "collectives/coded.h"

namespace rondo {

namespace {

/// Pieces that a channel's share is cut into, if they stay above kMinPieceBytes, as encoded: enough
/// that ranks work while others send, few enough that the cost of a step does not show.
constexpr std::size_t kPieces = 8;
constexpr std::size_t kMinPieceBytes = 8192;

/// The algorithm that carries codes: there is one for each collective, and rules that name others
/// are about calls that are not compressed.
Result<AlgorithmId> codedAlgorithm(Collective collective) {
  const std::optional<AlgorithmId> algorithm =
      findAlgorithm(collective, codedAlgorithmName(collective));
  if (algorithm.has_value()) return *algorithm;
  return Status::notSupported("{} cannot be compressed", collectiveName(collective));
}

}  // namespace

Result<Plan> makeCodedPlan(const PlanRequest& request,
                           std::size_t blocks,
                           bool uniform,
                           const PlanFacts& facts,
                           const PlanSettings& settings) {
  const Result<AlgorithmId> algorithm = codedAlgorithm(request.collective);
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
