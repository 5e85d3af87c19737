#include "src/train/checkpoint_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>

#include "src/train/agreement.h"

namespace rondo::train {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kVersion = 2;
constexpr const char* kFirstLine = "rondo checkpoint 1";
constexpr const char* kManifest = "manifest";
/// "RONDOCKP" as a number, which also tells the byte order.
constexpr std::uint64_t kMagic = 0x504b434f444e4f52U;

struct ShareHeader {
  std::uint64_t magic = kMagic;
  std::uint64_t version = kVersion;
  std::uint64_t step = 0;
  std::uint64_t layout = 0;  ///< hash of the layout's description
  std::uint64_t rank = 0;
  std::uint64_t ranks = 0;
  std::uint64_t units = 0;
  std::uint64_t arrays = 0;  ///< 1 + states
};

static_assert(sizeof(ShareHeader) == 64);

Error systemError(const std::string& what, const std::string& path) {
  return Error(rondoSystemError,
               "checkpoint: cannot " + what + " " + path + ": " + std::strerror(errno));
}

Error badFile(const std::string& path, const std::string& what) {
  return Error(rondoInvalidArgument, "checkpoint: " + path + " " + what);
}

std::uint64_t hashOf(const ParameterLayout& layout) {
  std::uint64_t hash = hashText("layout");
  for (const std::string& line : layout.describe())
    hash = hashText(line, hash);
  return hash;
}

std::string sharePath(const std::string& checkpoint, std::size_t rank) {
  char name[32];
  std::snprintf(name, sizeof name, "/rank-%05zu", rank);
  return checkpoint + name;
}

/// A file descriptor that is closed.
class OpenFile {
 public:
  OpenFile(const std::string& path, int flags)
      : path_(path), fd_(::open(path.c_str(), flags, 0666)) {
    if (fd_ < 0) throw systemError("open", path);
  }

  ~OpenFile() { ::close(fd_); }

  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  void write(const void* data, std::size_t bytes) const {
    const char* from = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t done = ::write(fd_, from, bytes);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) throw systemError("write", path_);
      from += done;
      bytes -= static_cast<std::size_t>(done);
    }
  }

  void sync() const {
    if (::fsync(fd_) != 0) throw systemError("bring to disk", path_);
  }

 private:
  const std::string path_;
  const int fd_;
};

std::string readWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT) throw badFile(path, "is missing");
    throw systemError("open", path);
  }
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) throw systemError("read", path);
  return bytes;
}

/// Appends the bytes of values.
template <class T>
void append(std::string& bytes, const T* values, std::size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

/// Takes values off bytes; the file's length was checked against the manifest, but not its inside.
class Reader {
 public:
  Reader(const std::string& bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  template <class T>
  void read(T* values, std::size_t count) {
    if ((bytes_.size() - at_) / sizeof(T) < count) throw badFile(path_, "is shorter than it says");
    if (count > 0) std::memcpy(values, bytes_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
  }

 private:
  const std::string& bytes_;
  const std::string& path_;
  std::size_t at_ = 0;
};

void writeParameter(std::ostream& out, const ParameterSpec& parameter) {
  out << "parameter " << parameter.count << ' ' << parameter.unit << ' ' << parameter.uses << ' '
      << parameter.decay << ' ' << parameter.shape.size();
  for (const std::size_t extent : parameter.shape)
    out << ' ' << extent;
  out << ' ' << parameter.name << '\n';
}

ParameterSpec parseParameter(std::istream& in) {
  ParameterSpec parameter;
  std::size_t dimensions = 0;
  in >> parameter.count >> parameter.unit >> parameter.uses >> parameter.decay >> dimensions;
  for (std::size_t i = 0; i < dimensions && in; ++i)
    in >> parameter.shape.emplace_back();
  in >> std::ws;
  std::getline(in, parameter.name);
  return parameter;
}

/// One line of a manifest but the first and the last. False if it is none.
bool parseLine(const std::string& line, Manifest& manifest) {
  std::istringstream in(line);
  std::string word;
  in >> word;
  if (word == "position") {
    in >> manifest.position.step >> manifest.position.seed >> manifest.position.data;
  } else if (word == "steps") {
    in >> manifest.updates >> manifest.skipped;
  } else if (word == "scale") {
    std::string value;  // hexadecimal, which streams do not read
    in >> value >> manifest.scale.growthInterval >> manifest.scale.goodSteps;
    manifest.scale.value = std::strtod(value.c_str(), nullptr);
  } else if (word == "optimizer") {
    in >> word;
    if (word != "adamw" && word != "sgd") return false;
    manifest.optimizer = word == "sgd" ? OptimizerKind::kSgd : OptimizerKind::kAdamW;
  } else if (word == "parameter") {
    manifest.parameters.push_back(parseParameter(in));
  } else if (word == "share") {
    ShareFile& share = manifest.shares.emplace_back();
    in >> share.bytes >> share.hash;
  } else {
    return false;
  }
  return !in.fail();
}

}  // namespace

std::string Manifest::text() const {
  std::ostringstream out;
  char value[40];
  std::snprintf(value, sizeof value, "%a", scale.value);
  out << kFirstLine << "\nposition " << position.step << ' ' << position.seed << ' '
      << position.data << "\nsteps " << updates << ' ' << skipped << "\nscale " << value << ' '
      << scale.growthInterval << ' ' << scale.goodSteps << "\noptimizer "
      << (optimizer == OptimizerKind::kSgd ? "sgd" : "adamw") << '\n';
  for (const ParameterSpec& parameter : parameters)
    writeParameter(out, parameter);
  for (const ShareFile& share : shares)
    out << "share " << share.bytes << ' ' << share.hash << '\n';
  const std::string lines = out.str();
  return lines + "end " + std::to_string(hashText(lines)) + '\n';
}

Manifest Manifest::parse(const std::string& text, const std::string& path) {
  if (!text.starts_with(kFirstLine)) throw badFile(path, "is no manifest of a checkpoint");
  const std::size_t end = text.rfind("end ");
  if (end == std::string::npos ||
      text.substr(end) != "end " + std::to_string(hashText(text.substr(0, end))) + '\n') {
    throw badFile(path, "was cut short or changed: its hash is not that of its lines");
  }
  Manifest manifest;
  std::istringstream lines(text.substr(0, end));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    if (!parseLine(line, manifest)) throw badFile(path, "has a line that means nothing: " + line);
  }
  return manifest;
}

std::string checkpointName(std::uint64_t step) {
  char name[40];
  std::snprintf(name, sizeof name, "step-%08llu", static_cast<unsigned long long>(step));
  return name;
}

std::vector<std::string> listCheckpoints(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("step-") && fs::exists(entry.path() / kManifest, error))
      found.push_back(entry.path());
  }
  // Names of more than eight digits are longer.
  std::ranges::sort(found, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return found;
}

Manifest readManifest(const std::string& checkpoint) {
  const std::string path = checkpoint + "/" + kManifest;
  return Manifest::parse(readWhole(path), path);
}

void writeDurably(const std::string& path, const std::string& bytes) {
  const OpenFile file(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
  file.write(bytes.data(), bytes.size());
  file.sync();
}

void syncFolder(const std::string& path) {
  OpenFile(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC).sync();
}

ShareFile writeShare(const std::string& checkpoint,
                     const ParallelTraining& training,
                     const CheckpointPosition& position,
                     int rank,
                     int ranks) {
  const std::size_t states = training.optimizer().states();
  ShareHeader header;
  header.step = position.step;
  header.layout = hashOf(training.layout());
  header.rank = static_cast<std::uint64_t>(rank);
  header.ranks = static_cast<std::uint64_t>(ranks);
  header.units = training.layout().units();
  header.arrays = 1 + states;
  std::string bytes;
  append(bytes, &header, 1);
  for (std::size_t unit = 0; unit < training.layout().units(); ++unit) {
    const Share share = training.share(unit);
    const UnitState state = training.state(unit);
    const std::uint64_t range[2]{share.begin, share.end};
    append(bytes, range, 2);
    append(bytes, state.parameters.data(), share.size());
    for (std::size_t k = 0; k < states; ++k)
      append(bytes, state.states[k].data(), share.size());
  }
  const std::vector<std::byte> rankState = training.rankState();
  const std::uint64_t rankStateBytes = rankState.size();
  append(bytes, &rankStateBytes, 1);
  append(bytes, rankState.data(), rankState.size());
  writeDurably(sharePath(checkpoint, static_cast<std::size_t>(rank)), bytes);
  return {bytes.size(), hashText(bytes)};
}

std::vector<std::byte> readShare(
    const std::string& checkpoint,
    const Manifest& manifest,
    std::size_t rank,
    const std::function<void(std::size_t, std::size_t, const UnitState&)>& take) {
  const std::string path = sharePath(checkpoint, rank);
  const std::string bytes = readWhole(path);
  const ShareFile& known = manifest.shares.at(rank);
  Reader reader(bytes, path);
  ShareHeader header;
  reader.read(&header, 1);
  if (header.magic != kMagic || header.version != kVersion)
    throw badFile(path, "is no share of a checkpoint of this version");
  if (header.step != manifest.position.step) {
    throw badFile(path, "is of step " + std::to_string(header.step) + ", its manifest of step " +
                            std::to_string(manifest.position.step));
  }
  const ParameterLayout layout(manifest.parameters);
  if (header.layout != hashOf(layout) || header.rank != rank ||
      header.ranks != manifest.shares.size() || header.units != layout.units() ||
      header.arrays != 1 + manifest.states()) {
    throw badFile(path, "belongs to another checkpoint than its manifest");
  }
  if (bytes.size() != known.bytes) {
    throw badFile(path, "has " + std::to_string(bytes.size()) + " bytes instead of " +
                            std::to_string(known.bytes));
  }
  if (hashText(bytes) != known.hash) throw badFile(path, "was changed: its hash is another");
  for (std::size_t unit = 0; unit < layout.units(); ++unit) {
    std::uint64_t range[2]{};
    reader.read(range, 2);
    if (range[0] > range[1] || range[1] > layout.unitElems(unit))
      throw badFile(path, "has a share beyond its unit");
    std::vector<float> values[3];
    for (std::size_t k = 0; k < header.arrays; ++k) {
      values[k].resize(range[1] - range[0]);
      reader.read(values[k].data(), values[k].size());
    }
    take(unit, range[0], {values[0], {values[1], values[2]}});
  }
  std::uint64_t rankStateBytes = 0;
  reader.read(&rankStateBytes, 1);
  if (rankStateBytes > bytes.size()) throw badFile(path, "is shorter than it says");
  std::vector<std::byte> rankState(rankStateBytes);
  reader.read(rankState.data(), rankState.size());
  return rankState;
}

}  // namespace rondo::train
