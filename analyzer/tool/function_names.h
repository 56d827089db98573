// Names the function around a place in a file: diagnostics do not carry it, reports and
// fingerprints want it.
#pragma once

#include <clang/AST/DeclBase.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringMap.h>

#include <string>
#include <vector>

namespace devsan::analyzer {

class FunctionNames {
public:
  void add(llvm::ArrayRef<clang::Decl *> decls);

  // Qualified, of the innermost function with a body around the byte; empty outside of functions.
  std::string at(llvm::StringRef file, unsigned offset) const;

private:
  struct Range {
    unsigned begin;
    unsigned end;
    std::string name;
  };
  llvm::StringMap<std::vector<Range>> by_file_;
};

} // namespace devsan::analyzer
