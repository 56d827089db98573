#include "runtime/protocol/options.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>

namespace devsan::runtime {
namespace {

Options current;

struct Key {
  std::string_view name;
  std::string_view values; // as listed, the default first
  std::string_view meaning;
};

constexpr Key kKeys[] = {
    {"origins", "sampled|all|off",
     "record where host tensors are made (with --sim the default is all)"},
    {"python_stacks", "on|off", "take Python frames into stacks"},
    {"provenance", "on|off",
     "follow data that left a device, and gathered tensors, to their next use"},
    {"host_to_device", kLevelList,
     "what copies from the host to a device mean outside of all scopes"},
    {"device_to_host", kLevelList, "the same from a device to the host"},
    {"device_to_device", kLevelList, "the same between devices"},
    {"host_wait", kLevelList, "what the host's waiting for a device means outside of all scopes"},
    {"raise", "0|1", "throw at the place where an operator is about to do what is disallowed"},
    {"warmup", "0|N", "copies and waits in the first N steps are exempt"},
    {"trace", "0|N", "write the first N events of each process one by one, with their times"},
    {"help", "0|1", "print this list"},
};

// What a log has room for beside everything else: 6 GB.
constexpr std::uint32_t kMaxTraced = 100'000'000;

[[noreturn]] void reject(const std::string &what) {
  std::fprintf(stderr, "devsan: %s in DEVSAN_OPTIONS\n%s\n", what.c_str(), listOfKeys().c_str());
  std::fflush(stderr);
  _exit(2);
}

bool applyGuard(Guards &guards, Guarded guarded, std::string_view value) {
  const std::optional<Level> level = parseLevel(value);
  if (level)
    guards.set(guarded, *level);
  return level.has_value();
}

bool applyCount(std::uint32_t &count, std::string_view value) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
  return error == std::errc() && end == value.data() + value.size();
}

bool apply(Options &options, bool &help, std::string_view key, std::string_view value) {
  bool on = value == "on", off = value == "off";
  if (key == "origins") {
    if (value == "sampled")
      options.origins = Origins::kSampled;
    else if (value == "all")
      options.origins = Origins::kAll;
    else if (off)
      options.origins = Origins::kOff;
    else
      return false;
    return true;
  }
  if (std::optional<Guarded> guarded = parseGuarded(key))
    return applyGuard(options.guards, *guarded, value);
  if (key == "warmup")
    return applyCount(options.warmup, value);
  if (key == "trace")
    return applyCount(options.trace, value) && options.trace <= kMaxTraced;
  if (key == "raise") {
    options.guards.setRaises(value == "1");
    return value == "0" || value == "1";
  }
  if (key == "python_stacks")
    options.python_stacks = on;
  else if (key == "provenance")
    options.provenance = on;
  else if (key == "help") {
    help = value == "1";
    return value == "0" || value == "1";
  }
  return on || off;
}

} // namespace

const Options &options() {
  return current;
}

std::string listOfKeys() {
  std::string text = "devsan: keys of DEVSAN_OPTIONS (key=value:key=value), the default first:";
  for (const Key &key : kKeys) {
    char line[256];
    std::snprintf(line, sizeof line, "\n  %-16.*s %-16.*s %.*s", static_cast<int>(key.name.size()),
                  key.name.data(), static_cast<int>(key.values.size()), key.values.data(),
                  static_cast<int>(key.meaning.size()), key.meaning.data());
    text += line;
  }
  return text;
}

std::optional<std::string> parseOptions(std::string_view text, Options &options, bool &help) {
  Options parsed = options;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view item = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    if (item.empty())
      continue;
    const std::size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    if (std::ranges::find(kKeys, name, &Key::name) == std::end(kKeys))
      return "unknown key '" + std::string(name) + "'";
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : item.substr(equals + 1);
    if (!apply(parsed, help, name, value))
      return "invalid value '" + std::string(value) + "' of key '" + std::string(name) + "'";
  }
  options = parsed;
  return std::nullopt;
}

void readOptions(bool simulated) {
  if (simulated)
    current.origins = Origins::kAll;
  const char *text = std::getenv("DEVSAN_OPTIONS");
  bool help = false;
  if (const auto error = parseOptions(text ? text : "", current, help))
    reject(*error);
  if (help)
    std::fprintf(stderr, "%s\n", listOfKeys().c_str());
}

} // namespace devsan::runtime
