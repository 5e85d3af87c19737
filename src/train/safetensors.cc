// A checkpoint's parameters in the format of Hugging Face's safetensors: the length of a JSON
// header in 8 bytes, the header (name -> type, shape, place), then the values.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <vector>

#include "rondo/train/checkpoint.h"
#include "src/train/checkpoint_files.h"

namespace rondo::train {

namespace {

std::string newestOf(const std::string& path) {
  const std::vector<std::string> all = listCheckpoints(path);
  return all.empty() ? path : all.back();
}

/// A JSON string. Names are the programmer's; quotes and control characters are escaped.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (static_cast<unsigned char>(letter) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(letter));
      out += code;
    } else {
      if (letter == '"' || letter == '\\') out += '\\';
      out += letter;
    }
  }
  return out + '"';
}

std::string headerOf(const ParameterLayout& layout, std::uint64_t step) {
  std::ostringstream json;
  json << R"({"__metadata__":{"format":"rondo","step":")" << step << "\"}";
  std::size_t at = 0;
  for (std::size_t tensor = 0; tensor < layout.size(); ++tensor) {
    std::vector<std::size_t> shape = layout[tensor].shape;
    if (shape.empty()) shape = {layout[tensor].count};
    json << ',' << quoted(layout[tensor].name) << R"(:{"dtype":"F32","shape":[)";
    for (std::size_t i = 0; i < shape.size(); ++i)
      json << (i == 0 ? "" : ",") << shape[i];
    const std::size_t end = at + layout[tensor].count * sizeof(float);
    json << R"(],"data_offsets":[)" << at << ',' << end << "]}";
    at = end;
  }
  json << '}';
  std::string text = json.str();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // values are aligned
  return text;
}

/// Units lie one after another, in the order of the header.
std::vector<float> parametersOf(const std::string& checkpoint,
                                const Manifest& manifest,
                                const ParameterLayout& layout) {
  std::vector<std::size_t> starts{0};
  for (std::size_t unit = 0; unit < layout.units(); ++unit)
    starts.push_back(starts.back() + layout.unitElems(unit));
  std::vector<float> values(layout.elems());
  for (std::size_t rank = 0; rank < manifest.shares.size(); ++rank) {
    readShare(checkpoint, manifest, rank,
              [&](std::size_t unit, std::size_t begin, const UnitState& state) {
                std::ranges::copy(state.parameters, values.begin() + static_cast<std::ptrdiff_t>(
                                                                         starts[unit] + begin));
              });
  }
  return values;
}

}  // namespace

void exportSafetensors(const std::string& path, const std::string& file) {
  const std::string checkpoint = newestOf(path);
  const Manifest manifest = readManifest(checkpoint);
  const ParameterLayout layout(manifest.parameters);
  const std::vector<float> values = parametersOf(checkpoint, manifest, layout);
  const std::string header = headerOf(layout, manifest.position.step);
  const std::uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  const std::string partial = file + ".partial";
  writeDurably(partial, bytes);
  if (std::rename(partial.c_str(), file.c_str()) != 0) {
    throw Error(rondoSystemError,
                "export: cannot rename " + partial + " to " + file + ": " + std::strerror(errno));
  }
}

}  // namespace rondo::train
