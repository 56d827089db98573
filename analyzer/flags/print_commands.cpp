#include "analyzer/flags/print_commands.h"

#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

namespace devsan::analyzer {
namespace {

// Without what concerns this program alone: its own headers of the compiler, and that the
// compiler's own warnings are not wanted.
std::vector<std::string> withoutOwnArguments(const std::vector<std::string> &arguments) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i] == "-resource-dir")
      ++i;
    else if (arguments[i] == "-Wno-everything")
      kept.push_back("-Wno-c++11-narrowing"); // else an error
    else if (arguments[i] != "-w" && arguments[i] != "-ferror-limit=0")
      kept.push_back(arguments[i]);
  return kept;
}

} // namespace

std::string commandsText(const std::vector<CompileCommand> &commands) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::json::OStream json(out, /*IndentSize=*/2);
  json.array([&] {
    for (const CompileCommand &command : commands)
      json.object([&] {
        json.attribute("directory", command.folder);
        json.attribute("file", command.file);
        json.attributeArray("arguments", [&] {
          json.value("clang++");
          for (const std::vector<std::string> *list : {&command.local, &command.common})
            for (const std::string &argument : withoutOwnArguments(*list))
              json.value(argument);
          for (const char *last : {"-fsyntax-only", "--"})
            json.value(last);
          json.value(command.file);
        });
      });
  });
  out << "\n";
  return text;
}

} // namespace devsan::analyzer
