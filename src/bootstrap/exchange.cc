#include "src/bootstrap/exchange.h"

#include <algorithm>

namespace rondo {

GatherBytes gatherBy(Exchange& exchange) {
  return [&exchange](std::span<const std::byte> own, std::span<std::byte> all) -> Status {
    const Result<std::vector<std::string>> texts =
        exchange.allGather({reinterpret_cast<const char*>(own.data()), own.size()});
    RONDO_RETURN_IF_ERROR(texts.status());
    for (std::size_t rank = 0; rank < texts->size(); ++rank) {
      const std::string& text = (*texts)[rank];
      if (text.size() != own.size() || (rank + 1) * own.size() > all.size())
        return Status::mismatch("rank {} sent {} bytes, not {}", rank, text.size(), own.size());
      std::ranges::copy(std::as_bytes(std::span(text)), all.subspan(rank * own.size()).begin());
    }
    return {};
  };
}

}  // namespace rondo
