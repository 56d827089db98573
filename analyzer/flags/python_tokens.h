// The tokens of a Python file, as far as reading a setup script needs them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace devsan::analyzer {

struct PythonToken {
  enum Kind { kName, kString, kFormatted, kNumber, kSign, kNewline, kEnd };
  Kind kind = kEnd;
  std::string text; // of a string its content, escapes resolved
};

// Never fails: what is no Python becomes signs. Ends with kEnd. Newlines inside of brackets are
// left out.
std::vector<PythonToken> pythonTokens(std::string_view text);

} // namespace devsan::analyzer
