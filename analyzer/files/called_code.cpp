#include "analyzer/files/called_code.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <utility>

namespace devsan::analyzer {

using llvm::StringRef;

namespace {

// Called by the system.
bool beginsProgram(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"main", "wmain", "_tmain", "WinMain", "wWinMain", "_tWinMain", "DllMain"}, true)
      .Default(false);
}

} // namespace

unsigned CalledCode::wordOf(StringRef name) {
  const auto [known, is_new] = ids_.try_emplace(name, words_.size());
  if (is_new)
    words_.emplace_back();
  return known->second;
}

void CalledCode::addCode(const std::string &path, const CodeOutline &outline) {
  addNames(outline.words);
  for (const StringRef fragment : outline.pasted)
    pasted_.push_back(fragment.str());
  std::vector<unsigned> &here = by_path_[path];
  for (const CodeOutline::Part &part : outline.parts) {
    Part added{.kind = part.kind,
               .name = wordOf(part.name),
               .owner = wordOf(part.owner),
               .by_itself = part.by_itself || beginsProgram(part.name),
               .first_line = part.first_line,
               .last_line = part.last_line};
    for (const StringRef word : part.words)
      added.words.push_back(wordOf(word));
    if (part.is_holder)
      added.words.push_back(wordOf((part.name + "Impl").str()));
    Word &word = words_[added.name];
    if (part.kind == Kind::kClass && !part.name.empty()) {
      word.is_class = true;
      word.is_used_by_others |= part.has_bases || part.is_export;
      added.by_itself |= part.is_export;
    }
    word.is_export |= part.kind == Kind::kMacro && part.is_export;
    words_[added.name].parts.push_back(parts_.size());
    if (!part.owner.empty())
      words_[added.owner].members.push_back(parts_.size());
    if (added.last_line)
      here.push_back(parts_.size());
    parts_.push_back(std::move(added));
  }
}

void CalledCode::addNames(llvm::ArrayRef<StringRef> names) {
  for (const StringRef name : names)
    say(wordOf(name));
}

void CalledCode::say(unsigned word) {
  if (!std::exchange(words_[word].is_said, true))
    pending_.push_back(word);
}

// A namespace is no class, and is there.
bool CalledCode::hasOwner(const Part &part) const {
  const Word &owner = words_[part.owner];
  return !owner.is_class || owner.is_made;
}

// Bases call what overrides their methods.
bool CalledCode::comesByItself(const Part &part) const {
  return part.by_itself || (part.kind == Kind::kFunction && words_[part.owner].is_used_by_others);
}

void CalledCode::consider(unsigned index) {
  Part &part = parts_[index];
  if (part.runs || !hasOwner(part) || !(words_[part.name].is_said || comesByItself(part)))
    return;
  part.runs = true;
  for (const unsigned word : part.words)
    say(word);
  if (part.kind == Kind::kClass && !std::exchange(words_[part.name].is_made, true))
    for (const unsigned member : words_[part.name].members)
      consider(member);
}

void CalledCode::settle() {
  for (Part &part : parts_)
    if (part.kind != Kind::kMacro &&
        llvm::any_of(part.words, [&](unsigned word) { return words_[word].is_export; })) {
      part.by_itself = true;
      words_[part.name].is_used_by_others |= part.kind == Kind::kClass;
    }
  for (const auto &name : ids_)
    if (llvm::any_of(pasted_, [&](const std::string &fragment) {
          return name.getKey().starts_with(fragment) || name.getKey().ends_with(fragment);
        }))
      say(name.getValue());
  for (unsigned i = 0; i < parts_.size(); ++i)
    consider(i);
  while (!pending_.empty()) {
    const unsigned word = pending_.back();
    pending_.pop_back();
    for (const unsigned part : words_[word].parts)
      consider(part);
  }
}

bool CalledCode::mayRun(const std::string &path, unsigned line, bool by_name) const {
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
  const bool is_said = words_[around->name].is_said || around->by_itself;
  return around->runs && (is_said || !by_name || around->kind != Kind::kFunction);
}

} // namespace devsan::analyzer
