#include "src/cli/explain/settings_text.h"

#include <algorithm>

#include "src/format.h"

namespace rondo::cli {

namespace {

std::string valueText(const Setting& setting, const Config& config) {
  const std::string standard =
      setting.defaultText.empty() ? "none" : std::string(setting.defaultText);
  const auto chosen = std::ranges::find(config.chosen, setting.variable, &ChosenSetting::variable);
  if (chosen == config.chosen.end()) return fmt::format("{} (default)", standard);
  return fmt::format("{} (environment; default {})", chosen->value, standard);
}

}  // namespace

Result<std::string> settingsText(const Environment& environment) {
  const Result<Config> config = loadConfig(nullptr, environment);
  RONDO_RETURN_IF_ERROR(config.status());
  std::string text;
  for (const Setting& setting : allSettings()) {
    text += fmt::format("{} = {}\n", setting.variable, valueText(setting, *config));
    text += fmt::format("    {}; takes {}{}\n", setting.meaning, setting.accepted,
                        setting.field.empty() ? "" : fmt::format("; field {}", setting.field));
  }
  return text;
}

}  // namespace rondo::cli
