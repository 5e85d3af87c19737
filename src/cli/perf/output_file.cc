#include <cerrno>
#include <cstring>

#include "src/cli/perf/report.h"

namespace rondo::perf {

void OutputFile::Close::operator()(std::FILE* file) const {
  (void)std::fclose(file);  // NOLINT: the deleter of opened_
}

Result<OutputFile> OutputFile::open(const std::string& path) {
  OutputFile file;
  if (path == "-") return file;
  file.opened_.reset(std::fopen(path.c_str(), "w"));
  if (file.opened_) return file;
  return Status::systemError("can't write {}: {}", path, std::strerror(errno));  // NOLINT
}

}  // namespace rondo::perf
