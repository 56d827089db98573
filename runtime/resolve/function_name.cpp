#include "runtime/resolve/function_name.h"

#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace devsan::runtime {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";
constexpr std::string_view kOperator = "operator";

bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$';
}

// Index after the bracket that closes the one at `open`, or the end.
std::size_t closing(std::string_view text, std::size_t open) {
  const char from = text[open];
  const char to = from == '(' ? ')' : '>';
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    // The arrow of a trailing return type closes nothing.
    if (to == '>' && text[i] == '>' && i > 0 && text[i - 1] == '-')
      continue;
    if (text[i] == from)
      ++depth;
    else if (text[i] == to && --depth == 0)
      return i + 1;
  }
  return text.size();
}

// Length of the operator's symbols after the word "operator" at the start of `text`.
std::size_t operatorLength(std::string_view text) {
  std::size_t end = kOperator.size();
  if (text.substr(end).starts_with("()") || text.substr(end).starts_with("[]"))
    return end + 2;
  if (end < text.size() && text[end] == ' ') // a conversion, `operator bool()`, or `operator new`
    return std::min(text.find('(', end), text.size());
  while (end < text.size() &&
         std::string_view("<>=!+-*/%^&|~,").find(text[end]) != std::string_view::npos)
    ++end;
  return end;
}

} // namespace

std::string qualifiedName(std::string_view text) {
  std::string name;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const bool at_word = name.empty() || !isNameCharacter(name.back());
    if (rest.starts_with(kAnonymous)) {
      name += kAnonymous;
      i += kAnonymous.size();
    } else if (at_word && rest.starts_with(kOperator) &&
               (rest.size() == kOperator.size() || !isNameCharacter(rest[kOperator.size()]))) {
      const std::size_t length = operatorLength(rest);
      name += rest.substr(0, length);
      i += length;
    } else if (text[i] == '<' && !name.empty()) {
      i = closing(text, i);
    } else if (text[i] == '(') {
      // Parameters end the name, except those in the middle: of a lambda or of the function around
      // a local class.
      const std::size_t end = closing(text, i);
      std::string_view after = text.substr(end);
      if (after.starts_with(" const"))
        after.remove_prefix(6);
      if (!after.starts_with("::"))
        break;
      i = text.size() - after.size();
    } else if (rest.starts_with(" <") && !name.empty()) {
      ++i; // demanglers set the arguments of `operator<< <int>` apart
    } else if (text[i] == ' ') {
      if (rest.starts_with(" ["))
        break;      // " [clone .cold]"
      name.clear(); // what came before is the return type
      ++i;
    } else {
      name += text[i++];
    }
  }
  return name;
}

std::optional<bool> takesDevice(std::string_view text) {
  const std::size_t end = text.rfind(')');
  if (end == text.npos)
    return std::nullopt;
  std::size_t begin = end;
  for (int depth = 0; begin != text.npos; begin = begin ? begin - 1 : text.npos) {
    depth += text[begin] == ')';
    depth -= text[begin] == '(';
    if (depth == 0)
      break;
  }
  if (begin == text.npos)
    return std::nullopt;
  const std::string_view parameters = text.substr(begin, end + 1 - begin);
  for (const std::string_view type : {"c10::Device", "c10::DeviceType", "c10::TensorOptions"})
    for (std::size_t at = parameters.find(type); at != parameters.npos;
         at = parameters.find(type, at + 1))
      if (!isNameCharacter(parameters[at + type.size()])) // never the end, which is a bracket
        return true;
  return false;
}

std::string nameOfSymbol(const std::string &symbol) {
  int status = -1;
  const std::unique_ptr<char, void (*)(void *)> demangled(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return demangled ? qualifiedName(demangled.get()) : symbol;
}

std::string scopeOf(std::string_view qualified) {
  const std::size_t separator = qualified.rfind("::");
  if (separator != std::string_view::npos)
    return std::string(qualified.substr(0, separator));
  const std::size_t dot = qualified.rfind('.');
  return std::string(qualified.substr(0, dot == std::string_view::npos ? 0 : dot));
}

std::string_view lastComponent(std::string_view qualified) {
  const std::size_t separator = qualified.rfind("::");
  if (separator != std::string_view::npos)
    return qualified.substr(separator + 2);
  const std::size_t dot = qualified.rfind('.');
  return dot == std::string_view::npos ? qualified : qualified.substr(dot + 1);
}

} // namespace devsan::runtime
