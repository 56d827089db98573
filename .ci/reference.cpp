// A fixed piece of work: the CPU time of building and testing is told in compilations of this file, since machines differ.
// A change of it makes .ci/budget.json void.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <ranges>
#include <regex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

using Value = std::variant<int, double, std::string, std::vector<int>>;

std::map<std::string, Value> parse(std::istream &input) {
  static const std::regex line(R"(^\s*([A-Za-z_]\w*)\s*=\s*(.*?)\s*$)");
  static const std::wregex wide(LR"(^(\d+)(\.\d+)?$)");
  std::map<std::string, Value> values;
  for (std::string text; std::getline(input, text);) {
    std::smatch match;
    if (!std::regex_match(text, match, line))
      continue;
    const std::string value = match[2];
    if (std::regex_match(std::wstring(value.begin(), value.end()), wide))
      values[match[1]] = std::stod(value);
    else
      values[match[1]] = value;
  }
  return values;
}

int main() {
  std::unordered_map<std::string, std::function<std::string(const Value &)>> show;
  for (const auto &[name, value] : parse(std::cin)) {
    show[name] = [](const Value &value) {
      return std::visit(
          [](const auto &held) -> std::string {
            if constexpr (requires { std::to_string(held); })
              return std::to_string(held);
            else if constexpr (requires { held + "x"; })
              return held;
            else
              return std::to_string(held.size());
          },
          value);
    };
    std::cout << name << ": " << show[name](value) << "\n";
  }
  std::vector<std::string> names;
  for (const auto &entry : show)
    names.push_back(entry.first);
  std::ranges::sort(names, std::ranges::greater{});
  for (const std::string &name : names | std::views::reverse | std::views::take(10))
    std::cout << name << "\n";
}
