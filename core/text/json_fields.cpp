#include "core/text/json_fields.h"

#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>

namespace devsan::core {
namespace {

// Counts the lines of what the parser has taken, but for the last character: that is the one after
// a number, or the one that ends the value.
struct Position {
  unsigned line = 1;
  char last = 0;
  bool stopped = false; // the text ends here
};

class Characters {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  Characters(const char *at, Position *position) : at_(at), position_(position) {}
  reference operator*() const { return *at_; }
  Characters &operator++() {
    position_->line += position_->last == '\n';
    position_->last = *at_++;
    return *this;
  }
  bool operator==(const Characters &other) const { return at_ == other.at_ || position_->stopped; }
  bool operator!=(const Characters &other) const { return !(*this == other); }

private:
  const char *at_;
  Position *position_;
};

// The library looks at all elements of a list for each that is an object, and at all keys for each
// key, and it destroys what nests recursively. No file of ours nests so deep or has such lists.
class Bounds {
public:
  // False beyond them.
  bool takes(int depth, Json::parse_event_t event) {
    const auto level = static_cast<std::size_t>(depth);
    if (level >= elements_.size())
      return false;
    switch (event) {
    case Json::parse_event_t::object_start:
    case Json::parse_event_t::array_start:
      if (level + 1 < elements_.size())
        elements_[level + 1] = 0;
      return true;
    case Json::parse_event_t::object_end:
    case Json::parse_event_t::array_end:
      work_ += ++elements_[level];
      return work_ <= kMaxWork;
    case Json::parse_event_t::key:
      work_ += elements_[level];
      return work_ <= kMaxWork;
    case Json::parse_event_t::value:
      ++elements_[level];
      return true;
    }
    return false;
  }

  // The last element at that depth is not kept.
  void drop(int depth) { --elements_[static_cast<std::size_t>(depth)]; }

private:
  static constexpr std::uint64_t kMaxWork = 500'000'000;

  std::array<std::uint64_t, 64> elements_ = {}; // of what is open at each depth
  std::uint64_t work_ = 0;
};

// What `fields` are called inside "findings": it is at depth 1, its objects at depth 2.
constexpr int kKeyDepth = 1;
constexpr int kFindingDepth = 2;
constexpr std::string_view kFindings = "findings";

} // namespace

const Json *JsonFields::find(const char *key, bool (Json::*is)() const noexcept,
                             std::string_view wanted) {
  auto field = object_.find(key);
  if (field == object_.end())
    return nullptr;
  if (!((*field).*is)()) {
    fail(key, wanted);
    return nullptr;
  }
  return &*field;
}

void JsonFields::fail(const char *key, std::string_view wanted) {
  if (!error_)
    error_ = fmt::format("{}: '{}' must be {}", where_, key, wanted);
}

void JsonFields::get(const char *key, std::string &out) {
  if (const Json *field = find(key, &Json::is_string, "a string"))
    out = field->get<std::string>();
}

void JsonFields::get(const char *key, bool &out) {
  if (const Json *field = find(key, &Json::is_boolean, "true or false"))
    out = field->get<bool>();
}

void JsonFields::get(const char *key, std::optional<int> &out) {
  auto field = object_.find(key);
  if (field == object_.end() || field->is_null())
    return;
  const auto value = field->is_number_integer() ? field->get<std::int64_t>() : -1;
  if (!field->is_number_integer() || value < 0 || value > std::numeric_limits<int>::max())
    return fail(key, "a number from 0, or null");
  out = static_cast<int>(value);
}

void JsonFields::get(const char *key, std::vector<std::string> &out) {
  const Json *array = find(key, &Json::is_array, "a list of strings");
  if (!array)
    return;
  for (const Json &element : *array) {
    if (!element.is_string())
      return fail(key, "a list of strings");
    out.push_back(element.get<std::string>());
  }
}

void JsonFields::get(const char *key, std::vector<int> &out) {
  constexpr std::string_view kWanted = "a list of numbers from 0";
  const Json *array = find(key, &Json::is_array, kWanted);
  if (!array)
    return;
  for (const Json &element : *array) {
    if (!element.is_number_unsigned() ||
        element.get<std::uint64_t>() > std::numeric_limits<int>::max())
      return fail(key, kWanted);
    out.push_back(element.get<int>());
  }
}

void JsonFields::require(const char *key, std::string &out) {
  get(key, out);
  if (out.empty())
    fail(key, "a string that is not empty");
}

void JsonFields::forEach(const char *key, const std::function<void(JsonFields &)> &read) {
  const Json *array = find(key, &Json::is_array, "a list of objects");
  if (!array)
    return;
  for (const Json &element : *array) {
    if (!element.is_object())
      return fail(key, "a list of objects");
    JsonFields fields(element, where_);
    read(fields);
    if (fields.error() && !error_)
      error_ = fields.error();
  }
}

void JsonFields::object(const char *key, const std::function<void(JsonFields &)> &read) {
  if (const Json *field = find(key, &Json::is_object, "an object")) {
    JsonFields fields(*field, where_);
    read(fields);
    if (fields.error() && !error_)
      error_ = fields.error();
  }
}

Result<void> readJsonFile(std::string_view text, const JsonFile &file) {
  Position position;
  std::optional<std::string> error;
  std::string section; // the key at the top that the parser is in
  const auto where = [&] { return fmt::format("{}:{}", file.source, position.line); };
  unsigned line = 1; // where the finding starts
  Bounds bounds;
  const auto take = [&](int depth, Json::parse_event_t event, Json &value) {
    if (!bounds.takes(depth, event)) {
      error = where() + ": this nests deeper, or has longer lists, than " + std::string(file.what) +
              " does";
      return false;
    }
    if (event == Json::parse_event_t::key && depth == kKeyDepth)
      section = value.get<std::string>();
    if (section != kFindings || depth != kFindingDepth)
      return true;
    if (event == Json::parse_event_t::object_start) {
      line = position.line;
      return true;
    }
    if (event != Json::parse_event_t::object_end) {
      error = where() + ": 'findings' must be a list of objects";
      return false;
    }
    JsonFields fields(value, fmt::format("{}:{}", file.source, line));
    file.finding(fields);
    error = fields.error();
    bounds.drop(depth);
    return false;
  };
  const Json::parser_callback_t callback = [&](int depth, Json::parse_event_t event, Json &value) {
    const bool is_kept = !error && take(depth, event, value);
    position.stopped = error.has_value();
    return is_kept;
  };
  const Json rest = Json::parse(Characters(text.data(), &position),
                                Characters(text.data() + text.size(), &position), callback, false);
  if (error)
    return failure(*error);
  if (rest.is_discarded() || !rest.is_object())
    return failure(fmt::format("{}: this is not {}, or it is cut off", where(), file.what));
  const auto schema = rest.find("schema");
  if (schema == rest.end() || !schema->is_string() ||
      schema->get_ref<const std::string &>() != file.schema)
    return failure(fmt::format("{}: {} has \"schema\": \"{}\", which is {} here", file.source,
                               file.what, file.schema,
                               schema != rest.end() && schema->is_string()
                                   ? fmt::format("\"{}\"", schema->get_ref<const std::string &>())
                                   : std::string("missing")));
  JsonFields fields(rest, file.source);
  fields.forEach("findings", [](JsonFields &) {}); // gone by now, but it must have been a list
  if (file.rest)
    file.rest(fields);
  if (fields.error())
    return failure(*fields.error());
  return {};
}

} // namespace devsan::core
