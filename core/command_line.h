// What the command lines of `devsan` and `devsan-check` have in common beside CLI11. CLI11 is
// heavy: the file that parses the options includes this, no other.
#pragma once

#include "core/text/suggestion.h"
#include "core/text/terminal_text.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <unistd.h>
#include <vector>

namespace devsan::core {

// Help as wide as the terminal, and as wide as most are where there is none.
class HelpFormatter : public CLI::Formatter {
public:
  std::string make_help(const CLI::App *app, std::string name,
                        CLI::AppFormatMode mode) const override {
    constexpr std::size_t kUsual = 80, kLeast = 50;
    const std::size_t columns = terminalOf(STDOUT_FILENO, ColorMode::kNever).columns;
    return wrapped(CLI::Formatter::make_help(app, std::move(name), mode),
                   std::max(columns ? columns : kUsual, kLeast), get_column_width());
  }
};

// CLI11 lists unexpected arguments from the back, does not say which option may be meant, and
// complains of what is missing before an option that is wrong.
// `command`: the one whose options are asked for.
inline std::string messageOf(const CLI::ParseError &error, const CLI::App &app,
                             const CLI::App &command) {
  const std::vector<std::string> extras = app.remaining(true);
  const auto is = [&](CLI::ExitCodes code) {
    return error.get_exit_code() == static_cast<int>(code);
  };
  if ((!is(CLI::ExitCodes::ExtrasError) && !is(CLI::ExitCodes::RequiredError)) || extras.empty())
    return error.what();
  std::vector<std::string> options;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      options.push_back("--" + name);
  std::string text = extras.size() > 1 ? "The following arguments were not expected:"
                                       : "The following argument was not expected:";
  for (const std::string &extra : extras)
    text += " " + extra +
            (extra.starts_with("--") ? didYouMean(extra.substr(0, extra.find('=')), options) : "");
  return text;
}

} // namespace devsan::core
