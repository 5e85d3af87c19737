#include "src/feedback_handles.h"

#include <cstdint>
#include <utility>

#include "src/handle_table.h"

namespace rondo {

namespace {

// Calls share the feedback, so that its handle may go at any time.
using Table = HandleTable<std::shared_ptr<ErrorFeedback>, 12, 48>;

/// The letters "feedbk": far from communicators, streams, events, and from pointers.
constexpr std::uint64_t kFirstGeneration = 0x66656564626b;

// Never destroyed: a program may end while its threads still use them.
Table& table() {
  static Table* const instance = new Table(kFirstGeneration);
  return *instance;
}

std::uint64_t toNumber(rondoErrorFeedback_t handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

Status refuse(std::uint64_t number, HandleState state) {
  if (number == 0) {
    return Status::invalidArgument("feedback is NULL; pass a handle from rondoErrorFeedbackCreate");
  }
  if (state == HandleState::kDestroyed)
    return Status::invalidUsage("error feedback {:#x} was destroyed", number);
  return Status::invalidArgument(
      "{:#x} is no error feedback; pass a handle from rondoErrorFeedbackCreate", number);
}

}  // namespace

Result<rondoErrorFeedback_t> registerFeedback(std::shared_ptr<ErrorFeedback> feedback) {
  const auto handle =
      table().insert(std::make_unique<std::shared_ptr<ErrorFeedback>>(std::move(feedback)));
  if (!handle.has_value()) {
    return Status::outOfMemory(
        "no room for another error feedback: a process may have {} at a time; destroy some first",
        Table::kCapacity);
  }
  return reinterpret_cast<rondoErrorFeedback_t>(*handle);
}

Result<std::shared_ptr<ErrorFeedback>> findFeedback(rondoErrorFeedback_t handle) {
  const Table::Found found = table().find(toNumber(handle));
  if (found.object == nullptr) return refuse(toNumber(handle), found.state);
  if (!(*found.object)->inOwnProcess()) {
    return Status::invalidUsage(
        "error feedback {:#x} is used after fork: it belongs to the process that made it; a child "
        "makes its own",
        toNumber(handle));
  }
  return *found.object;
}

Status dropFeedback(rondoErrorFeedback_t handle) {
  const Table::Found found = table().find(toNumber(handle));
  if (found.object != nullptr && !(*found.object)->inOwnProcess()) return {};
  if (table().take(toNumber(handle)) == nullptr) return refuse(toNumber(handle), found.state);
  return {};
}

}  // namespace rondo
