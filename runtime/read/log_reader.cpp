#include "runtime/read/log_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace devsan::runtime {
namespace {

constexpr std::size_t kAlignment = 8;
constexpr std::size_t kDamageShown = 4;
// A writer leaves less than a segment of zeros between two records, and then the rest of one.
constexpr std::size_t kMaxZeros = std::size_t{4} << 20;
constexpr std::size_t kReleased = std::size_t{64} << 20;

class Parser {
public:
  Parser(std::span<const std::byte> bytes, ProcessLog &log,
         SingleEvents wanted = SingleEvents::kFirst)
      : bytes_(bytes), log_(log), wanted_(wanted) {}

  void run() {
    readFrom(sizeof(FileHeader));
    finishSteps();
    if (damaged_ > kDamageShown)
      log_.damage.push_back(log_.source + ": " + std::to_string(damaged_ - kDamageShown) +
                            " more damaged places");
  }

  // To the end; where nothing is written yet, or a writer is still at work, is the result.
  std::size_t readFrom(std::size_t offset) {
    first_unfinished_ = 0;
    while (offset < bytes_.size() && bytes_.size() - offset >= sizeof(RecordHeader)) {
      if (release_ && offset - released_ >= kReleased) {
        release_(offset);
        released_ = offset;
      }
      if (const std::size_t size = record(offset)) {
        offset += size;
        continue;
      }
      const std::size_t next = nextRecord(offset + kAlignment);
      if (next == bytes_.size())
        break;
      offset = next;
    }
    return first_unfinished_ ? first_unfinished_ : offset;
  }

  // Told now and then how far it has come.
  void tell(std::function<void(std::size_t)> release) { release_ = std::move(release); }

  // For a file that has grown since.
  void take(std::span<const std::byte> bytes) { bytes_ = bytes; }

  // The tally at a place where one was read.
  TallyRecord tallyAt(std::size_t offset) {
    TallyRecord record;
    read(bytes_.subspan(std::min(offset + sizeof(RecordHeader), bytes_.size())), record);
    return record;
  }

  // Where the tallies are that it met since the last call, in the order of their indices.
  std::vector<std::size_t> takeNewOffsets() { return std::exchange(new_offsets_, {}); }

  // Tallies that count nothing yet are kept, samples and clocks are not, and what is read again
  // replaces what was read before.
  void follow() { follows_ = true; }

private:
  template <typename T> bool read(std::span<const std::byte> from, T &value) {
    if (from.size() < sizeof value)
      return false;
    std::memcpy(&value, from.data(), sizeof value);
    return true;
  }

  void damage(std::size_t offset, const std::string &what) {
    if (++damaged_ <= kDamageShown)
      log_.damage.push_back(log_.source + " at offset " + std::to_string(offset) + ": " + what);
  }

  // Reads the record at `offset`; returns its size, 0 where there is none and the next one must be
  // searched.
  std::size_t record(std::size_t offset) {
    RecordHeader header;
    const std::span<const std::byte> rest = bytes_.subspan(offset);
    if (!read(rest, header) || header.magic != kRecordMagic || header.size == 0) {
      // Room that was reserved and never written is zero, and so is the end of the last segment.
      std::uint64_t word = 0;
      if (read(rest, word) && word != 0 && header.magic != kRecordMagic)
        damage(offset, "no record starts here");
      return 0;
    }
    if (header.size % kAlignment != 0 || header.size < sizeof header) {
      damage(offset, "a record cannot have a size of " + std::to_string(header.size) + " bytes");
      return 0;
    }
    if (header.size > rest.size()) {
      damage(offset, "the file ends inside a record of " + std::to_string(header.size) + " bytes");
      return 0;
    }
    const auto body = rest.subspan(sizeof header, header.size - sizeof header);
    if (!content(static_cast<RecordKind>(header.kind), body, offset))
      damage(offset, "malformed record of kind " + std::to_string(header.kind));
    return header.size;
  }

  std::size_t nextRecord(std::size_t offset) {
    std::size_t zeros = offset;
    for (; offset < bytes_.size() && bytes_.size() - offset >= sizeof(RecordHeader);
         offset += kAlignment) {
      RecordHeader header;
      read(bytes_.subspan(offset), header);
      if (header.magic == kRecordMagic)
        return offset;
      if (header.magic || header.kind || header.size)
        zeros = offset + kAlignment;
      // A file may claim any size and hold nothing.
      if (offset - zeros >= kMaxZeros) {
        damage(zeros, "nothing is written from here on: the rest of the file is not read");
        break;
      }
    }
    return bytes_.size();
  }

  bool content(RecordKind kind, std::span<const std::byte> body, std::size_t offset) {
    switch (kind) {
    case RecordKind::kUnfinished:
      ++log_.unfinished;
      // The record of dropped events lies at the start, and is unfinished where there are none.
      if (!first_unfinished_ && offset != sizeof(FileHeader))
        first_unfinished_ = offset;
      return true;
    case RecordKind::kString:
      return string(body);
    case RecordKind::kStack:
      return stack(body);
    case RecordKind::kModule:
      return module(body);
    case RecordKind::kDropped: {
      std::uint64_t count = 0;
      if (!read(body, count))
        return false;
      log_.dropped += count;
      return true;
    }
    case RecordKind::kEnd:
      log_.ended = true;
      return true;
    case RecordKind::kTally:
      return tally(body, offset);
    case RecordKind::kSample:
      return sample(body);
    case RecordKind::kTraced:
      return traced(body);
    case RecordKind::kClock:
      return clock(body);
    case RecordKind::kSteps:
      return steps(body);
    }
    return false;
  }

  static bool isKnown(EventKind kind) {
    switch (kind) {
    case EventKind::kCopy:
    case EventKind::kBlock:
    case EventKind::kRoundTrip:
    case EventKind::kMismatch:
    case EventKind::kGatherCombined:
    case EventKind::kStep:
    case EventKind::kHostAccess:
    case EventKind::kStreamRace:
    case EventKind::kStreamLifetime:
    case EventKind::kEarlyAccess:
    case EventKind::kLaunch:
    case EventKind::kContext:
    case EventKind::kAllocation:
    case EventKind::kDeviceUse:
      return true;
    }
    return false;
  }

  bool tally(std::span<const std::byte> body, std::size_t offset) {
    TallyRecord record;
    if (!read(body, record) || !isKnown(record.first.kind))
      return false;
    if (follows_ && tallies_.contains(offset))
      return true;
    if (record.count == 0 && !follows_) // another thread's took its place, or its writer died
      return true;
    tallies_.emplace(offset, static_cast<std::uint32_t>(tallies_.size()));
    if (follows_)
      new_offsets_.push_back(offset);
    Occurrences all;
    all.count = record.count;
    all.bytes = record.bytes;
    all.blocked_ns = record.blocked_ns;
    all.largest = record.largest;
    all.first_step = record.first.step;
    all.last_step = static_cast<std::uint32_t>(record.in_last_step >> 32);
    all.steps = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(record.steps, 1, std::max<std::uint64_t>(record.count, 1)));
    all.most_in_step = all.steps == 1 ? record.count : std::min(record.most_in_step, record.count);
    if (record.first.thread == 0 && record.first.stack == 0)
      log_.without_place += record.count;
    log_.tallies.push_back({record.first, all});
    if (!follows_)
      latest_.push_back({record.run, {all.last_step, 0, 1, std::uint32_t(record.in_last_step)}});
    return true;
  }

  bool steps(std::span<const std::byte> body) {
    if (follows_)
      return true;
    StepsRecord record;
    if (!read(body, record))
      return false;
    auto tally = tallies_.find(record.tally);
    if (tally == tallies_.end())
      return false;
    log_.tallies[tally->second].occurrences.runs.push_back(record.run);
    return true;
  }

  // The runs of a tally are kept where they account for all that it counts.
  void finishSteps() {
    for (std::size_t i = 0; i < latest_.size(); ++i) {
      Occurrences &all = log_.tallies[i].occurrences;
      const auto [run, last] = latest_[i];
      if (run.steps)
        all.runs.push_back(run);
      if (all.runs.empty() || !extend(all.runs.back(), last.first, last.each))
        all.runs.push_back(last);
      if (!accountsFor(all.runs, all))
        all.runs.clear();
    }
  }

  static bool accountsFor(std::span<const StepRun> runs, const Occurrences &all) {
    std::uint64_t count = 0, steps = 0, next = all.first_step;
    for (const StepRun &run : runs) {
      const std::uint64_t last = run.first + std::uint64_t{run.stride} * (run.steps - 1);
      if (run.steps == 0 || run.first < next || last > all.last_step ||
          (run.steps > 1 && run.stride == 0))
        return false;
      count += std::uint64_t{run.steps} * run.each;
      steps += run.steps;
      next = last + 1;
    }
    return count == all.count && steps == all.steps;
  }

  bool sample(std::span<const std::byte> body) {
    if (follows_)
      return true;
    SampleRecord record;
    if (!read(body, record))
      return false;
    auto tally = tallies_.find(record.tally);
    if (tally == tallies_.end())
      return false;
    if (wanted_ == SingleEvents::kAllTimed) {
      addTimed(record, tally->second);
      return true;
    }
    Event event = log_.tallies[tally->second].first;
    if (event.kind == EventKind::kStep) {
      log_.step_ends.push_back({record.time_ns, tally->second, record.step});
      return true;
    }
    event.time_ns = record.time_ns;
    event.blocked_ns = record.blocked_ns;
    event.bytes = record.bytes;
    event.group = record.group;
    event.step = record.step;
    log_.events.push_back(event);
    log_.tally_of.push_back(tally->second);
    return true;
  }

  bool traced(std::span<const std::byte> body) {
    SampleRecord record;
    if (!read(body, record))
      return false;
    if (wanted_ != SingleEvents::kAllTimed)
      return true;
    auto tally = tallies_.find(record.tally);
    if (tally == tallies_.end())
      return false;
    addTimed(record, tally->second);
    return true;
  }

  void addTimed(const SampleRecord &record, std::uint32_t tally) {
    const EventKind kind = log_.tallies[tally].first.kind;
    const bool has_call = kind == EventKind::kCopy || kind == EventKind::kBlock;
    log_.timed.push_back({record.time_ns, has_call ? record.group : 0, record.blocked_ns,
                          record.bytes, tally, record.step});
  }

  bool clock(std::span<const std::byte> body) {
    ClockRecord record;
    if (!read(body, record))
      return false;
    if (!follows_)
      log_.clocks.push_back(record);
    return true;
  }

  bool string(std::span<const std::byte> body) {
    StringRecord header;
    if (!read(body, header) || header.length > body.size() - sizeof header)
      return false;
    log_.strings[header.id].assign(reinterpret_cast<const char *>(body.data() + sizeof header),
                                   header.length);
    return true;
  }

  bool stack(std::span<const std::byte> body) {
    StackRecord header;
    if (!read(body, header) || header.count > (body.size() - sizeof header) / sizeof(FrameRecord))
      return false;
    std::vector<FrameRecord> &frames = log_.stacks[header.id];
    frames.resize(header.count);
    if (header.count)
      std::memcpy(frames.data(), body.data() + sizeof header, header.count * sizeof(FrameRecord));
    return true;
  }

  bool module(std::span<const std::byte> body) {
    ModuleRecord header;
    if (!read(body, header) || header.path_length > body.size() - sizeof header ||
        header.begin > header.end)
      return false;
    log_.modules.push_back({header.base, header.begin, header.end,
                            std::string(reinterpret_cast<const char *>(body.data() + sizeof header),
                                        header.path_length)});
    return true;
  }

  std::span<const std::byte> bytes_;
  ProcessLog &log_;
  std::unordered_map<std::uint64_t, std::uint32_t> tallies_; // by offset: indices
  std::vector<std::pair<StepRun, StepRun>> latest_; // of each tally: its last run, its last step
  std::size_t damaged_ = 0;
  std::size_t first_unfinished_ = 0;
  std::vector<std::size_t> new_offsets_;
  std::function<void(std::size_t)> release_;
  std::size_t released_ = 0;
  bool follows_ = false;
  SingleEvents wanted_;
};

} // namespace

const std::string &ProcessLog::string(StringId id) const {
  static const std::string none;
  auto found = strings.find(id);
  return found == strings.end() ? none : found->second;
}

std::span<const FrameRecord> ProcessLog::stack(StackId id) const {
  auto found = stacks.find(id);
  return found == stacks.end() ? std::span<const FrameRecord>() : found->second;
}

namespace {

core::Result<void> readHeader(std::span<const std::byte> bytes, ProcessLog &log) {
  if (bytes.size() < sizeof(FileHeader))
    return core::failure(log.source + " at offset 0: an event log starts with a header of " +
                         std::to_string(sizeof(FileHeader)) + " bytes, the file has " +
                         std::to_string(bytes.size()));
  std::memcpy(&log.header, bytes.data(), sizeof(FileHeader));
  if (log.header.magic != kLogMagic)
    return core::failure(log.source + " at offset 0: this is no event log");
  if (log.header.version != FileHeader{}.version)
    return core::failure(log.source + " at offset 8: event log of version " +
                         std::to_string(log.header.version) + ", this devsan reads version " +
                         std::to_string(FileHeader{}.version) +
                         "; read it with the devsan that wrote it, or record it again");
  return {};
}

// A file in memory without a copy of it, so that a large one takes no memory of its own.
class MappedFile {
public:
  explicit MappedFile(const std::filesystem::path &path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat opened = {};
    if (file < 0 || fstat(file, &opened) != 0)
      error_ = errno;
    else if (!S_ISREG(opened.st_mode)) // a device may have no end
      error_ = EINVAL;
    else if (opened.st_size > 0 && !map(file, static_cast<std::size_t>(opened.st_size)))
      error_ = errno;
    if (file >= 0)
      ::close(file);
  }
  ~MappedFile() {
    if (size_)
      munmap(memory_, size_);
  }
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  int error() const { return error_; }
  // What lies before is not read again soon: it need not stay in memory.
  void release(std::size_t before) const {
    if (size_)
      madvise(memory_, std::min(before, size_) & ~std::size_t{65535}, MADV_DONTNEED);
  }
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte *>(memory_), size_};
  }

private:
  bool map(int file, std::size_t size) {
    memory_ = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    size_ = memory_ == MAP_FAILED ? 0 : size;
    return size_ != 0;
  }

  void *memory_ = nullptr;
  std::size_t size_ = 0;
  int error_ = 0;
};

} // namespace

namespace {

core::Result<ProcessLog> parse(std::span<const std::byte> bytes, std::string source,
                               SingleEvents wanted, std::function<void(std::size_t)> release) {
  ProcessLog log;
  log.source = std::move(source);
  if (core::Result<void> read = readHeader(bytes, log); !read)
    return tl::unexpected(read.error());
  Parser parser(bytes, log, wanted);
  parser.tell(std::move(release));
  parser.run();
  return log;
}

} // namespace

core::Result<ProcessLog> parseLog(std::span<const std::byte> bytes, std::string source,
                                  SingleEvents wanted) {
  return parse(bytes, std::move(source), wanted, {});
}

core::Result<ProcessLog> readLog(const std::filesystem::path &path, SingleEvents wanted) {
  const MappedFile file(path);
  if (file.error())
    return core::failure("cannot read " + path.string() + ": " +
                         (file.error() == EINVAL ? "it is no file" : std::strerror(file.error())));
  core::Result<ProcessLog> log = parse(file.bytes(), path.filename(), wanted,
                                       [&](std::size_t before) { file.release(before); });
  // A writer makes whole segments, and what is cut between two records looks like the end.
  const std::size_t size = file.bytes().size();
  if (log && (size % kSegmentSize != 0 ||
              size < std::max<std::uint64_t>(log->header.segments, 1) * kSegmentSize))
    log->damage.push_back(log->source + ": the file was truncated to " + std::to_string(size) +
                          " bytes");
  return log;
}

struct LogFollower::State {
  std::filesystem::path path;
  std::unique_ptr<MappedFile> file; // stays: to map it anew costs more than to look into it
  ProcessLog log;
  Parser parser{{}, log};
  std::size_t resume = sizeof(FileHeader);
  std::vector<Event> events;        // of each tally
  std::vector<std::size_t> offsets; // where it is in the file
  std::vector<Occurrences> seen;    // what it held the last time
};

LogFollower::LogFollower(std::filesystem::path path) : state_(std::make_unique<State>()) {
  state_->log.source = path.filename();
  state_->path = std::move(path);
  state_->parser.follow();
}
LogFollower::LogFollower(LogFollower &&) noexcept = default;
LogFollower &LogFollower::operator=(LogFollower &&) noexcept = default;
LogFollower::~LogFollower() = default;

std::vector<TallyGrowth> LogFollower::read() {
  State &state = *state_;
  std::error_code error;
  const auto size = std::filesystem::file_size(state.path, error);
  if (!error && (!state.file || state.file->bytes().size() != size))
    state.file = std::make_unique<MappedFile>(state.path);
  std::vector<TallyGrowth> grown;
  // The rank may come late.
  if (!state.file || state.file->error() || !readHeader(state.file->bytes(), state.log))
    return grown;
  state.parser.take(state.file->bytes());
  state.log.tallies.clear();
  state.resume = state.parser.readFrom(state.resume);
  state.log.damage.clear();
  for (const Tally &tally : state.log.tallies)
    state.events.push_back(tally.first);
  for (const std::size_t offset : state.parser.takeNewOffsets())
    state.offsets.push_back(offset);
  state.seen.resize(state.events.size());
  for (std::uint32_t i = 0; i < state.events.size(); ++i) {
    const TallyRecord now = state.parser.tallyAt(state.offsets[i]);
    Occurrences &seen = state.seen[i];
    if (now.count <= seen.count)
      continue;
    Occurrences growth;
    growth.count = now.count - seen.count;
    growth.bytes = now.bytes - std::min(seen.bytes, now.bytes);
    growth.blocked_ns = now.blocked_ns - std::min(seen.blocked_ns, now.blocked_ns);
    growth.largest = now.largest;
    growth.steps = 1;
    growth.most_in_step = growth.count;
    seen.count = now.count;
    seen.bytes = now.bytes;
    seen.blocked_ns = now.blocked_ns;
    if (state.events[i].kind != EventKind::kStep)
      grown.push_back({i, growth});
  }
  return grown;
}

const ProcessLog &LogFollower::only(std::span<const TallyGrowth> chosen) {
  State &state = *state_;
  ProcessLog &log = state.log;
  log.tallies.clear();
  log.events.clear();
  log.tally_of.clear();
  for (const TallyGrowth &growth : chosen) {
    Event event = state.events[growth.tally];
    event.step = 0;
    log.tally_of.push_back(static_cast<std::uint32_t>(log.tallies.size()));
    log.tallies.push_back({event, growth.occurrences});
    log.events.push_back(event);
  }
  return log;
}

const ProcessLog &LogFollower::log() const {
  return state_->log;
}

} // namespace devsan::runtime
