#include "src/error_feedback.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace rondo {

namespace {

/// "RONDOEFB" as a number, so that other byte orders are found out.
constexpr std::uint64_t kMagic = 0x524f4e444f454642;
constexpr std::uint64_t kVersion = 1;

/// What save() writes before the residuals: numbers of 64 bits in the byte order of the machine.
///
///     header | residuals of contributions, fp32 | residuals of results, fp32
struct SavedHeader {
  std::uint64_t magic = kMagic;
  std::uint64_t version = kVersion;
  std::uint64_t shaped = 0;  ///< 0: the feedback was never used, and what follows is zero
  FeedbackShape shape;
  std::uint64_t checksum = 0;  ///< of all that is written, this word being 0
};

static_assert(std::is_trivially_copyable_v<SavedHeader>);
static_assert(sizeof(SavedHeader) == 15 * sizeof(std::uint64_t), "no padding: it is checked");
static_assert(offsetof(SavedHeader, shape) == 24 && offsetof(SavedHeader, checksum) == 112);

/// FNV-1a over words of 32 bits (Fowler, Noll and Vo). Precondition: a multiple of 4 bytes.
std::uint64_t hashOf(std::span<const std::byte> bytes, std::uint64_t hash) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint32_t)) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    hash = (hash ^ word) * 0x100000001b3ULL;
  }
  return hash;
}

std::uint64_t checksumOf(SavedHeader header, std::span<const std::byte> residuals) {
  constexpr std::uint64_t kOffsetBasis = 0xcbf29ce484222325ULL;
  header.checksum = 0;
  return hashOf(residuals, hashOf(std::as_bytes(std::span(&header, 1)), kOffsetBasis));
}

void append(std::span<const float> floats, std::span<std::byte>& to) {
  const auto bytes = std::as_bytes(floats);
  std::ranges::copy(bytes, to.begin());
  to = to.subspan(bytes.size());
}

std::vector<float> takeFloats(std::size_t count, std::span<const std::byte>& from) {
  std::vector<float> floats(count);
  const auto bytes = std::as_writable_bytes(std::span(floats));
  std::ranges::copy(from.first(bytes.size()), bytes.begin());
  from = from.subspan(bytes.size());
  return floats;
}

Status refuseBytes(std::string_view why) {
  return Status::invalidArgument(
      "the bytes are no saved error feedback: {}; pass what rondoErrorFeedbackSave wrote", why);
}

/// @errors as ErrorFeedback::load()
Result<SavedHeader> readHeader(std::span<const std::byte> from) {
  SavedHeader header;
  if (from.size() < sizeof header) return refuseBytes("they are too few");
  std::memcpy(&header, from.data(), sizeof header);
  if (header.magic != kMagic) return refuseBytes("they begin with something else");
  if (header.version != kVersion) {
    return Status::invalidArgument(
        "the error feedback was saved in version {} of its format, and this library reads version "
        "{}; load it with the library that saved it",
        header.version, kVersion);
  }
  const auto residuals = from.subspan(sizeof header);
  const std::uint64_t room = residuals.size() / sizeof(float);
  if (header.shape.contributions > room || header.shape.results > room ||
      (header.shape.contributions + header.shape.results) * sizeof(float) != residuals.size())
    return refuseBytes("their number is not the one that they tell");
  if (header.checksum != checksumOf(header, residuals)) return refuseBytes("they were changed");
  return header;
}

}  // namespace

// Use.

ErrorFeedback::Use::Use(Use&& other) noexcept
    : feedback_(std::move(other.feedback_)), reset_(other.reset_) {}

ErrorFeedback::Use& ErrorFeedback::Use::operator=(Use&& other) noexcept {
  std::swap(feedback_, other.feedback_);
  std::swap(reset_, other.reset_);
  return *this;
}

ErrorFeedback::Use::~Use() {
  if (feedback_ != nullptr) feedback_->giveBack(true);
}

host::Residuals ErrorFeedback::Use::residuals() const {
  if (feedback_ == nullptr) return {};
  return {feedback_->contribution_.data(), feedback_->result_.data()};
}

Result<host::Residuals> ErrorFeedback::Use::onDevice(const cuda::Device& device) {
  return feedback_->moveTo(device);
}

bool ErrorFeedback::Use::finish(bool nonFinite) {
  if (feedback_ == nullptr) return false;
  std::exchange(feedback_, nullptr)->giveBack(nonFinite);
  return reset_ || nonFinite;
}

// ErrorFeedback.

Result<ErrorFeedback::Use> ErrorFeedback::use(std::shared_ptr<ErrorFeedback> feedback,
                                              const FeedbackShape& shape,
                                              bool onDevice) {
  const std::lock_guard lock(feedback->mutex_);
  RONDO_RETURN_IF_ERROR(feedback->checkFree());
  if (!onDevice) RONDO_RETURN_IF_ERROR(feedback->moveToHost());
  const bool fits = feedback->shaped_ && feedback->shape_ == shape;
  const bool reset = feedback->shaped_ && !fits;
  if (!fits) {
    feedback->shaped_ = false;  // should there be no memory
    feedback->onDevice_ = false;
    feedback->contribution_.assign(shape.contributions, 0.0f);
    feedback->result_.assign(shape.results, 0.0f);
    feedback->shape_ = shape;
    feedback->shaped_ = true;
  }
  feedback->used_ = true;
  return Use(std::move(feedback), reset);
}

Status ErrorFeedback::checkUnused() const {
  const std::lock_guard lock(mutex_);
  return checkFree();
}

/// By the call that has it.
Result<host::Residuals> ErrorFeedback::moveTo(const cuda::Device& device) {
  const std::lock_guard lock(mutex_);
  if (memory_.isOf(device) && onDevice_) return residualsOnDevice();
  RONDO_RETURN_IF_ERROR(moveToHost());
  std::vector<float> all(contribution_);
  all.insert(all.end(), result_.begin(), result_.end());
  all.push_back(0);  // memory of no bytes is none
  const std::size_t bytes = all.size() * sizeof(float);
  if (!memory_.isOf(device) || memory_.bytes() < bytes) {
    Result<cuda::Memory> memory = device.allocate(bytes);
    RONDO_RETURN_IF_ERROR(memory.status());
    memory_ = *std::move(memory);
  }
  RONDO_RETURN_IF_ERROR(device.copyIn(memory_, all.data(), bytes));
  onDevice_ = true;
  return residualsOnDevice();
}

host::Residuals ErrorFeedback::residualsOnDevice() const {
  auto* const first = memory_.onDevice<float>();
  return {first, first + contribution_.size()};
}

Status ErrorFeedback::moveToHost() {
  if (!onDevice_) return {};
  std::vector<float> all(contribution_.size() + result_.size());
  if (!all.empty()) RONDO_RETURN_IF_ERROR(memory_.copyOut(all.data(), all.size() * sizeof(float)));
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(contribution_.size());
  std::copy(all.begin(), middle, contribution_.begin());
  std::copy(middle, all.end(), result_.begin());
  onDevice_ = false;
  return {};
}

Status ErrorFeedback::checkFree() const {
  if (!used_) return {};
  return Status::invalidUsage(
      "the error feedback is in use by another call; make one for each buffer, and wait for its "
      "last call");
}

void ErrorFeedback::clear() {
  onDevice_ = false;
  std::ranges::fill(contribution_, 0.0f);
  std::ranges::fill(result_, 0.0f);
}

void ErrorFeedback::giveBack(bool reset) {
  const std::lock_guard lock(mutex_);
  used_ = false;
  if (reset) clear();
}

Status ErrorFeedback::reset() {
  const std::lock_guard lock(mutex_);
  RONDO_RETURN_IF_ERROR(checkFree());
  clear();
  return {};
}

Result<std::size_t> ErrorFeedback::savedBytes() const {
  const std::lock_guard lock(mutex_);
  RONDO_RETURN_IF_ERROR(checkFree());
  return sizeof(SavedHeader) + (contribution_.size() + result_.size()) * sizeof(float);
}

Result<std::size_t> ErrorFeedback::save(std::span<std::byte> to) {
  const std::lock_guard lock(mutex_);
  RONDO_RETURN_IF_ERROR(checkFree());
  RONDO_RETURN_IF_ERROR(moveToHost());
  const std::size_t residualBytes = (contribution_.size() + result_.size()) * sizeof(float);
  const std::size_t bytes = sizeof(SavedHeader) + residualBytes;
  if (to.size() < bytes) {
    return Status::invalidArgument("capacity is {}; the error feedback takes {} bytes", to.size(),
                                   bytes);
  }
  const std::span<std::byte> residuals = to.subspan(sizeof(SavedHeader), residualBytes);
  std::span<std::byte> rest = residuals;
  append(contribution_, rest);
  append(result_, rest);
  SavedHeader header;
  header.shaped = shaped_ ? 1 : 0;
  header.shape = shape_;
  header.checksum = checksumOf(header, residuals);
  std::memcpy(to.data(), &header, sizeof header);
  return bytes;
}

Status ErrorFeedback::load(std::span<const std::byte> from) {
  const Result<SavedHeader> header = readHeader(from);
  RONDO_RETURN_IF_ERROR(header.status());
  std::span<const std::byte> rest = from.subspan(sizeof(SavedHeader));
  std::vector<float> contribution = takeFloats(header->shape.contributions, rest);
  std::vector<float> result = takeFloats(header->shape.results, rest);
  const std::lock_guard lock(mutex_);
  RONDO_RETURN_IF_ERROR(checkFree());
  onDevice_ = false;
  shaped_ = header->shaped != 0;
  shape_ = header->shape;
  contribution_ = std::move(contribution);
  result_ = std::move(result);
  return {};
}

}  // namespace rondo
