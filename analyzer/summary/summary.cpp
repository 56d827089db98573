#include "analyzer/summary/summary.h"

#include "analyzer/files/report_paths.h"
#include "analyzer/system/cache_folder.h"
#include "core/report/reports.h"
#include "core/system/whole_file.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/Compression.h>
#include <llvm/Support/LEB128.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>

#include <utility>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

constexpr StringRef kHead = "devsan-summary/1\n";
constexpr char kBelowRoot = '\1'; // begins paths that are relative to the root

bool goesUp(StringRef path) {
  return llvm::is_contained(llvm::split(path, '/'), StringRef(".."));
}

class SummaryWriter {
public:
  explicit SummaryWriter(const std::string &root) : below_(root.empty() ? "" : root + "/") {}

  void operator()(bool &flag) { number(flag); }
  void operator()(int &number) { this->number(static_cast<unsigned>(number)); }
  void operator()(unsigned &number) { this->number(number); }
  void operator()(std::string &text) { number(indexOf(text)); }
  template <typename Enum> void choice(Enum &value, Enum) { number(static_cast<unsigned>(value)); }
  void index(unsigned &value, std::size_t) { number(value); }
  // Also a text that begins with one.
  void path(std::string &text) { number(indexOf(fromRoot(text))); }
  void findings(std::vector<core::Finding> &findings) {
    forEachPath(findings, [&](std::string &path) { path = fromRoot(path); });
    number(indexOf(core::jsonReport(findings, {})));
  }
  template <typename Item, typename Each> void list(std::vector<Item> &items, Each each) {
    number(items.size());
    for (Item &item : items)
      each(item);
  }
  template <typename Item, typename Each> void maybe(std::optional<Item> &item, Each each) {
    number(item.has_value());
    if (item)
      each(*item);
  }
  void checksums(std::map<std::string, std::string> &files) {
    number(files.size());
    for (const auto &[file, sum] : files) {
      std::string name = file, text = sum;
      path(name);
      (*this)(text);
    }
  }
  void require(bool) {}

  std::string take() {
    std::string all;
    llvm::raw_string_ostream out(all);
    llvm::encodeULEB128(texts_.size(), out);
    out << table_ << numbers_;
    return all;
  }

private:
  std::string fromRoot(StringRef path) const {
    StringRef rest = path;
    return !below_.empty() && rest.consume_front(below_) && !goesUp(rest) ? kBelowRoot + rest.str()
                                                                          : path.str();
  }
  void number(std::uint64_t value) {
    llvm::raw_string_ostream out(numbers_);
    llvm::encodeULEB128(value, out);
  }
  std::uint64_t indexOf(StringRef text) {
    const auto [known, is_new] = texts_.try_emplace(text, texts_.size());
    if (is_new) {
      llvm::raw_string_ostream out(table_);
      llvm::encodeULEB128(text.size(), out);
      out << text;
    }
    return known->second;
  }

  std::string below_, table_, numbers_;
  llvm::StringMap<std::uint64_t> texts_;
};

// Stops at the first thing that no writer wrote: all is zero and empty from there on.
class SummaryReader {
public:
  SummaryReader(StringRef text, const std::string &root) : rest_(text), root_(root) {
    const std::uint64_t count = length();
    for (std::uint64_t i = 0; i < count && good_; ++i) {
      const std::uint64_t size = number();
      require(size <= rest_.size());
      texts_.push_back(rest_.take_front(good_ ? size : 0));
      rest_ = rest_.drop_front(texts_.back().size());
    }
  }

  void operator()(bool &flag) { flag = number() != 0; }
  void operator()(int &value) { value = static_cast<int>(small()); }
  void operator()(unsigned &value) { value = small(); }
  void operator()(std::string &text) { text = this->text(); }
  template <typename Enum> void choice(Enum &value, Enum last) {
    const unsigned read = small();
    require(read <= static_cast<unsigned>(last));
    value = good_ ? static_cast<Enum>(read) : Enum();
  }
  void index(unsigned &value, std::size_t size) {
    value = small();
    require(value < size);
  }
  void path(std::string &path) { path = absolute(text()); }
  void findings(std::vector<core::Finding> &findings) {
    auto read = core::readJsonReport(text().str(), "summary");
    require(read.has_value());
    if (!good_)
      return;
    findings = std::move(*read);
    for (const core::Finding &finding : findings)
      require(!finding.locations.empty());
    forEachPath(findings, [&](std::string &path) { path = absolute(path); });
  }
  template <typename Item, typename Each> void list(std::vector<Item> &items, Each each) {
    const std::uint64_t count = length();
    spend(count * sizeof(Item));
    if (!good_)
      return;
    items.resize(count);
    for (Item &item : items) {
      if (!good_)
        break;
      each(item);
    }
  }
  template <typename Item, typename Each> void maybe(std::optional<Item> &item, Each each) {
    if (number() != 0)
      each(item.emplace());
  }
  void checksums(std::map<std::string, std::string> &files) {
    for (std::uint64_t left = length(); left > 0 && good_; --left) {
      std::string file, sum;
      path(file);
      (*this)(sum);
      files.emplace(std::move(file), std::move(sum));
    }
  }
  void require(bool condition) { good_ &= condition; }

  // And there was no more.
  bool isWhole() const { return good_ && rest_.empty(); }

private:
  std::uint64_t number() {
    unsigned size = 0;
    const char *error = nullptr;
    const std::uint64_t value =
        good_ ? llvm::decodeULEB128(rest_.bytes_begin(), &size, rest_.bytes_end(), &error) : 0;
    require(!error);
    rest_ = rest_.drop_front(good_ ? size : 0);
    return good_ ? value : 0;
  }
  unsigned small() {
    const std::uint64_t value = number();
    require(value <= UINT_MAX);
    return good_ ? static_cast<unsigned>(value) : 0;
  }
  // Each of so many takes a byte at least.
  std::uint64_t length() {
    const std::uint64_t count = number();
    require(count <= rest_.size());
    return good_ ? count : 0;
  }
  StringRef text() {
    const std::uint64_t i = number();
    require(i < texts_.size());
    spend(good_ ? texts_[i].size() : 0);
    return good_ ? texts_[i] : StringRef();
  }
  std::string absolute(StringRef path) {
    if (!path.consume_front(StringRef(&kBelowRoot, 1)))
      return path.str();
    require(!goesUp(path));
    return root_ + "/" + path.str();
  }
  // A text that is named often takes more than what names it.
  void spend(std::uint64_t bytes) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
    spent_ += bytes;
    require(spent_ <= kMost);
  }

  StringRef rest_;
  const std::string &root_;
  std::vector<StringRef> texts_;
  std::uint64_t spent_ = 0;
  bool good_ = true;
};

// Each of these writes with a SummaryWriter, and reads with a SummaryReader.

template <typename Codec> void code(Codec &codec, FileCalls::Place &place) {
  codec.path(place.file);
  codec(place.line);
  codec(place.column);
}

template <typename Codec> void code(Codec &codec, FileCalls &calls) {
  codec.list(calls.functions, [&](FileCalls::Function &function) {
    codec(function.usr);
    codec(function.name);
    code(codec, function.body);
    codec(function.open);
    codec(function.knows_tensors);
    code(codec, function.launch);
    codec(function.is_step);
  });
  codec.list(calls.calls, [&](FileCalls::Call &call) {
    codec.index(call.caller, calls.functions.size());
    codec.index(call.callee, calls.functions.size());
    codec(call.guarded);
    codec(call.each_run);
  });
}

template <typename Codec> void code(Codec &codec, DataHolder &holder) {
  codec(holder.usr);
  codec(holder.parameter);
  codec(holder.name);
  codec(holder.owner);
  codec.path(holder.place);
}

template <typename Codec> void code(Codec &codec, FileData &data) {
  codec.list(data.holders, [&](DataHolder &holder) { code(codec, holder); });
  codec.list(data.sources, [&](FileData::Source &source) {
    codec.index(source.holder, data.holders.size());
    codec.choice(source.kind, FileData::Source::Kind::kOther);
    codec.index(source.from, data.holders.size());
  });
}

template <typename Codec> void code(Codec &codec, FindingContext &context) {
  codec(context.first_line);
  codec(context.last_line);
  codec(context.function);
  codec(context.is_called_by_name);
  codec.choice(context.needs, Needs::kForeignFile);
  codec(context.is_for_libraries);
  codec(context.launcher);
  codec.list(context.servants, [&](std::string &usr) { codec(usr); });
  codec.list(context.steps, [&](std::string &usr) { codec(usr); });
  codec.maybe(context.holder, [&](DataHolder &holder) { code(codec, holder); });
}

template <typename Codec> void code(Codec &codec, FileResult &result) {
  codec.findings(result.findings);
  codec.list(result.contexts, [&](FindingContext &context) { code(codec, context); });
  codec.require(result.contexts.size() == result.findings.size());
  code(codec, result.calls);
  code(codec, result.data);
  codec.list(result.missing_headers, [&](std::string &header) { codec(header); });
  codec.list(result.refused, [&](std::string &text) { codec.path(text); });
  codec.checksums(result.files_read);
  codec.path(result.first_error);
  for (unsigned *number : {&result.errors, &result.errors_elsewhere, &result.suppressed,
                           &result.lines, &result.lines_seen})
    codec(*number);
  for (bool *flag : {&result.has_functions, &result.found_torch, &result.is_cut_off})
    codec(*flag);
}

template <typename Codec> void code(Codec &codec, FileOutcome &outcome) {
  codec.maybe(outcome.result, [&](FileResult &result) { code(codec, result); });
  codec(outcome.signal);
  codec.choice(outcome.limit, Limit::kRun);
  codec(outcome.signal_behind_headers);
  codec(outcome.encoding);
}

template <typename Codec> void code(Codec &codec, Summary &summary) {
  codec(summary.checks);
  codec(summary.torch);
  codec(summary.without_torch);
  codec(summary.alone);
  codec(summary.shard.index);
  codec(summary.shard.count);
  codec.require(summary.shard.index >= 1 && summary.shard.index <= summary.shard.count);
  codec.list(summary.inputs, [&](std::string &input) { codec.path(input); });
  codec(summary.list);
  codec.list(summary.headers_read, [&](std::string &header) { codec.path(header); });
  codec.list(summary.units, [&](Summary::Unit &unit) {
    codec(unit.index);
    codec.path(unit.file);
    codec.list(unit.only, [&](std::string &header) { codec.path(header); });
    codec(unit.missing_in_database);
    codec(unit.in_database);
    codec(unit.is_unread_header);
    code(codec, unit.outcome);
  });
}

} // namespace

std::string packSummary(StringRef rest, const std::string &program) {
  llvm::SmallVector<std::uint8_t, 0> packed;
  llvm::compression::zstd::compress(llvm::arrayRefFromStringRef(rest), packed,
                                    llvm::compression::zstd::DefaultCompression,
                                    /*EnableLdm=*/true);
  const StringRef body = llvm::toStringRef(packed);
  return kHead.str() + program + "\n" + std::to_string(rest.size()) + " " + checksum(body) + "\n" +
         body.str();
}

std::string writeSummary(Summary summary, const std::string &root, const std::string &program) {
  SummaryWriter writer(root);
  code(writer, summary);
  return packSummary(writer.take(), program);
}

core::Result<Summary> readSummary(StringRef text, const std::string &name, const std::string &root,
                                  const std::string &program) {
  const std::string remedy = "; write it again, with devsan check --summary";
  if (!text.consume_front(kHead))
    return core::failure(name + ": " +
                         (text.starts_with(kHead.take_until([](char c) { return c == '/'; }))
                              ? "a summary of another form" + remedy
                              : "no summary of devsan check --summary"));
  StringRef by, head;
  std::tie(by, text) = text.split('\n');
  if (by != program)
    return core::failure(name + ": written by " + by.substr(0, 200).str() + ", and this is " +
                         program + "; use one build of devsan on all machines");
  std::tie(head, text) = text.split('\n');
  const auto [size_text, sum] = head.split(' ');
  std::size_t size = 0;
  llvm::SmallVector<std::uint8_t, 0> unpacked;
  const std::string damaged = name + ": damaged, or not written to its end" + remedy;
  if (size_text.getAsInteger(10, size) || size > core::kMaxReport || sum != checksum(text))
    return core::failure(damaged);
  if (llvm::Error error =
          llvm::compression::zstd::decompress(llvm::arrayRefFromStringRef(text), unpacked, size)) {
    llvm::consumeError(std::move(error));
    return core::failure(damaged);
  }
  SummaryReader reader(llvm::toStringRef(unpacked), root);
  Summary summary;
  code(reader, summary);
  if (!reader.isWhole())
    return core::failure(damaged);
  return summary;
}

} // namespace devsan::analyzer
