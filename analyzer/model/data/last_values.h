// What a function leaves in a member, of all that it puts there.
#pragma once

#include "analyzer/facts/function_facts.h"

#include <clang/AST/ASTContext.h>

namespace devsan::analyzer {

// Whether the function sets the member again, whatever way it goes, before other code may see what
// the operation of `facts` has put there.
bool isReplaced(const Operation &set, const FunctionFacts &facts, clang::ASTContext &context);

} // namespace devsan::analyzer
