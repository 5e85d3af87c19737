#include "tests/gpu_check/report.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace rondo::gpucheck {

namespace {

constexpr std::string_view kPassed = "passed";
constexpr std::string_view kFailed = "failed";
constexpr std::string_view kNotRun = "not run";
constexpr std::string_view kCut = "cut";

/// Failures that are kept with their text; the count has all.
constexpr std::size_t kMostTexts = 20;

void say(std::string_view text) {
  fmt::print("{}\n", text);
  (void)std::fflush(stdout);
}

bool hasState(const Json& section, std::string_view state) {
  return section.at("state") == state;
}

Verdict verdictOf(const Json& sections) {
  const auto any = [&](std::string_view state) {
    return std::ranges::any_of(sections, [&](const Json& one) { return hasState(one, state); });
  };
  if (any(kFailed)) return Verdict::kFailed;
  if (any(kCut)) return Verdict::kCut;
  return any(kPassed) ? Verdict::kPassed : Verdict::kNothingRun;
}

std::string_view nameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return kPassed;
    case Verdict::kCut:
      return kCut;
    case Verdict::kNothingRun:
      return kNotRun;
    default:
      return kFailed;
  }
}

}  // namespace

Report::Report(std::string path, Json facts) : path_(std::move(path)), file_(std::move(facts)) {
  file_["complete"] = false;
  file_["verdict"] = "cut";
  file_["sections"] = Json::array();
}

void Report::plan(const std::vector<std::string_view>& names) {
  const std::scoped_lock lock(mutex_);
  for (const std::string_view name : names) {
    file_["sections"].push_back(
        {{"name", name}, {"state", kNotRun}, {"reason", "the run was cut before it"}});
  }
  write();
}

void Report::begin(std::string_view section, bool aloud) {
  const std::scoped_lock lock(mutex_);
  const Json& sections = file_["sections"];
  section_ = 0;
  while (section_ < sections.size() && sections[section_].at("name") != section)
    ++section_;
  begun_ = std::chrono::steady_clock::now();
  activity_ = "beginning";
  current() = {{"name", section}, {"state", kCut}, {"reason", "the run was cut during it"}};
  if (aloud) say(fmt::format("== {}", section));
  write();
}

void Report::adopt(Json section) {
  const std::scoped_lock lock(mutex_);
  if (section == current()) return;
  current() = std::move(section);
  write();
}

void Report::expect(int checks) {
  const std::scoped_lock lock(mutex_);
  current()["checks"] = {{"planned", checks}, {"passed", 0}, {"failed", 0}};
  write();
}

void Report::check(const Status& outcome, std::string_view what) {
  const std::scoped_lock lock(mutex_);
  stale_ = true;
  if (!current().contains("checks"))
    current()["checks"] = {{"planned", nullptr}, {"passed", 0}, {"failed", 0}};
  Json& count = current()["checks"][outcome.ok() ? "passed" : "failed"];
  count = count.get<int>() + 1;
  if (!outcome.ok()) fail(fmt::format("{}: {}", what, outcome.message()));
}

void Report::refresh() {
  const std::scoped_lock lock(mutex_);
  if (stale_) write();
}

void Report::fail(std::string text) {
  Json& failures = current()["failures"];
  if (failures.size() < kMostTexts) {
    say(fmt::format("   failed: {}", text));
    failures.push_back(std::move(text));
  }
  current()["state"] = kFailed;
  current().erase("reason");
  write();
}

void Report::row(Json row, std::string_view text) {
  const std::scoped_lock lock(mutex_);
  say(fmt::format("   {}", text));
  current()["rows"].push_back(std::move(row));
  write();
}

void Report::partNotRun(std::string_view what, std::string_view reason) {
  const std::scoped_lock lock(mutex_);
  say(fmt::format("   not run: {}: {}", what, reason));
  current()["not_run"].push_back({{"what", what}, {"reason", reason}});
}

void Report::notRun(std::string_view reason) {
  const std::scoped_lock lock(mutex_);
  current()["state"] = kNotRun;
  current()["reason"] = reason;
}

void Report::notRun(std::string_view name, std::string_view reason) {
  const std::scoped_lock lock(mutex_);
  for (Json& section : file_["sections"]) {
    if (section.at("name") == name) section["reason"] = reason;
  }
  say(fmt::format("== {}\n   not run: {}", name, reason));
  write();
}

void Report::cut() {
  const std::scoped_lock lock(mutex_);
  current()["out_of_time"] = true;
}

void Report::doing(std::string activity) {
  const std::scoped_lock lock(mutex_);
  activity_ = std::move(activity);
}

/// Decides the state of the section that has come to its end.
void Report::settle() {
  Json& section = current();
  if (hasState(section, kCut)) {
    section["state"] = section.contains("out_of_time") ? kCut : kPassed;
    section.erase("reason");
    if (hasState(section, kCut)) section["reason"] = "out of time";
  }
  section.erase("out_of_time");
  const auto took = std::chrono::steady_clock::now() - begun_;
  section["seconds"] = std::chrono::duration<double>(took).count();
}

void Report::end() {
  const std::scoped_lock lock(mutex_);
  settle();
  const Json& section = current();
  std::string text(section.at("state").get<std::string>());
  if (section.contains("reason"))
    text += fmt::format(": {}", section.at("reason").get<std::string>());
  if (section.contains("checks")) {
    const Json& checks = section.at("checks");
    text += fmt::format(" ({} checks passed, {} failed", checks.at("passed").get<int>(),
                        checks.at("failed").get<int>());
    text += checks.at("planned").is_null()
                ? std::string(")")
                : fmt::format(", of {} planned)", checks.at("planned").get<int>());
  }
  say(fmt::format("   {}, {:.1f} s", text, section.at("seconds").get<double>()));
  write();
}

void Report::abandon(std::chrono::seconds after) {
  const std::scoped_lock lock(mutex_);
  fail(fmt::format("did not end within {} s, while {}", after.count(), activity_));
  settle();
  Json& sections = file_["sections"];
  for (std::size_t later = section_ + 1; later < sections.size(); ++later)
    sections[later]["reason"] = "a section before it did not end";
  file_["verdict"] = kFailed;
  write();
}

Verdict Report::finish() {
  const std::scoped_lock lock(mutex_);
  const Verdict verdict = verdictOf(file_["sections"]);
  file_["complete"] = true;
  file_["verdict"] = nameOf(verdict);
  write();
  return verdict;
}

/// Whoever reads the file sees the one before or this one, never half of it.
void Report::write() {
  stale_ = false;
  if (path_.empty()) return;
  const std::string next = path_ + ".new";
  std::FILE* const file = std::fopen(next.c_str(), "we");
  bool written = file != nullptr;
  if (written) {
    const std::string text = file_.dump(1) + "\n";
    written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    written = std::fclose(file) == 0 && written;
  }
  if (!written || std::rename(next.c_str(), path_.c_str()) != 0)
    fmt::print(stderr, "gpu-check: cannot write {}\n", path_);
}

}  // namespace rondo::gpucheck
