#include "perf/race/harness/options.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "perf/race/harness/failure.h"

namespace rondo::race {

namespace {

constexpr std::string_view kHelp =
    "options: --ranks N --ops NAME,... --types float,bfloat16,half --sizes BYTES,... "
    "--places out,in --budget SECONDS --deadline SECONDS";

[[noreturn]] void refuse(std::string_view option, std::string_view value) {
  fail("option " + std::string(option) + " does not take \"" + std::string(value) + "\"; " +
       std::string(kHelp));
}

std::vector<std::string_view> splitAtCommas(std::string_view list) {
  std::vector<std::string_view> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    parts.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

template <class Number>
Number parseNumber(std::string_view option, std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || !(number > 0)) refuse(option, text);
  return number;
}

DataType parseType(std::string_view option, std::string_view name) {
  for (const DataType type : {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat16}) {
    if (name == dataTypeName(type)) return type;
  }
  refuse(option, name);
}

Operation parseOperation(std::string_view option, std::string_view name) {
  const std::optional<Operation> operation = operationNamed(name);
  if (!operation) refuse(option, name);
  return *operation;
}

/// Reads each part of `list` with `parse`.
template <class Parse>
auto parseList(std::string_view option, std::string_view list, const Parse& parse) {
  std::vector<decltype(parse(option, list))> values;
  for (const std::string_view part : splitAtCommas(list)) {
    values.push_back(parse(option, part));
  }
  if (values.empty()) refuse(option, list);
  return values;
}

void setPlaces(Options& options, std::string_view option, std::string_view list) {
  options.outOfPlace = options.inPlace = false;
  for (const std::string_view place : splitAtCommas(list)) {
    if (place == "out") {
      options.outOfPlace = true;
    } else if (place == "in") {
      options.inPlace = true;
    } else {
      refuse(option, list);
    }
  }
}

void setOption(Options& options, std::string_view name, std::string_view value) {
  if (name == "--ranks") {
    options.ranks = parseNumber<int>(name, value);
  } else if (name == "--ops") {
    options.operations = parseList(name, value, parseOperation);
  } else if (name == "--types") {
    options.types = parseList(name, value, parseType);
  } else if (name == "--sizes") {
    options.sizes = parseList(name, value, parseNumber<std::size_t>);
  } else if (name == "--places") {
    setPlaces(options, name, value);
  } else if (name == "--budget") {
    options.budgetSeconds = parseNumber<double>(name, value);
  } else if (name == "--deadline") {
    options.deadlineSeconds = parseNumber<unsigned>(name, value);
  } else {
    fail("no option " + std::string(name) + "; " + std::string(kHelp));
  }
}

}  // namespace

Options parseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) refuse(argv[i], "");
    setOption(options, argv[i], argv[i + 1]);
  }
  return options;
}

}  // namespace rondo::race
