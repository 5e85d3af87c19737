#include "src/train/mark_ledger.h"

#include <array>
#include <utility>

namespace rondo::train {

namespace {

bool isMissing(Mark mark) {
  return mark == Mark::kNeverMarked || mark == Mark::kPartlyMarked;
}

}  // namespace

MarkLedger::MarkLedger(std::string what, std::vector<MarkedTensor> tensors, int rank)
    : what_(std::move(what)), tensors_(std::move(tensors)), rank_(rank), states_(tensors_.size()) {}

std::vector<std::string> MarkLedger::names() const {
  std::vector<std::string> names;
  for (const MarkedTensor& tensor : tensors_)
    names.push_back(tensor.name);
  return names;
}

bool MarkLedger::markReady(std::size_t tensor) {
  State& state = states_.at(tensor);
  const int uses = tensors_[tensor].uses;
  if (state.unused) throw wrongMark(tensor, "was marked ready after it was said to be unused");
  if (state.marks == uses) {
    throw wrongMark(tensor, "was marked ready " + std::to_string(uses + 1) + " times but has " +
                                std::to_string(uses) + " uses; end each pass before the next");
  }
  return ++state.marks == uses;
}

void MarkLedger::markUnused(std::size_t tensor) {
  State& state = states_.at(tensor);
  if (state.marks > 0) throw wrongMark(tensor, "was said to be unused after it was marked ready");
  state.unused = true;
}

Mark MarkLedger::of(std::size_t tensor) const {
  const State& state = states_[tensor];
  if (completeNow(tensor)) return Mark::kReady;
  if (state.marks > 0) return Mark::kPartlyMarked;
  if (state.touched) return Mark::kReady;
  return state.unused ? Mark::kUnused : Mark::kNeverMarked;
}

bool MarkLedger::completeNow(std::size_t tensor) const {
  return states_[tensor].marks == tensors_[tensor].uses;
}

bool MarkLedger::contributes(std::size_t tensor) const {
  return states_[tensor].touched || states_[tensor].marks > 0;
}

void MarkLedger::endPass(bool synchronized) {
  for (std::size_t tensor = 0; tensor < states_.size(); ++tensor)
    states_[tensor] = {0, false, !synchronized && contributes(tensor)};
  ++pass_;
}

bool MarkLedger::anyMissing(const Communicator& comm) const {
  std::array<std::int32_t, 1> missing{0};
  for (std::size_t tensor = 0; tensor < size(); ++tensor) {
    if (isMissing(of(tensor))) missing[0] = 1;
  }
  comm.allReduce(missing, rondoMax);
  return missing[0] != 0;
}

std::string MarkLedger::describeMissing(const Communicator& comm) const {
  std::vector<std::uint8_t> own;
  for (std::size_t tensor = 0; tensor < size(); ++tensor)
    own.push_back(static_cast<std::uint8_t>(of(tensor)));
  std::vector<std::uint8_t> all(own.size() * static_cast<std::size_t>(comm.ranks()));
  comm.allGather(own, all);
  std::string text;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const auto mark = static_cast<Mark>(all[at]);
    if (!isMissing(mark)) continue;
    const MarkedTensor& tensor = tensors_[at % own.size()];
    text += (text.empty() ? "" : "; ") + tensor.name +
            (mark == Mark::kNeverMarked
                 ? " was never marked"
                 : " was marked less than " + std::to_string(tensor.uses) + " times") +
            " on rank " + std::to_string(at / own.size());
  }
  return what_ + ": pass " + std::to_string(pass_) + ": " + text;
}

Error MarkLedger::wrongMark(std::size_t tensor, const std::string& what) const {
  return Error(rondoInvalidUsage, what_ + ": rank " + std::to_string(rank_) + ": " +
                                      tensors_[tensor].name + " " + what + " (pass " +
                                      std::to_string(pass_) + ")");
}

}  // namespace rondo::train
