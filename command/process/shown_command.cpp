#include "command/process/shown_command.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/ranges.h>
#include <string_view>

namespace devsan::command {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kHidden = "***";

constexpr std::array kSecret = {"password"sv, "passwd"sv, "passphrase"sv,    "pwd"sv,
                                "secret"sv,   "token"sv,  "credential"sv,    "credentials"sv,
                                "apikey"sv,   "auth"sv,   "authorization"sv, "bearer"sv,
                                "cookie"sv,   "sas"sv};
constexpr std::array kKeys = {"api"sv,        "access"sv,  "private"sv, "account"sv,
                              "encryption"sv, "signing"sv, "ssh"sv};

template <std::size_t N>
bool holds(const std::array<std::string_view, N> &words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// "--HubToken", "hub_token" and "HUB-TOKEN" are hub, token.
std::vector<std::string> wordsOf(std::string_view name) {
  std::vector<std::string> words(1);
  bool was_lower = false;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (!std::isalnum(letter) || (std::isupper(letter) && was_lower))
      words.emplace_back();
    if (std::isalnum(letter))
      words.back() += static_cast<char>(std::tolower(letter));
    was_lower = std::islower(letter);
  }
  return words;
}

bool namesSecret(std::string_view name) {
  const std::vector<std::string> words = wordsOf(name);
  for (std::size_t i = 0; i < words.size(); ++i)
    if (holds(kSecret, words[i]) || (words[i] == "key" && i && holds(kKeys, words[i - 1])))
      return true;
  return false;
}

std::string withoutLogin(std::string word) {
  for (std::size_t at = word.find("://"); at != word.npos; at = word.find("://", at + 3)) {
    const std::size_t begin = at + 3;
    const std::size_t end = std::min(word.find_first_of("/?# ", begin), word.size());
    const std::size_t login = word.substr(0, end).rfind('@');
    if (login != word.npos && login > begin)
      word.replace(begin, login - begin, kHidden);
  }
  return word;
}

} // namespace

std::string shownCommand(const std::vector<std::string> &command) {
  std::vector<std::string> words;
  bool hides = false; // the value of the option before
  for (const std::string &word : command) {
    const std::size_t equals = word.find('=');
    const bool is_secret = namesSecret(std::string_view(word).substr(0, equals));
    if (hides && !word.starts_with('-'))
      words.emplace_back(kHidden);
    else if (is_secret && equals != word.npos)
      words.push_back(word.substr(0, equals + 1).append(kHidden));
    else
      words.push_back(withoutLogin(word));
    hides = is_secret && equals == word.npos && word.starts_with('-');
  }
  return fmt::format("{}", fmt::join(words, " "));
}

} // namespace devsan::command
