#include "analyzer/programs/called_code.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>
#include <utility>

namespace devsan::analyzer {

using llvm::StringRef;

namespace {

// More pasted names than people write: any name may be one.
constexpr std::size_t kMaxPasted = 1'000;

// What the system, the language and libraries call without anybody saying so.
constexpr StringRef kCalledByOthers[] = {
    "main", "wmain", "_tmain", "WinMain", "wWinMain", "_tWinMain", "DllMain", "mexFunction",
    // `for (x : range)`, `auto [a, b] = pair`, coroutines
    "begin", "end", "get", "await_ready", "await_suspend", "await_resume", "initial_suspend",
    "final_suspend", "get_return_object", "return_void", "return_value", "yield_value",
    "unhandled_exception",
    // customization points
    "swap", "size", "hash_value", "to_json", "from_json", "tag_invoke", "serialize", "parse",
    "format", "allocate", "deallocate", "construct", "destroy"};

} // namespace

bool isCalledByTorch(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"forward", "backward", "reset", "reset_parameters", "clone", "clone_"}, true)
      .Cases({"train", "is_training", "to", "save", "load"}, true)
      .Cases({"zero_grad", "is_serializable", "pretty_print"}, true)
      .Default(false);
}

unsigned CalledCode::idOf(StringRef name) {
  const auto [known, is_new] = ids_.try_emplace(name, names_.size());
  if (is_new)
    names_.emplace_back();
  return known->second;
}

void CalledCode::addCode(const std::string &path, const CodeOutline &outline) {
  addNames(outline.names);
  for (const StringRef fragment : outline.pasted)
    pasted_.insert(fragment);
  std::vector<unsigned> &here = by_path_[path];
  for (const CodeOutline::Part &part : outline.parts) {
    Part added{.kind = part.kind,
               .name = idOf(part.name),
               .scope = idOf(part.scope),
               .is_implicit = part.is_implicit,
               .first_line = part.first_line,
               .last_line = part.last_line};
    for (const StringRef name : part.names)
      added.names.push_back(idOf(name));
    if (part.is_holder)
      added.names.push_back(idOf((part.name + "Impl").str()));
    Name &name = names_[added.name];
    if (part.kind == Kind::kClass && !part.name.empty()) {
      name.is_class = true;
      name.is_module |= part.is_module;
      name.has_bases |= part.has_bases;
      name.is_exported |= part.is_exported;
      added.is_implicit |= part.is_exported;
    }
    name.is_macro |= part.kind == Kind::kMacro && !part.is_holder;
    name.is_export |= part.kind == Kind::kMacro && part.is_exported;
    name.parts.push_back(parts_.size());
    if (!part.scope.empty())
      names_[added.scope].members.push_back(parts_.size());
    if (added.last_line)
      here.push_back(parts_.size());
    parts_.push_back(std::move(added));
  }
}

void CalledCode::addDeadLines(const std::string &path, StringRef text, StringRef live) {
  const auto has_code = [](StringRef line) {
    return line.take_front(line.find("//")).find_if(llvm::isAlnum) != StringRef::npos;
  };
  for (unsigned line = 1; !text.empty(); ++line) {
    const auto [written, rest] = text.split('\n');
    const auto [left, left_rest] = live.split('\n');
    if (has_code(written) && !has_code(left))
      dead_lines_[path].insert(line);
    text = rest;
    live = left_rest;
  }
}

void CalledCode::addNames(llvm::ArrayRef<StringRef> names) {
  for (const StringRef name : names) {
    const unsigned id = idOf(name);
    names_[id].is_said_outside = true;
    say(id);
  }
}

bool CalledCode::isSaidBeside(StringRef scope, StringRef name) const {
  const auto said = ids_.find(name), owner = ids_.find(scope);
  if (said == ids_.end() || owner == ids_.end())
    return true;
  return names_[said->second].is_said_outside || llvm::any_of(parts_, [&](const Part &part) {
           const bool is_constructor = part.kind == Kind::kFunction && part.name == owner->second &&
                                       part.scope == owner->second;
           return part.is_reachable && !is_constructor &&
                  llvm::is_contained(part.names, said->second);
         });
}

void CalledCode::say(unsigned name) {
  if (!std::exchange(names_[name].is_said, true))
    pending_.push_back(name);
}

bool CalledCode::isImplicit(const Part &part) const {
  const Name &scope = names_[part.scope];
  return part.is_implicit ||
         (part.kind == Kind::kFunction && (scope.has_bases || scope.is_exported ||
                                           (scope.is_module && names_[part.name].is_of_modules)));
}

void CalledCode::consider(unsigned index) {
  Part &part = parts_[index];
  const Name &scope = names_[part.scope]; // a namespace is no class, and is there
  if (part.is_reachable || (scope.is_class && !scope.is_used) ||
      !(names_[part.name].is_said || isImplicit(part)))
    return;
  part.is_reachable = true;
  for (const unsigned name : part.names)
    say(name);
  if (part.kind == Kind::kClass && !std::exchange(names_[part.name].is_used, true))
    for (const unsigned member : names_[part.name].members)
      consider(member);
}

// What macros mark, and the functions whose heads they write.
void CalledCode::settleMacros() {
  // Qt calls slots and properties by their names in files of its own.
  for (const StringRef macro : {"Q_OBJECT", "Q_GADGET"})
    names_[idOf(macro)].is_export = true;
  for (Part &part : parts_) {
    if (part.kind == Kind::kMacro)
      continue;
    part.is_implicit |= names_[part.name].is_macro;
    if (llvm::none_of(part.names, [&](unsigned name) { return names_[name].is_export; }))
      continue;
    part.is_implicit = true;
    names_[part.name].is_exported |= part.kind == Kind::kClass;
    if (part.kind == Kind::kFunction && !part.last_line)
      say(part.name); // declared so
  }
}

void CalledCode::settle() {
  for (const StringRef name : kCalledByOthers)
    say(idOf(name));
  settleMacros();
  for (const auto &name : ids_) {
    names_[name.getValue()].is_of_modules = isCalledByTorch(name.getKey());
    bool is_pasted = pasted_.size() > kMaxPasted;
    for (std::size_t i = 1; i <= name.getKey().size() && !is_pasted && !pasted_.empty(); ++i)
      is_pasted = pasted_.contains(name.getKey().take_front(i)) ||
                  pasted_.contains(name.getKey().take_back(i));
    if (is_pasted)
      say(name.getValue());
  }
  for (unsigned i = 0; i < parts_.size(); ++i)
    consider(i);
  while (!pending_.empty()) {
    const unsigned name = pending_.back();
    pending_.pop_back();
    for (const unsigned part : names_[name].parts)
      consider(part);
  }
}

bool CalledCode::isReachable(const std::string &path, unsigned line, StringRef by_name) const {
  if (const auto dead = dead_lines_.find(path);
      dead != dead_lines_.end() && dead->second.contains(line))
    return false;
  const auto found = by_path_.find(path);
  if (found == by_path_.end())
    return true;
  const Part *around = nullptr; // the innermost
  for (const unsigned i : found->second)
    if (const Part &part = parts_[i]; part.first_line <= line && line <= part.last_line &&
                                      (!around || part.first_line >= around->first_line))
      around = &part;
  if (!around)
    return true;
  const auto name = ids_.find(by_name);
  if (around->kind != Kind::kFunction || name == ids_.end() || name->second != around->name)
    return around->is_reachable;
  return around->is_reachable &&
         (names_[around->name].is_said || around->is_implicit || names_[around->scope].is_exported);
}

std::string CalledCode::reachedCode(const std::string &path, std::string text) const {
  const auto found = by_path_.find(path);
  if (found == by_path_.end())
    return text;
  std::vector<bool> is_left_out(std::count(text.begin(), text.end(), '\n') + 2);
  const auto mark = [&](const Part &part, bool value) {
    for (std::size_t line = part.first_line; line <= part.last_line && line < is_left_out.size();
         ++line)
      is_left_out[line] = value;
  };
  for (const unsigned i : found->second)
    if (!parts_[i].is_reachable)
      mark(parts_[i], true);
  // On one line with others.
  for (const unsigned i : found->second)
    if (parts_[i].is_reachable && parts_[i].kind == Kind::kFunction)
      mark(parts_[i], false);
  std::size_t line = 1;
  bool is_directive = false;       // for all of the file, wherever it stands
  char last = '\n', before = '\n'; // that are no blanks
  for (char &c : text) {
    const char read = c;
    if (last == '\n' && before != '\\')
      is_directive = false;
    if (read == '#' && llvm::isSpace(last))
      is_directive = true;
    if (read == '\n')
      ++line;
    else if (is_left_out[line] && !is_directive)
      c = ' ';
    if (read != ' ' && read != '\t' && read != '\r') {
      before = last;
      last = read;
    }
  }
  return text;
}

} // namespace devsan::analyzer
