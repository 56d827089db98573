// A visitor of clang's trees with virtual functions. Each class that derives from clang's
// RecursiveASTVisitor compiles a traversal of its own, seconds and 100 KB of code; this one is
// compiled once. It visits the same nodes in the same order. clang's DynamicRecursiveASTVisitor
// does so too, but is not in all releases that the checks are compiled for, and has a table of
// 1,500 functions for each class.
//
// It has the functions that a visitor here overrides. One more is one more word in a list.
#pragma once

#include <clang/AST/ASTFwd.h>
#include <llvm/ADT/PointerIntPair.h>
#include <llvm/ADT/SmallVector.h>

namespace devsan::analyzer {

// Each has Visit<Node>(Node *), which is told of the node before its children; false ends the whole
// visit.
#define DEVSAN_VISITED_NODES(NODE)                                                                 \
  NODE(ArraySubscriptExpr)                                                                         \
  NODE(BinaryOperator)                                                                             \
  NODE(CUDAKernelCallExpr)                                                                         \
  NODE(CXXConstructExpr)                                                                           \
  NODE(CXXDependentScopeMemberExpr)                                                                \
  NODE(CXXMemberCallExpr)                                                                          \
  NODE(CXXMethodDecl)                                                                              \
  NODE(CXXOperatorCallExpr)                                                                        \
  NODE(CallExpr)                                                                                   \
  NODE(DeclRefExpr)                                                                                \
  NODE(Expr)                                                                                       \
  NODE(FunctionDecl)                                                                               \
  NODE(GotoStmt)                                                                                   \
  NODE(ImplicitCastExpr)                                                                           \
  NODE(IndirectGotoStmt)                                                                           \
  NODE(InitListExpr)                                                                               \
  NODE(MemberExpr)                                                                                 \
  NODE(NamedDecl)                                                                                  \
  NODE(OverloadExpr)                                                                               \
  NODE(ParmVarDecl)                                                                                \
  NODE(RecoveryExpr)                                                                               \
  NODE(ReturnStmt)                                                                                 \
  NODE(StringLiteral)                                                                              \
  NODE(UnaryOperator)                                                                              \
  NODE(VarDecl)

// Each has Traverse<Node>(Node *, DataRecursionQueue *), which visits the node and its children. An
// override decides which of them are visited, and when.
#define DEVSAN_TRAVERSED_STATEMENTS(NODE)                                                          \
  NODE(CUDAKernelCallExpr)                                                                         \
  NODE(CXXConstructExpr)                                                                           \
  NODE(CXXForRangeStmt)                                                                            \
  NODE(CXXMemberCallExpr)                                                                          \
  NODE(CXXOperatorCallExpr)                                                                        \
  NODE(CXXTemporaryObjectExpr)                                                                     \
  NODE(CallExpr)                                                                                   \
  NODE(CompoundStmt)                                                                               \
  NODE(ForStmt)                                                                                    \
  NODE(IfStmt)                                                                                     \
  NODE(LambdaExpr)                                                                                 \
  NODE(RecoveryExpr)                                                                               \
  NODE(Stmt)                                                                                       \
  NODE(SwitchStmt)                                                                                 \
  NODE(UnaryExprOrTypeTraitExpr)                                                                   \
  NODE(UnaryOperator)

// Each has Traverse<Node>(Node *).
#define DEVSAN_TRAVERSED_DECLARATIONS(NODE)                                                        \
  NODE(CXXConstructorDecl)                                                                         \
  NODE(CXXDestructorDecl)                                                                          \
  NODE(CXXMethodDecl)                                                                              \
  NODE(CXXRecordDecl)                                                                              \
  NODE(Decl)                                                                                       \
  NODE(FunctionDecl)                                                                               \
  NODE(VarDecl)

class AstVisitor {
public:
  // Statements that wait to be visited: a long chain of operators takes no stack.
  using DataRecursionQueue = llvm::SmallVectorImpl<llvm::PointerIntPair<clang::Stmt *, 1, bool>>;

  virtual bool shouldVisitTemplateInstantiations() const { return false; }
  virtual bool shouldVisitImplicitCode() const { return false; }

#define DEVSAN_NODE(NODE)                                                                          \
  virtual bool Visit##NODE(clang::NODE *) { return true; }
  DEVSAN_VISITED_NODES(DEVSAN_NODE)
#undef DEVSAN_NODE

#define DEVSAN_NODE(NODE)                                                                          \
  virtual bool Traverse##NODE(clang::NODE *node, DataRecursionQueue *queue = nullptr);
  DEVSAN_TRAVERSED_STATEMENTS(DEVSAN_NODE)
#undef DEVSAN_NODE

#define DEVSAN_NODE(NODE) virtual bool Traverse##NODE(clang::NODE *node);
  DEVSAN_TRAVERSED_DECLARATIONS(DEVSAN_NODE)
#undef DEVSAN_NODE

protected:
  AstVisitor() = default;
  AstVisitor(const AstVisitor &) = default;
  AstVisitor &operator=(const AstVisitor &) = default;
  ~AstVisitor() = default;
};

} // namespace devsan::analyzer
