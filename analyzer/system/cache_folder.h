// The user's cache (core/system/user_cache.h). Several runs share it: files are replaced
// (core/system/replace_file.h). It is a help and never a condition: what cannot be read is absent,
// what cannot be written is not kept.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdint>
#include <memory>
#include <string>

namespace devsan::analyzer {

// Empty where there is none, as without a home, or where it is not to be trusted, which is said.
std::string cacheFolder(llvm::StringRef name);

// Null where it cannot be read, or is not to be trusted. No zero ends it.
std::unique_ptr<llvm::MemoryBuffer> readCached(const std::string &path);

// Whether storeFile() has where to.
bool canStoreIn(llvm::StringRef name);

// Makes the folder of a file in the cache, for this user alone.
bool makeFolderOf(const std::string &path);

// For this user alone, whatever the umask: readCached() trusts nothing else.
bool storeFile(const std::string &path, llvm::ArrayRef<llvm::StringRef> parts);

// Deletes what was used longest ago until at most `max_bytes` are left, and temporary files that
// nobody finishes any more.
void trimFolder(const std::string &folder, std::uint64_t max_bytes);

// Marks it as used now, for trimFolder(); cheap.
void noteUse(const std::string &path);

// 128 bits, as 32 hexadecimal digits. Against accidents, not against attackers.
std::string checksum(llvm::StringRef data);

} // namespace devsan::analyzer
