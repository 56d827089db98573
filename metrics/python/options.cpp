#include "metrics/python/options.h"

#include <cctype>
#include <regex>
#include <set>

#include "metrics/python/binding.h"

namespace devsan::metrics::python {

namespace {

[[noreturn]] void refuse(const std::string &text) {
  throw Raised(metric_error(), text);
}

// How TorchMetrics begins what it says of an option, where that is not "Expected argument ...".
struct Words {
  std::string_view metric; // how the names of the metrics begin
  std::string_view option;
  const char *words;
  bool with_value;
};
constexpr Words kWords[] = {
    {"", "things", "Expected argument `things` to contain `int` categories, each", false},
    {"", "stuffs", "Expected argument `stuffs` to contain `int` categories, each", false},
    {"", "nan_strategy", "Arg `nan_strategy` should either be a number or one of", false},
    {"Retrieval", "adaptive_k", "`adaptive_k` has to be a boolean:", false},
    {"Retrieval", "empty_target_action", "Argument `empty_target_action` received a wrong value",
     true},
    {"Retrieval", "ignore_index", "Argument `ignore_index` must be an integer or None. Expected",
     false},
    {"Retrieval", "top_k", "`top_k` has to be a positive integer or None:", false},
};

std::string words_for(const Place &place, PyObject *given, const std::string &expected) {
  for (const Words &known : kWords)
    if (place.option == known.option && place.metric.starts_with(known.metric))
      return known.with_value ? c10::str(known.words, " `", str(given), "`. Expected ", expected)
                              : c10::str(known.words, " ", expected);
  return c10::str("Expected argument `", place.option, "` to be ", expected);
}

// The names of all options and of what can be chosen.
struct Names {
  std::set<std::string, std::less<>> options, choices;
};
const Names &names() {
  static const auto *const all = [] {
    auto *const found = new Names;
    const std::regex quoted("'([^']*)'");
    for (const std::unique_ptr<Kind> &kind : kinds())
      for (const Argument &argument : kind->arguments) {
        found->options.insert(argument.name);
        for (std::sregex_iterator
                 word(argument.annotation.begin(), argument.annotation.end(), quoted),
             end;
             word != end; ++word)
          found->choices.insert((*word)[1]);
      }
    for (const char *option : {"compute_groups", "device_policy"}) // of Python's classes
      found->options.insert(option);
    return found;
  }();
  return *all;
}

// kCrammerSinger is "crammer-singer"; empty if it is no choice.
std::string choice_of(const std::string &enumerator) {
  for (const char between : {'_', '-'}) {
    std::string name;
    for (size_t i = 1; i < enumerator.size(); ++i) {
      if (i > 1 && std::isupper(static_cast<unsigned char>(enumerator[i])))
        name += between;
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(enumerator[i])));
    }
    if (names().choices.contains(name))
      return name;
  }
  return enumerator == "kNone" ? "none" : "";
}

} // namespace

std::string in_words_of_python(const std::string &text) {
  static const std::regex words(
      "\\b([a-z_]+)\\((true|false)\\)|\\b(k[A-Z][A-Za-z]*)\\b|\\bmerge\\(\\)");
  std::string said;
  auto rest = text.begin();
  for (std::sregex_iterator found(text.begin(), text.end(), words), end; found != end; ++found) {
    const std::smatch &match = *found;
    std::string word = match.str();
    if (match[1].matched && names().options.contains(match[1].str()))
      word = match[1].str() + (match[2] == "true" ? "=True" : "=False");
    else if (match[3].matched && !choice_of(match[3]).empty())
      word = "'" + choice_of(match[3]) + "'";
    else if (word == "merge()")
      word = "merge_state()";
    said.append(rest, match[0].first);
    said += word;
    rest = match[0].second;
  }
  said.append(rest, text.end());
  return said;
}

void Place::refuse_value(PyObject *given, const std::string &expected) const {
  refuse(c10::str(metric, ": ", words_for(*this, given, expected), ", but got ", repr(given)));
}

void Place::refuse_type(PyObject *given, const std::string &expected) const {
  refuse(c10::str(metric, ": ", words_for(*this, given, expected), ", but got ", repr(given),
                  " of type ", type_name(given)));
}

int64_t Conversion<int64_t>::from(const Place &place, PyObject *given) {
  if (PyBool_Check(given) || !PyIndex_Check(given))
    place.refuse_type(given, "an integer");
  const Py_ssize_t value = PyNumber_AsSsize_t(given, PyExc_OverflowError);
  if (PyErr_Occurred())
    throw Raised();
  return value;
}

double Conversion<double>::from(const Place &place, PyObject *given) {
  try {
    return number_in(given);
  } catch (const Raised &) {
    place.refuse_type(given, "a number");
  }
}

bool Conversion<bool>::from(const Place &place, PyObject *given) {
  if (!PyBool_Check(given))
    place.refuse_type(given, "a boolean");
  return given == Py_True;
}

at::ScalarType Conversion<at::ScalarType>::from(const Place &place, PyObject *given) {
  if (!is_dtype(given))
    place.refuse_type(given, "a torch.dtype");
  return dtype_in(given);
}

Thresholds Conversion<Thresholds>::from(const Place &place, PyObject *given) {
  if (PyLong_Check(given))
    return Thresholds(Conversion<int64_t>::from(place, given));
  if (!PyList_Check(given) && !PyTuple_Check(given))
    place.refuse_type(given,
                      "a number of thresholds, their values as a list or a tensor [T], or None");
  std::vector<double> thresholds;
  for (const Object &value : items_of(given))
    thresholds.push_back(Conversion<double>::from(place, value.get()));
  return Thresholds(thresholds);
}

} // namespace devsan::metrics::python
