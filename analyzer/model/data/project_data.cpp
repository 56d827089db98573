#include "analyzer/model/data/project_data.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <tuple>

namespace devsan::analyzer {

unsigned ProjectData::index(const DataHolder &holder) {
  const auto [known, is_new] =
      indices_.try_emplace({holder.usr, holder.parameter}, holders_.size());
  if (is_new) {
    holders_.emplace_back();
    holders_.back().name = holder.name;
    holders_.back().owner = holder.owner;
  }
  Holder &found = holders_[known->second];
  // Two programs have it, each its own.
  found.gets_other |= !holder.place.empty() && !found.place.empty() && holder.place != found.place;
  if (found.place.empty())
    found.place = holder.place;
  return known->second;
}

const ProjectData::Holder *ProjectData::find(const DataHolder &holder) const {
  const auto known = indices_.find({holder.usr, holder.parameter});
  return known == indices_.end() ? nullptr : &holders_[known->second];
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
    case FileData::Source::Kind::kOfDevice:
      if (!of_test)
        holder.devices.push_back(here[source.from]);
      [[fallthrough]];
    case FileData::Source::Kind::kHolder:
      (of_test ? holder.from_tests : holder.from).push_back(here[source.from]);
      break;
    case FileData::Source::Kind::kParameter:
      holder.gets_parameters = true;
      break;
    case FileData::Source::Kind::kDevice:
      holder.gets_device |= !of_test;
      [[fallthrough]];
    case FileData::Source::Kind::kOther:
      holder.gets_other = true;
      break;
    }
  }
}

// Takes all that get data of the host, by whatever way, and leaves out what may get others. What
// only gets its own data back, around a circle, gets none.
void ProjectData::settle() {
  for (Holder &holder : holders_) {
    holder.is_on_host = holder.gets_host;
    holder.is_on_device = false;
    holder.is_given =
        !holder.gets_host && !holder.gets_other && (holder.gets_parameters || !holder.from.empty());
    for (std::vector<unsigned> *from : {&holder.from, &holder.from_tests}) {
      llvm::sort(*from);
      from->erase(std::unique(from->begin(), from->end()), from->end());
    }
  }
  const auto repeat = [&](auto change) {
    for (bool changed = true; changed;) {
      changed = false;
      for (Holder &holder : holders_) {
        const std::tuple before{holder.is_on_host, holder.is_on_device, holder.is_given};
        change(holder);
        changed |= std::tuple(holder.is_on_host, holder.is_on_device, holder.is_given) != before;
      }
    }
  };
  const auto is_on_host = [&](unsigned i) { return holders_[i].is_on_host; };
  const auto is_given = [&](unsigned i) { return holders_[i].is_given; };
  const auto stays_on_host = [&](unsigned i) { return is_on_host(i) || is_given(i); };
  repeat([&](Holder &holder) { holder.is_given &= llvm::all_of(holder.from, is_given); });
  repeat([&](Holder &holder) { holder.is_on_host |= llvm::any_of(holder.from, is_on_host); });
  repeat([&](Holder &holder) {
    holder.is_on_host &= !holder.gets_other && llvm::all_of(holder.from, stays_on_host) &&
                         llvm::all_of(holder.from_tests, stays_on_host);
  });
  repeat([&](Holder &holder) {
    holder.is_on_device |=
        holder.gets_device ||
        llvm::any_of(holder.from, [&](unsigned i) { return holders_[i].is_on_device; }) ||
        llvm::any_of(holder.devices, [&](unsigned i) { return !is_on_host(i); });
  });
}

bool ProjectData::isOnDevice(const DataHolder &holder) const {
  const Holder *found = find(holder);
  return found && found->is_on_device;
}

bool ProjectData::isOnHost(const DataHolder &holder) const {
  const Holder *found = find(holder);
  const bool is_same =
      found && (holder.place.empty() || found->place.empty() || holder.place == found->place);
  return is_same && found->is_on_host;
}

llvm::StringSet<> ProjectData::namesToLookFor(const std::vector<DataHolder> &wanted,
                                              bool for_device) const {
  llvm::StringSet<> names;
  const auto look_for = [&](const auto &holder) {
    names.insert(holder.name);
    if (!holder.owner.empty())
      names.insert(holder.owner);
  };
  std::vector<bool> seen(holders_.size());
  std::vector<unsigned> pending;
  for (const DataHolder &holder : wanted)
    if (const Holder *found = find(holder))
      pending.push_back(found - holders_.data());
    else
      look_for(holder);
  while (!pending.empty()) {
    const unsigned i = pending.back();
    pending.pop_back();
    // Whatever else there is, it stays so.
    if (seen[i] || (for_device ? holders_[i].gets_device : holders_[i].gets_other))
      continue;
    seen[i] = true;
    look_for(holders_[i]);
    pending.insert(pending.end(), holders_[i].from.begin(), holders_[i].from.end());
  }
  return names;
}

} // namespace devsan::analyzer
