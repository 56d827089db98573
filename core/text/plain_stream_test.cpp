#include "core/text/plain_stream.h"

#include <gtest/gtest.h>
#include <sstream>

namespace devsan::core {
namespace {

std::string plain(std::string_view text, Notation notation, std::size_t step) {
  std::ostringstream out;
  {
    PlainStream stream(out, notation);
    for (std::size_t i = 0; i < text.size(); i += step)
      stream << text.substr(i, step);
  }
  return out.str();
}

// However the text is cut into writes.
void expect(std::string_view text, Notation notation, std::string_view expected) {
  for (const std::size_t step : {1, 2, 3, 1000})
    EXPECT_EQ(plain(text, notation, step), expected) << step;
}

TEST(PlainStream, EscapesWhatControlsADisplay) {
  expect("a\x7f \u009b \u0085 \u202e \u2028 \u061c z", Notation::kJson,
         "a\\u007f \\u009b \\u0085 \\u202e \\u2028 \\u061c z");
  expect("\u2066", Notation::kXml, "&#x2066;");
}

TEST(PlainStream, EscapesCommandsToCi) {
  expect("##[x] ##vso[ ##teamcity[", Notation::kJson, "\\u0023#[x] \\u0023#vso[ \\u0023#teamcity[");
  expect("::error::\n  ::error::\na::b", Notation::kXml, "&#x3a;:error::\n  &#x3a;:error::\na::b");
}

TEST(PlainStream, KeepsTheRest) {
  for (const std::string_view text :
       {"", "#", "##", "##vs", ":", "\n:", "é … ü Ω \xe2\x82\xac 日本", "\xc2", "\xe2\x80",
        "\xff\xfe", "#include ## __VA_ARGS__ a##b std::vector"})
    expect(text, Notation::kJson, text);
}

} // namespace
} // namespace devsan::core
