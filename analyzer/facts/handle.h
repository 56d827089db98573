// What the facts name of a source without knowing what it is: a piece of code, a variable, a loop.
// Whoever read the source made the handle and can look inside: the model finds clang's node again,
// a test its own. Rules compare handles and ask Program about them.
#pragma once

#include <compare>
#include <cstddef>
#include <type_traits>

namespace devsan::analyzer {

template <class Tag> class Handle {
public:
  constexpr Handle() = default;
  constexpr Handle(std::nullptr_t) {}
  // The node has one address, by whichever of its bases it is known.
  template <class Node>
    requires std::is_class_v<Node>
  Handle(const Node *node) : node_(node) {}

  template <class Node> const Node *as() const { return static_cast<const Node *>(node_); }

  explicit operator bool() const { return node_ != nullptr; }
  auto operator<=>(const Handle &) const = default;

private:
  const void *node_ = nullptr;
};

using Code = Handle<struct CodeTag>; // an expression
using Loop = Handle<struct LoopTag>;
using Variable = Handle<struct VariableTag>; // or a member, or a function, for what it returns
using Function = Handle<struct FunctionTag>;
using Class = Handle<struct ClassTag>;

} // namespace devsan::analyzer
