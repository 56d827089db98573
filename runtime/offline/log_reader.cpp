#include "runtime/offline/log_reader.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace devsan::runtime {
namespace {

constexpr std::size_t kAlignment = 8;
constexpr std::size_t kDamageShown = 4;

class Parser {
public:
  Parser(std::span<const std::byte> bytes, ProcessLog &log) : bytes_(bytes), log_(log) {}

  void run() {
    std::size_t offset = sizeof(FileHeader);
    while (offset < bytes_.size() && bytes_.size() - offset >= sizeof(RecordHeader)) {
      const std::size_t size = record(offset);
      offset = size ? offset + size : nextRecord(offset + kAlignment);
    }
    if (damaged_ > kDamageShown)
      log_.damage.push_back(log_.source + ": " + std::to_string(damaged_ - kDamageShown) +
                            " more damaged places");
  }

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
    if (!content(static_cast<RecordKind>(header.kind), body))
      damage(offset, "malformed record of kind " + std::to_string(header.kind));
    return header.size;
  }

  std::size_t nextRecord(std::size_t offset) {
    for (; offset < bytes_.size() && bytes_.size() - offset >= sizeof(RecordHeader);
         offset += kAlignment) {
      RecordHeader header;
      read(bytes_.subspan(offset), header);
      if (header.magic == kRecordMagic)
        return offset;
    }
    return bytes_.size();
  }

  bool content(RecordKind kind, std::span<const std::byte> body) {
    switch (kind) {
    case RecordKind::kUnfinished:
      ++log_.unfinished;
      return true;
    case RecordKind::kEvent:
      return event(body);
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
    }
    return false;
  }

  bool event(std::span<const std::byte> body) {
    Event event;
    if (!read(body, event))
      return false;
    switch (event.kind) {
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
      log_.events.push_back(event);
      return true;
    }
    return false;
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
  std::size_t damaged_ = 0;
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

core::Result<ProcessLog> parseLog(std::span<const std::byte> bytes, std::string source) {
  ProcessLog log;
  log.source = std::move(source);
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
                         std::to_string(FileHeader{}.version));
  Parser(bytes, log).run();
  return log;
}

core::Result<ProcessLog> readLog(const std::filesystem::path &path) {
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return core::failure("cannot read " + path.string() + ": " + std::strerror(errno));
  std::vector<std::byte> bytes;
  std::byte buffer[1 << 16];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, file))
    bytes.insert(bytes.end(), buffer, buffer + got);
  const bool failed = std::ferror(file);
  std::fclose(file);
  if (failed)
    return core::failure("cannot read " + path.string() + ": " + std::strerror(errno));
  return parseLog(bytes, path.filename());
}

} // namespace devsan::runtime
