#include "src/cli/perf/rank_buffers.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "collectives/buffers.h"
#include "src/cli/perf/collective_caller.h"

namespace rondo::perf {

namespace {

/// Bytes of an element as hexadecimal digits, the highest first.
std::string hexDigits(std::span<const std::byte> element) {
  std::string text = "0x";
  for (auto byte = element.rbegin(); byte != element.rend(); ++byte) {
    text += fmt::format("{:02x}", static_cast<unsigned>(*byte));
  }
  return text;
}

void addProblem(CheckReport& report, std::size_t wrong, const std::string& text) {
  report.wrong += wrong;
  if (!report.text.empty()) report.text += "; ";
  report.text += text;
}

}  // namespace

Result<BufferRegistration> BufferRegistration::make(rondoComm_t comm, std::span<std::byte> memory) {
  rondoRegistration_t handle = nullptr;
  RONDO_RETURN_IF_ERROR(
      statusOf(rondoCommRegister(comm, memory.data(), memory.size(), &handle), comm));
  return BufferRegistration(comm, handle);
}

BufferRegistration::~BufferRegistration() {
  // Of a communicator that has failed they end with it.
  if (handle_ != nullptr) (void)rondoCommDeregister(comm_, handle_);
}

Result<RankBuffers> RankBuffers::create(const Case& what,
                                        const PredictableData& data,
                                        int rank,
                                        Placement placement,
                                        std::size_t offsetBytes,
                                        bool fromRondo) {
  RankBuffers buffers(what, data, rank);
  const std::size_t inputBytes = data.inputElems(rank) * elementBytes(what.type);
  const std::size_t outputBytes = data.outputElems(rank) * elementBytes(what.type);
  const bool together = placement == Placement::kInPlace;
  Result<GuardedBuffer> first = GuardedBuffer::create(
      together ? std::max(inputBytes, outputBytes) : inputBytes, offsetBytes, fromRondo);
  RONDO_RETURN_IF_ERROR(first.status());
  buffers.first_ = *std::move(first);
  if (!together) {
    Result<GuardedBuffer> second = GuardedBuffer::create(outputBytes, offsetBytes, fromRondo);
    RONDO_RETURN_IF_ERROR(second.status());
    buffers.second_ = *std::move(second);
    buffers.input_ = buffers.first_->bytes();
    buffers.output_ = buffers.second_->bytes();
    return buffers;
  }
  // The smaller one is this rank's block of the larger one.
  const bool hasBlock = inputBytes > 0 && outputBytes > 0;
  const std::size_t block = hasBlock ? blocksOf(what).before(rank) * elementBytes(what.type) : 0;
  const bool gathers = inputBytes < outputBytes;
  const bool scatters = inputBytes > outputBytes;
  buffers.input_ = buffers.first_->bytes().subspan(gathers ? block : 0, inputBytes);
  buffers.output_ = buffers.first_->bytes().subspan(scatters ? block : 0, outputBytes);
  return buffers;
}

Status RankBuffers::registerWith(rondoComm_t comm) {
  for (const std::optional<GuardedBuffer>* buffer : {&first_, &second_}) {
    if (!buffer->has_value() || (*buffer)->bytes().empty()) continue;
    Result<BufferRegistration> made = BufferRegistration::make(comm, (*buffer)->bytes());
    RONDO_RETURN_IF_ERROR(made.status());
    registrations_.push_back(*std::move(made));
  }
  return {};
}

void RankBuffers::fill() {
  first_->poison();
  if (second_) second_->poison();
  data_->writeInput(rank_, input_);
}

CheckReport RankBuffers::check() const {
  CheckReport report;
  reportOutput(report);
  reportInput(report);
  if (!first_->guardsIntact() || (second_ && !second_->guardsIntact())) {
    addProblem(report, 1, fmt::format("rank {} wrote outside its buffer", rank_));
  }
  return report;
}

void RankBuffers::reportOutput(CheckReport& report) const {
  const Mismatch mismatch = data_->checkOutput(rank_, output_);
  if (mismatch.wrong == 0) return;
  const std::size_t elem = elementBytes(what_.type);
  std::vector<std::byte> expected(output_.size());
  data_->writeExpected(rank_, expected);
  const std::size_t at = mismatch.first * elem;
  addProblem(report, mismatch.wrong,
             fmt::format("rank {}: {} wrong elements, the first at {}: {} instead of {}", rank_,
                         mismatch.wrong, mismatch.first, hexDigits(output_.subspan(at, elem)),
                         hexDigits(std::span<const std::byte>(expected).subspan(at, elem))));
}

void RankBuffers::reportInput(CheckReport& report) const {
  if (!second_) return;  // in place: the input is meant to change
  const Mismatch mismatch = data_->checkInput(rank_, input_);
  if (mismatch.wrong == 0) return;
  addProblem(
      report, 1,
      fmt::format("rank {}: its input was changed, first at element {}", rank_, mismatch.first));
}

std::size_t bufferBytes(const Case& what, int ranks) {
  std::size_t blocks = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const RankPlace place{rank, ranks, what.root};
    blocks += inputBlocks(what.collective, place) + outputBlocks(what.collective, place);
  }
  // Uneven ones are half as large again at most; of messages each rank has both buffers.
  if (what.form != Form::kCollective) blocks += blocks / 2 + static_cast<std::size_t>(ranks);
  return blocks * what.count * elementBytes(what.type);
}

}  // namespace rondo::perf
