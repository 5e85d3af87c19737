// Passes what a rank writes on, line by line, so that lines of several ranks do not mix.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "src/net/file_descriptor.h"

namespace rondo::run {

/// @threads one at a time
class LineRelay {
 public:
  /// @param source the pipe's reading end; does not block
  /// @param sink   where lines go, with `prefix` before each; not owned
  /// @param copy   where they go without it, too; not owned; null: nowhere
  LineRelay(FileDescriptor source, std::FILE* sink, std::string prefix, std::FILE* copy);

  /// For poll(); -1 after the end.
  int source() const { return source_.get(); }

  /// Passes on what is there. At the end of the stream the last line is ended if it is not.
  void relay();

 private:
  void take(std::string_view bytes);
  void emit(std::string_view line);

  FileDescriptor source_;
  std::FILE* sink_;
  std::string prefix_;
  std::FILE* copy_;
  std::string partial_;  ///< of a line whose end has not come
};

}  // namespace rondo::run
