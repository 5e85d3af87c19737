// PMIx through libpmix, loaded at run time. What is declared here is the part of the standard's
// binary interface (PMIx Standard 2.0 and later, chapters 3, 5 and 6) that is needed.
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include <dlfcn.h>

#include "src/bootstrap/launcher_store.h"
#include "src/loaded_function.h"

namespace rondo {

namespace {

/// Its name since version 2.
constexpr const char* kLibrary = "libpmix.so.2";

using PmixStatus = int;
constexpr PmixStatus kPmixSuccess = 0;
constexpr std::uint16_t kPmixString = 3;
/// Shared with all processes of the job.
constexpr std::uint8_t kPmixGlobal = 3;
constexpr std::uint32_t kPmixEveryRank = UINT32_MAX - 1;

struct PmixProcess {
  char space[256];
  std::uint32_t rank;
};

static_assert(sizeof(PmixProcess) == 260);

/// A text. The library's own union may be larger, and only it looks beyond the pointer.
struct PmixValue {
  std::uint16_t type;

  union {
    char* string;
    std::array<char, 64> room;
  } data;
};

static_assert(offsetof(PmixValue, data) == 8);

/// The functions that are used.
struct PmixFunctions {
  PmixStatus (*init)(PmixProcess*, void*, std::size_t);
  PmixStatus (*finalize)(const void*, std::size_t);
  PmixStatus (*put)(std::uint8_t, const char*, PmixValue*);
  PmixStatus (*commit)();
  PmixStatus (*fenceStart)(const PmixProcess*,
                           std::size_t,
                           const void*,
                           std::size_t,
                           void (*)(PmixStatus, void*),
                           void*);
  PmixStatus (*get)(const PmixProcess*, const char*, const void*, std::size_t, PmixValue**);
  const char* (*errorText)(PmixStatus);
};

Status cannotLoad() {
  const char* const cause =
      ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps it per thread
  return Status::notSupported(
      "ranks under this launcher meet through PMIx, and {} cannot be loaded ({}); install it "
      "(package "
      "libpmix2 on Debian and Ubuntu), or set RONDO_ROOT to where rank 0 listens",
      kLibrary, cause != nullptr ? cause : "a function is missing");
}

Result<PmixFunctions> loadPmix() {
  // Global, as an MPI library would load it: its plug-ins look for its symbols.
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return cannotLoad();
  PmixFunctions pmix{};
  const bool complete = findFunction(library, "PMIx_Init", pmix.init) &&
                        findFunction(library, "PMIx_Finalize", pmix.finalize) &&
                        findFunction(library, "PMIx_Put", pmix.put) &&
                        findFunction(library, "PMIx_Commit", pmix.commit) &&
                        findFunction(library, "PMIx_Fence_nb", pmix.fenceStart) &&
                        findFunction(library, "PMIx_Get", pmix.get) &&
                        findFunction(library, "PMIx_Error_string", pmix.errorText);
  if (!complete) return cannotLoad();
  return pmix;
}

/// The end of a fence. Shared by who waits and by libpmix's thread, since either may be last.
struct Fence {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  PmixStatus status = kPmixSuccess;
};

void onFenceEnd(PmixStatus status, void* context) {
  const std::unique_ptr<std::shared_ptr<Fence>> owned(
      static_cast<std::shared_ptr<Fence>*>(context));
  Fence& fence = **owned;
  const std::scoped_lock lock(fence.mutex);
  fence.status = status;
  fence.done = true;
  fence.changed.notify_all();
}

class PmixStore final : public LauncherStore {
 public:
  explicit PmixStore(const PmixFunctions& pmix) : pmix_(pmix) {}

  Result<std::string> spread(const std::string& key,
                             const std::string& text,
                             Deadline deadline) override {
    PmixProcess self{};
    RONDO_RETURN_IF_ERROR(check("PMIx_Init", pmix_.init(&self, nullptr, 0)));
    Result<std::string> spreadText = spreadAs(self, key, text, deadline);
    // A fence that may still end must find the library as it was.
    if (spreadText.status().code() == StatusCode::kTimeout) return spreadText;
    RONDO_RETURN_IF_ERROR(check("PMIx_Finalize", pmix_.finalize(nullptr, 0)));
    return spreadText;
  }

 private:
  Status check(const char* function, PmixStatus status) const {
    if (status == kPmixSuccess) return {};
    return Status::systemError("{} failed: {}", function, pmix_.errorText(status));
  }

  Result<std::string> spreadAs(const PmixProcess& self,
                               const std::string& key,
                               const std::string& text,
                               Deadline deadline) const {
    if (self.rank == 0) RONDO_RETURN_IF_ERROR(publish(key, text));
    PmixProcess everyone = self;
    everyone.rank = kPmixEveryRank;
    RONDO_RETURN_IF_ERROR(waitForAll(everyone, deadline));
    PmixProcess root = self;
    root.rank = 0;
    PmixValue* value = nullptr;
    RONDO_RETURN_IF_ERROR(check("PMIx_Get", pmix_.get(&root, key.c_str(), nullptr, 0, &value)));
    return take(value);
  }

  Status publish(const std::string& key, std::string text) const {
    PmixValue value{};
    value.type = kPmixString;
    value.data.string = text.data();
    RONDO_RETURN_IF_ERROR(check("PMIx_Put", pmix_.put(kPmixGlobal, key.c_str(), &value)));
    return check("PMIx_Commit", pmix_.commit());
  }

  Status waitForAll(const PmixProcess& everyone, Deadline deadline) const {
    const auto fence = std::make_shared<Fence>();
    auto context = std::make_unique<std::shared_ptr<Fence>>(fence);
    RONDO_RETURN_IF_ERROR(check(
        "PMIx_Fence_nb", pmix_.fenceStart(&everyone, 1, nullptr, 0, onFenceEnd, context.get())));
    (void)context.release();  // onFenceEnd()'s from now on
    std::unique_lock lock(fence->mutex);
    const auto isDone = [&] { return fence->done; };
    if (deadline.never()) {
      fence->changed.wait(lock, isDone);
    } else if (!fence->changed.wait_until(lock, deadline.time(), isDone)) {
      return Status::timeout(
          "the launcher's PMIx server has not seen all ranks; do all of them make their "
          "communicator?");
    }
    return check("PMIx_Fence_nb", fence->status);
  }

  /// The library makes values with malloc().
  static Result<std::string> take(PmixValue* value) {
    if (value->type != kPmixString || value->data.string == nullptr) {
      return Status::systemError("PMIx_Get gave a value of type {} instead of a text", value->type);
    }
    std::string text(value->data.string);
    ::free(value->data.string);  // NOLINT(cppcoreguidelines-no-malloc)
    ::free(value);               // NOLINT(cppcoreguidelines-no-malloc)
    return text;
  }

  PmixFunctions pmix_;
};

}  // namespace

Result<std::unique_ptr<LauncherStore>> openPmixStore() {
  const Result<PmixFunctions> pmix = loadPmix();
  RONDO_RETURN_IF_ERROR(pmix.status());
  return std::unique_ptr<LauncherStore>(std::make_unique<PmixStore>(*pmix));
}

}  // namespace rondo
