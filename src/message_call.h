// One point-to-point call of one rank, after its arguments were checked (src/argument_checks.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/data_type.h"
#include "kernels/host/message_label.h"
#include "rondo/rondo.h"
#include "src/element_name.h"
#include "src/format.h"

namespace rondo {

struct MessageCall {
  bool sends = false;            ///< else receives
  int peer = 0;                  ///< may be the rank itself
  const void* source = nullptr;  ///< of one that sends; null where count is 0
  void* target = nullptr;        ///< of one that receives; null where count is 0
  std::size_t count = 0;
  DataType type = DataType::kUint8;
  bool pairs = false;  ///< as in CollectiveCall
  int tag = 0;         ///< 0 to RONDO_MAX_TAG

  std::size_t bytes() const { return count * elementBytes(type); }

  host::MessageLabel label() const { return {type, pairs, count, tag}; }
};

/// "float count 100", "float count 100 tag 3".
inline std::string labelText(host::MessageLabel label) {
  return fmt::format("{} count {}{}", elementName(label.type(), label.pairs()),
                     label.count() / (label.pairs() ? 2 : 1),
                     label.tag() != 0 ? fmt::format(" tag {}", label.tag()) : std::string());
}

static_assert(RONDO_MAX_TAG == host::MessageLabel::kMostTag);

}  // namespace rondo
