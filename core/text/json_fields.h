// Reading of our own JSON files, reports and baselines: `{"schema": …, "findings": [{…}, …], …}`.
// nlohmann's accessors throw on a wrong type and core has no exceptions, so every access asks for
// the type first. Internal to core.
#pragma once

#include "core/system/result.h"

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::core {

using Json = nlohmann::ordered_json;

// The fields of one object. One that is absent keeps its default; the first of another type makes
// the file malformed.
class JsonFields {
public:
  // `where` begins the error: "report.json:12".
  JsonFields(const Json &object, std::string where) : object_(object), where_(std::move(where)) {}

  void get(const char *key, std::string &out);
  void get(const char *key, bool &out);
  void get(const char *key, std::optional<int> &out); // a number or null
  void get(const char *key, std::vector<std::string> &out);
  void get(const char *key, std::vector<int> &out);
  template <typename Unsigned> void get(const char *key, Unsigned &out) {
    const Json *field = find(key, &Json::is_number_unsigned, kNumber);
    if (!field)
      return;
    const auto value = field->get<std::uint64_t>();
    if (value > std::numeric_limits<Unsigned>::max())
      return fail(key, kNumber);
    out = static_cast<Unsigned>(value);
  }
  // As `get`, and absent or empty is malformed too.
  void require(const char *key, std::string &out);
  // Calls `read` with the fields of each object of the list.
  void forEach(const char *key, const std::function<void(JsonFields &)> &read);
  // Calls `read` with the fields of the object, if it is there.
  void object(const char *key, const std::function<void(JsonFields &)> &read);

  void fail(const char *key, std::string_view wanted);
  const std::optional<std::string> &error() const { return error_; }

private:
  static constexpr std::string_view kNumber = "a number from 0";

  const Json *find(const char *key, bool (Json::*is)() const noexcept, std::string_view wanted);

  const Json &object_;
  std::string where_;
  std::optional<std::string> error_;
};

// One finding after the other, each with "file:line", so that memory does not grow with the file;
// then the rest. Stops at the first error. `what` names what the file should be: "a JSON report of
// devsan".
struct JsonFile {
  std::string source;
  std::string_view schema;
  std::string_view what;
  std::function<void(JsonFields &)> finding = {};
  std::function<void(JsonFields &)> rest = {};
};
Result<void> readJsonFile(std::string_view text, const JsonFile &file);

} // namespace devsan::core
