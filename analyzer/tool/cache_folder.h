// The user's cache, $XDG_CACHE_HOME/devsan or ~/.cache/devsan. Several runs share it: files are
// written under a temporary name and renamed. It is a help and never a condition: what cannot be
// read is absent, what cannot be written is not kept.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <string>

namespace devsan::analyzer {

// Empty where there is none, as without a home.
std::string cacheFolder(llvm::StringRef name);

bool storeFile(const std::string &path, llvm::ArrayRef<llvm::StringRef> parts);

// Deletes what was used longest ago until at most `max_bytes` are left, and temporary files that
// nobody finishes any more.
void trimFolder(const std::string &folder, std::uint64_t max_bytes);

// Marks it as used now, for trimFolder(); cheap.
void noteUse(const std::string &path);

// 128 bits, as 32 hexadecimal digits. Against accidents, not against attackers.
std::string checksum(llvm::StringRef data);

} // namespace devsan::analyzer
