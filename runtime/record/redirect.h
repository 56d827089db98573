// Makes calls of an exported function of LibTorch reach one of ours. What is changed is where the
// loaded modules keep the function's address (their import tables, and tables of virtual functions,
// a program's copies of these too), not the function, so whoever is not redirected runs as before.
// Works whether the caller was loaded before us or was linked with LibTorch, which preloading a
// definition would not.
#pragma once

#include <span>
#include <string>

namespace devsan::runtime {

struct Redirection {
  Redirection(const char *symbol, void *replacement);

  const char *symbol; // mangled
  void *replacement;
  void *function;  // in LibTorch; null where it has none of that name
  void *canonical; // a program that takes a function's address may have another one for it
};

// The address of a function in the LibTorch of this process; null where it has none of that name.
void *torchFunction(const char *symbol);

// In all modules but our own: those that are loaded now and, each time the preload shim has seen a
// dlopen, those that came. At start, before the program's threads call what is redirected.
void redirectCalls(std::span<const Redirection> redirections);

} // namespace devsan::runtime
