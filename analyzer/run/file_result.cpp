#include "analyzer/run/file_result.h"

#include "core/report/reports.h"

#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace devsan::analyzer {
namespace {

llvm::json::Array toJson(const std::vector<std::string> &texts) {
  llvm::json::Array array;
  for (const std::string &text : texts)
    array.push_back(llvm::json::fixUTF8(text));
  return array;
}

std::vector<std::string> textsOf(const llvm::json::Array *array) {
  std::vector<std::string> texts;
  if (array)
    for (const llvm::json::Value &text : *array)
      texts.push_back(text.getAsString().value_or("").str());
  return texts;
}

llvm::json::Object toJson(const std::map<std::string, std::string> &texts) {
  llvm::json::Object object;
  for (const auto &[key, text] : texts)
    object[llvm::json::fixUTF8(key)] = text;
  return object;
}

void read(const llvm::json::Object &object, const char *key,
          std::map<std::string, std::string> &texts) {
  if (const llvm::json::Object *entries = object.getObject(key))
    for (const auto &[name, text] : *entries)
      texts[name.str()] = text.getAsString().value_or("").str();
}

llvm::json::Array toJson(const FileCalls::Place &place) {
  return llvm::json::Array{llvm::json::fixUTF8(place.file), place.line, place.column};
}

llvm::json::Object toJson(const FileCalls &calls) {
  llvm::json::Array functions, edges;
  for (const FileCalls::Function &function : calls.functions)
    functions.push_back(llvm::json::Array{llvm::json::fixUTF8(function.usr),
                                          llvm::json::fixUTF8(function.name), toJson(function.body),
                                          function.open, function.knows_tensors,
                                          toJson(function.launch), function.is_step});
  for (const FileCalls::Call &call : calls.calls)
    edges.push_back(llvm::json::Array{call.caller, call.callee, call.guarded, call.each_run});
  return llvm::json::Object{{"functions", std::move(functions)}, {"calls", std::move(edges)}};
}

llvm::json::Array toJson(const DataHolder &holder) {
  return llvm::json::Array{llvm::json::fixUTF8(holder.usr), holder.parameter,
                           llvm::json::fixUTF8(holder.name), llvm::json::fixUTF8(holder.owner),
                           llvm::json::fixUTF8(holder.place)};
}

llvm::json::Object toJson(const FileData &data) {
  llvm::json::Array holders, sources;
  for (const DataHolder &holder : data.holders)
    holders.push_back(toJson(holder));
  for (const FileData::Source &source : data.sources)
    sources.push_back(
        llvm::json::Array{source.holder, static_cast<unsigned>(source.kind), source.from});
  return llvm::json::Object{{"holders", std::move(holders)}, {"sources", std::move(sources)}};
}

// An element of a row; null where it is not there.
const llvm::json::Value &at(const llvm::json::Value &row, std::size_t i) {
  static const llvm::json::Value none = nullptr;
  const llvm::json::Array *elements = row.getAsArray();
  return elements && i < elements->size() ? (*elements)[i] : none;
}
unsigned numberAt(const llvm::json::Value &row, std::size_t i) {
  return at(row, i).getAsInteger().value_or(0);
}
bool flagAt(const llvm::json::Value &row, std::size_t i) {
  return at(row, i).getAsBoolean().value_or(false);
}
std::string textAt(const llvm::json::Value &row, std::size_t i) {
  return at(row, i).getAsString().value_or("").str();
}
FileCalls::Place placeAt(const llvm::json::Value &row, std::size_t i) {
  return {textAt(at(row, i), 0), numberAt(at(row, i), 1), numberAt(at(row, i), 2)};
}

void read(const llvm::json::Object &object, FileCalls &calls) {
  if (const llvm::json::Array *functions = object.getArray("functions"))
    for (const llvm::json::Value &function : *functions)
      calls.functions.push_back({textAt(function, 0), textAt(function, 1), placeAt(function, 2),
                                 flagAt(function, 3), flagAt(function, 4), placeAt(function, 5),
                                 flagAt(function, 6)});
  if (const llvm::json::Array *edges = object.getArray("calls"))
    for (const llvm::json::Value &call : *edges)
      if (numberAt(call, 0) < calls.functions.size() && numberAt(call, 1) < calls.functions.size())
        calls.calls.push_back(
            {numberAt(call, 0), numberAt(call, 1), flagAt(call, 2), flagAt(call, 3)});
}

Needs needsOf(const llvm::json::Value &context) {
  return static_cast<Needs>(
      std::min(numberAt(context, 3), static_cast<unsigned>(Needs::kForeignFile)));
}

std::optional<DataHolder> holderOf(const llvm::json::Value &row) {
  if (textAt(row, 0).empty())
    return std::nullopt;
  return DataHolder{textAt(row, 0), static_cast<int>(at(row, 1).getAsInteger().value_or(-1)),
                    textAt(row, 2), textAt(row, 3), textAt(row, 4)};
}

FindingContext contextOf(const llvm::json::Value &row) {
  return {.first_line = numberAt(row, 0),
          .last_line = numberAt(row, 1),
          .function = textAt(row, 2),
          .is_called_by_name = flagAt(row, 7),
          .needs = needsOf(row),
          .is_for_libraries = flagAt(row, 9),
          .launcher = textAt(row, 4),
          .servants = textsOf(at(row, 5).getAsArray()),
          .steps = textsOf(at(row, 8).getAsArray()),
          .holder = holderOf(at(row, 6))};
}

void read(const llvm::json::Object &object, FileData &data) {
  using Kind = FileData::Source::Kind;
  if (const llvm::json::Array *holders = object.getArray("holders"))
    for (const llvm::json::Value &row : *holders)
      data.holders.push_back(holderOf(row).value_or(DataHolder()));
  if (const llvm::json::Array *sources = object.getArray("sources"))
    for (const llvm::json::Value &source : *sources)
      if (numberAt(source, 0) < data.holders.size() && numberAt(source, 2) < data.holders.size())
        data.sources.push_back(
            {numberAt(source, 0),
             static_cast<Kind>(std::min(numberAt(source, 1), static_cast<unsigned>(Kind::kOther))),
             numberAt(source, 2)});
}

// Sorts by `key`, and gives the new place of each item.
template <typename Item, typename Key>
std::vector<unsigned> sorted(std::vector<Item> &items, Key key) {
  std::vector<unsigned> order(items.size()), places(items.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {},
                    [&](unsigned i) { return std::tuple_cat(key(items[i]), std::tuple(i)); });
  std::vector<Item> moved;
  for (const unsigned i : order) {
    places[i] = moved.size();
    moved.push_back(std::move(items[i]));
  }
  items = std::move(moved);
  return places;
}

} // namespace

void putInOrder(FileResult &result) {
  const auto of_place = [](const FileCalls::Place &place) {
    return std::tie(place.file, place.line, place.column);
  };
  const std::vector<unsigned> functions =
      sorted(result.calls.functions, [&](const FileCalls::Function &function) {
        return std::tuple_cat(std::tie(function.usr, function.name), of_place(function.body),
                              of_place(function.launch),
                              std::tie(function.open, function.knows_tensors));
      });
  for (FileCalls::Call &call : result.calls.calls)
    call = {functions[call.caller], functions[call.callee], call.guarded, call.each_run};
  std::ranges::sort(result.calls.calls, {}, [](const FileCalls::Call &call) {
    return std::tie(call.caller, call.callee, call.guarded, call.each_run);
  });
  const std::vector<unsigned> holders =
      sorted(result.data.holders, [](const DataHolder &holder) { return holder.key(); });
  for (FileData::Source &source : result.data.sources) {
    source.holder = holders[source.holder];
    if (source.hasFrom())
      source.from = holders[source.from];
  }
  std::ranges::sort(result.data.sources);
}

std::string serialize(const FileResult &result) {
  llvm::json::Object object{{"report", core::jsonReport(result.findings, {})},
                            {"missing_headers", toJson(result.missing_headers)},
                            {"refused", toJson(result.refused)},
                            {"files_read", toJson(result.files_read)},
                            {"first_error", llvm::json::fixUTF8(result.first_error)},
                            {"errors", result.errors},
                            {"errors_elsewhere", result.errors_elsewhere},
                            {"suppressed", result.suppressed},
                            {"lines", result.lines},
                            {"lines_seen", result.lines_seen},
                            {"has_functions", result.has_functions},
                            {"found_torch", result.found_torch},
                            {"is_cut_off", result.is_cut_off}};
  llvm::json::Array contexts;
  for (const FindingContext &context : result.contexts)
    contexts.push_back(llvm::json::Array{
        context.first_line, context.last_line, llvm::json::fixUTF8(context.function),
        static_cast<unsigned>(context.needs), llvm::json::fixUTF8(context.launcher),
        toJson(context.servants), context.holder ? toJson(*context.holder) : llvm::json::Array(),
        context.is_called_by_name, toJson(context.steps), context.is_for_libraries});
  object["contexts"] = std::move(contexts);
  object["calls"] = toJson(result.calls);
  object["data"] = toJson(result.data);
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
  result.contexts.resize(result.findings.size());
  if (const llvm::json::Array *contexts = object->getArray("contexts"))
    for (std::size_t i = 0; i < contexts->size() && i < result.contexts.size(); ++i)
      result.contexts[i] = contextOf((*contexts)[i]);
  if (const llvm::json::Object *calls = object->getObject("calls"))
    read(*calls, result.calls);
  if (const llvm::json::Object *data = object->getObject("data"))
    read(*data, result.data);
  result.missing_headers = textsOf(object->getArray("missing_headers"));
  result.refused = textsOf(object->getArray("refused"));
  read(*object, "files_read", result.files_read);
  result.first_error = object->getString("first_error").value_or("").str();
  result.errors = object->getInteger("errors").value_or(0);
  result.errors_elsewhere = object->getInteger("errors_elsewhere").value_or(0);
  result.suppressed = object->getInteger("suppressed").value_or(0);
  result.lines = object->getInteger("lines").value_or(0);
  result.lines_seen = object->getInteger("lines_seen").value_or(0);
  result.has_functions = object->getBoolean("has_functions").value_or(false);
  result.found_torch = object->getBoolean("found_torch").value_or(false);
  result.is_cut_off = object->getBoolean("is_cut_off").value_or(false);
  return result;
}

} // namespace devsan::analyzer
