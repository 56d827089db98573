// Who calls whom in one file, where a guard is live, and who launches kernels: what a function in
// another file needs to know of its callers and of those it calls.
#pragma once

#include <string>
#include <vector>

namespace clang {
class ASTContext;
class FunctionDecl;
} // namespace clang

namespace devsan::analyzer {

struct FileCalls {
  struct Place {
    std::string file; // absolute; empty for no place
    unsigned line = 0;
    unsigned column = 0;

    bool operator==(const Place &) const = default;
  };
  struct Function {
    std::string usr;  // clang's name for a declaration across files
    std::string name; // without its scope
    Place body;       // none where it is in another file, or only says that there is none
    // The calls that are known do not decide for all of it: its address is taken, it is virtual, it
    // starts threads.
    bool open = false;
    bool knows_tensors = false;
    // Of a kernel without a guard, where the function knows no tensors: by itself, or by another
    // such function of the file.
    Place launch;
    // Runs on every step by itself: an operator, forward(); also where it is only registered here.
    bool is_step = false;
  };
  struct Call {
    unsigned caller; // indices of `functions`
    unsigned callee;
    bool guarded;
    bool each_run; // on every run of the caller, not every so many or only once
  };
  std::vector<Function> functions;
  std::vector<Call> calls;
};

// Functions of libraries are left out.
FileCalls collectCalls(clang::ASTContext &context);

// Empty for what has no name across files.
std::string usrOf(const clang::FunctionDecl *function);

} // namespace devsan::analyzer
