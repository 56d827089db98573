// Which code of a project its programs may come to, told from names: what nobody names is not
// called.
#pragma once

#include "analyzer/programs/code_outline.h"

#include <map>
#include <string>
#include <vector>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

namespace devsan::analyzer {

// What LibTorch calls of modules and autograd functions.
bool isCalledByTorch(llvm::StringRef name);

class CalledCode {
public:
  void addCode(const std::string &path, const CodeOutline &outline);
  // `live`: of the text of a file, what may run. Its lines are the same.
  void addDeadLines(const std::string &path, llvm::StringRef text, llvm::StringRef live);
  // Of a file that is no code, each of its words may name something.
  void addNames(llvm::ArrayRef<llvm::StringRef> names);
  // After those, before the question.
  void settle();

  // Whether something comes to the function or class around a line; true where that is not known.
  // `by_name`: the function there that overrides nothing, so that only who says its name calls it;
  // empty where one may be called otherwise.
  bool isReachable(const std::string &path, unsigned line, llvm::StringRef by_name) const;
  // Whether anything says the name but the constructors of the class.
  bool isSaidBeside(llvm::StringRef scope, llvm::StringRef name) const;
  // What of the text of a file something comes to. Spaces stand for the rest.
  std::string reachedCode(const std::string &path, std::string text) const;

private:
  using Kind = CodeOutline::Part::Kind;
  struct Part {
    Kind kind;
    unsigned name, scope;
    bool is_implicit = false;
    unsigned first_line = 0, last_line = 0;
    std::vector<unsigned> names = {};
    bool is_reachable = false;
  };
  struct Name {
    std::vector<unsigned> parts, members;          // of this name, of the class of this name
    bool is_said = false, is_said_outside = false; // of functions and classes
    bool is_macro = false, is_export = false;      // others use what the macro marks
    bool is_of_modules = false;                    // LibTorch calls it of each module
    // Of a class. Its bases, or others, call its members.
    bool is_class = false, is_module = false, has_bases = false, is_exported = false;
    bool is_used = false;
  };
  unsigned idOf(llvm::StringRef name);
  void say(unsigned name);
  void consider(unsigned part);
  bool isImplicit(const Part &part) const;
  void settleMacros();

  llvm::StringMap<unsigned> ids_;
  std::vector<Name> names_;
  std::vector<Part> parts_;
  std::map<std::string, std::vector<unsigned>> by_path_;
  llvm::StringMap<llvm::DenseSet<unsigned>> dead_lines_; // of files
  llvm::StringSet<> pasted_;
  std::vector<unsigned> pending_; // names that are said, to be followed
};

} // namespace devsan::analyzer
