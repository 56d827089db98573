#include "analyzer/tool/file_result.h"

#include "core/reports.h"

#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

namespace devsan::analyzer {

std::string serialize(const FileResult &result) {
  llvm::json::Array missing;
  for (const std::string &header : result.missing_headers)
    missing.push_back(llvm::json::fixUTF8(header));
  llvm::json::Object object{{"report", core::jsonReport(result.findings, {})},
                            {"missing_headers", std::move(missing)},
                            {"first_error", llvm::json::fixUTF8(result.first_error)},
                            {"errors", result.errors},
                            {"suppressed", result.suppressed}};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(object));
  return text;
}

core::Result<FileResult> parseFileResult(const std::string &text) {
  auto value = llvm::json::parse(text);
  const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
  if (!object) {
    llvm::consumeError(value.takeError());
    return core::failure("the analysis ended without a result");
  }
  auto findings = core::readJsonReport(object->getString("report").value_or("").str(), "analysis");
  if (!findings)
    return tl::unexpected(findings.error());
  FileResult result;
  result.findings = std::move(*findings);
  if (const llvm::json::Array *missing = object->getArray("missing_headers"))
    for (const llvm::json::Value &header : *missing)
      result.missing_headers.push_back(header.getAsString().value_or("").str());
  result.first_error = object->getString("first_error").value_or("").str();
  result.errors = object->getInteger("errors").value_or(0);
  result.suppressed = object->getInteger("suppressed").value_or(0);
  return result;
}

} // namespace devsan::analyzer
