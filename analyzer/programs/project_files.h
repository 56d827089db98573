// What the files of a project are, by their names and what stands in them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>

namespace devsan::analyzer {

// More files than a program without devices has: nobody waits for them to be read.
constexpr std::size_t kMaxProjectFiles = 5'000;
constexpr std::size_t kMaxOtherFiles = 2'000;           // that are no code
constexpr std::size_t kMaxOtherSize = 1 << 20;          // of each; larger ones are data
constexpr std::size_t kMaxRead = std::size_t{64} << 20; // of these, all in all

struct ProjectFiles {
  std::vector<std::string> code, builds, packages;  // `packages`: the scripts that make them
  llvm::StringMap<std::vector<std::string>> others; // by their names, which code may include
};
ProjectFiles filesBelow(const std::string &root);

// What is no code, as long as `read` wants more. False where it does not, or there is too much.
bool readOthers(const ProjectFiles &files,
                llvm::function_ref<bool(const std::string &path, llvm::StringRef text)> read);

// Whether code outside of comments, a script or a document has a word of devices. Those who use a
// package without any have none in mind.
bool namesDevices(const ProjectFiles &files);

// Whether the sources of the whole project may belong to the package that a script makes.
bool reaches(const std::string &script, const std::string &root);

// `unit_tests`, `FooTest`, `example1`: a program that shows or tests what others are to use.
bool isOfExample(llvm::StringRef path);

// A test or a benchmark alone.
bool isOfTest(llvm::StringRef path);

// Tests of units call what the programs may never come to. Those that stand within the code that
// they test are none of these.
bool isUnitTest(llvm::StringRef path, llvm::ArrayRef<std::string> includes);

bool isDocument(llvm::StringRef path);

// What tells or shows of code, says which files are compiled, or holds settings: the code that
// reads these names what it calls.
bool callsNothing(llvm::StringRef path);

// Prose; and Python that loads no library by itself, and writes no code: it calls only what the
// code of a module names for it.
bool isOtherText(llvm::StringRef path, llvm::StringRef text);

// A script, a job or a tool's settings, which may say how to compile.
bool mayCompile(llvm::StringRef path);

// What may be names of files in a text, without their folders.
std::vector<llvm::StringRef> fileNamesIn(llvm::StringRef text);

} // namespace devsan::analyzer
