// What a library has to offer to take part in the race. One implementation per library, in
// ../libraries/.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "perf/race/harness/work.h"

namespace rondo::race {

/// One rank's hold on a library. All ranks make and use theirs in the same order.
class Library {
 public:
  Library() = default;
  Library(const Library&) = delete;
  Library(Library&&) = delete;
  Library& operator=(const Library&) = delete;
  Library& operator=(Library&&) = delete;
  virtual ~Library() = default;

  /// False: the library cannot do this, and the cell is left out. The same on all ranks.
  virtual bool supports(const Work& work) const = 0;

  /// Makes ready for many calls of `run` with `work`; not timed.
  virtual void prepare(const Work& work) { static_cast<void>(work); }

  /// The call that is timed; returns when the rank's result is there and its input may change.
  virtual void run(const Work& work) = 0;

  /// Where `run` leaves the result, if not at `work.recv`.
  virtual const std::byte* result(const Work& work) const { return work.recv; }

  /// How far elements of a float result may be off.
  virtual float tolerance(const Work& /*work*/) const { return 0; }

  /// A buffer of the rank, owned by the library's object. Private memory as a program has it,
  /// unless the library is about something else.
  virtual std::byte* allocate(std::size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  std::unique_ptr<std::byte, Free> buffers_[2];
  int buffersMade_ = 0;
};

}  // namespace rondo::race
