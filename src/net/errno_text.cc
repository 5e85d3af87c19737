#include "src/net/errno_text.h"

#include <array>
#include <cstring>

namespace rondo {

std::string errnoText(int error) {
  std::array<char, 128> buffer{};
  return ::strerror_r(error, buffer.data(), buffer.size());  // the GNU one, which returns the text
}

}  // namespace rondo
