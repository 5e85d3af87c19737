// `rondo explain`: what the library would do for a call, and why.
#pragma once

#include <string>

#include "src/cli/explain/request.h"
#include "src/status.h"

namespace rondo::cli {

/// The whole text.
/// @errors NotSupported, if the algorithm asked for can't do the request
Result<std::string> explain(const ExplainRequest& request);

}  // namespace rondo::cli
