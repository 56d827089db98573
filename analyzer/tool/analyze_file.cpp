#include "analyzer/tool/analyze_file.h"

#include "analyzer/tool/function_names.h"
#include "analyzer/tool/launch_spelling.h"
#include "core/rule_table.h"

#include <clang-tidy/ClangTidy.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Tooling/Tooling.h>
#include <llvm/Support/Path.h>

#include <algorithm>

namespace devsan::analyzer {
namespace {

using clang::tidy::ClangTidyError;

// Notes the headers that are not there. They are no errors: what parses without them is analysed.
class MissingHeaders : public clang::PPCallbacks {
public:
  explicit MissingHeaders(std::vector<std::string> &names) : names_(names) {}

  void InclusionDirective(clang::SourceLocation, const clang::Token &, llvm::StringRef name, bool,
                          clang::CharSourceRange, clang::OptionalFileEntryRef file, llvm::StringRef,
                          llvm::StringRef, const clang::Module *, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    if (!file && !llvm::is_contained(names_, name))
      names_.push_back(name.str());
  }

private:
  std::vector<std::string> &names_;
};

// Decides what is parsed and looked at. Bodies and declarations of system headers, LibTorch's among
// them, are neither; nor are bodies that run on the device only: no rule looks at them, and they
// use intrinsics that only a toolkit declares. Runs before the checks' consumer, which then sees
// the narrowed scope.
class UserCode : public clang::ASTConsumer {
public:
  UserCode(const clang::SourceManager &sources, FunctionNames &names)
      : sources_(sources), names_(names) {}

  bool shouldSkipFunctionBody(clang::Decl *decl) override {
    return isSystem(decl) || isDeviceOnly(decl);
  }

  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl *decl : group)
      if (!isSystem(decl))
        decls_.push_back(decl);
    return true;
  }

  void HandleTranslationUnit(clang::ASTContext &context) override {
    names_.add(decls_);
    context.setTraversalScope(decls_);
  }

private:
  bool isSystem(const clang::Decl *decl) const {
    return sources_.isInSystemHeader(sources_.getExpansionLoc(decl->getLocation()));
  }

  static bool isDeviceOnly(clang::Decl *decl) {
    const clang::FunctionDecl *function = decl->getAsFunction(); // of a template too
    return function && (function->hasAttr<clang::CUDAGlobalAttr>() ||
                        (function->hasAttr<clang::CUDADeviceAttr>() &&
                         !function->hasAttr<clang::CUDAHostAttr>()));
  }

  const clang::SourceManager &sources_;
  FunctionNames &names_;
  std::vector<clang::Decl *> decls_;
};

class CheckAction : public clang::ASTFrontendAction {
public:
  CheckAction(clang::tidy::ClangTidyContext &context, FunctionNames &names, FileResult &result)
      : factory_(context), names_(names), result_(result) {}

  bool BeginInvocation(clang::CompilerInstance &compiler) override {
    compiler.getFrontendOpts().SkipFunctionBodies = true;
    compiler.getFrontendOpts().DisableFree = true;
    return true;
  }

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &compiler,
                                                        llvm::StringRef file) override {
    clang::Preprocessor &preprocessor = compiler.getPreprocessor();
    preprocessor.SetSuppressIncludeNotFoundError(true);
    preprocessor.addPPCallbacks(std::make_unique<MissingHeaders>(result_.missing_headers));
    std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
    consumers.push_back(std::make_unique<UserCode>(compiler.getSourceManager(), names_));
    consumers.push_back(factory_.createASTConsumer(compiler, file));
    return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
  }

private:
  clang::tidy::ClangTidyASTConsumerFactory factory_;
  FunctionNames &names_;
  FileResult &result_;
};

// Turns clang-tidy's byte offsets into places.
class Places {
public:
  explicit Places(const FunctionNames &names) : names_(names) {}

  core::Location at(llvm::StringRef file, unsigned offset) {
    core::Location location;
    location.file = file.str();
    auto [buffer, is_new] = buffers_.try_emplace(file);
    if (is_new)
      if (auto text = llvm::MemoryBuffer::getFile(file))
        buffer->second = std::move(*text);
    if (!buffer->second)
      return location;
    const llvm::StringRef before = buffer->second->getBuffer().take_front(offset);
    location.line = before.count('\n') + 1;
    location.column = offset - (before.rfind('\n') + 1) + 1;
    location.function = names_.at(file, offset);
    return location;
  }

private:
  const FunctionNames &names_;
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> buffers_;
};

core::Finding toFinding(const ClangTidyError &error, const core::Rule &rule, Places &places) {
  core::Finding finding;
  finding.rule = error.DiagnosticName;
  finding.severity = rule.severity;
  finding.message = error.Message.Message;
  finding.locations.push_back(places.at(error.Message.FilePath, error.Message.FileOffset));
  for (const clang::tooling::DiagnosticMessage &note : error.Notes)
    finding.related.push_back({places.at(note.FilePath, note.FileOffset), note.Message});
  for (const auto &file : error.Message.Fix)
    for (const clang::tooling::Replacement &fix : file.second)
      finding.fix.push_back(
          {file.first().str(), fix.getOffset(), fix.getLength(), fix.getReplacementText().str()});
  return finding;
}

std::vector<std::string> clangArguments(const CompileCommand &command) {
  std::vector<std::string> arguments = {"clang++"};
  for (const std::string &argument : command.local) {
    // Given a forced include, the driver looks for a precompiled form beside it (header.h.pch,
    // .gch) and takes it, though it may be another compiler's or of other options. The front end
    // does not.
    if (argument == "-include")
      arguments.insert(arguments.end(), {"-Xclang", argument, "-Xclang"});
    else
      arguments.push_back(argument);
  }
  arguments.insert(arguments.end(), command.common.begin(), command.common.end());
  arguments.push_back("-fsyntax-only");
  return arguments;
}

// The text of a precompiled header is a file that exists in memory only: clang wants to see it
// again, unchanged, whenever it loads the header.
std::string headerTextFile(const CompileCommand &command) {
  return isCudaFile(command.file) ? "/devsan-precompiled.cu" : "/devsan-precompiled.cpp";
}

bool run(const CompileCommand &command, const std::vector<std::string> &arguments,
         const PrecompiledHeader *header, std::unique_ptr<clang::FrontendAction> action,
         clang::DiagnosticConsumer &consumer) {
  llvm::sys::fs::set_current_path(command.folder);
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(
      joiningChevrons(llvm::vfs::getRealFileSystem()));
  if (header) {
    auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
    memory->addFile(headerTextFile(command), 0, llvm::MemoryBuffer::getMemBuffer(header->text));
    overlay->pushOverlay(memory);
  }
  auto files = llvm::makeIntrusiveRefCnt<clang::FileManager>(clang::FileSystemOptions(), overlay);
  clang::tooling::ToolInvocation invocation(arguments, std::move(action), files.get());
  invocation.setDiagnosticConsumer(&consumer);
  return invocation.run();
}

class PrecompileAction : public clang::GeneratePCHAction {
public:
  explicit PrecompileAction(std::string output) : output_(std::move(output)) {}

  bool BeginInvocation(clang::CompilerInstance &compiler) override {
    compiler.getFrontendOpts().OutputFile = output_;
    compiler.getFrontendOpts().ProgramAction = clang::frontend::GeneratePCH;
    compiler.getFrontendOpts().SkipFunctionBodies = true;
    return true;
  }

private:
  std::string output_;
};

} // namespace

FileResult analyzeFile(const CompileCommand &command, const std::string &checks,
                       const PrecompiledHeader *header) {
  FileResult result;
  clang::tidy::ClangTidyOptions options = clang::tidy::ClangTidyOptions::getDefaults();
  options.Checks = "-*," + checks;
  options.HeaderFilterRegex = ".*";
  clang::tidy::ClangTidyContext context(std::make_unique<clang::tidy::DefaultOptionsProvider>(
      clang::tidy::ClangTidyGlobalOptions(), std::move(options)));
  clang::tidy::ClangTidyDiagnosticConsumer consumer(context);
  auto diagnostic_options = std::make_unique<clang::DiagnosticOptions>();
  clang::DiagnosticsEngine engine(llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(),
                                  *diagnostic_options, &consumer,
                                  /*ShouldOwnClient=*/false);
  context.setDiagnosticsEngine(std::move(diagnostic_options), &engine);
  context.setCurrentBuildDirectory(command.folder);

  std::vector<std::string> arguments = clangArguments(command);
  if (header)
    arguments.insert(arguments.end(), {"-include-pch", header->path});
  arguments.push_back(command.file);
  FunctionNames names;
  run(command, arguments, header, std::make_unique<CheckAction>(context, names, result), consumer);

  Places places(names);
  for (const ClangTidyError &error : consumer.take()) {
    if (const core::Rule *rule = core::findRule(error.DiagnosticName)) {
      result.findings.push_back(toFinding(error, *rule, places));
    } else if (error.DiagLevel == clang::tooling::Diagnostic::Error && result.errors++ == 0) {
      const core::Location place = places.at(error.Message.FilePath, error.Message.FileOffset);
      result.first_error = place.file.empty() ? error.Message.Message
                                              : place.file + ":" + std::to_string(place.line) +
                                                    ": " + error.Message.Message;
    }
  }
  result.suppressed = context.getStats().ErrorsIgnoredNOLINT;
  // What did not parse may hide why the code is as it is.
  if (result.isPartial())
    for (core::Finding &finding : result.findings)
      finding.fix.clear();
  return result;
}

bool precompile(const CompileCommand &command, const PrecompiledHeader &header) {
  std::vector<std::string> arguments = {"clang++"};
  arguments.insert(arguments.end(), command.common.begin(), command.common.end());
  arguments.insert(arguments.end(),
                   {"-fsyntax-only", "-fpch-instantiate-templates", headerTextFile(command)});
  clang::IgnoringDiagConsumer consumer;
  return run(command, arguments, &header, std::make_unique<PrecompileAction>(header.path),
             consumer);
}

} // namespace devsan::analyzer
