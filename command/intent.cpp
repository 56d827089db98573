#include "command/commands.h"
#include "runtime/analysis/intent_query.h"

#include <charconv>
#include <cstdio>

namespace devsan::command {

int printIntent(const InstallTree &tree, const std::vector<std::string> &arguments) {
  constexpr const char *kUsage =
      "write `devsan intent LOG STACK copy|wait`; the runtime asks this, "
      "and people need not";
  if (arguments.size() != 3 || (arguments[2] != "copy" && arguments[2] != "wait"))
    return fail(kUsage);
  runtime::StackId stack = 0;
  const std::string &number = arguments[1];
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), stack);
  if (error != std::errc() || end != number.data() + number.size())
    return fail(kUsage);
  const core::Result<bool> implicit =
      runtime::isImplicitAt(arguments[0], stack, arguments[2] == "copy", tree.symbolizer());
  if (!implicit)
    return fail(implicit.error().message);
  std::puts(*implicit ? "implicit" : "explicit");
  return kSuccess;
}

} // namespace devsan::command
