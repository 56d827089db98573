// The compiler arguments of each file: from compile_commands.json, from the command line, or
// derived from the project. Whatever their origin they come out in one form that clang parses
// without the project's compiler, CUDA toolkit or build, with LibTorch as system headers.
#pragma once

#include "analyzer/files/source_files.h"
#include "analyzer/flags/project_flags.h"
#include "analyzer/flags/torch_location.h"
#include "analyzer/settings/options.h"
#include "core/system/result.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace clang::tooling {
class CompilationDatabase;
}

namespace devsan::analyzer {

struct CompileCommand {
  std::string file;
  std::string folder; // relative paths start here
  std::vector<std::string>
      common; // macros, language, system folders: what a precompiled header depends on
  std::vector<std::string> local;       // the project's own include folders and forced includes
  std::vector<std::string> own_folders; // whose headers are looked at, though clang's option for
                                        // the folder makes them a system's
  std::vector<std::string> only;        // headers for whose sake alone the file is read
  bool needs_cuda = false;              // its name does not tell, but what it includes does
  bool missing_in_database = false;     // there is a compile_commands.json, without this file
  bool in_database = false;
};

class CompileCommands {
public:
  CompileCommands(const Options &options, std::optional<TorchLocation> torch);
  ~CompileCommands();

  // An unreadable compile_commands.json is an error that names it.
  core::Result<CompileCommand> of(const std::string &file);

  // The folder of our CUDA declarations.
  const std::string &stubs() const { return stubs_; }
  // What tells our CUDA declarations from those of another version.
  std::string stubsIdentity() const;

private:
  using Database = std::unique_ptr<clang::tooling::CompilationDatabase>;

  core::Result<const clang::tooling::CompilationDatabase *> databaseFor(const std::string &file);
  void derive(CompileCommand &command);
  core::Result<void> adopt(CompileCommand &command,
                           const core::Result<std::vector<std::string>> &arguments);
  // LibTorch as the other files of the build have it.
  void addTorchOf(const clang::tooling::CompilationDatabase &database, CompileCommand &command);
  // Those that lie in the project, but for what the user calls a system's folder.
  void nameOwnFolders(CompileCommand &command, const CompileCommand &of_user);
  void finish(CompileCommand &command);

  const Options &options_;
  std::optional<TorchLocation> torch_;
  Projects projects_;
  std::map<std::string, bool> hides_standard_headers_; // of an include folder
  ProjectFlags project_flags_;
  std::map<std::string, Database> databases_;
  std::map<const clang::tooling::CompilationDatabase *, std::vector<std::string>>
      torch_of_database_;                                      // include folders
  std::map<std::pair<std::string, std::string>, bool> is_own_; // by root and folder
  std::string stubs_;
  std::string resources_;
};

} // namespace devsan::analyzer
