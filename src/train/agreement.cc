#include "src/train/agreement.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

namespace rondo::train {

namespace {

/// A failure as it travels.
struct Finding {
  std::int32_t result = rondoSuccess;
  std::array<char, 1020> text{};
};

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += line + '\n';
  return text;
}

std::vector<std::string> splitLines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t from = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', from)) {
    lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

std::vector<std::string> linesOfRankZero(const Communicator& comm,
                                         const std::vector<std::string>& own) {
  std::string text = joined(own);
  std::array<std::uint64_t, 1> size{text.size()};
  comm.broadcast(size, 0);
  text.resize(size[0]);
  comm.broadcast(text, 0);
  return splitLines(text);
}

std::string firstDifference(const std::vector<std::string>& own,
                            const std::vector<std::string>& root,
                            int rank) {
  const std::size_t common = std::min(own.size(), root.size());
  std::size_t at = 0;
  while (at < common && own[at] == root[at])
    ++at;
  if (at == own.size() && at == root.size()) return {};
  const auto show = [at](const std::vector<std::string>& lines) {
    return at < lines.size() ? lines[at] : std::string("nothing");
  };
  return "number " + std::to_string(at) + " is " + show(own) + " on rank " + std::to_string(rank) +
         " but " + show(root) + " on rank 0";
}

}  // namespace

void throwIfAnyFailed(const Communicator& comm, const std::optional<Error>& own) {
  Finding mine;
  if (own.has_value()) {
    const std::string text = own->what();
    mine.result = own->result();
    std::memcpy(mine.text.data(), text.data(), std::min(text.size(), mine.text.size() - 1));
  }
  std::vector<Finding> all(static_cast<std::size_t>(comm.ranks()));
  comm.allGather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  for (const Finding& finding : all) {
    if (finding.result != rondoSuccess)
      throw Error(static_cast<rondoResult_t>(finding.result), finding.text.data());
  }
}

void requireAgreement(const Communicator& comm,
                      const std::string& what,
                      const std::vector<std::string>& lines) {
  const auto ranks = static_cast<std::size_t>(comm.ranks());
  const std::array<std::uint64_t, 1> own{hashText(joined(lines))};
  std::vector<std::uint64_t> all(ranks);
  comm.allGather(own, all);
  if (std::ranges::all_of(all, [&](std::uint64_t hash) { return hash == all.front(); })) return;

  const std::string found = firstDifference(lines, linesOfRankZero(comm, lines), comm.rank());
  std::optional<Error> difference;
  if (!found.empty()) {
    difference =
        Error(rondoMismatch, what + " differ: " + found +
                                 "; register the same ones in the same order on all ranks");
  }
  throwIfAnyFailed(comm, difference);
}

}  // namespace rondo::train
