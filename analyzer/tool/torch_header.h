// Precompiled LibTorch headers, kept in the user's cache: parsing them takes most of the time of an
// analysis.
//
// A header is keyed by everything it depends on: the compiler arguments, the macros that the file
// defines before its first LibTorch include, that include, LibTorch's folder and version, clang's
// version. Several runs may share the cache: a file is written under a temporary name and renamed.
#pragma once

#include "analyzer/tool/analyze_file.h"

#include <optional>
#include <string>

namespace devsan::analyzer {

// The header need not exist yet. Nothing where the file includes no LibTorch header, or includes it
// under a condition, or after code.
std::optional<PrecompiledHeader> torchHeaderOf(const CompileCommand &command,
                                               const std::string &torch_version);

// Builds and stores the header; for a child process. A header that does not parse is remembered as
// absent for this run only: the files then parse it themselves and tell what is wrong.
void buildTorchHeader(const PrecompiledHeader &header, const CompileCommand &command);

// Deletes the headers used longest ago until the cache holds at most 2 GiB.
void trimTorchHeaders();

} // namespace devsan::analyzer
