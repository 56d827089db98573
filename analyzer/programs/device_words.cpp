#include "analyzer/programs/device_words.h"

#include "analyzer/files/source_files.h"
#include "analyzer/programs/device_names.h"
#include "analyzer/programs/words.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>
#include <map>
#include <utility>

namespace devsan::analyzer {

using llvm::StringRef;
using WordList = llvm::ArrayRef<StringRef>;

namespace {

class File {
public:
  explicit File(StringRef text)
      : all_(wordsOf(text)), words_(all_), brackets_(words_.size(), words_.size()),
        ends_(words_.size(), words_.size()) {
    std::vector<std::size_t> around;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      brackets_[i] = around.empty() ? words_.size() : around.back();
      if (depthBy(words_[i]) < 0 && !around.empty()) {
        ends_[around.back()] = i;
        around.pop_back();
      }
      if (depthBy(words_[i]) > 0)
        around.push_back(i);
    }
  }

  DeviceWords read() {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (words_[i] == "DeviceType" && isIdentifier(at(i + 1)))
        kinds_.insert(at(i + 1));
    for (std::size_t i = 0; i < words_.size(); ++i)
      readAt(i);
    return std::move(found_);
  }

private:
  // Empty words lie around the file.
  StringRef at(std::size_t i) const { return i < words_.size() ? words_[i] : StringRef("\n"); }

  void readAt(std::size_t i) {
    const StringRef word = words_[i];
    DeviceUse &use = found_.use;
    found_.names_torch |= isOfTorch(word) || (word == "at" && at(i + 1) == "::");
    found_.names_gpu |= (word.contains_insensitive("gpu") && !isProse(word)) || isOtherKind(i);
    const bool is_beside_cuda = isKindBesideCuda(word) || isScopedKind(i);
    use.any |= is_beside_cuda || makesUnknownDevice(i) ||
               (isDeviceWord(word) && !asksWhatThereIs(word) && !isOfNoTensor(i));
    use.other_kind |= is_beside_cuda;
    use.second |= choosesDevice(i);
    use.told |= isToldDevice(i);
    use.host_or_other |= asksWhatThereIs(word) || (isHostWord(word) && isChoice(i));
    use.saves |= word == "OutputArchive" || word == "pickle_save" ||
                 (word == "save" && at(i - 1) == "::" && at(i - 2) == "torch");
    use.stream |=
        choosesStream(word) || (word == "Stream" && at(i - 1) == "::" && at(i - 2) == "cuda");
    if ((word == "string" || word == "char") && isNameOfDevice(nameAfter(i)))
      found_.texts_of_devices.push_back(nameAfter(i).str());
    if ((word == "to" || word == "device") && at(i + 1) == "(")
      addTarget(insideBrackets(i + 1));
    const bool is_visible = word == "visibility" && at(i + 2) == "\"default\"";
    if ((isForOthers(word) || is_visible) && !addExportMacro(i))
      found_.is_for_others = true;
    found_.has_main |= word == "main" && at(i + 1) == "(";
    found_.is_library |= namesLibrary(word);
    if (word == "include" && at(i - 1) == "#") {
      found_.includes.push_back(includedBy(i));
      found_.includes_unknown |= found_.includes.back().empty();
    }
    found_.includes_unknown |= word == "import" && at(i + 2) == ";";
  }

  // `Kind::XPU`, of an alias. "hip" is a joint as well.
  bool isOtherKind(std::size_t i) const {
    return kindsBesideCuda().contains(words_[i].lower()) && words_[i].lower() != "hip";
  }

  // `DeviceType::XPU`, `torch::mps::synchronize()`; not `x.device().type() == DeviceType::HIP`.
  bool isScopedKind(std::size_t i) const {
    return kindsBesideCuda().contains(words_[i].lower()) && !isCompared(i) &&
           (at(i + 1) == "::" || (at(i - 1) == "::" && at(i - 2) == "DeviceType"));
  }

  // With what stands before its scopes.
  bool isCompared(std::size_t i) const {
    while (i >= 2 && at(i - 1) == "::" && isIdentifier(at(i - 2)))
      i -= 2;
    return at(i - 1) == "=" && (at(i - 2) == "=" || at(i - 2) == "!");
  }

  // `torch::cuda::manual_seed(1)`, `torch::cuda::is_available()`: no tensor comes to a device by
  // it.
  bool isOfNoTensor(std::size_t i) const {
    return words_[i] == "cuda" && at(i + 1) == "::" &&
           (asksWhatThereIs(at(i + 2)) || at(i + 2).starts_with("manual_seed") ||
            at(i + 2) == "cudnn_is_available");
  }

  // `#define API extern "C" __declspec(dllexport)`: who has the macro is for others.
  bool addExportMacro(std::size_t i) {
    constexpr std::size_t kMaxWordsBefore = 8;
    for (std::size_t back = i; back >= 2 && i - back < kMaxWordsBefore; --back)
      if (words_[back - 1] == "define" && words_[back - 2] == "#") {
        const StringRef line(words_[back].data(), words_[i].data() - words_[back].data());
        if (line.contains('\n') && !line.contains("\\\n"))
          return false;
        found_.export_macros.push_back(words_[back].str());
        return true;
      }
    return false;
  }

  // `x.to(config.device, …)`, `x.to(name)`: of a text, which would say which device.
  void addTarget(WordList arguments) {
    arguments = arguments.take_until([](StringRef word) { return word == ","; });
    if (arguments.empty() || !isNameOfDevice(arguments.back()))
      return;
    if (arguments.size() > 1)
      found_.targets.push_back(arguments.back().str());
    else
      found_.use.any |= llvm::is_contained(found_.texts_of_devices, arguments.front());
  }

  // `Device(x)`, `Device device{x}`: of something that is no constant.
  bool makesUnknownDevice(std::size_t i) const {
    if (words_[i] != "Device")
      return false;
    const std::size_t open = isIdentifier(at(i + 1)) ? i + 2 : i + 1;
    const WordList made = insideBrackets(open);
    return !made.empty() && llvm::none_of(made, [&](StringRef word) {
      return isHostWord(word) || isKnownKind(word);
    });
  }

  // `DeviceType type = kCPU;`: whatever it becomes, the words that it is given say it.
  bool isKnownKind(StringRef name) const {
    if (!kinds_.contains(name))
      return false;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] != name)
        continue;
      const bool is_declared = at(i - 1) == "DeviceType";
      if (at(i + 1) == "=" && at(i + 2) != "=") {
        if (!llvm::all_of(untilEnd(i + 2), isPartOfKind))
          return false;
      } else if (is_declared && at(i + 1) != ";") {
        return false; // a parameter, or made of something
      } else if (at(i - 1) == "&" || at(i - 1) == ">") {
        return false; // handed out, read from a stream
      }
    }
    return true;
  }

  static bool isPartOfKind(StringRef word) {
    return !isIdentifier(word) || isHostWord(word) || isDeviceWord(word) || asksWhatThereIs(word) ||
           word == "torch" || word == "at" || word == "c10" || word == "DeviceType";
  }

  // Another device than the first of its kind, or one that these words do not tell.
  bool choosesDevice(std::size_t i) const {
    const StringRef word = words_[i];
    if (namesSecondDevice(word) || worksOnSeveralDevices(word))
      return true;
    if (word == "data_parallel" || word == "DataParallel")
      return at(i + 1) == "(" || at(i + 1) == "<";
    // `getStreamFromPool(false, device)`
    if (word == "getStreamFromPool")
      return !isFirst(behindComma(insideBrackets(i + 1)));
    if (setsDevice(word))
      return at(i + 1) == "(" && !isFirst(insideBrackets(i + 1));
    if (isGuardOfDevice(word) || (word == "Device" && hasTwoArguments(i)))
      return makesOther(i);
    if (word == "kCUDA" || (word == "CUDA" && at(i - 1) == "::") || kinds_.contains(word))
      return at(i + 1) == "," && makesDevice(bracketAround(i)) && mayBeOtherIndex(i + 2);
    return false;
  }

  static WordList behindComma(WordList words) {
    const auto *comma = llvm::find(words, ",");
    return words.drop_front(comma == words.end() ? words.size() : comma - words.begin() + 1);
  }

  // `Device device(kind, index)`
  bool hasTwoArguments(std::size_t i) const {
    return llvm::is_contained(insideBrackets(isIdentifier(at(i + 1)) ? i + 2 : i + 1), ",");
  }

  // A device, or a setting that says which, that these words do not tell.
  bool isToldDevice(std::size_t i) const {
    const StringRef word = words_[i];
    // `settings["gpu"]["blocks"]` is no device.
    if (asksForDevice(word) && !(at(i + 1) == "]" && at(i + 2) == "["))
      return true;
    if (word == "Device")
      return makesOther(i);
    // `std::string device = …`, which becomes a device where one is wanted.
    if (word == "string" || word == "char")
      return isNameOfDevice(nameAfter(i));
    if (word == "argv")
      return isForDevice(i);
    const std::string lower = word.lower();
    return StringRef(lower).starts_with("flags_") && isNameOfDevice(word);
  }

  // Of a device or a guard: `Device(x)`, `Device device{x}`, `Device device = x`, `CUDAGuard
  // guard;`
  bool makesOther(std::size_t i) const {
    const bool is_guard = isGuardOfDevice(words_[i]);
    const bool is_named = isIdentifier(at(i + 1));
    const std::size_t next = is_named ? i + 2 : i + 1;
    if (at(next) == "(" || at(next) == "{")
      return !isFirst(insideBrackets(next));
    if (at(next) == "=" && at(next + 1) != "=")
      return is_named && !isFirst(untilEnd(next + 1));
    // To be set later, or inside of a template.
    return is_guard && (at(next) == ">" || (is_named && at(next) == ";"));
  }

  static constexpr std::size_t kMaxWords = 256; // of what says which device

  // The words between a bracket and its counterpart.
  WordList insideBrackets(std::size_t open) const {
    if (at(open) != "(" && at(open) != "{")
      return {};
    std::size_t end = open + 1;
    for (int depth = 1; end < words_.size() && end - open < kMaxWords; ++end)
      if ((depth += depthBy(words_[end])) == 0)
        break;
    return words_.slice(open + 1, end - open - 1);
  }

  // Of an initializer.
  WordList untilEnd(std::size_t begin) const {
    int depth = 0;
    std::size_t end = begin;
    for (; end < words_.size() && end - begin < kMaxWords; ++end) {
      if (depth == 0 && (words_[end] == ";" || words_[end] == ","))
        break;
      if ((depth += depthBy(words_[end])) < 0)
        break;
    }
    return words_.slice(begin, end - begin);
  }

  static int depthBy(StringRef word) {
    if (word == "(" || word == "{" || word == "[")
      return 1;
    return word == ")" || word == "}" || word == "]" ? -1 : 0;
  }

  // Whatever way it goes, it is the host, the first device of a kind, or that of a tensor. `names`:
  // how many were looked up on the way.
  bool isFirst(WordList made, unsigned names = 0) const {
    while (made.size() >= 2 && (made.front() == "(" || made.front() == "{") && spansAll(made))
      made = made.drop_front().drop_back();
    std::vector<WordList> ways(1), arguments(1);
    int depth = 0;
    for (std::size_t i = 0, begin = 0, argument = 0; i <= made.size(); ++i) {
      const StringRef word = i < made.size() ? made[i] : StringRef("\n");
      if (i < made.size())
        depth += depthBy(word);
      if (depth == 0 && word == "?")
        begin = i + 1; // it was a condition
      if (i == made.size() || (depth == 0 && word == ",")) {
        arguments.back() = made.slice(argument, i - argument);
        if (i < made.size())
          arguments.emplace_back();
        argument = i + 1;
      }
      if (i == made.size() || (depth == 0 && word == ":")) {
        ways.back() = made.slice(begin, i - begin);
        if (i < made.size())
          ways.emplace_back();
        begin = i + 1;
      }
    }
    // Of a kind and an index the latter counts.
    if (arguments.size() > 1)
      return arguments.size() == 2 && !arguments[0].empty() &&
             !llvm::isDigit(arguments[0][0].front()) && isFirst(arguments[1], names);
    if (ways.size() > 1)
      return llvm::all_of(ways, [&](WordList way) { return isFirst(way, names); });
    return isFirstConstant(ways.front()) || isFirstName(ways.front(), names);
  }

  static bool spansAll(WordList words) {
    int depth = 0;
    for (std::size_t i = 0; i < words.size(); ++i)
      if ((depth += depthBy(words[i])) == 0)
        return i + 1 == words.size();
    return false;
  }

  // `const int device = x.get_device();`, and whatever else sets the variable of a function.
  bool isFirstName(WordList words, unsigned names) const {
    constexpr unsigned kMaxNames = 4;
    if (words.size() != 1 || !isIdentifier(words[0]) || names >= kMaxNames)
      return false;
    const std::size_t use = words.data() - words_.data();
    const auto [begin, end] = functionAround(use);
    const auto [known, is_new] = first_names_.try_emplace({begin, words[0]}, false);
    if (is_new)
      known->second = isFirstIn(begin, end, words[0], names);
    return known->second;
  }

  bool isFirstIn(std::size_t begin, std::size_t end, StringRef name, unsigned names) const {
    bool is_declared = false, is_constant = true;
    for (std::size_t i = begin; i < end; ++i) {
      if (words_[i] != name)
        continue;
      const StringRef before = at(i - 1), next = at(i + 1);
      const bool declares =
          before == "*" || (isIdentifier(before) && before != "return" && before != "else");
      const bool is_set = next == "=" && at(i + 2) != "=";
      const bool is_made = declares && (next == "(" || next == "{");
      if ((is_set && !isFirst(untilEnd(i + 2), names + 1)) ||
          (is_made && !isFirst(insideBrackets(i + 1), names + 1)))
        return false;
      if (declares) {
        if (!(is_set || is_made))
          return false; // a parameter
        is_constant &= at(i - 2) == "const" || at(i - 3) == "const" || before == "const";
      } else if (!is_set && !(is_declared && (is_constant || isChosenBy(i)))) {
        return false; // it may be set there, or is no variable of the function
      }
      is_declared |= declares;
    }
    return is_declared;
  }

  // From its parameters to its end.
  std::pair<std::size_t, std::size_t> functionAround(std::size_t i) const {
    std::size_t begin = i, end = i;
    for (std::size_t open = i; (open = brackets_[open]) < words_.size();) {
      std::size_t parameters = open;
      while (llvm::is_contained({"const", "noexcept", "override", "final"}, at(parameters - 1)))
        --parameters;
      if (words_[open] == "{" && at(parameters - 1) == ")") {
        begin = std::min(brackets_[parameters - 1], open);
        end = ends_[open];
      }
    }
    return {begin, end > i ? end : i};
  }

  // `cudaSetDevice(gpu)`
  bool isChosenBy(std::size_t i) const {
    const StringRef by = at(i - 1) == "(" || at(i - 1) == "{" ? at(i - 2) : StringRef("\n");
    return setsDevice(by) || isGuardOfDevice(by) || isGuardOfDevice(at(i - 3)) || by == "Device" ||
           at(i - 3) == "Device";
  }

  bool isFirstConstant(WordList words) const {
    if (words.empty() || words == WordList{"0"} || words == WordList{"-", "1"})
      return true;
    while (words.size() > 2 && isIdentifier(words[0]) && words[1] == "::")
      words = words.drop_front(2);
    // These are looked at where they stand.
    if (words[0] == "Device" || words[0] == "device_of")
      return true;
    // Of a tensor, or the current one; not one beside it.
    const bool is_computed = llvm::any_of(words, [](StringRef word) {
      return word == "+" || word == "*" || word == "%" || word == "/";
    });
    if (!is_computed && words.size() >= 3 && words.back() == ")" && words[words.size() - 2] == "(")
      return llvm::StringSwitch<bool>(words[words.size() - 3])
          .Cases({"device", "get_device", "index", "current_device"}, true)
          .Default(false);
    return words.size() == 1 &&
           (words[0] == "kCUDA" || words[0] == "CUDA" || isHostWord(words[0]) ||
            words[0] == "\"cuda\"" || words[0] == "\"cuda:0\"" || kinds_.contains(words[0]));
  }

  // The second argument beside a kind: a dtype and a flag are none.
  bool mayBeOtherIndex(std::size_t i) const {
    while (isIdentifier(at(i)) && at(i + 1) == "::")
      i += 2;
    const StringRef word = at(i);
    const bool is_constant = word.size() > 1 && word.front() == 'k' && llvm::isUpper(word[1]);
    return !is_constant && word != "true" && word != "false" && word != "0" &&
           !(word == "-" && at(i + 1) == "1");
  }

  StringRef nameAfter(std::size_t i) const {
    for (++i; at(i) == "&" || at(i) == "*" || at(i) == ">" || at(i) == "const";)
      ++i;
    return isIdentifier(at(i)) ? at(i) : StringRef("\n");
  }

  // `device = argv[1]`, `net.to(argv[1])`.
  bool isForDevice(std::size_t i) const {
    for (std::size_t back = i; back-- > 0;) {
      const StringRef word = words_[back];
      if (word == ";" || word == "{" || word == "}")
        return false;
      if (isNameOfDevice(word) || (word == "to" && at(back + 1) == "("))
        return true;
    }
    return false;
  }

  // Not merely where data is brought back, or asked for.
  bool isChoice(std::size_t i) const {
    if (isCompared(i))
      return false;
    while (i >= 2 && at(i - 1) == "::" && isIdentifier(at(i - 2)))
      i -= 2;
    if (at(i - 1) != "(" && at(i - 1) != ",")
      return true;
    const std::size_t bracket = bracketAround(i);
    const bool is_option = at(bracket - 1) == "device" && at(bracket - 2) != "Device";
    return makesDevice(bracket) && !is_option;
  }

  // The bracket that holds the word; past the end where there is none near.
  std::size_t bracketAround(std::size_t i) const {
    int depth = 0;
    for (std::size_t back = 1; back <= i && back < kMaxWords; ++back) {
      depth += depthBy(words_[i - back]);
      if (depth > 0)
        return i - back;
    }
    return words_.size();
  }

  // `Device(`, `Device device(`, `options.device(`, `{`; not a function that is told more.
  bool makesDevice(std::size_t bracket) const {
    const StringRef made = at(bracket - 1);
    return at(bracket) == "{" || at(bracket - 2) == "Device" || made == "TensorOptions" ||
           made == "emplace" || made == "emplace_back" || at(bracket - 2) == ":" ||
           isNameOfDevice(made);
  }

  // The file that stands behind `#include`; empty where a macro does.
  std::string includedBy(std::size_t i) const {
    if (at(i + 1).starts_with("\""))
      return withSlashes(at(i + 1).trim('"').str());
    std::string name;
    if (at(i + 1) == "<")
      for (i += 2; i < words_.size() && words_[i] != ">"; ++i)
        name += words_[i];
    return withSlashes(std::move(name));
  }

  const std::vector<StringRef> all_;
  const WordList words_;
  // Of each word, the bracket that it lies in or closes, and of each that opens, its counterpart;
  // past the end where there is none.
  std::vector<std::size_t> brackets_, ends_;
  mutable std::map<std::pair<std::size_t, StringRef>, bool> first_names_; // by functions
  llvm::StringSet<> kinds_; // variables that say which kind of device, and no index
  DeviceWords found_;
};

} // namespace

DeviceUse DeviceUse::operator|(const DeviceUse &other) const {
  return {any || other.any,
          host_or_other || other.host_or_other,
          other_kind || other.other_kind,
          second || other.second,
          told || other.told,
          stream || other.stream,
          saves || other.saves,
          from_elsewhere || other.from_elsewhere};
}

DeviceUse DeviceUse::operator&(const DeviceUse &other) const {
  return {any && other.any,
          host_or_other && other.host_or_other,
          other_kind && other.other_kind,
          second && other.second,
          told && other.told,
          stream && other.stream,
          saves && other.saves,
          from_elsewhere && other.from_elsewhere};
}

DeviceWords deviceWordsIn(StringRef text) {
  return File(text).read();
}

} // namespace devsan::analyzer
