// LibTorch's headers: parsing them takes most of the time of an analysis, so it is done once for
// all files that begin with the same ones, and the result is kept in the user's cache.
//
// What is kept is keyed by everything it depends on: the compiler arguments, the macros that the
// file defines before its first LibTorch include, that include, LibTorch's folder and version,
// clang's version. A checksum lies beside it: clang believes whatever it reads.
#pragma once

#include "analyzer/flags/compile_commands.h"

#include <optional>
#include <string>

namespace devsan::analyzer {

struct TorchHeader {
  std::string text; // a few defines and one include
  std::string key;
  std::string path; // where it is kept, precompiled; empty where there is no cache
};

// Nothing where the file includes no LibTorch header, or includes it under a condition, or after
// code.
std::optional<TorchHeader> torchHeaderOf(const CompileCommand &command,
                                         const std::string &torch_version);

// Whether an include names a header of LibTorch.
bool isTorchInclude(llvm::StringRef name);

// Whether the cache takes them.
bool canStoreTorchHeaders();

// Whether it is in the cache, undamaged. Waits for a run that has ended and stores it still.
bool isStored(const TorchHeader &header);

// A lock for storing the header behind a run that ends, in the form of an open file: it is held as
// long as the process lives. Nothing where it cannot be had: another run stores the same header, or
// the folder cannot be written.
std::optional<int> lockForStoring(const TorchHeader &header);

void store(const TorchHeader &header, llvm::StringRef content);
void removeStored(const TorchHeader &header);

// Deletes the headers used longest ago until the cache holds at most 2 GiB.
void trimTorchHeaders();

} // namespace devsan::analyzer
