#include "analyzer/ast/ast_visitor.h"

#include <clang/AST/RecursiveASTVisitor.h>

namespace devsan::analyzer {
namespace {

// Gives every step that AstVisitor has to it, and does the others itself.
class Traversal : public clang::RecursiveASTVisitor<Traversal> {
public:
  using Base = clang::RecursiveASTVisitor<Traversal>;

  explicit Traversal(AstVisitor &visitor) : visitor_(visitor) {}

  bool shouldVisitTemplateInstantiations() const {
    return visitor_.shouldVisitTemplateInstantiations();
  }
  bool shouldVisitImplicitCode() const { return visitor_.shouldVisitImplicitCode(); }

#define DEVSAN_NODE(NODE)                                                                          \
  bool Visit##NODE(clang::NODE *node) { return visitor_.Visit##NODE(node); }
  DEVSAN_VISITED_NODES(DEVSAN_NODE)
#undef DEVSAN_NODE

#define DEVSAN_NODE(NODE)                                                                          \
  bool Traverse##NODE(clang::NODE *node, DataRecursionQueue *queue = nullptr) {                    \
    return visitor_.Traverse##NODE(node, queue);                                                   \
  }
  DEVSAN_TRAVERSED_STATEMENTS(DEVSAN_NODE)
#undef DEVSAN_NODE

#define DEVSAN_NODE(NODE)                                                                          \
  bool Traverse##NODE(clang::NODE *node) { return visitor_.Traverse##NODE(node); }
  DEVSAN_TRAVERSED_DECLARATIONS(DEVSAN_NODE)
#undef DEVSAN_NODE

private:
  AstVisitor &visitor_;
};

} // namespace

#define DEVSAN_NODE(NODE)                                                                          \
  bool AstVisitor::Traverse##NODE(clang::NODE *node, DataRecursionQueue *queue) {                  \
    return Traversal(*this).Base::Traverse##NODE(node, queue);                                     \
  }
DEVSAN_TRAVERSED_STATEMENTS(DEVSAN_NODE)
#undef DEVSAN_NODE

#define DEVSAN_NODE(NODE)                                                                          \
  bool AstVisitor::Traverse##NODE(clang::NODE *node) {                                             \
    return Traversal(*this).Base::Traverse##NODE(node);                                            \
  }
DEVSAN_TRAVERSED_DECLARATIONS(DEVSAN_NODE)
#undef DEVSAN_NODE

} // namespace devsan::analyzer
