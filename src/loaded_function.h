// Functions of libraries that are loaded at run time.
#pragma once

#include <dlfcn.h>

namespace rondo {

/// Sets `function` to that of `library` with the given name; false if there is none.
template <class Function>
bool findFunction(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace rondo
