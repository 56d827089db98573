#include "analyzer/programs/project_files.h"

#include "analyzer/files/source_files.h"
#include "analyzer/programs/build_scripts.h"
#include "analyzer/programs/device_names.h"
#include "analyzer/programs/words.h"
#include "core/system/whole_file.h"
#include "core/text/toml_text.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>
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

// Of a pyproject.toml: a package of nothing but Python, or settings of tools alone.
bool compilesNothing(const std::string &text) {
  static const llvm::StringSet<> kOfPython{
      "hatchling",      "hatch-vcs",      "flit_core", "flit-core", "poetry",
      "poetry-core",    "pdm-backend",    "uv_build",  "uv-build",  "setuptools",
      "setuptools-scm", "setuptools_scm", "wheel"};
  if (containsOne(text,
                  {"hooks", "backend-path", "ext-modules", "[tool.poetry.build]", "build.py"}))
    return false;
  const core::Result<toml::table> project = core::parseToml(text, "pyproject.toml");
  if (!project)
    return false;
  const toml::array *needed = (*project)["build-system"]["requires"].as_array();
  return !needed || llvm::all_of(*needed, [](const toml::node &requirement) {
    const std::string name = requirement.value_or(std::string());
    return kOfPython.contains(StringRef(name).take_while(
        [](char c) { return llvm::isAlnum(c) || c == '-' || c == '_'; }));
  });
}

// A setup.py that only names what is there: no extension, no command of its own. `settings`: of the
// setup.cfg beside it.
bool runsNothing(StringRef text, StringRef settings) {
  static const llvm::StringSet<> kImported{"setuptools", "distutils", "os",      "sys",       "io",
                                           "re",         "codecs",    "pathlib", "glob",      "ast",
                                           "json",       "typing",    "pip",     "__future__"};
  if (!text.contains("setup(") ||
      containsOne(text,
                  {"xtension",     "sources",        "ext_modules",   "ext_package", "cmdclass",
                   "cffi_modules", "setup_requires", "distutils.",    "os.system",   "os.popen",
                   "os.spawn",     "os.exec",        "import_module", "exec(",       "distclass",
                   "runpy",        "from os import", ".so'",          ".so\"",       "__import__",
                   "subprocess",   "cmake"}) ||
      containsOne(settings, {"cmdclass", "setup_requires", "ext_modules", "build_ext"}))
    return false;
  return llvm::all_of(llvm::split(text, '\n'), [](StringRef line) {
    line = line.ltrim();
    const auto isKnown = [](StringRef module) {
      return kImported.contains(
          module.ltrim().take_while([](char c) { return llvm::isAlnum(c) || c == '_'; }));
    };
    return line.consume_front("import ") ? llvm::all_of(llvm::split(line, ','), isKnown)
                                         : !line.consume_front("from ") || isKnown(line);
  });
}

bool makesPackage(const std::string &script) {
  const std::string text = textOf(script);
  const StringRef name = llvm::sys::path::filename(script);
  llvm::SmallString<128> settings(llvm::sys::path::parent_path(script));
  llvm::sys::path::append(settings, "setup.cfg");
  return name == "setup.py"         ? !runsNothing(text, textOf(settings.str().str()))
         : name == "pyproject.toml" ? !compilesNothing(text)
                                    : true;
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

bool isUnitTest(StringRef path, llvm::ArrayRef<std::string> includes) {
  return isOfTest(path) && llvm::any_of(includes, [](StringRef included) {
           return containsOne(included, {"gtest.h", "gmock.h", "catch2/", "catch.hpp", "doctest.h",
                                         "boost/test/", "QtTest", "cppunit/", "CppUTest/"});
         });
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
         !containsOne(text, {"ctypes", "cffi", "cppyy", "CDLL", "dlopen", "#include"});
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

bool readOthers(const ProjectFiles &files,
                llvm::function_ref<bool(const std::string &path, StringRef text)> read) {
  std::size_t count = 0, size = 0;
  for (const auto &other : files.others)
    for (const std::string &path : other.getValue()) {
      if (++count > kMaxOtherFiles || size > kMaxRead)
        return false;
      const std::string text = core::readFile(path, kMaxOtherSize).value_or("");
      size += text.size();
      if (!StringRef(text).contains('\0') && !read(path, text))
        return false;
    }
  return true;
}

bool namesDevices(const ProjectFiles &files) {
  const auto isOfDevices = [](StringRef word) {
    const std::string lower = word.lower();
    return containsOne(lower, {"cuda", "gpu", "device", "rocm", "accelerator"}) || lower == "tpu" ||
           kindsBesideCuda().contains(lower) || isKindBesideCuda(word);
  };
  const auto isSaidIn = [&](StringRef text) {
    return llvm::any_of(runsOf(text, [](char c) { return llvm::isAlnum(c) || c == '_'; }),
                        isOfDevices);
  };
  return llvm::any_of(files.code,
                      [&](const std::string &path) {
                        return isCudaFile(path) || llvm::any_of(wordsOf(textOf(path)), isOfDevices);
                      }) ||
         llvm::any_of(
             files.builds,
             [&](const std::string &path) { return isSaidIn(withoutComments(textOf(path))); }) ||
         !readOthers(files, [&](const std::string &, StringRef text) { return !isSaidIn(text); });
}

} // namespace devsan::analyzer
