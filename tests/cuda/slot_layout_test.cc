// What rows of steps take in slots of lines: that they lie apart, and fit.
#include <gtest/gtest.h>

#include "kernels/arithmetic.h"
#include "kernels/cuda/launch.h"
#include "src/planner.h"

namespace rondo::testing {
namespace {

using device::End;
using device::kProtocols;
using device::Protocol;
using device::rowStride;

TEST(SlotLayout, RowsLieApart) {
  EXPECT_EQ(rowStride(Protocol::kStaged, 5, 2, 2), 10u);
  EXPECT_EQ(rowStride(Protocol::kLines, 5, 2, 2), 2u * 16);  // 16 bytes of data in two lines
  EXPECT_EQ(rowStride(Protocol::kLines, 9, 2, 2), 4u * 16);
  EXPECT_EQ(rowStride(Protocol::kWideLines, 60, 2, 2), 128u);
  EXPECT_EQ(rowStride(Protocol::kWideLines, 61, 2, 2), 256u);
}

/// A thread writes all accumulators of its 16 bytes of natives, though there be one.
TEST(SlotLayout, RowsOfAccumulatorsLieApart) {
  EXPECT_EQ(rowStride(Protocol::kStaged, 1, 1, 8), 8u);
  EXPECT_EQ(rowStride(Protocol::kLines, 1, 1, 8), 8u * 2 * 16);
  EXPECT_EQ(rowStride(Protocol::kLines, 17, 1, 8), 2 * 8u * 2 * 16);
  EXPECT_EQ(rowStride(Protocol::kWideLines, 1, 2, 4), 2u * 128);
}

TEST(SlotLayout, SlotsAreWholeWideLines) {
  for (std::size_t slotBytes = 64; slotBytes < 70000; slotBytes += 64)
    EXPECT_EQ(End::linesPerSlot(slotBytes) % device::kWideLinePacks, 0u);
}

/// Bytes of a slot that `step` fills.
std::size_t filled(Protocol protocol,
                   const StepArithmetic& arithmetic,
                   const Step& step,
                   Wire wire) {
  return step.rows.count *
         rowStride(protocol, step.elems, arithmetic.elemBytes, arithmetic.wireBytes(wire));
}

void expectStepsFit(const PlanRequest& request, const PlanFacts& facts, const Plan& plan) {
  const StepArithmetic arithmetic =
      arithmeticOf(request.collective, request.type, request.op, facts.ranks);
  const std::size_t room = End::linesPerSlot(facts.slotBytes) * sizeof(device::Pack);
  for (const int rank : {0, facts.ranks / 2, facts.ranks - 1}) {
    const AnySchedule schedule(plan.algorithm, scheduleArgs(plan, request, facts.ranks, rank, 0));
    for (std::size_t index = 0; index < schedule.size(); ++index) {
      const Step step = schedule.step(index);
      for (const Protocol protocol : {Protocol::kLines, Protocol::kWideLines}) {
        for (const Wire wire : {step.recvWire, step.sendWire})
          ASSERT_LE(filled(protocol, arithmetic, step, wire), room)
              << algorithmInfo(plan.algorithm).name << " step " << index;
      }
    }
  }
}

/// Every algorithm, type and reduction, from one element of each rank to several full slots.
TEST(SlotLayout, StepsFitInSlots) {
  for (const int ranks : {2, 3, 8, 33, 64, 256}) {
    for (const std::size_t slotBytes : {std::size_t{64}, std::size_t{512}, std::size_t{65536}}) {
      const PlanFacts facts{.ranks = ranks, .cpus = ranks, .slotBytes = slotBytes, .slotCount = 4};
      for (std::size_t row = 0; row < kAlgorithmCount; ++row) {
        for (int type = 0; type < kDataTypeCount; ++type) {
          for (int op = 0; op < kReduceOpCount; ++op) {
            PlanRequest request{.collective = algorithmInfo(algorithmAt(row)).collective,
                                .type = static_cast<DataType>(type),
                                .op = static_cast<ReduceOp>(op)};
            if (!isReduction(request.collective) ? op != 0 : !isReducible(request.type, request.op))
              continue;
            PlanSettings settings;
            settings.rules = {{.algorithm = algorithmAt(row)}};
            for (const std::size_t count : {std::size_t{1}, std::size_t{2 * slotBytes + 1}}) {
              request.count = request.collective == Collective::kBarrier ? 0 : count;
              const Result<Plan> plan = makePlan(request, facts, settings);
              if (plan.ok()) expectStepsFit(request, facts, *plan);
              if (HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace rondo::testing
