#include "runtime/stacks/traceback.h"

#include "runtime/log/interner.h"
#include "runtime/stacks/stacks.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace devsan::runtime {
namespace {

// The part of `text` up to `end`, which is cut off together with it; nothing where there is no
// `end`.
std::string_view takeUntil(std::string_view &text, std::string_view end) {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) {
    text = {};
    return {};
  }
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return part;
}

} // namespace

StackId stackOfTraceback(Interner &interner, std::string_view text) {
  std::vector<FrameRecord> frames;
  for (;;) {
    takeUntil(text, "  File \"");
    if (text.empty())
      break;
    const std::string_view file = takeUntil(text, "\", line ");
    const std::string_view number = takeUntil(text, ", in ");
    const std::string_view function = text.substr(0, text.find('\n'));
    std::uint32_t line = 0;
    std::from_chars(number.data(), number.data() + number.size(), line);
    if (line)
      frames.push_back({0, interner.string(file), interner.string(function), line, 0});
  }
  std::ranges::reverse(frames);
  frames.resize(std::min(frames.size(), kMaxFrames));
  return interner.stack(frames);
}

} // namespace devsan::runtime
