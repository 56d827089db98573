#include "analyzer/programs/project_files.h"

#include "analyzer/files/source_files.h"
#include "analyzer/programs/build_scripts.h"
#include "analyzer/programs/words.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Support/Path.h>

#include <algorithm>

namespace devsan::analyzer {

using llvm::StringRef;

namespace {

bool isOfPackage(StringRef path) {
  const StringRef name = llvm::sys::path::filename(path);
  return name == "setup.py" || name == "pyproject.toml" || name == "conanfile.py";
}

// A pyproject.toml may hold settings of tools alone, or make a package of nothing but Python.
bool makesPackage(const std::string &script) {
  const std::string text = StringRef(textOf(script)).lower();
  if (StringRef(script).ends_with(".py"))
    return true;
  const StringRef build = StringRef(text).split("[build-system]").second.split("\n[").first;
  const auto has = [](StringRef in) { return [=](StringRef word) { return in.contains(word); }; };
  return llvm::any_of(llvm::ArrayRef<StringRef>{"torch", "numpy", "cmake"}, has(build)) ||
         llvm::any_of(llvm::ArrayRef<StringRef>{"scikit-build", "scikit_build", "meson", "maturin",
                                                "pybind11", "nanobind", "cython", "cffi",
                                                "ext-modules", "build.py", ".build.hooks"},
                      has(text));
}

bool namesTest(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases({"test", "tests", "unittest", "unittests", "testing"}, true)
      .Cases({"benchmark", "benchmarks", "bench"}, true)
      .Default(false);
}

// One of the words of a path, in small letters: `unit_tests`, `FooTest`, `example1`.
bool hasWord(StringRef path, llvm::function_ref<bool(StringRef)> test) {
  StringRef rest = path.rsplit('.').first;
  while (!rest.empty()) {
    StringRef word = rest.take_while(llvm::isUpper);
    if (word.size() < 2) // a word of small letters, with or without a capital
      word = rest.take_front(word.size() +
                             rest.drop_front(word.size()).take_while(llvm::isLower).size());
    if (test(word.lower()))
      return true;
    rest = rest.drop_front(std::max<std::size_t>(word.size(), 1));
  }
  return false;
}

} // namespace

bool isOfExample(StringRef path) {
  return hasWord(path, [](StringRef word) {
    return namesTest(word) || llvm::StringSwitch<bool>(word)
                                  .Cases({"example", "examples", "sample", "samples"}, true)
                                  .Cases({"demo", "demos", "tutorial", "tutorials"}, true)
                                  .Default(false);
  });
}

bool isOfTest(StringRef path) {
  return hasWord(path, namesTest);
}

bool isUnitTest(StringRef path, StringRef text) {
  return isOfExample(path) &&
         llvm::any_of(llvm::ArrayRef<StringRef>{"gtest/gtest.h", "gtest.h", "catch2/", "catch.hpp",
                                                "doctest.h", "boost/test/", "QtTest", "cppunit/",
                                                "CppUTest/"},
                      [&](StringRef header) { return text.contains(header); });
}

bool isDocument(StringRef path) {
  return llvm::StringSwitch<bool>(llvm::sys::path::extension(path))
      .Cases({".md", ".rst", ".log", ".html", ".csv", ".tsv"}, true)
      .Default(false);
}

bool isOtherText(StringRef path, StringRef text) {
  // LICENSE, changelog; not a script.
  if (llvm::sys::path::extension(path).empty())
    return !text.starts_with("#!");
  return path.ends_with(".py") &&
         llvm::none_of(
             llvm::ArrayRef<StringRef>{"ctypes", "cffi", "cppyy", "CDLL", "dlopen", "#include"},
             [&](StringRef part) { return text.contains(part); });
}

bool callsNothing(StringRef path) {
  if (isDocument(path) || (isBuildFile(path) && !path.ends_with(".py")) ||
      llvm::sys::path::filename(path).starts_with("."))
    return true;
  return llvm::StringSwitch<bool>(llvm::sys::path::extension(path))
      .Cases({".filters", ".sln", ".user", ".pri", ".txt"}, true)
      .Cases({".json", ".jsonl", ".sarif", ".ipynb"}, true)
      .Cases({".yml", ".yaml", ".toml", ".ini", ".cfg", ".conf", ".lock"}, true)
      .Default(false);
}

bool reaches(const std::string &script, const std::string &root) {
  const std::string text = textOf(script);
  const auto has = [&](StringRef part) { return StringRef(text).contains(part); };
  return llvm::sys::path::parent_path(script) == root || has("../") || has("'..'") ||
         has("\"..\"") || has("pardir") || has("parent") || has("dirname(");
}

std::vector<StringRef> fileNamesIn(StringRef text) {
  return runsOf(text, [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '-' || c == '+' || c == '.';
  });
}

bool mayCompile(StringRef path) {
  return llvm::StringSwitch<bool>(llvm::sys::path::extension(path))
      .Cases({"", ".sh", ".bash", ".bat", ".cmd", ".ps1", ".lua"}, true)
      .Cases({".gn", ".gni", ".gyp", ".gypi", ".bzl", ".bazel", ".scons"}, true)
      .Cases({".yml", ".yaml", ".toml", ".json", ".txt"}, true)
      .Default(false);
}

ProjectFiles filesBelow(const std::string &root) {
  ProjectFiles files;
  walkProject(root, /*third_party=*/false, [&](const std::string &path) {
    if (isCode(path))
      files.code.push_back(path);
    else if (isBuildFile(path))
      files.builds.push_back(path);
    else
      files.others[llvm::sys::path::filename(path)].push_back(path);
    if (isOfPackage(path) && makesPackage(path))
      files.packages.push_back(path);
    return files.code.size() <= kMaxProjectFiles;
  });
  return files;
}

} // namespace devsan::analyzer
