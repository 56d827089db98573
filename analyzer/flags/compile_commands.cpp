#include "analyzer/flags/compile_commands.h"

#include "analyzer/files/report_paths.h"
#include "analyzer/flags/foreign_arguments.h"
#include "analyzer/flags/torch_macros.h"
#include "core/system/whole_file.h"

#include <clang/Tooling/CompilationDatabase.h>
#include <clang/Tooling/Inclusions/StandardLibrary.h>
#include <clang/Tooling/JSONCompilationDatabase.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <array>
#include <set>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

// Of a foreign command line only what changes the meaning of the source is kept: the rest belongs
// to another compiler or to code generation. Each of these takes its value joined or as the next
// argument.
constexpr std::array<StringRef, 5> kLocalOptions = {"-I", "-iquote", "-idirafter", "-include",
                                                    "-imacros"};
constexpr std::array<StringRef, 4> kCommonOptions = {"-isystem", "-D", "-U", "-std"};
constexpr std::array<StringRef, 6> kLanguageFlags = {
    "-fno-exceptions", "-fno-rtti", "-fopenmp", "-fsigned-char", "-funsigned-char", "-fchar8_t"};

// Without the precompiled header of another compiler's run, which CMake passes through -Xclang
// beside the header that it was made from.
std::vector<std::string> withoutPrecompiledHeader(const std::vector<std::string> &arguments) {
  std::vector<std::string> kept;
  for (const std::string &argument : arguments)
    if (argument != "-Xclang")
      kept.push_back(argument);
  for (auto found = llvm::find(kept, "-include-pch"); found != kept.end();
       found = llvm::find(kept, "-include-pch"))
    kept.erase(found, found + std::min<std::ptrdiff_t>(2, kept.end() - found));
  return kept;
}

bool has(const std::vector<std::string> &arguments, StringRef prefix) {
  return llvm::any_of(arguments, [&](StringRef argument) { return argument.starts_with(prefix); });
}

std::string besideExecutable(StringRef path) {
  llvm::SmallString<256> folder(llvm::sys::fs::getMainExecutable(nullptr, nullptr));
  llvm::sys::path::remove_filename(folder);
  llvm::sys::path::append(folder, "..", path);
  llvm::sys::path::remove_dots(folder, /*remove_dot_dot=*/true);
  return std::string(folder);
}

std::string absolute(StringRef folder, StringRef path) {
  llvm::SmallString<256> full(path);
  llvm::sys::path::make_absolute(folder, full);
  llvm::sys::path::remove_dots(full, /*remove_dot_dot=*/true);
  return std::string(full);
}

// clang reads these files as YAML, by recursion into what nests, and more nests in YAML than
// brackets do. A list of objects with strings and lists of strings is what there may be. Trailing
// commas and comments are taken, as clang does.
bool isFlatJson(StringRef text) {
  constexpr unsigned kMaxDepth = 8;
  unsigned depth = 0;
  text.consume_front("\xef\xbb\xbf");
  while (!text.empty()) {
    const char c = text.front();
    text = text.drop_front();
    if (c == '"') {
      while (!text.empty() && !text.consume_front("\""))
        text = text.drop_front(text.front() == '\\' ? 2 : 1);
    } else if (c == '#') {
      text = text.drop_until([](char d) { return d == '\n'; });
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth)
        return false;
    } else if (c == ']' || c == '}') {
      if (depth-- == 0)
        return false;
    } else if (llvm::isAlnum(c) || (c == '-' && !text.empty() && llvm::isDigit(text.front()))) {
      // true, null, numbers
      text =
          text.drop_while([](char d) { return llvm::isAlnum(d) || StringRef(".+-").contains(d); });
    } else if (!llvm::isSpace(c) && c != ',' && c != ':') {
      return false;
    }
  }
  return true;
}

// An absolute `file` lies where it says.
bool holds(StringRef folder, StringRef file) {
  return llvm::sys::fs::exists(absolute(folder, file));
}

// Such as those that a parser of C is given in place of the system's.
bool hidesStandardHeaders(StringRef folder) {
  using clang::tooling::stdlib::Header;
  return llvm::any_of(Header::all(clang::tooling::stdlib::Lang::C), [&](const Header &header) {
    return holds(folder, header.name().drop_front().drop_back());
  });
}

// Ours would come to stand beside those of a toolkit that lacks some of what LibTorch includes.
bool isWholeToolkit(StringRef folder) {
  return holds(folder, "cublas_v2.h") && holds(folder, "cusolverDn.h") &&
         holds(folder, "cusparse.h");
}

// One of the two folders that LibTorch's headers lie in.
bool isOfTorch(StringRef folder) {
  return holds(folder, "c10/core/Device.h") || holds(folder, "torch/nn/module.h");
}

} // namespace

CompileCommands::CompileCommands(const Options &options, std::optional<TorchLocation> torch)
    : options_(options), torch_(std::move(torch)),
      stubs_(besideExecutable("share/devsan/cuda_stubs")),
      resources_(besideExecutable("lib/clang/" DEVSAN_CLANG_MAJOR)) {
  if (!llvm::sys::fs::exists(resources_))
    resources_ = DEVSAN_CLANG_RESOURCES;
}

CompileCommands::~CompileCommands() = default;

core::Result<const clang::tooling::CompilationDatabase *>
CompileCommands::databaseFor(const std::string &file) {
  std::string path;
  if (!options_.build_dir.empty()) {
    path = absolute(currentFolder(), options_.build_dir) + "/compile_commands.json";
    if (!llvm::sys::fs::exists(path))
      return core::failure("-p " + options_.build_dir +
                           ": no compile_commands.json there; configure with "
                           "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON");
  } else {
    constexpr const char *kName = "compile_commands.json";
    constexpr const char *kInBuild = "build/compile_commands.json";
    const std::string folder = nearestFolderWith(file, {kName, kInBuild});
    if (folder.empty())
      return nullptr;
    path = folder + "/" + (holds(folder, kName) ? kName : kInBuild);
  }
  auto [entry, is_new] = databases_.try_emplace(path);
  if (is_new) {
    const core::Result<std::string> text = core::readFile(path, core::kMaxReport);
    if (!text)
      return tl::unexpected(text.error());
    std::string error = "it is not JSON, or nests too deep";
    if (isFlatJson(*text))
      entry->second = clang::tooling::JSONCompilationDatabase::loadFromBuffer(
          *text, error, clang::tooling::JSONCommandLineSyntax::AutoDetect);
    if (!entry->second) {
      std::replace(error.begin(), error.end(), '\n', ' ');
      return core::failure(path + ": cannot be read as a compilation database: " + error +
                           "; configure the build again, or give the flags after --");
    }
  }
  return entry->second.get();
}

core::Result<void> CompileCommands::adopt(CompileCommand &command,
                                          const core::Result<std::vector<std::string>> &foreign) {
  if (!foreign)
    return tl::unexpected(foreign.error());
  const auto plain = plainArguments(*foreign, command.folder);
  if (!plain)
    return tl::unexpected(plain.error());
  const std::vector<std::string> arguments = withoutPrecompiledHeader(*plain);
  const auto take = [&](StringRef option, StringRef value, std::vector<std::string> &to) {
    if (option == "-std") {
      to.push_back(("-std=" + value).str());
      return;
    }
    if (value.starts_with("-"))
      return; // neither a macro nor a file is called so
    to.push_back(option.str());
    const bool is_path = option == "-I" || option.starts_with("-i");
    // A forced include is searched for like any other, unless it lies in the folder of the command.
    const bool is_include = option == "-include" || option == "-imacros";
    to.push_back(is_path && (!is_include || holds(command.folder, value))
                     ? absolute(command.folder, value)
                     : value.str());
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const StringRef argument = arguments[i];
    const auto match = [&](StringRef option, std::vector<std::string> &to) {
      if (!argument.starts_with(option) || (option == "-std" && !argument.starts_with("-std=")))
        return false;
      StringRef value = argument.drop_front(option.size());
      value.consume_front("=");
      if (!value.empty())
        take(option, value, to);
      else if (i + 1 < arguments.size())
        take(option, arguments[++i], to);
      return true;
    };
    // Longer names first: -include and -isystem are not -I with a value, as the comparison is of
    // case.
    if (llvm::is_contained(kLanguageFlags, argument))
      command.common.push_back(argument.str());
    else if (!llvm::any_of(kLocalOptions, [&](StringRef o) { return match(o, command.local); }) &&
             !llvm::any_of(kCommonOptions, [&](StringRef o) { return match(o, command.common); }) &&
             argument == "-x")
      ++i;
  }
  return {};
}

void CompileCommands::addTorchOf(const clang::tooling::CompilationDatabase &database,
                                 CompileCommand &command) {
  auto [entry, is_new] = torch_of_database_.try_emplace(&database);
  if (is_new) {
    std::set<std::string> seen;
    for (const clang::tooling::CompileCommand &other : database.getAllCompileCommands()) {
      CompileCommand adopted;
      adopted.folder = other.Directory;
      if (!adopt(adopted, other.CommandLine))
        continue; // told where that file is read
      for (const std::vector<std::string> *list : {&adopted.local, &adopted.common})
        for (std::size_t i = 0; i + 1 < list->size(); ++i)
          if ((*list)[i].starts_with("-I") || (*list)[i].starts_with("-i"))
            if (const std::string &folder = (*list)[++i];
                seen.insert(folder).second && isOfTorch(folder))
              entry->second.push_back(folder);
      if (!entry->second.empty())
        break;
    }
  }
  for (const std::string &folder : entry->second)
    command.common.insert(command.common.end(), {"-isystem", folder});
}

void CompileCommands::derive(CompileCommand &command) {
  const Project &project = projects_.of(command.file);
  // A folder that is also given by -idirafter counts as a system folder, whose code is not looked
  // at: those that the project's scripts name stay its own.
  const auto add = [&](const char *option, const std::string &folder) {
    for (size_t i = 0; i + 1 < command.local.size(); i += 2)
      if (command.local[i] == "-I" && command.local[i + 1] == folder)
        return;
    command.local.insert(command.local.end(), {option, folder});
  };
  // Only what is called "include" is meant to come before the system's folders: a semaphore.h or
  // string.h of the project must not hide libc's. #include "signal.h" still means the project's.
  for (const std::string &folder : project.include_folders) {
    const bool is_include = llvm::sys::path::filename(folder) == "include";
    const auto [known, is_new] = hides_standard_headers_.try_emplace(folder);
    if (is_new)
      known->second = is_include && hidesStandardHeaders(folder);
    const bool hides = known->second;
    if (hides)
      add("-iquote", folder);
    add(is_include && !hides ? "-I" : "-idirafter", folder);
  }
  // Those from which the file's includes resolve as they are spelled come first.
  if (project.includes) {
    const IncludeFolders::Reached reached =
        project.includes->of(command.file, project.include_folders);
    command.needs_cuda = reached.needs_cuda;
    for (const std::string &folder : reached.folders)
      add("-idirafter", folder);
  }
  for (const std::string &folder : project.header_folders)
    add("-idirafter", folder);
  if (!has(command.common, "TORCH_EXTENSION_NAME"))
    command.common.insert(command.common.end(), {"-D", "TORCH_EXTENSION_NAME=extension"});
  // What the setup.py of nearly every extension with .cu files defines.
  if (project.has_cuda)
    command.common.insert(command.common.end(), {"-D", "WITH_CUDA"});
}

void CompileCommands::finish(CompileCommand &command) {
  std::vector<std::string> &common = command.common;
  if (!has(common, "-std="))
    common.push_back("-std=c++20");
  if (!has(common, "_GLIBCXX_USE_CXX11_ABI"))
    common.insert(common.end(), {"-D", "_GLIBCXX_USE_CXX11_ABI=1"});
  // A folder given by -I and by -isystem counts as a system folder, so LibTorch is one however the
  // project spells it.
  std::vector<std::string> system_folders;
  for (size_t i = 0; i + 1 < command.local.size(); i += 2)
    if (command.local[i] == "-I" && isOfTorch(command.local[i + 1]))
      system_folders.push_back(command.local[i + 1]);
  if (torch_)
    system_folders.insert(system_folders.end(), torch_->include_folders.begin(),
                          torch_->include_folders.end());
  if (!system_folders.empty()) // what LibTorch's headers lack of older releases
    common.insert(common.end(), {"-isystem", stubs_ + "/older_torch"});
  for (const std::string &folder : system_folders)
    if (!llvm::is_contained(common, folder))
      common.insert(common.end(), {"-isystem", folder});
  const bool is_cuda = command.needs_cuda || isCudaFile(command.file) || isCudaHeader(command.file);
  // Our declarations instead of a toolkit's headers, where these need nvcc's or the driver's own
  // preparations, or are not all there. Other libraries may share the toolkit's folder.
  std::vector<std::string> behind_stubs;
  for (std::vector<std::string> *list : {&command.local, &common})
    for (size_t i = 0; i + 1 < list->size();)
      if (const std::string &folder = (*list)[i + 1];
          ((*list)[i] == "-I" || (*list)[i].starts_with("-i")) &&
          holds(folder, "crt/host_config.h") && (is_cuda || !isWholeToolkit(folder))) {
        behind_stubs.insert(behind_stubs.end(), {"-idirafter", folder});
        list->erase(list->begin() + i, list->begin() + i + 2);
      } else {
        ++i;
      }
  if (is_cuda) {
    common.insert(common.end(), {"-x", "cuda", "--cuda-host-only", "-nocudalib", "-nocudainc",
                                 "-Wno-unknown-cuda-version", "-isystem", stubs_, "-include",
                                 stubs_ + "/forced_include.h"});
  } else {
    common.insert(common.end(), {"-x", "c++", "-idirafter", stubs_});
  }
  common.insert(common.end(), behind_stubs.begin(), behind_stubs.end());
  // A name that is not known is not another one, and looking for that takes long. Warnings that
  // clang makes errors of, such as narrowing, do not stop other compilers.
  common.insert(common.end(), {"-resource-dir", resources_, "-ferror-limit=0", "-w",
                               "-Wno-everything", "-fno-spell-checking"});
}

void CompileCommands::nameOwnFolders(CompileCommand &command, const CompileCommand &of_user) {
  const std::string root = projectRoot(command.file);
  const auto isOwn = [&](const std::string &folder) {
    const auto [known, is_new] = is_own_.try_emplace({root, folder});
    if (is_new)
      known->second = isInProject(root, folder) && !isOfTorch(folder);
    return known->second;
  };
  const auto ofUser = [&](const std::string &folder) {
    return llvm::is_contained(of_user.local, folder) || llvm::is_contained(of_user.common, folder);
  };
  for (const std::vector<std::string> *list : {&command.local, &command.common})
    for (std::size_t i = 0; i + 1 < list->size(); ++i)
      if (const std::string &option = (*list)[i]; option == "-idirafter" || option == "-isystem")
        if (const std::string &folder = (*list)[++i]; !ofUser(folder) && isOwn(folder))
          command.own_folders.push_back(folder);
}

std::string CompileCommands::stubsIdentity() const {
  std::vector<std::string> lines;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator it(stubs_, error), end; !error && it != end;
       it.increment(error))
    if (const auto status = it->status())
      lines.push_back(it->path() + " " + std::to_string(status->getSize()) + " " +
                      std::to_string(status->getLastModificationTime().time_since_epoch().count()));
  llvm::sort(lines);
  return stubs_ + "\n" + llvm::join(lines, "\n");
}

core::Result<CompileCommand> CompileCommands::of(const std::string &file) {
  CompileCommand command, of_user;
  command.file = file;
  // Derived flags hold absolute paths alone, so that the files of a project can have one folder,
  // and share what depends on it.
  command.folder = projectRoot(file);
  if (command.folder.empty())
    command.folder = llvm::sys::path::parent_path(file).str();
  if (options_.has_flags) {
    if (auto good = adopt(command, project_flags_.of(file)); !good)
      return tl::unexpected(good.error());
    command.folder = of_user.folder = currentFolder();
    for (CompileCommand *adopting : {&command, &of_user})
      if (auto good = adopt(*adopting, options_.flags); !good)
        return tl::unexpected(good.error());
    derive(command);
  } else {
    auto database = databaseFor(file);
    if (!database)
      return tl::unexpected(database.error());
    const auto known = *database ? (*database)->getCompileCommands(file)
                                 : std::vector<clang::tooling::CompileCommand>();
    if (known.empty()) {
      if (auto good = adopt(command, project_flags_.of(file)); !good)
        return tl::unexpected(good.error());
      derive(command);
      if (*database && options_.torch != "none")
        addTorchOf(**database, command);
      for (const std::string &macro : macrosForTorch(command))
        if (!isOfOtherPlatform(macro))
          command.common.insert(command.common.end(), {"-D", macro});
      command.missing_in_database = *database != nullptr;
    } else {
      command.in_database = true;
      command.folder = known.front().Directory;
      if (auto good = adopt(command, known.front().CommandLine); !good)
        return tl::unexpected(good.error());
    }
  }
  const std::string folder = std::exchange(command.folder, options_.extra_flags_folder);
  if (auto good = adopt(command, options_.extra_flags); !good)
    return tl::unexpected(good.error());
  command.folder = folder;
  nameOwnFolders(command, of_user);
  finish(command);
  return command;
}

} // namespace devsan::analyzer
