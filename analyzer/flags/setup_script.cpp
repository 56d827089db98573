#include "analyzer/flags/setup_script.h"

#include "analyzer/flags/python_tokens.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/GlobPattern.h>
#include <llvm/Support/Path.h>

#include <map>
#include <optional>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

// Deeper nesting, and larger values, are no setup script.
constexpr unsigned kMaxDepth = 200;
constexpr std::size_t kMaxWeight = 10'000;
constexpr std::size_t kMaxText = 65'536;
// All that is looked at and copied, in characters; a value costs some beside its text.
constexpr std::size_t kMaxWork = std::size_t{16} << 20;
constexpr std::size_t kValueWork = 64;

// A value as far as it is known.
struct PythonValue {
  std::optional<std::string> text; // a string or path
  std::vector<PythonValue> items;  // of a list or tuple
  std::map<std::string, PythonValue> entries;

  bool isKnown() const { return text || !items.empty() || !entries.empty(); }

  std::size_t weight = 1; // how many values it holds

  std::size_t work() const {
    std::size_t sum = kValueWork + (text ? text->size() : 0);
    for (const PythonValue &item : items)
      sum += item.work();
    for (const auto &[key, value] : entries)
      sum += key.size() + value.work();
    return sum;
  }

  // False, and nothing done, where it would hold too many: a script can double a list line by line.
  bool grow(const PythonValue &other) {
    if (weight + other.weight > kMaxWeight)
      return false;
    weight += other.weight;
    return true;
  }

  void append(PythonValue item) {
    if (grow(item))
      items.push_back(std::move(item));
  }

  void add(const PythonValue &other) {
    if (!isKnown()) {
      *this = other;
      return;
    }
    if (!grow(other))
      return;
    if (text && other.text && text->size() + other.text->size() <= kMaxText)
      *text += *other.text;
    items.insert(items.end(), other.items.begin(), other.items.end());
    for (const auto &[key, value] : other.entries) {
      auto [entry, is_new] = entries.try_emplace(key, value);
      if (!is_new)
        entry->second.add(value);
    }
  }

  void set(const std::string &key, PythonValue value) {
    if (grow(value))
      entries[key] = std::move(value);
  }
};

PythonValue textValue(std::string text) {
  PythonValue value;
  value.text = std::move(text);
  return value;
}

struct Arguments {
  std::vector<PythonValue> positional;
  std::map<std::string, PythonValue> named;

  const PythonValue *find(const std::string &name, std::size_t position) const {
    if (const auto found = named.find(name); found != named.end())
      return &found->second;
    return position < positional.size() ? &positional[position] : nullptr;
  }
};

class Reader {
public:
  Reader(std::string_view text, const std::string &path)
      : tokens_(pythonTokens(text)), path_(path),
        folder_(llvm::sys::path::parent_path(path).str()) {}

  std::vector<SetupExtension> run() {
    bool at_start = true;
    while (!is(PythonToken::kEnd) && work_ <= kMaxWork) {
      const std::size_t before = at_;
      if (!at_start || !statement()) {
        spend(at_ - before); // it is read once more
        at_ = before;
        at_start = is(PythonToken::kNewline) || isSign(":") || isSign(";");
        // Wherever an extension is made, in an argument or a return; also by a name that stands for
        // the class.
        if (is(PythonToken::kName) && now().text.ends_with("xtension") && next().text == "(")
          primary();
        else
          ++at_;
      }
    }
    return std::move(extensions_);
  }

private:
  const PythonToken &now() const { return tokens_[at_]; }
  const PythonToken &next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool is(PythonToken::Kind kind) const { return now().kind == kind; }
  bool isSign(StringRef text) const { return is(PythonToken::kSign) && now().text == text; }
  bool isWord(StringRef text) const { return is(PythonToken::kName) && now().text == text; }
  bool take(StringRef sign) {
    if (!isSign(sign))
      return false;
    ++at_;
    return true;
  }

  // False, and the script at its end, where it asks for more than any script does.
  bool spend(std::size_t work) {
    work_ += work;
    if (work_ <= kMaxWork)
      return true;
    at_ = tokens_.size() - 1;
    return false;
  }

  // `name = …`, `name += …`, `name[key] = …`, `name.append(…)`, `name.extend(…)`. False where it is
  // none of these.
  bool statement() {
    if (!is(PythonToken::kName))
      return false;
    const std::string name = now().text;
    ++at_;
    PythonValue *target = &names_[name];
    if (take("[")) {
      const PythonValue key = expression();
      if (!take("]") || !key.text)
        return false;
      target = &target->entries[*key.text];
    }
    if (isSign("=") || isSign("+=")) {
      const bool adds = isSign("+=");
      ++at_;
      const PythonValue value = expression();
      // The other branch's list counts too.
      if (adds || (!value.text && target->isKnown() && !target->text))
        target->add(value);
      else
        *target = value;
      return true;
    }
    if (take(".") && (isWord("append") || isWord("extend") || isWord("insert"))) {
      const std::string method = now().text;
      ++at_;
      if (!isSign("("))
        return false;
      const Arguments arguments = call();
      if (arguments.positional.empty())
        return true;
      const PythonValue &value = arguments.positional.back();
      if (method == "extend")
        target->add(value);
      else if (value.isKnown())
        target->append(value);
      return true;
    }
    return false;
  }

  PythonValue expression() {
    if (depth_ > kMaxDepth)
      return {};
    ++depth_;
    PythonValue value = sum();
    while (true) {
      if (isWord("if")) {
        ++at_;
        sum();
        skipOperators();
        if (isWord("else")) {
          ++at_;
          const PythonValue other = expression();
          if (!value.text)
            value.add(other);
        }
      } else if (isWord("or")) {
        ++at_;
        const PythonValue other = sum();
        if (!value.isKnown())
          value = other;
      } else if (!skipOperators()) {
        break;
      } else {
        value = {};
      }
    }
    --depth_;
    return value;
  }

  // Comparisons and the like, with their right sides. False where there is none.
  bool skipOperators() {
    bool found = false;
    while (isSign("==") || isSign("!=") || isSign("<") || isSign(">") || isSign("<=") ||
           isSign(">=") || isSign("%") || isSign("*") || isSign("-") || isWord("and") ||
           isWord("in") || isWord("is") || isWord("not")) {
      ++at_;
      sum();
      found = true;
    }
    return found;
  }

  PythonValue sum() {
    PythonValue value = primary();
    while (isSign("+") || isSign("/")) {
      const bool joins = isSign("/");
      ++at_;
      const PythonValue other = primary();
      if (joins)
        value = joined({value, other});
      else if ((value.text && !other.text) || (!value.isKnown() && other.text))
        value = {};
      else
        value.add(other);
    }
    return value;
  }

  PythonValue primary() {
    if (depth_ > kMaxDepth) {
      at_ += !is(PythonToken::kEnd);
      return {};
    }
    if (!spend(kValueWork))
      return {};
    ++depth_;
    PythonValue value;
    std::string callee;
    if (is(PythonToken::kString) || is(PythonToken::kFormatted)) {
      std::optional<std::string> text = "";
      for (; is(PythonToken::kString) || is(PythonToken::kFormatted); ++at_) {
        const std::optional<std::string> part =
            is(PythonToken::kString) ? now().text : formatted(now().text);
        if (part && text && text->size() + part->size() <= kMaxText)
          *text += *part;
        else
          text.reset();
      }
      value.text = text;
    } else if (is(PythonToken::kName) && !isWord("for") && !isWord("if") && !isWord("else")) {
      callee = now().text;
      ++at_;
      if (callee == "__file__")
        value = textValue(path_);
      else if (callee == "not" || callee == "lambda" || callee == "await")
        expression();
      else if (const auto known = names_.find(callee);
               known != names_.end() && spend(known->second.work()))
        value = known->second;
    } else if (isSign("(") || isSign("[")) {
      value = list();
    } else if (isSign("{")) {
      value = dictionary();
    } else if (isSign("*") || isSign("**") || isSign("-")) {
      ++at_;
      value = primary();
    } else if (is(PythonToken::kNumber)) {
      value.text = now().text;
      ++at_;
    }
    value = trailers(std::move(value), std::move(callee));
    --depth_;
    return value;
  }

  PythonValue trailers(PythonValue value, std::string callee) {
    while (spend(value.text ? value.text->size() : 0)) {
      if (isSign(".") && next().kind == PythonToken::kName) {
        ++at_;
        callee = now().text;
        ++at_;
        if (callee == "parent" && value.text)
          value.text = llvm::sys::path::parent_path(*value.text).str();
      } else if (isSign("(")) {
        const Arguments arguments = call();
        value = result(callee, value, arguments);
        callee.clear();
      } else if (isSign("[")) {
        const PythonValue key = list();
        PythonValue entry;
        if (key.items.size() == 1 && key.items.front().text)
          if (const auto found = value.entries.find(*key.items.front().text);
              found != value.entries.end())
            entry = found->second;
        value = std::move(entry);
      } else {
        return value;
      }
    }
    return {};
  }

  // "{here}/csrc", with names that are known.
  std::optional<std::string> formatted(StringRef text) {
    std::string result;
    while (!text.empty()) {
      const auto [before, rest] = text.split('{');
      result += before;
      if (before.size() == text.size())
        break;
      const auto [name, after] = rest.split('}');
      const auto known = names_.find(name.trim().str());
      if (known == names_.end() || !known->second.text || !spend(known->second.text->size()) ||
          result.size() > kMaxText)
        return std::nullopt;
      result += *known->second.text;
      text = after;
    }
    return result;
  }

  PythonValue list() {
    const StringRef close = isSign("(") ? ")" : "]";
    const bool is_parenthesis = isSign("(");
    ++at_;
    PythonValue value;
    bool has_comma = false;
    while (!isSign(close) && !is(PythonToken::kEnd)) {
      const std::size_t before = at_;
      const bool spreads = isSign("*");
      PythonValue item = expression();
      if (isWord("for")) { // what a comprehension makes is not known
        skipTo(close);
        return {};
      }
      if (spreads)
        value.add(item);
      else if (item.isKnown())
        value.append(std::move(item));
      if (take(","))
        has_comma = true;
      else if (at_ == before)
        ++at_;
    }
    take(close);
    return is_parenthesis && !has_comma && value.items.size() == 1
               ? PythonValue(value.items.front())
               : value;
  }

  void skipTo(StringRef close) {
    int depth = 0;
    for (; !is(PythonToken::kEnd); ++at_) {
      if (depth == 0 && take(close))
        return;
      if (isSign("(") || isSign("[") || isSign("{"))
        ++depth;
      if (isSign(")") || isSign("]") || isSign("}"))
        --depth;
    }
  }

  PythonValue dictionary() {
    ++at_;
    PythonValue value;
    while (!isSign("}") && !is(PythonToken::kEnd)) {
      const std::size_t before = at_;
      const PythonValue key = expression();
      if (take(":")) {
        PythonValue entry = expression();
        if (key.text)
          value.set(*key.text, std::move(entry));
      }
      if (isWord("for")) {
        skipTo("}");
        return {};
      }
      if (!take(",") && at_ == before)
        ++at_;
    }
    take("}");
    return value;
  }

  Arguments call() {
    ++at_;
    Arguments arguments;
    while (!isSign(")") && !is(PythonToken::kEnd)) {
      const std::size_t before = at_;
      if (is(PythonToken::kName) && next().kind == PythonToken::kSign && next().text == "=") {
        const std::string name = now().text;
        at_ += 2;
        arguments.named[name] = expression();
      } else {
        arguments.positional.push_back(expression());
      }
      if (isWord("for")) {
        skipTo(")");
        return arguments;
      }
      if (!take(",") && at_ == before)
        ++at_;
    }
    take(")");
    return arguments;
  }

  static PythonValue joined(const std::vector<PythonValue> &parts) {
    llvm::SmallString<256> path;
    for (const PythonValue &part : parts) {
      if (!part.text)
        return {};
      if (StringRef(*part.text).starts_with("/"))
        path.clear();
      llvm::sys::path::append(path, *part.text);
      if (path.size() > kMaxText)
        return {};
    }
    return textValue(std::string(path));
  }

  PythonValue result(const std::string &callee, const PythonValue &object,
                     const Arguments &arguments) {
    const auto first = [&] {
      return arguments.positional.empty() ? object : arguments.positional.front();
    };
    if (callee.ends_with("xtension")) {
      extension(callee, arguments);
      return {};
    }
    if (callee == "join")
      return joined(arguments.positional);
    if (callee == "dirname") {
      PythonValue value = first();
      if (value.text)
        value.text = llvm::sys::path::parent_path(*value.text).str();
      return value;
    }
    if (callee == "getcwd" || callee == "cwd")
      return textValue(folder_);
    if (callee == "get" || callee == "getenv") // of the environment: the default
      return arguments.positional.size() > 1 ? arguments.positional[1] : PythonValue();
    static constexpr StringRef kSame[] = {"abspath",    "realpath", "normpath", "str",  "Path",
                                          "fspath",     "resolve",  "absolute", "list", "tuple",
                                          "sorted",     "set",      "as_posix", "copy", "glob",
                                          "expanduser", "deepcopy", "PurePath"};
    if (llvm::is_contained(kSame, callee))
      return callee == "glob" && object.text ? joined({object, first()}) : first();
    return {};
  }

  std::string absolute(const std::string &path) const {
    llvm::SmallString<256> full(path);
    llvm::sys::path::make_absolute(folder_, full);
    llvm::sys::path::remove_dots(full, /*remove_dot_dot=*/true);
    return std::string(full);
  }

  static std::vector<std::string> texts(const PythonValue *value) {
    std::vector<std::string> result;
    if (value && value->text)
      result.push_back(*value->text);
    if (!value)
      return result;
    for (const PythonValue &item : value->items) {
      if (item.text)
        result.push_back(*item.text);
      else if (!item.items.empty()) // glob() within a list
        llvm::append_range(result, texts(&item));
    }
    return result;
  }

  void extension(const std::string &kind, const Arguments &arguments) {
    SetupExtension extension;
    extension.is_torch = kind != "Extension";
    if (const PythonValue *name = arguments.find("name", 0); name && name->text)
      extension.name = *name->text;
    for (const std::string &source : texts(arguments.find("sources", 1)))
      extension.sources.push_back(absolute(source));
    for (const std::string &folder : texts(arguments.find("include_dirs", 2)))
      extension.include_folders.push_back(absolute(folder));
    if (const PythonValue *macros = arguments.find("define_macros", 3))
      for (const PythonValue &macro : macros->items) {
        if (macro.text)
          extension.macros.push_back(*macro.text);
        else if (!macro.items.empty() && macro.items.front().text)
          extension.macros.push_back(*macro.items.front().text +
                                     (macro.items.size() > 1 && macro.items[1].text
                                          ? "=" + *macro.items[1].text
                                          : std::string()));
      }
    if (const auto named = arguments.named.find("extra_compile_args");
        named != arguments.named.end()) {
      const PythonValue &extra = named->second;
      extension.cxx_arguments = texts(&extra);
      const auto entry = [&](const char *key) {
        const auto found = extra.entries.find(key);
        return found == extra.entries.end() ? std::vector<std::string>() : texts(&found->second);
      };
      llvm::append_range(extension.cxx_arguments, entry("cxx"));
      extension.nvcc_arguments = extra.entries.empty() ? extension.cxx_arguments : entry("nvcc");
    }
    extensions_.push_back(std::move(extension));
  }

  std::vector<PythonToken> tokens_;
  std::string path_;
  std::string folder_;
  std::size_t at_ = 0;
  unsigned depth_ = 0;
  std::size_t work_ = 0;
  std::map<std::string, PythonValue> names_;
  std::vector<SetupExtension> extensions_;
};

} // namespace

bool SetupExtension::builds(std::string_view file) const {
  const StringRef path(file.data(), file.size());
  return llvm::any_of(sources, [&](const std::string &source) {
    if (StringRef(source).find_first_of("*?") == StringRef::npos)
      return path == source;
    auto glob = llvm::GlobPattern::create(source);
    if (!glob) {
      llvm::consumeError(glob.takeError());
      return false;
    }
    return glob->match(path);
  });
}

std::vector<SetupExtension> readSetupScript(std::string_view text, const std::string &path) {
  return Reader(text, path).run();
}

} // namespace devsan::analyzer
