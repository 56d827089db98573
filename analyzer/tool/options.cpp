#include "analyzer/tool/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

namespace devsan::analyzer {

core::Result<std::optional<Options>> parseOptions(int argc, const char *const *argv) {
  Options options;
  options.jobs = std::max(1u, std::thread::hardware_concurrency());
  CLI::App app("Finds device bugs in C++ and CUDA sources that use LibTorch.\n"
               "devsan check [OPTIONS] FILE|DIR... [-- FLAGS]",
               "devsan check");
  app.set_version_flag("--version", "devsan " DEVSAN_VERSION);
  app.footer("FLAGS are compiler flags for every file, such as -Iinclude -DUSE_CUDA; they replace\n"
             "compile_commands.json.\n"
             "Exit status: 0 no findings, 1 findings, 2 could not do its work.");
  app.add_option("-p", options.build_dir, "Folder of compile_commands.json")
      ->type_name("BUILD_DIR");
  app.add_option("--checks", options.checks,
                 "Rules to check, as globs with commas; -GLOB takes rules away (default device-*)")
      ->type_name("GLOBS");
  app.add_flag("--fix", options.fix, "Apply the fixes that are safe");
  app.add_option("--format", options.format, "text or json (default text)")->type_name("FORMAT");
  app.add_option("-o", options.output, "Write the report to a file")->type_name("FILE");
  app.add_option("-j", options.jobs, "Files analysed at a time (default: one per core)")
      ->type_name("N")
      ->check(CLI::Range(1u, 1024u));
  app.add_option("--suppressions", options.suppressions,
                 "TOML file of `rule = \"glob\"` lines; may be given again")
      ->allow_extra_args(false) // one value each: the next argument may be a source file
      ->type_name("FILE");
  app.add_flag("--strict", options.strict, "Exit with 2 where a file could only be parsed in part");
  app.add_flag("--print-commands", options.print_commands,
               "Print how each file is read, as a compile_commands.json, and stop");
  app.add_option("--torch", options.torch,
                 "Folder of the torch package, or none (default: asked from the project's Python)")
      ->type_name("DIR");
  app.add_option("inputs", options.inputs, "Source files, or folders to walk")
      ->type_name("FILE|DIR");

  const char *const *end = argv + argc;
  const char *const *dashes =
      std::find_if(argv, end, [](const char *arg) { return std::strcmp(arg, "--") == 0; });
  options.has_flags = dashes != end;
  if (options.has_flags)
    options.flags.assign(dashes + 1, end);

  // CLI11 reports through exceptions; they end here.
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
  } catch (const CLI::Success &answer) {
    app.exit(answer);
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    return core::failure(std::string(error.what()) + "; see devsan check --help");
  }
  if (options.inputs.empty())
    return core::failure("no input: name source files or folders, as in devsan check src/");
  if (options.format == "sarif" || options.format == "html")
    return core::failure("--format=" + options.format + " is not supported yet; use text or json");
  if (options.format != "text" && options.format != "json")
    return core::failure("--format=" + options.format + " is unknown; use text or json");
  return options;
}

} // namespace devsan::analyzer
