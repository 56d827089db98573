#include "analyzer/flags/cmake_script.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <optional>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

constexpr unsigned kMaxReferences = 100; // in one argument: a variable may hold itself
constexpr std::size_t kLongestArgument = 65'536;
// All that is expanded, in characters; an item costs some beside its text. What is beyond it, and
// more flags than these, is not known.
constexpr std::size_t kMaxExpanded = std::size_t{16} << 20;
constexpr std::size_t kItemCost = 64;
constexpr std::size_t kMaxFlags = 4'096;

// One command after the other: a name, and its arguments without quotes and comments.
class CMakeLexer {
public:
  explicit CMakeLexer(StringRef rest) : rest_(rest) {}

  bool next(std::string &name, std::vector<std::string> &arguments) {
    name.clear();
    arguments.clear();
    while (!rest_.empty()) {
      skipSpace();
      const StringRef word = rest_.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
      rest_ = rest_.drop_front(word.empty() ? std::min<size_t>(1, rest_.size()) : word.size());
      skipSpace();
      if (word.empty() || !rest_.consume_front("("))
        continue;
      name = word.lower();
      readArguments(arguments);
      return true;
    }
    return false;
  }

private:
  void skipSpace() {
    while (true) {
      rest_ = rest_.ltrim();
      if (!rest_.starts_with("#"))
        return;
      if (const size_t equals = bracket(rest_.drop_front()); equals != StringRef::npos)
        takeBracket(1, equals);
      else
        rest_ = rest_.drop_until([](char c) { return c == '\n'; });
    }
  }

  // Of `[==[`: how many `=`; npos where it is none.
  static size_t bracket(StringRef text) {
    if (!text.consume_front("["))
      return StringRef::npos;
    const size_t equals = text.take_while([](char c) { return c == '='; }).size();
    return text.drop_front(equals).starts_with("[") ? equals : StringRef::npos;
  }

  StringRef takeBracket(size_t before, size_t equals) {
    rest_ = rest_.drop_front(before + equals + 2);
    const std::string close = "]" + std::string(equals, '=') + "]";
    const size_t end = rest_.find(close);
    const StringRef text = rest_.take_front(end);
    rest_ = end == StringRef::npos ? StringRef() : rest_.drop_front(end + close.size());
    return text;
  }

  void readArguments(std::vector<std::string> &arguments) {
    unsigned depth = 0;
    while (true) {
      skipSpace();
      if (rest_.empty())
        return;
      if (rest_.consume_front(")")) {
        if (depth-- == 0)
          return;
        continue;
      }
      if (rest_.consume_front("(")) {
        ++depth;
        continue;
      }
      if (const size_t equals = bracket(rest_); equals != StringRef::npos) {
        arguments.push_back(takeBracket(0, equals).str());
        continue;
      }
      const bool quoted = rest_.consume_front("\"");
      std::string argument;
      while (!rest_.empty()) {
        const char c = rest_.front();
        if (quoted ? c == '"' : (llvm::isSpace(c) || c == '(' || c == ')' || c == '#'))
          break;
        rest_ = rest_.drop_front();
        if (c == '\\' && !rest_.empty()) {
          argument += rest_.front();
          rest_ = rest_.drop_front();
        } else {
          argument += c;
        }
      }
      if (quoted)
        rest_.consume_front("\"");
      arguments.push_back(std::move(argument));
    }
  }

  StringRef rest_;
};

bool isScope(StringRef word) {
  return word == "PUBLIC" || word == "PRIVATE" || word == "INTERFACE" || word == "SYSTEM" ||
         word == "BEFORE" || word == "AFTER";
}

} // namespace

CMakeScripts::CMakeScripts(const std::string &root) {
  for (const char *name : {"CMAKE_SOURCE_DIR", "PROJECT_SOURCE_DIR"})
    variables_[name] = root;
}

std::vector<std::string> CMakeScripts::expanded(const std::string &argument) {
  if ((work_ += argument.size() + kItemCost) > kMaxExpanded)
    return {};
  std::string text = argument;
  // What is meant for the installed form is not for us.
  for (StringRef wrapper : {"$<BUILD_INTERFACE:", "$<BUILD_LOCAL_INTERFACE:"})
    if (StringRef rest = text; rest.consume_front(wrapper) && rest.consume_back(">"))
      text = rest.str();
  unsigned references = 0;
  for (size_t begin; (begin = text.find("${")) != std::string::npos;) {
    const size_t end = text.find('}', begin);
    if (end == std::string::npos || ++references > kMaxReferences)
      return {};
    // The innermost one first.
    begin = text.rfind("${", end);
    const auto known = variables_.find(text.substr(begin + 2, end - begin - 2));
    if (known == variables_.end())
      return {};
    const std::size_t size = text.size() + known->second.size();
    if (size > kLongestArgument || (work_ += size) > kMaxExpanded)
      return {};
    text.replace(begin, end + 1 - begin, known->second);
  }
  if (text.find("$<") != std::string::npos || text.find("$ENV{") != std::string::npos)
    return {};
  std::vector<std::string> items;
  llvm::SmallVector<StringRef> parts;
  StringRef(text).split(parts, ';', -1, /*KeepEmpty=*/false);
  if ((work_ += parts.size() * kItemCost) > kMaxExpanded)
    return {};
  for (StringRef part : parts)
    items.push_back(part.str());
  return items;
}

void CMakeScripts::command(const std::string &name, const std::vector<std::string> &arguments,
                           const std::string &folder) {
  const auto each = [&](size_t first, auto use) {
    for (size_t i = first; i < arguments.size(); ++i)
      if (!isScope(arguments[i]))
        for (const std::string &item : expanded(arguments[i]))
          use(item);
  };
  const auto addFolder = [&](const std::string &item) {
    llvm::SmallString<256> path(item);
    llvm::sys::path::make_absolute(folder, path);
    llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    if (llvm::sys::fs::is_directory(path) && flags_.include_folders.size() < kMaxFlags &&
        !llvm::is_contained(flags_.include_folders, path.str()))
      flags_.include_folders.push_back(std::string(path));
  };
  const auto addMacro = [&](StringRef macro) {
    if (flags_.macros.size() < kMaxFlags && !llvm::is_contained(flags_.macros, macro))
      flags_.macros.push_back(macro.str());
  };
  if (name == "set" && !arguments.empty()) {
    std::string value;
    bool known = true;
    for (size_t i = 1;
         i < arguments.size() && arguments[i] != "CACHE" && arguments[i] != "PARENT_SCOPE"; ++i) {
      const std::vector<std::string> items = expanded(arguments[i]);
      known &= !items.empty() || arguments[i].empty();
      for (const std::string &item : items)
        value += (value.empty() ? "" : ";") + item;
    }
    // A script that is included may say more of a folder that is known already.
    if (known)
      variables_[arguments[0]] = value;
  } else if (name == "project" && !arguments.empty()) {
    variables_["PROJECT_SOURCE_DIR"] = folder;
    variables_["PROJECT_NAME"] = arguments[0];
    variables_[arguments[0] + "_SOURCE_DIR"] = folder;
  } else if (name == "include_directories") {
    each(0, addFolder);
  } else if (name == "target_include_directories") {
    each(1, addFolder);
  } else if (name == "add_compile_definitions" || name == "target_compile_definitions") {
    each(name.starts_with("add") ? 0 : 1, [&](StringRef item) {
      item.consume_front("-D");
      addMacro(item);
    });
  } else if (name == "add_definitions" || name == "add_compile_options" ||
             name == "target_compile_options") {
    each(name.starts_with("add") ? 0 : 1, [&](StringRef item) {
      if (item.consume_front("-D") && !item.empty())
        addMacro(item);
    });
  }
}

void CMakeScripts::read(std::string_view text, const std::string &folder) {
  variables_["CMAKE_CURRENT_SOURCE_DIR"] = folder;
  variables_["CMAKE_CURRENT_LIST_DIR"] = folder;
  CMakeLexer lexer(StringRef(text.data(), text.size()));
  std::string name;
  std::vector<std::string> arguments;
  while (lexer.next(name, arguments))
    command(name, arguments, folder);
}

} // namespace devsan::analyzer
