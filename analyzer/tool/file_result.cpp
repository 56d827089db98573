#include "analyzer/tool/file_result.h"

#include "core/reports.h"

#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

namespace devsan::analyzer {
namespace {

llvm::json::Array toJson(const std::vector<std::string> &texts) {
  llvm::json::Array array;
  for (const std::string &text : texts)
    array.push_back(llvm::json::fixUTF8(text));
  return array;
}

void read(const llvm::json::Object &object, const char *key, std::vector<std::string> &texts) {
  if (const llvm::json::Array *array = object.getArray(key))
    for (const llvm::json::Value &text : *array)
      texts.push_back(text.getAsString().value_or("").str());
}

} // namespace

std::string serialize(const FileResult &result) {
  llvm::json::Object object{{"report", core::jsonReport(result.findings, {})},
                            {"missing_headers", toJson(result.missing_headers)},
                            {"files_read", toJson(result.files_read)},
                            {"first_error", llvm::json::fixUTF8(result.first_error)},
                            {"errors", result.errors},
                            {"errors_elsewhere", result.errors_elsewhere},
                            {"suppressed", result.suppressed},
                            {"has_functions", result.has_functions}};
  llvm::json::Array functions;
  for (const auto &[first, last] : result.functions) {
    functions.push_back(first);
    functions.push_back(last);
  }
  object["functions"] = std::move(functions);
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
  result.functions.resize(result.findings.size());
  if (const llvm::json::Array *lines = object->getArray("functions"))
    for (std::size_t i = 0; i + 1 < lines->size() && i / 2 < result.functions.size(); i += 2)
      result.functions[i / 2] = {(*lines)[i].getAsInteger().value_or(0),
                                 (*lines)[i + 1].getAsInteger().value_or(0)};
  read(*object, "missing_headers", result.missing_headers);
  read(*object, "files_read", result.files_read);
  result.first_error = object->getString("first_error").value_or("").str();
  result.errors = object->getInteger("errors").value_or(0);
  result.errors_elsewhere = object->getInteger("errors_elsewhere").value_or(0);
  result.suppressed = object->getInteger("suppressed").value_or(0);
  result.has_functions = object->getBoolean("has_functions").value_or(false);
  return result;
}

} // namespace devsan::analyzer
