// The fix of unregistered state: each value that a constructor gives a member is registered there.
#pragma once

#include "analyzer/model/member_state.h"

namespace devsan::analyzer {

// The edits; none where it cannot be done. Keys have to be unique, so a constructor that sets the
// member twice is left alone, and so is a template, where the method's name needs a `this`.
// `method` is register_buffer or register_module; `methods` are those of the class.
llvm::SmallVector<clang::FixItHint, 4>
registration(const clang::CXXRecordDecl *record, const MemberState &member, llvm::StringRef method,
             const std::vector<const clang::CXXMethodDecl *> &methods, clang::ASTContext &context);

} // namespace devsan::analyzer
