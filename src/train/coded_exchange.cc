#include "src/train/coded_exchange.h"

#include <utility>

namespace rondo::train {

std::string describe(const std::optional<GradientCompression>& compression) {
  if (!compression.has_value()) return "not compressed";
  return "compressed by codec " + std::to_string(static_cast<int>(compression->codec)) +
         " in blocks of " + std::to_string(compression->blockElems) +
         (compression->errorFeedback ? " with" : " without") + " error feedback";
}

namespace {

std::optional<ErrorFeedback> makeFeedback(const GradientCompression& compression) {
  if (!compression.errorFeedback) return std::nullopt;
  return std::make_optional<ErrorFeedback>();
}

}  // namespace

CodedExchange::CodedExchange(const GradientCompression& compression,
                             std::vector<std::size_t> tensorCounts)
    : tensorCounts_(std::move(tensorCounts)), feedback_(makeFeedback(compression)) {
  how_.codec = compression.codec;
  how_.blockElems = static_cast<std::int64_t>(compression.blockElems);
  how_.tensorCounts = tensorCounts_.data();
  how_.tensors = tensorCounts_.size();
  how_.feedback = feedback_.has_value() ? feedback_->handle() : nullptr;
  how_.report = &report_;
}

std::vector<std::byte> CodedExchange::saveFeedback() const {
  return feedback_.has_value() ? feedback_->save() : std::vector<std::byte>();
}

void CodedExchange::loadFeedback(std::span<const std::byte> bytes) const {
  if (feedback_.has_value()) feedback_->load(bytes);
}

void CodedExchange::resetFeedback() const {
  if (feedback_.has_value()) feedback_->reset();
}

}  // namespace rondo::train
