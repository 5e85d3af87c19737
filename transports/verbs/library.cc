#include "transports/verbs/library.h"

#include <dlfcn.h>

#include "src/loaded_function.h"

namespace rondo::verbs {

namespace {

/// Fills the table from `opened`.
Status fill(Library& library, void* opened) {
#define RONDO_FIND(member, symbol, result, parameters)                                      \
  if (!findFunction(opened, symbol, library.member)) {                                      \
    return Status::notSupported("libibverbs.so.1 has no {}; install rdma-core 32 or later", \
                                symbol);                                                    \
  }
  RONDO_VERBS_FUNCTIONS(RONDO_FIND)
#undef RONDO_FIND
  return {};
}

Result<Library> load() {
  // Never closed: drivers of adapters keep state of their own.
  void* opened = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    return Status::notSupported(
        "there is no libibverbs.so.1 on this machine; install rdma-core (libibverbs1) if it has "
        "InfiniBand or RoCE adapters");
  }
  Library library;
  RONDO_RETURN_IF_ERROR(fill(library, opened));
  return library;
}

}  // namespace

Result<const Library*> systemLibrary() {
  static const Result<Library> loaded = load();
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace rondo::verbs
