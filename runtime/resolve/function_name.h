// Takes demangled C++ names apart, as far as telling frames apart needs it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace devsan::runtime {

// Without return type, template arguments and parameters: "at::Tensor
// ns::A<int>::f<float>(at::Tensor const&) const" is "ns::A::f". Names of interpreted functions come
// back as they are.
std::string qualifiedName(std::string_view demangled);

// The qualified name of one of the linker's symbols; names that are not mangled come back as they
// are.
std::string nameOfSymbol(const std::string &symbol);

// Whether a parameter says where tensors are to be: a device, its type or options that hold one.
// Nothing where the name has no parameters, as of functions that are inlined in a program with
// little debug information.
std::optional<bool> takesDevice(std::string_view demangled);

// The scope of a qualified name, without its last component; empty for a free function. Works for
// C++ ("ns::A" of "ns::A::f") and Python ("A" of "A.f").
std::string scopeOf(std::string_view qualified);

// "f" of "ns::A::f" or "A.f".
std::string_view lastComponent(std::string_view qualified);

} // namespace devsan::runtime
