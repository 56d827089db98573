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

  struct Range {
    unsigned begin; // bytes
    unsigned end;
    std::string name; // qualified
    std::string usr;
    bool is_called_by_name; // it is no method that a base may call
  };

  bool empty() const { return by_file_.empty(); }

  // The innermost function with a body around the byte; null outside of functions.
  const Range *around(llvm::StringRef file, unsigned offset) const;

private:
  llvm::StringMap<std::vector<Range>> by_file_;
};

} // namespace devsan::analyzer
