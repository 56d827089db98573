#include "analyzer/facts/program.h"

namespace devsan::analyzer {

Program::~Program() = default;

std::string Program::text(const Path &path) {
  std::string text = path.root ? name(path.root) : std::string();
  for (Variable field : path.fields)
    text += (text.empty() ? "" : ".") + name(field);
  return text.empty() ? "*this" : text;
}

std::string Program::text(const Place &place) {
  switch (place.kind) {
  case Place::Kind::kNone:
  case Place::Kind::kElsewhere:
  case Place::Kind::kUnknown:
    return "an unknown device";
  case Place::Kind::kDefaultHost:
  case Place::Kind::kHost:
    return "the CPU";
  case Place::Kind::kOf:
    return "the device of '" + text(place.of) + "'";
  case Place::Kind::kFixed:
    return lower(place.type) + ":" + std::to_string(place.index);
  case Place::Kind::kIndexless:
    return "the current " + lower(place.type) + " device";
  }
  return {};
}

} // namespace devsan::analyzer
