#include "analyzer/run/said.h"

#include "core/finding/rule_table.h"
#include "core/system/whole_file.h"

#include <clang/Tooling/Core/Replacement.h>

namespace devsan::analyzer {
namespace {

using clang::tooling::DiagnosticMessage;

std::string textKey(llvm::StringRef rule, const DiagnosticMessage &message) {
  return (rule + "\n" + message.FilePath + "\n" + llvm::Twine(message.FileOffset) + "\n" +
          message.Message)
      .str();
}

// As clang prints it: sources need not be text.
std::string escaped(llvm::StringRef text) {
  llvm::SmallString<256> printable;
  clang::EscapeStringForDiagnostic(text, printable);
  return std::string(printable);
}

DiagnosticMessage messageAt(clang::SourceLocation place, llvm::StringRef text,
                            const clang::SourceManager &sources) {
  return place.isValid() ? DiagnosticMessage(escaped(text), sources, sources.getFileLoc(place))
                         : DiagnosticMessage(escaped(text));
}

std::vector<core::Replacement> editsOf(llvm::ArrayRef<clang::FixItHint> hints,
                                       const clang::SourceManager &sources) {
  std::map<std::string, clang::tooling::Replacements> by_file;
  for (const clang::FixItHint &hint : hints) {
    const clang::tooling::Replacement edit(sources, hint.RemoveRange, hint.CodeToInsert);
    llvm::consumeError(by_file[edit.getFilePath().str()].add(edit));
  }
  std::vector<core::Replacement> edits;
  for (const auto &[file, replacements] : by_file)
    for (const clang::tooling::Replacement &edit : replacements)
      edits.push_back({file, edit.getOffset(), edit.getLength(), edit.getReplacementText().str()});
  return edits;
}

} // namespace

core::Location Places::at(llvm::StringRef file, unsigned offset) {
  core::Location location;
  location.file = file.str();
  const std::optional<llvm::StringRef> before = textBefore(file, offset);
  if (!before)
    return location;
  location.line = before->count('\n') + 1;
  location.column = offset - (before->rfind('\n') + 1) + 1;
  if (const FunctionNames::Range *function = names_.around(file, offset))
    location.function = function->name;
  return location;
}

FindingContext Places::contextAt(llvm::StringRef file, unsigned offset) {
  FindingContext context;
  const FunctionNames::Range *function = names_.around(file, offset);
  if (!function)
    return context;
  const auto line = [&](unsigned at) -> unsigned {
    const std::optional<llvm::StringRef> before = textBefore(file, at);
    return before ? before->count('\n') + 1 : 0;
  };
  context.first_line = line(function->begin);
  context.last_line = line(function->end);
  context.function = function->usr;
  context.is_called_by_name = function->is_called_by_name;
  return context;
}

std::optional<llvm::StringRef> Places::textBefore(llvm::StringRef file, unsigned offset) {
  auto [known, is_new] = texts_.try_emplace(file);
  if (is_new)
    known->second = core::readFile(file.str(), core::kMaxSource);
  if (!known->second)
    return std::nullopt;
  return llvm::StringRef(*known->second).take_front(offset);
}

void Said::add(const std::vector<Diagnoses::Entry> &entries, clang::SourceManager &sources,
               Places &places) {
  for (const auto &[rule, said] : entries) {
    const DiagnosticMessage message = messageAt(said.place, said.message, sources);
    const auto [entry, is_new] = by_text_.try_emplace(textKey(rule, message));
    if (!is_new)
      continue;
    auto &[finding, context] = entry->second;
    finding.rule = rule;
    finding.severity = core::findRule(rule)->severity;
    finding.message = message.Message;
    finding.remedy = escaped(said.remedy);
    finding.op = escaped(said.op);
    finding.from = said.from;
    finding.to = said.to;
    finding.locations.push_back(places.at(message.FilePath, message.FileOffset));
    for (const Diagnosis::Note &note : said.related) {
      const DiagnosticMessage related = messageAt(note.place, note.message, sources);
      finding.related.push_back({places.at(related.FilePath, related.FileOffset), related.Message});
    }
    finding.fix = editsOf(said.fix, sources);
    finding.caution = said.caution;
    context = places.contextAt(message.FilePath, message.FileOffset);
    context.needs = said.needs;
    context.is_for_libraries = said.is_for_libraries;
    context.launcher = said.launcher;
    context.servants = said.servants;
    context.steps = said.steps;
    context.holder = said.holder;
  }
}

const Said::Finding *Said::find(const clang::tidy::ClangTidyError &error) const {
  const auto found = by_text_.find(textKey(error.DiagnosticName, error.Message));
  return found == by_text_.end() ? nullptr : &found->second;
}

} // namespace devsan::analyzer
