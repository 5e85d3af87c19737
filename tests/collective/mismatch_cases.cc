#include "tests/collective/mismatch_cases.h"

#include <ostream>

#include "tests/collective/rank_outcomes.h"

namespace rondo::testing {

namespace {

constexpr std::size_t kSmall = 100;
constexpr std::size_t kLarge = 100000;
constexpr int kNoRank = 99;

MismatchCase swapped(const char* name, std::size_t count) {
  const Call reduce{.count = count};
  const Call gather{.collective = Collective::kAllGather, .count = count / 4};
  return {name, {reduce, gather}, {gather, reduce}, "all_reduce #", "all_gather #"};
}

MismatchCase otherRoot(const char* name, Collective collective, std::size_t count) {
  return {name,
          {{.collective = collective, .count = count}},
          {{.collective = collective, .count = count, .root = 1}},
          "root 0",
          "root 1"};
}

MismatchCase rejected(const char* name, Collective collective, std::size_t count) {
  return {name,
          {{.collective = collective, .count = count}},
          {{.collective = collective, .count = count, .root = kNoRank}},
          std::string(collectiveName(collective)) + " #1",
          "rejected its call #1: ",
          true};
}

}  // namespace

std::vector<MismatchCase> mismatchCases() {
  return {
      {"operation_small",
       {{.count = kSmall}},
       {{.collective = Collective::kAllGather, .count = kSmall}},
       "all_reduce #1",
       "all_gather #1"},
      {"operation_large",
       {{.count = kLarge}},
       {{.collective = Collective::kBarrier}},
       "all_reduce #1",
       "barrier #1"},
      {"count_small", {{.count = kSmall}}, {{.count = 64}}, "count 100", "count 64"},
      {"count_large", {{.count = kLarge}}, {{.count = 7}}, "count 100000", "count 7"},
      {"type_small",
       {{.count = kSmall}},
       {{.count = kSmall, .type = rondoInt32}},
       "float sum",
       "int32 sum"},
      {"type_large",
       {{.count = kLarge}},
       {{.count = kLarge, .type = rondoFloat64}},
       "float sum",
       "double sum"},
      {"reduction_small",
       {{.count = kSmall}},
       {{.count = kSmall, .op = rondoMax}},
       "sum count",
       "max count"},
      {"reduction_large",
       {{.count = kLarge, .type = rondoFloat16}},
       {{.count = kLarge, .type = rondoFloat16, .op = rondoMax}},
       "sum count",
       "max count"},
      otherRoot("root_small", Collective::kBroadcast, kSmall),
      otherRoot("root_large", Collective::kReduce, kLarge),
      swapped("order_small", kSmall),
      swapped("order_large", kLarge),
      rejected("rejected_small", Collective::kBroadcast, kSmall),
      rejected("rejected_large", Collective::kReduce, kLarge),
  };
}

void PrintTo(const MismatchCase& mismatch, std::ostream* stream) {
  *stream << mismatch.name;
}

rondoResult_t play(const MismatchCase& mismatch, bool odd, rondoComm_t comm) {
  std::vector<Call> calls = odd ? mismatch.odd : mismatch.most;
  calls.insert(calls.end(), 3, {.collective = Collective::kBarrier});
  for (const Call& call : calls) {
    const rondoResult_t result = make(call, comm);
    if (result == rondoInvalidArgument && odd && mismatch.rejected) return awaitFailure(comm);
    if (result != rondoSuccess) return result;
  }
  return rondoSuccess;
}

}  // namespace rondo::testing
