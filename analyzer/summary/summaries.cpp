#include "analyzer/summary/summaries.h"
#include "analyzer/files/report_paths.h"

#include "analyzer/files/source_files.h"
#include "analyzer/run/result_cache.h"
#include "analyzer/system/cache_folder.h"
#include "core/system/whole_file.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace devsan::analyzer {
namespace {

// Empty where it cannot be read.
std::string contentSum(const std::string &file) {
  const core::Result<std::string> text = core::readFile(file, core::kMaxSource);
  return text ? checksum(*text) : std::string();
}

std::string shardName(const Summary &summary, unsigned index) {
  return "shard " + std::to_string(index) + "/" + std::to_string(summary.shard.count) + " of " +
         llvm::join(summary.inputs, " ");
}

auto runOf(const Summary &summary) {
  return std::tie(summary.inputs, summary.shard.count);
}

} // namespace

std::string listSum(const std::vector<std::string> &files, const std::string &root) {
  std::string list;
  for (llvm::StringRef file : files) {
    if (!root.empty())
      file.consume_front(root);
    list += file;
    list += '\0';
  }
  return checksum(list);
}

void noteContents(Summary &summary, const std::string &of_program) {
  std::map<std::string, std::string> sums;
  for (Summary::Unit &unit : summary.units) {
    if (!unit.outcome.result)
      continue;
    std::erase_if(unit.outcome.result->files_read, [&](const auto &read) {
      return llvm::StringRef(read.first).starts_with(of_program + "/");
    });
    for (auto &[file, sum] : unit.outcome.result->files_read) {
      const auto [known, is_new] = sums.try_emplace(file);
      if (is_new)
        known->second = contentSum(file);
      sum = known->second;
    }
  }
}

core::Result<Summaries> Summaries::read(const std::vector<std::string> &files,
                                        const std::string &root) {
  std::vector<std::pair<Summary, std::string>> read;
  for (const std::string &file : files) {
    const core::Result<std::string> text = core::readNamedFile(file, core::kMaxReport);
    if (!text)
      return core::failure(text.error().message +
                           "; name the files that devsan check --summary wrote");
    auto summary = readSummary(*text, file, root, programVersion());
    if (!summary)
      return tl::unexpected(summary.error());
    read.emplace_back(std::move(*summary), file);
  }
  std::ranges::sort(read, {}, [](const auto &one) {
    return std::tuple_cat(runOf(one.first), std::tie(one.first.shard.index, one.second));
  });
  Summaries summaries;
  for (auto &[summary, file] : read) {
    summaries.all_.push_back(std::move(summary));
    summaries.names_.push_back(std::move(file));
  }
  if (auto good = summaries.matchEachOther(); !good)
    return tl::unexpected(good.error());
  return summaries;
}

core::Result<void> Summaries::matchEachOther() const {
  const auto options = [](const Summary &summary) {
    return std::tie(summary.checks, summary.torch, summary.without_torch, summary.alone);
  };
  unsigned wanted = 1; // the next shard of its run
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Summary &summary = all_[i];
    const Summary *before = i ? &all_[i - 1] : nullptr;
    const bool is_same_run = before && runOf(*before) == runOf(summary);
    if (options(summary) != options(all_.front()))
      return core::failure(names_[i] + " and " + names_.front() +
                           ": made with different --checks, --alone or LibTorch; make all with "
                           "the same");
    if (before && wanted <= before->shard.count && !is_same_run)
      return core::failure(shardName(*before, wanted) + " is missing: no summary of it is named");
    if (is_same_run && before->shard.index == summary.shard.index)
      return core::failure(names_[i - 1] + " and " + names_[i] + ": both are " +
                           shardName(summary, summary.shard.index) + "; name one of them");
    if (is_same_run && before->list != summary.list)
      return core::failure(names_[i - 1] + " and " + names_[i] + ": there were other files in " +
                           llvm::join(summary.inputs, " ") +
                           "; make all summaries of the same state of the sources");
    if (!is_same_run)
      wanted = 1;
    if (summary.shard.index != wanted)
      return core::failure(shardName(summary, wanted) + " is missing: no summary of it is named");
    ++wanted;
  }
  if (wanted <= all_.back().shard.count)
    return core::failure(shardName(all_.back(), wanted) + " is missing: no summary of it is named");
  return {};
}

std::vector<std::string> Summaries::inputs() const {
  std::vector<std::string> inputs;
  for (const Summary &summary : all_)
    if (summary.shard.index == 1)
      llvm::append_range(inputs, summary.inputs);
  return inputs;
}

core::Result<void> Summaries::matchSources(
    const std::string &root,
    llvm::function_ref<core::Result<std::vector<std::string>>(const std::vector<std::string> &)>
        files_in) const {
  const auto changed = [&](std::size_t i, const std::string &what) {
    return core::failure(names_[i] + ": " + what + kWhereSourcesAre);
  };
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i].shard.index == 1) {
      const auto files = files_in(all_[i].inputs);
      if (!files)
        return changed(i, files.error().message);
      if (listSum(*files, root) != all_[i].list)
        return changed(i, "there are other files in " + llvm::join(all_[i].inputs, " "));
    }
  struct Known {
    std::string now;
    std::string seen;
  };
  std::map<std::string, Known> known;
  for (std::size_t i = 0; i < all_.size(); ++i)
    for (const Summary::Unit &unit : all_[i].units) {
      if (!unit.outcome.result)
        continue;
      for (const auto &[file, sum] : unit.outcome.result->files_read) {
        const auto [entry, is_new] = known.try_emplace(file);
        if (is_new)
          entry->second = {contentSum(file), sum};
        // What a build made may be gone.
        if (entry->second.seen != sum || (!entry->second.now.empty() && entry->second.now != sum))
          return changed(i, file + " has changed");
      }
      // Reports show the lines of each place.
      std::string missing;
      std::vector<core::Finding> findings = unit.outcome.result->findings;
      forEachPath(findings, [&](const std::string &file) {
        if (const auto entry = known.find(file); entry == known.end() || entry->second.now.empty())
          missing = file;
      });
      if (!missing.empty())
        return changed(i, missing + " is named by findings, and is not there or was not read");
    }
  return {};
}

std::vector<Summary::Unit> Summaries::take() {
  std::set<std::string> headers_read;
  for (const Summary &summary : all_)
    headers_read.insert(summary.headers_read.begin(), summary.headers_read.end());
  std::vector<Summary::Unit> units;
  for (auto run = all_.begin(); run != all_.end();) {
    const auto end = run + run->shard.count;
    const std::size_t first = units.size();
    for (; run != end; ++run)
      for (Summary::Unit &unit : run->units)
        if (!unit.is_unread_header || !headers_read.contains(unit.file))
          units.push_back(std::move(unit));
    std::ranges::sort(units.begin() + first, units.end(), {}, &Summary::Unit::index);
  }
  return units;
}

} // namespace devsan::analyzer
