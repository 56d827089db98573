#include "analyzer/run/analysis.h"

#include "analyzer/files/report_paths.h"
#include "analyzer/model/cuda/cuda_work.h"
#include "analyzer/model/model.h"
#include "analyzer/parse/clang_run.h"
#include "analyzer/parse/seen_lines.h"
#include "analyzer/parse/unknown_macros.h"
#include "analyzer/parse/unknown_names.h"
#include "analyzer/run/torch_header.h"
#include "analyzer/system/cache_folder.h"
#include "analyzer/system/processes.h"

#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Lex/HeaderSearch.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <clang/Sema/MultiplexExternalSemaSource.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/SemaConsumer.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>

namespace devsan::analyzer {
namespace {

using clang::tidy::ClangTidyError;

// Notes the headers that are not there. They are no errors: what parses without them is analysed.
class IncludedHeaders : public clang::PPCallbacks {
public:
  explicit IncludedHeaders(FileResult &result) : result_(result) {}

  void InclusionDirective(clang::SourceLocation, const clang::Token &, llvm::StringRef name, bool,
                          clang::CharSourceRange, clang::OptionalFileEntryRef file, llvm::StringRef,
                          llvm::StringRef, const clang::Module *, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    if (file)
      result_.found_torch |= isTorchInclude(name);
    else if (!llvm::is_contained(result_.missing_headers, name))
      result_.missing_headers.push_back(name.str());
  }

private:
  FileResult &result_;
};

// Ends the analysis of a source that doubles itself, by macros or by includes, long before its time
// and memory are over. LibTorch's headers take a hundredth of that.
class TokenBudget : public clang::PPCallbacks {
public:
  void MacroExpands(const clang::Token &, const clang::MacroDefinition &macro, clang::SourceRange,
                    const clang::MacroArgs *) override {
    const clang::MacroInfo *info = macro.getMacroInfo();
    spend(1 + (info ? info->getNumTokens() : 0));
  }
  void FileChanged(clang::SourceLocation, FileChangeReason reason,
                   clang::SrcMgr::CharacteristicKind, clang::FileID) override {
    if (reason == EnterFile)
      spend(kFile);
  }

private:
  static constexpr std::uint64_t kFile = 1'000;
  static constexpr std::uint64_t kMaxTokens = 100'000'000;

  void spend(std::uint64_t tokens) {
    spent_ += tokens;
    if (spent_ > kMaxTokens)
      endBy(Limit::kTokens);
  }

  std::uint64_t spent_ = 0;
};

// Decides what is parsed and looked at. Bodies and declarations of system headers, LibTorch's among
// them, are neither; nor are bodies that run on the device only: no rule looks at them, and they
// use intrinsics that only a toolkit declares. Runs before the checks' consumer, which then sees
// the narrowed scope.
class UserCode : public clang::SemaConsumer {
public:
  UserCode(clang::SourceManager &sources, bool stand_ins, FunctionNames &names, FileResult &result)
      : sources_(sources), stand_ins_(stand_ins), names_(names), result_(result) {}

  void InitializeSema(clang::Sema &sema) override {
    if (!stand_ins_)
      return;
    unknown_ = llvm::makeIntrusiveRefCnt<UnknownNames>([this, &sema] {
      return !result_.missing_headers.empty() || sema.getDiagnostics().hasErrorOccurred();
    });
    sema.addExternalSource(unknown_);
    // Layouts are asked for there; C++20 has brought a reader of modules.
    if (const auto reader = llvm::dyn_cast_if_present<clang::ExternalSemaSource>(
            sema.Context.getExternalSourcePtr().get()))
      sema.Context.setExternalSource(
          llvm::makeIntrusiveRefCnt<clang::MultiplexExternalSemaSource>(reader, unknown_));
    else
      sema.Context.setExternalSource(unknown_);
    unknown_->InitializeSema(sema);
  }

  bool shouldSkipFunctionBody(clang::Decl *decl) override {
    const bool is_own = isInUserCode(sources_, decl->getLocation());
    if (unknown_ && is_own)
      unknown_->enter(decl);
    return !is_own || isDeviceOnly(decl);
  }

  void HandleTagDeclDefinition(clang::TagDecl *tag) override {
    if (unknown_)
      unknown_->settle(tag);
  }

  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl *decl : group)
      if (isInUserCode(sources_, decl->getLocation()))
        decls_.push_back(decl);
    return true;
  }

  void HandleTranslationUnit(clang::ASTContext &context) override {
    ignoreLineMarkers(sources_);
    names_.add(decls_);
    result_.has_functions = !names_.empty();
    result_.is_cut_off = context.getDiagnostics().hasFatalErrorOccurred();
    context.setTraversalScope(decls_);
    if (context.getDiagnostics().hasErrorOccurred() || !result_.missing_headers.empty()) {
      const SeenLines lines = seenLines(context, decls_, analysedFile());
      result_.lines = lines.all;
      result_.lines_seen = lines.seen;
    }
    noteFilesRead();
  }

private:
  // Clang's main file, or the one that a header server has entered.
  clang::FileID analysedFile() const {
    for (unsigned i = 0; i < sources_.local_sloc_entry_size(); ++i) {
      const clang::SrcMgr::SLocEntry &entry = sources_.getLocalSLocEntry(i);
      if (!entry.isFile() || entry.getFile().getIncludeLoc().isValid())
        continue;
      const clang::OptionalFileEntryRef file = entry.getFile().getContentCache().OrigEntry;
      if (file && !file->getName().starts_with(kMemoryFilePrefix))
        return sources_.translateFile(*file);
    }
    return {};
  }

  void noteFilesRead() {
    for (unsigned i = 0; i < sources_.local_sloc_entry_size(); ++i) {
      const clang::SrcMgr::SLocEntry &entry = sources_.getLocalSLocEntry(i);
      if (!entry.isFile() || clang::SrcMgr::isSystem(entry.getFile().getFileCharacteristic()))
        continue;
      const clang::OptionalFileEntryRef file = entry.getFile().getContentCache().OrigEntry;
      if (!file || file->getName().starts_with(kMemoryFilePrefix))
        continue;
      llvm::SmallString<256> path(file->getName());
      sources_.getFileManager().makeAbsolutePath(path);
      const std::optional<llvm::StringRef> text =
          entry.getFile().getContentCache().getBufferDataIfLoaded();
      result_.files_read.try_emplace(std::string(path), text ? checksum(*text) : "");
    }
  }

  static bool isDeviceOnly(clang::Decl *decl) {
    const clang::FunctionDecl *function = decl->getAsFunction(); // of a template too
    return function && (function->hasAttr<clang::CUDAGlobalAttr>() ||
                        (function->hasAttr<clang::CUDADeviceAttr>() &&
                         !function->hasAttr<clang::CUDAHostAttr>()));
  }

  clang::SourceManager &sources_;
  bool stand_ins_;
  FunctionNames &names_;
  FileResult &result_;
  llvm::IntrusiveRefCntPtr<UnknownNames> unknown_;
  std::vector<clang::Decl *> decls_;
};

// What other files need to know of this one. Keeps the models for the checks that come after it.
class ForOtherFiles : public clang::ASTConsumer {
public:
  ForOtherFiles(FileResult &result, bool of_data) : result_(result), of_data_(of_data) {}

  void HandleTranslationUnit(clang::ASTContext &context) override {
    program_ = CudaProgram::of(context);
    model_ = DeviceModel::of(context);
    result_.calls = collectCalls(context);
    if (of_data_)
      result_.data = model_->data();
  }

private:
  FileResult &result_;
  bool of_data_;
  std::shared_ptr<CudaProgram> program_;
  std::shared_ptr<DeviceModel> model_;
};

// The checks, and what they say.
class Checks : public clang::MultiplexConsumer {
public:
  Checks(std::vector<std::unique_ptr<clang::ASTConsumer>> checks, const FunctionNames &names,
         Said &said)
      : MultiplexConsumer(std::move(checks)), names_(names), said_(said) {}

  void HandleTranslationUnit(clang::ASTContext &context) override {
    Diagnoses diagnoses;
    MultiplexConsumer::HandleTranslationUnit(context);
    Places places(names_);
    said_.add(diagnoses.take(), context.getSourceManager(), places);
  }

private:
  const FunctionNames &names_;
  Said &said_;
};

class CheckAction : public clang::ASTFrontendAction {
public:
  CheckAction(clang::tidy::ClangTidyContext &context, const std::vector<std::string> &own_folders,
              bool stand_ins, FunctionNames &names, Said &said, FileResult &result,
              Analysis::ExtraConsumers more)
      : context_(context), own_folders_(own_folders), stand_ins_(stand_ins), factory_(context),
        names_(names), said_(said), result_(result), more_(std::move(more)) {}

  bool BeginInvocation(clang::CompilerInstance &compiler) override {
    compiler.getFrontendOpts().SkipFunctionBodies = true;
    compiler.getFrontendOpts().DisableFree = true;
    compiler.getPreprocessorOpts().DisablePragmaDebugCrash = true; // a source may ask for it
    return true;
  }

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &compiler,
                                                        llvm::StringRef file) override {
    clang::Preprocessor &preprocessor = compiler.getPreprocessor();
    preprocessor.SetSuppressIncludeNotFoundError(true);
    for (clang::DirectoryLookup &folder : preprocessor.getHeaderSearchInfo().search_dir_range())
      if (folder.isNormalDir() && llvm::is_contained(own_folders_, folder.getName()))
        folder = clang::DirectoryLookup(*folder.getDirRef(), clang::SrcMgr::C_User,
                                        /*isFramework=*/false);
    preprocessor.addPPCallbacks(std::make_unique<IncludedHeaders>(result_));
    preprocessor.addPPCallbacks(std::make_unique<TokenBudget>());
    if (stand_ins_)
      preprocessor.addPPCallbacks(std::make_unique<UnknownMacros>(preprocessor));
    std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
    consumers.push_back(
        std::make_unique<UserCode>(compiler.getSourceManager(), stand_ins_, names_, result_));
    if (more_)
      for (std::unique_ptr<clang::ASTConsumer> &consumer : more_(compiler))
        consumers.push_back(std::move(consumer));
    const auto runs_one = [&](llvm::ArrayRef<llvm::StringLiteral> rules) {
      return llvm::any_of(rules,
                          [&](llvm::StringRef rule) { return context_.isCheckEnabled(rule); });
    };
    const bool of_data = runs_one(kRulesOfData);
    if (of_data || runs_one(kRulesAcrossFiles))
      consumers.push_back(std::make_unique<ForOtherFiles>(result_, of_data));
    std::vector<std::unique_ptr<clang::ASTConsumer>> checks;
    checks.push_back(factory_.createASTConsumer(compiler, file));
    consumers.push_back(std::make_unique<Checks>(std::move(checks), names_, said_));
    return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
  }

private:
  clang::tidy::ClangTidyContext &context_;
  const std::vector<std::string> &own_folders_;
  bool stand_ins_;
  clang::tidy::ClangTidyASTConsumerFactory factory_;
  FunctionNames &names_;
  Said &said_;
  FileResult &result_;
  Analysis::ExtraConsumers more_;
};

// "tests/../net.h" and "./net.h" are net.h, unless a link stands in between.
std::string plainPath(const std::string &path) {
  llvm::SmallString<256> plain(path);
  bool is_same = false;
  const bool changes = llvm::sys::path::remove_dots(plain, /*remove_dot_dot=*/true) &&
                       !llvm::sys::fs::equivalent(path, plain, is_same) && is_same;
  return changes ? std::string(plain) : path;
}

// So that one place has one name, from whichever file it was included.
void makePathsPlain(FileResult &result) {
  forEachPath(result.findings, [](std::string &path) { path = plainPath(path); });
  for (FileCalls::Function &function : result.calls.functions)
    for (FileCalls::Place *place : {&function.body, &function.launch})
      place->file = plainPath(place->file);
  std::map<std::string, std::string> files_read;
  for (auto &[file, checksum] : result.files_read)
    files_read.try_emplace(plainPath(file), std::move(checksum));
  result.files_read = std::move(files_read);
}

clang::tidy::ClangTidyOptions optionsFor(const std::string &checks) {
  clang::tidy::ClangTidyOptions options = clang::tidy::ClangTidyOptions::getDefaults();
  options.Checks = "-*," + checks;
  options.HeaderFilterRegex = ".*";
  return options;
}

} // namespace

Analysis::Analysis(const std::string &checks, const CompileCommand &command, bool stand_ins)
    : own_folders_(command.own_folders), stand_ins_(stand_ins),
      context_(std::make_unique<clang::tidy::DefaultOptionsProvider>(
          clang::tidy::ClangTidyGlobalOptions(), optionsFor(checks))),
      // Fixes that overlap are for who applies them.
      consumer_(context_, /*ExternalDiagEngine=*/nullptr, /*RemoveIncompatibleErrors=*/false) {
  auto diagnostic_options = std::make_unique<clang::DiagnosticOptions>();
  engine_ = std::make_unique<clang::DiagnosticsEngine>(
      llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(), *diagnostic_options, &consumer_,
      /*ShouldOwnClient=*/false);
  context_.setDiagnosticsEngine(std::move(diagnostic_options), engine_.get());
  context_.setCurrentBuildDirectory(command.folder);
}

std::unique_ptr<clang::FrontendAction> Analysis::action(ExtraConsumers more) {
  return std::make_unique<CheckAction>(context_, own_folders_, stand_ins_, names_, said_, result_,
                                       std::move(more));
}

FileResult Analysis::takeResult() {
  Places places(names_);
  for (const ClangTidyError &error : consumer_.take()) {
    if (const Said::Finding *said = said_.find(error)) {
      result_.findings.push_back(said->finding);
      result_.contexts.push_back(said->context);
    } else if (error.DiagLevel == clang::tooling::Diagnostic::Error) {
      if (!result_.files_read.contains(error.Message.FilePath))
        ++result_.errors_elsewhere;
      if (result_.errors++)
        continue;
      const core::Location place = places.at(error.Message.FilePath, error.Message.FileOffset);
      result_.first_error = place.file.empty()
                                ? error.Message.Message
                                : plainPath(place.file) + ":" + std::to_string(place.line) + ": " +
                                      error.Message.Message;
    }
  }
  result_.suppressed = context_.getStats().ErrorsIgnoredNOLINT;
  // What did not parse may hide why the code is as it is.
  if (result_.isPartial())
    for (core::Finding &finding : result_.findings) {
      finding.fix.clear();
      finding.caution.clear();
    }
  makePathsPlain(result_);
  putInOrder(result_);
  return std::move(result_);
}

} // namespace devsan::analyzer
