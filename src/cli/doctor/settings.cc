#include "src/cli/doctor/settings.h"

#include <algorithm>

#include "src/bootstrap/job_key.h"
#include "src/bootstrap/launcher.h"
#include "src/check.h"
#include "src/format.h"

namespace rondo::doctor {

namespace {

const Setting* findSetting(std::string_view variable) {
  const auto all = allSettings();
  const auto found = std::ranges::find(all, variable, &Setting::variable);
  return found == all.end() ? nullptr : &*found;
}

Finding unknown(const std::string& name) {
  const std::string_view meant = closestSetting(name);
  const std::string text = fmt::format("{} is no setting of Rondo and is ignored", name);
  if (meant.empty()) return warning(text, fmt::format("unset {}", name));
  return warning(fmt::format("{}; {} may have been meant", text, meant),
                 fmt::format("export {}=\"${}\"; unset {}", meant, name, name));
}

Finding known(const Setting& setting, const std::string& value) {
  const std::string name(setting.variable);
  if (value.empty()) return note(fmt::format("{} is empty, which counts as not set", name));
  const Result<Config> config = loadConfig(nullptr, {{name, value}});
  if (!config.ok()) {
    return problem(std::string(config.status().message()), fmt::format("unset {}", name));
  }
  // A secret is not in `chosen` either.
  return ok(fmt::format("{} is set to {}", name, config->chosen.front().value));
}

Finding authentication(const Status& status) {
  if (status.ok()) return ok("ranks in several processes can prove who they are (libsodium)");
  std::string text(status.message());
  if (status.code() == StatusCode::kNotSupported)
    return problem(std::move(text), "apt-get install libsodium23, or dnf install libsodium");
  return problem(std::move(text),
                 "unset RONDO_SECRET; (umask 077; head -c 32 /dev/urandom | base64 > "
                 "\"$RONDO_SECRET_FILE\"), and the same file on all hosts");
}

/// What the variables say together of the rank that this process would be.
Findings launch(const Environment& environment) {
  const Result<Config> config = loadConfig(nullptr, environment);
  if (!config.ok() || !isLaunched(config->meeting, environment)) return {};
  const Result<Launch> found = findLaunch(config->meeting, environment);
  if (!found.ok()) {
    return {problem(std::string(found.status().message()),
                    "unset RONDO_RANK RONDO_RANKS RONDO_ROOT, and start ranks by rondo run")};
  }
  return {note(fmt::format("this process has been started as rank {} of {} by {}", found->rank,
                           found->ranks, launcherName(found->launcher)))};
}

}  // namespace

SettingFacts readSettings() {
  SettingFacts facts{wholeEnvironment(), {}};
  const Result<Config> config = loadConfig(nullptr, facts.environment);
  if (config.ok()) facts.authentication = makeJobKey(config->meeting, "").status();
  return facts;
}

Config acceptedSettings(const Environment& environment) {
  Environment accepted;
  for (const auto& variable : environment) {
    if (loadConfig(nullptr, {variable}).ok()) accepted.insert(variable);
  }
  const Result<Config> config = loadConfig(nullptr, accepted);
  RONDO_CHECK(config.ok());  // each setting is judged by itself
  return *config;
}

Findings examine(const SettingFacts& facts) {
  Findings findings;
  for (const auto& [name, value] : facts.environment) {
    if (!name.starts_with(kSettingPrefix)) continue;
    const Setting* const setting = findSetting(name);
    findings.push_back(setting == nullptr ? unknown(name) : known(*setting, value));
  }
  if (findings.empty()) findings.push_back(ok("no RONDO_ variable is set: all is at its default"));
  findings.push_back(authentication(facts.authentication));
  for (Finding& finding : launch(facts.environment))
    findings.push_back(std::move(finding));
  return findings;
}

}  // namespace rondo::doctor
