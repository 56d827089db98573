// Which code of a project its programs may come to, told from names: what nobody names is not
// called.
#pragma once

#include "analyzer/files/code_outline.h"

#include <map>
#include <string>
#include <vector>

#include <llvm/ADT/StringMap.h>

namespace devsan::analyzer {

class CalledCode {
public:
  void addCode(const std::string &path, const CodeOutline &outline);
  // Of a file that is no code, each of its words may name something.
  void addNames(llvm::ArrayRef<llvm::StringRef> names);
  // After those, before the question.
  void settle();

  // Whether something comes to the function or class around a line; true where that is not known.
  // `by_name`: the function overrides nothing, and only who says its name calls it.
  bool mayRun(const std::string &path, unsigned line, bool by_name) const;

private:
  using Kind = CodeOutline::Part::Kind;
  struct Part {
    Kind kind;
    unsigned name, owner;
    bool by_itself = false;
    unsigned first_line = 0, last_line = 0;
    std::vector<unsigned> words = {};
    bool runs = false;
  };
  struct Word {
    std::vector<unsigned> parts, members; // of this name, of the class of this name
    bool is_said = false;
    bool is_export = false; // a macro: others use what it marks
    // A class: bases or others call its members, somebody has one.
    bool is_class = false, is_used_by_others = false, is_made = false;
  };
  unsigned wordOf(llvm::StringRef name);
  void say(unsigned word);
  void consider(unsigned part);
  bool hasOwner(const Part &part) const;
  bool comesByItself(const Part &part) const;

  llvm::StringMap<unsigned> ids_;
  std::vector<Word> words_;
  std::vector<Part> parts_;
  std::map<std::string, std::vector<unsigned>> by_path_;
  std::vector<std::string> pasted_;
  std::vector<unsigned> pending_; // words that are said, to be followed
};

} // namespace devsan::analyzer
