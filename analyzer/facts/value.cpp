#include "analyzer/facts/value.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace devsan::analyzer {

namespace {

// Bounds the lattice: what a value remembers of its way beyond this says nothing new.
constexpr std::size_t kMaxOrigins = 12;

int rank(const Place &place) {
  switch (place.kind) {
  case Place::Kind::kNone:
    return 0;
  case Place::Kind::kDefaultHost:
    return 1;
  case Place::Kind::kUnknown:
    return 2;
  case Place::Kind::kElsewhere:
    return 3;
  case Place::Kind::kHost:
    return 4;
  case Place::Kind::kIndexless:
    return 5;
  case Place::Kind::kFixed:
    return 6;
  case Place::Kind::kOf:
    return 7;
  }
  return 0;
}

} // namespace

std::string lower(std::string_view text) {
  std::string small(text);
  for (char &letter : small)
    letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  return small;
}

bool Path::startsWith(const Path &prefix) const {
  return root == prefix.root && fields.size() >= prefix.fields.size() &&
         std::equal(prefix.fields.begin(), prefix.fields.end(), fields.begin());
}

Place Place::named(std::string_view type, int index) {
  if (type == "CPU")
    return host();
  if (type == "Meta" || type.empty())
    return unknown();
  return index < 0 ? Place{Kind::kIndexless, type, -1, {}} : Place{Kind::kFixed, type, index, {}};
}

std::optional<Place> Place::parse(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"cpu", "CPU"},   {"cuda", "CUDA"},
      {"mps", "MPS"},   {"xpu", "XPU"},
      {"hip", "HIP"},   {"xla", "XLA"},
      {"hpu", "HPU"},   {"mtia", "MTIA"},
      {"meta", "Meta"}, {"privateuseone", "PrivateUse1"}};
  const std::string_view name = text.substr(0, text.find(':'));
  const auto *known = std::ranges::find(kTypes, name, [](const auto &type) { return type.first; });
  if (known == std::end(kTypes))
    return std::nullopt;
  int index = -1;
  if (name.size() < text.size()) {
    const char *end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + name.size() + 1, end, index);
    if (error != std::errc() || stop != end)
      return std::nullopt;
  }
  return named(known->second, index);
}

std::string Place::device() const {
  if (onHost())
    return "cpu";
  if (!isSpelledDevice())
    return {};
  std::string name = type == "PrivateUse1" ? "privateuseone" : lower(type);
  return index < 0 ? name : name + ":" + std::to_string(index);
}

Place join(const Place &a, const Place &b) {
  if (a == b || b.is(Place::Kind::kNone))
    return a;
  if (a.is(Place::Kind::kNone))
    return b;
  if (a.onHost() && b.onHost())
    return Place::host();
  // `is_available() ? kCUDA : kCPU` is a spelled device wherever the bug can show.
  if (a.isSpelledDevice() && b.is(Place::Kind::kHost))
    return a;
  if (b.isSpelledDevice() && a.is(Place::Kind::kHost))
    return b;
  if (Place any = a; a.is(Place::Kind::kElsewhere) && a.call != b.call) {
    any.call = b.call;
    if (any == b) {
      any.call = {};
      return any;
    }
  }
  Place either = Place::unknown();
  either.on_device = a.isNamedDevice() || b.isNamedDevice();
  return either;
}

Code Value::origin(Origin::Kind kind) const {
  for (const Origin &origin : origins)
    if (origin.kind == kind)
      return origin.expr;
  return nullptr;
}

Value &Value::add(Origin::Kind kind, Code expr) {
  const Origin added{kind, expr};
  if (origins.size() < kMaxOrigins && std::ranges::find(origins, added) == origins.end())
    origins.push_back(added);
  return *this;
}

Value &Value::addAll(const Value &other) {
  for (const Origin &origin : other.origins)
    add(origin.kind, origin.expr);
  return *this;
}

Value &Value::drop(Origin::Kind kind) {
  std::erase_if(origins, [kind](const Origin &origin) { return origin.kind == kind; });
  return *this;
}

Value join(const Value &a, const Value &b) {
  if (a == b)
    return a;
  if (a == Value())
    return b;
  if (b == Value())
    return a;
  Value joined = a;
  joined.place = join(a.place, b.place);
  joined.addAll(b);
  joined.dtype = a.dtype == b.dtype ? a.dtype : Dtype::kUnknown;
  joined.own_slice = a.own_slice || b.own_slice;
  joined.zero_dim = a.zero_dim && b.zero_dim;
  joined.no_grad = a.no_grad && b.no_grad;
  joined.off_host = a.off_host && b.off_host;
  return joined;
}

Value moved(Value data, const Place &target, Code by) {
  data.off_host = false;
  data.drop(Origin::Kind::kFactory).drop(Origin::Kind::kLoaded);
  if (!target.onHost())
    data.drop(Origin::Kind::kHostCopy).drop(Origin::Kind::kHostScalar);
  else if (!data.place.onHost())
    data.add(Origin::Kind::kHostCopy, by);
  data.place = target.is(Place::Kind::kUnknown) ? Place::chosen() : target;
  return data;
}

Value combine(std::span<const Value> operands) {
  Value result;
  bool first = true, on_device = false;
  for (const Value &operand : operands) {
    on_device |= operand.place.isNamedDevice();
    bool tells = rank(operand.place) > rank(result.place);
    // A 0-dim host tensor is promoted to the other operand's device and does not decide.
    if (tells && !(operand.zero_dim && operand.place.onHost() && !first))
      result.place = operand.place;
    else if (!first && result.zero_dim && result.place.onHost() &&
             !operand.place.is(Place::Kind::kNone))
      result.place = operand.place;
    result.addAll(operand);
    result.own_slice |= operand.own_slice;
    result.zero_dim = first ? operand.zero_dim : result.zero_dim && operand.zero_dim;
    result.no_grad = first ? operand.no_grad : result.no_grad && operand.no_grad;
    result.dtype = first                           ? operand.dtype
                   : operand.dtype == result.dtype ? result.dtype
                                                   : Dtype::kUnknown;
    first = false;
  }
  result.place.on_device |= on_device && result.place.isUnknown();
  return result;
}

} // namespace devsan::analyzer
