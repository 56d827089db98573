// Compiled in where devsan-check is linked with LLVM's static libraries: clang-tidy's library names
// the static analyzer, and that a solver of Z3's, which no check of ours asks for. Without this
// definition the linker would take LLVM's, and devsan-check would need libz3.so on the user's
// machine.
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/SMTAPI.h>

llvm::SMTSolverRef llvm::CreateZ3Solver() {
  llvm::report_fatal_error("devsan-check has no SMT solver");
}

void llvm::SMTExpr::dump() const {}
void llvm::SMTSolver::dump() const {}
void llvm::SMTSort::dump() const {}
