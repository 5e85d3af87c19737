// One thing that `rondo doctor` has to say. What needs something done comes with how to do it: the
// functions below are the only way to make one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rondo::doctor {

enum class Severity : std::uint8_t {
  kOk,       ///< as it should be
  kNote,     ///< good to know; nothing needs to be done
  kWarning,  ///< works, but slower or less than it could
  kProblem,  ///< communicators, or calls, will fail
};

constexpr std::string_view severityName(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok";
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kProblem:
      break;
  }
  return "problem";
}

struct Finding {
  Severity severity = Severity::kOk;
  std::string text;  ///< one line
  std::string cure;  ///< what to type; empty where nothing needs to be done

  friend bool operator==(const Finding&, const Finding&) = default;
};

using Findings = std::vector<Finding>;

inline Finding ok(std::string text) {
  return {Severity::kOk, std::move(text), {}};
}

inline Finding note(std::string text) {
  return {Severity::kNote, std::move(text), {}};
}

inline Finding warning(std::string text, std::string cure) {
  return {Severity::kWarning, std::move(text), std::move(cure)};
}

inline Finding problem(std::string text, std::string cure) {
  return {Severity::kProblem, std::move(text), std::move(cure)};
}

/// What is said about one part of the machine.
struct Section {
  std::string_view area;  ///< "memory"; static text
  Findings findings;
};

}  // namespace rondo::doctor
