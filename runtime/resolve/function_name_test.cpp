#include "runtime/resolve/function_name.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
namespace {

TEST(QualifiedName, DropsParametersTemplatesAndReturnTypes) {
  EXPECT_EQ(qualifiedName("main"), "main");
  EXPECT_EQ(qualifiedName("at::_ops::item::call(at::Tensor const&)"), "at::_ops::item::call");
  EXPECT_EQ(qualifiedName("at::Tensor ns::f<float, 3>(at::Tensor const&)"), "ns::f");
  EXPECT_EQ(
      qualifiedName("void torch::nn::Module::to_impl<c10::Device&, bool&>(c10::Device&, bool&)"),
      "torch::nn::Module::to_impl");
  EXPECT_EQ(qualifiedName("std::vector<int, std::allocator<int> >::size() const"),
            "std::vector::size");
  EXPECT_EQ(qualifiedName("f(int) [clone .cold]"), "f");
}

TEST(QualifiedName, KeepsOperators) {
  EXPECT_EQ(qualifiedName("at::operator<<(std::ostream&, at::Tensor const&)"), "at::operator<<");
  EXPECT_EQ(qualifiedName("A::operator()(int) const"), "A::operator()");
  EXPECT_EQ(qualifiedName("A::operator->()"), "A::operator->");
  EXPECT_EQ(qualifiedName("bool ns::operator<< <int>(int)"), "ns::operator<<");
  EXPECT_EQ(qualifiedName("A::operator bool() const"), "A::operator bool");
  EXPECT_EQ(qualifiedName("operator_precedence(int)"), "operator_precedence");
}

TEST(QualifiedName, KeepsLocalScopes) {
  EXPECT_EQ(qualifiedName("(anonymous namespace)::helper(int)"), "(anonymous namespace)::helper");
  EXPECT_EQ(qualifiedName("main::$_0::operator()(at::Tensor) const"), "main::$_0::operator()");
  EXPECT_EQ(qualifiedName("f(int)::'lambda'(float)::operator()(float) const"),
            "f::'lambda'::operator()");
  EXPECT_EQ(qualifiedName("A::f(int) const::Local::g()"), "A::f::Local::g");
  EXPECT_EQ(qualifiedName("std::function<void (int)>::operator()(int) const"),
            "std::function::operator()");
}

TEST(QualifiedName, ToleratesAnything) {
  for (const char *text :
       {"", "<", ">", "(", ")", "operator", "operator<", "<<<(((", "a<b", "a(b", "::", " ", "x "})
    qualifiedName(text);
}

TEST(ScopeOf, KnowsBothLanguages) {
  EXPECT_EQ(scopeOf("ns::A::f"), "ns::A");
  EXPECT_EQ(scopeOf("f"), "");
  EXPECT_EQ(scopeOf("A.f"), "A");
  EXPECT_EQ(lastComponent("ns::A::f"), "f");
  EXPECT_EQ(lastComponent("A.f"), "f");
  EXPECT_EQ(lastComponent("f"), "f");
}

} // namespace
} // namespace devsan::runtime
