#include "analyzer/calls/project_data.h"

namespace devsan::analyzer {

unsigned ProjectData::index(const DataHolder &holder) {
  const auto [known, is_new] = indices_.try_emplace(holder, holders_.size());
  if (is_new)
    holders_.emplace_back();
  return known->second;
}

void ProjectData::add(const FileData &data, bool of_test) {
  std::vector<unsigned> here;
  for (const DataHolder &holder : data.holders)
    here.push_back(index(holder));
  for (const FileData::Source &source : data.sources) {
    Holder &holder = holders_[here[source.holder]];
    switch (source.kind) {
    case FileData::Source::Kind::kHost:
      holder.gets_host |= !of_test;
      break;
    case FileData::Source::Kind::kHolder:
      if (!of_test)
        holder.from.push_back(here[source.from]);
      break;
    case FileData::Source::Kind::kOther:
      holder.gets_other = true;
      break;
    }
  }
}

// Takes all that get data of the host, by whatever way, and leaves out what may get others. What
// only gets its own data back, around a circle, gets none.
void ProjectData::settle(llvm::function_ref<bool(llvm::StringRef)> is_open) {
  for (const auto &[holder, i] : indices_) {
    holders_[i].is_on_host = holders_[i].gets_host;
    holders_[i].gets_other |= holder.parameter >= 0 && is_open(holder.usr);
  }
  const auto repeat = [&](auto change) {
    for (bool changed = true; changed;) {
      changed = false;
      for (Holder &holder : holders_)
        changed |= change(holder);
    }
  };
  repeat([&](Holder &holder) {
    const bool before = holder.is_on_host;
    for (const unsigned from : holder.from)
      holder.is_on_host |= holders_[from].is_on_host;
    return holder.is_on_host != before;
  });
  repeat([&](Holder &holder) {
    const bool before = holder.is_on_host;
    holder.is_on_host &= !holder.gets_other;
    for (const unsigned from : holder.from)
      holder.is_on_host &= holders_[from].is_on_host;
    return holder.is_on_host != before;
  });
}

bool ProjectData::isOnHost(const DataHolder &holder) const {
  const auto known = indices_.find(holder);
  return known != indices_.end() && holders_[known->second].is_on_host;
}

llvm::StringSet<> ProjectData::namesToLookFor(const std::vector<DataHolder> &wanted) const {
  llvm::StringSet<> names;
  const auto look_for = [&](const DataHolder &holder) {
    names.insert(holder.name);
    if (!holder.owner.empty())
      names.insert(holder.owner);
  };
  std::vector<const DataHolder *> by_index(holders_.size());
  for (const auto &[holder, i] : indices_)
    by_index[i] = &holder;
  std::vector<bool> seen(holders_.size());
  std::vector<unsigned> pending;
  for (const DataHolder &holder : wanted)
    if (const auto known = indices_.find(holder); known != indices_.end())
      pending.push_back(known->second);
    else
      look_for(holder);
  while (!pending.empty()) {
    const unsigned i = pending.back();
    pending.pop_back();
    // Whatever else there is, it stays so.
    if (seen[i] || holders_[i].gets_other)
      continue;
    seen[i] = true;
    look_for(*by_index[i]);
    pending.insert(pending.end(), holders_[i].from.begin(), holders_[i].from.end());
  }
  return names;
}

} // namespace devsan::analyzer
