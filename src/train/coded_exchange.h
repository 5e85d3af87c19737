// What a bucket, or a unit of ZeRO, needs to be reduced through a codec, step after step: how the
// call compresses, and what that has rounded away so far.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rondo/rondo.hpp"
#include "rondo/train/gradient_buckets.h"

namespace rondo::train {

/// Names what ranks must agree on, for messages; "not compressed" if there is nothing.
std::string describe(const std::optional<GradientCompression>& compression);

/// Stays where it is: calls that are under way point into it.
/// @threads one at a time
class CodedExchange {
 public:
  /// @param tensorCounts elements of the tensors that lie one after another in what is reduced
  CodedExchange(const GradientCompression& compression, std::vector<std::size_t> tensorCounts);
  CodedExchange(const CodedExchange&) = delete;
  CodedExchange& operator=(const CodedExchange&) = delete;

  /// For one call at a time; valid while this lives.
  const rondoCompression_t& how() const { return how_; }

  /// Of the last call, once it is complete.
  const rondoCompressionReport_t& report() const { return report_; }

  /// What has been rounded away, for a checkpoint of this rank; empty without error feedback.
  /// Between calls.
  std::vector<std::byte> saveFeedback() const;

  /// Takes over what saveFeedback() gave.
  /// @errors thrown, InvalidArgument: no such bytes
  void loadFeedback(std::span<const std::byte> bytes) const;

  void resetFeedback() const;

 private:
  const std::vector<std::size_t> tensorCounts_;
  const std::optional<ErrorFeedback> feedback_;
  rondoCompressionReport_t report_{};
  rondoCompression_t how_ = RONDO_COMPRESSION_INITIALIZER;
};

}  // namespace rondo::train
