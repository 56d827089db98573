// Stands before LLVM's own where the checks are compiled for a release older than 22, whose
// StringSwitch does not take the names of a case as a list. See analyzer/ast/clang_compat.h.
#pragma once

#define StringSwitch StringSwitchOfThisRelease
#include_next <llvm/ADT/StringSwitch.h>
#undef StringSwitch

#include <initializer_list>
#include <utility>

namespace llvm {

template <typename T, typename R = T> class StringSwitch {
public:
  explicit StringSwitch(StringRef text) : switch_(text) {}

  StringSwitch &Case(StringLiteral name, T value) {
    switch_.Case(name, std::move(value));
    return *this;
  }
  StringSwitch &Cases(std::initializer_list<StringLiteral> names, T value) {
    for (StringLiteral name : names)
      switch_.Case(name, value);
    return *this;
  }
  // The spellings that LLVM's own headers use.
  StringSwitch &Cases(StringLiteral a, StringLiteral b, T value) { return Cases({a, b}, value); }
  StringSwitch &Cases(StringLiteral a, StringLiteral b, StringLiteral c, T value) {
    return Cases({a, b, c}, value);
  }
  StringSwitch &CaseLower(StringLiteral name, T value) {
    switch_.CaseLower(name, std::move(value));
    return *this;
  }
  StringSwitch &StartsWith(StringLiteral prefix, T value) {
    switch_.StartsWith(prefix, std::move(value));
    return *this;
  }
  StringSwitch &EndsWith(StringLiteral suffix, T value) {
    switch_.EndsWith(suffix, std::move(value));
    return *this;
  }
  R Default(T value) { return switch_.Default(std::move(value)); }
  operator R() { return switch_; }

private:
  StringSwitchOfThisRelease<T, R> switch_;
};

} // namespace llvm
