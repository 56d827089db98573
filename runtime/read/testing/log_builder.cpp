#include "runtime/read/testing/log_builder.h"

#include "runtime/protocol/event_identity.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace devsan::runtime::testing {
namespace {

constexpr std::uint64_t kModuleSize = 0x1000000;

template <typename T> void append(std::vector<std::byte> &bytes, const T &value) {
  const auto *begin = reinterpret_cast<const std::byte *>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
}

void append(std::vector<std::byte> &bytes, const std::string &text) {
  const auto *begin = reinterpret_cast<const std::byte *>(text.data());
  bytes.insert(bytes.end(), begin, begin + text.size());
}

} // namespace

TestFrame user(std::string function, unsigned line, std::string file) {
  return {"/src/train", std::move(function), std::move(file), line};
}

TestFrame op(const std::string &name) {
  return {"/venv/torch/lib/libtorch_cpu.so", "at::_ops::" + name + "::call(at::Tensor const&)", "",
          0};
}

TestFrame torch(std::string function) {
  return {"/venv/torch/lib/libtorch_cpu.so", std::move(function), "", 0};
}

TestFrame python(std::string function, unsigned line, std::string file, unsigned instruction) {
  return {"", std::move(function), std::move(file), line, instruction};
}

LogBuilder::LogBuilder() {
  header.pid = 42;
}

StringId LogBuilder::string(const std::string &text) {
  std::vector<std::byte> body;
  append(body, StringRecord{++strings_, static_cast<std::uint32_t>(text.size())});
  append(body, text);
  record(RecordKind::kString, body);
  return strings_;
}

std::uint64_t LogBuilder::pcOf(const TestFrame &frame) {
  auto [module, added] = modules_.try_emplace(frame.module, kModuleSize * (modules_.size() + 1));
  const std::uint64_t base = module->second;
  if (added) {
    std::vector<std::byte> body;
    append(body, ModuleRecord{base, base, base + kModuleSize,
                              static_cast<std::uint32_t>(frame.module.size()), 0});
    append(body, frame.module);
    record(RecordKind::kModule, body);
  }
  next_offset_ += 16;
  symbols_[{frame.module, next_offset_}] = {{frame.function, frame.file, frame.line, 0}};
  return base + next_offset_;
}

StackId LogBuilder::stack(std::initializer_list<TestFrame> innermost_first) {
  std::vector<FrameRecord> frames;
  for (const TestFrame &frame : innermost_first) {
    FrameRecord &record = frames.emplace_back();
    if (frame.module.empty()) {
      record.file = string(frame.file);
      record.function = string(frame.function);
      record.line = frame.line;
      record.instruction = frame.instruction;
    } else {
      record.pc = pcOf(frame);
    }
  }
  std::vector<std::byte> body;
  append(body, StackRecord{++stacks_, static_cast<std::uint32_t>(frames.size())});
  for (const FrameRecord &frame : frames)
    append(body, frame);
  record(RecordKind::kStack, body);
  return stacks_;
}

std::size_t LogBuilder::addTally(const Event &event) {
  const IdentityBytes identity(event);
  auto [entry, added] =
      tallies_.try_emplace(std::string(identity.bytes, sizeof identity.bytes), records_.size());
  if (added) {
    TallyRecord tally;
    tally.first = event;
    tally.in_last_step = std::uint64_t{event.step} << 32;
    tally.steps = 1;
    std::vector<std::byte> body;
    append(body, tally);
    record(RecordKind::kTally, body);
  }
  return entry->second;
}

TallyRecord &LogBuilder::tally(const Event &event) {
  const std::size_t offset = addTally(event) + sizeof(RecordHeader); // first: it moves the records
  return *reinterpret_cast<TallyRecord *>(records_.data() + offset);
}

LogBuilder &LogBuilder::add(const Event &event, int times) {
  constexpr std::uint64_t kSamples = 64;
  const std::uint64_t offset = sizeof(FileHeader) + addTally(event);
  for (int i = 0; i < times; ++i) {
    TallyRecord &tally = this->tally(event);
    tally.bytes += event.bytes;
    tally.blocked_ns += event.blocked_ns;
    tally.largest = std::max(tally.largest, event.bytes);
    std::optional<StepRun> ended;
    if (event.step > tally.in_last_step >> 32) {
      const auto last = static_cast<std::uint32_t>(tally.in_last_step >> 32);
      const auto in_last = static_cast<std::uint32_t>(tally.in_last_step);
      if (event.thread != 0 && !extend(tally.run, last, in_last))
        ended = std::exchange(tally.run, {last, 0, 1, in_last});
      tally.in_last_step = std::uint64_t{event.step} << 32;
      ++tally.steps;
    }
    tally.most_in_step = std::max<std::uint64_t>(tally.most_in_step,
                                                 static_cast<std::uint32_t>(++tally.in_last_step));
    const bool is_sample = ++tally.count <= kSamples || event.kind == EventKind::kStep;
    if (ended) {
      std::vector<std::byte> body;
      append(body, StepsRecord{offset, *ended});
      record(RecordKind::kSteps, body);
    }
    if (!is_sample && !traces)
      continue;
    std::vector<std::byte> body;
    append(body, SampleRecord{offset, event.time_ns, event.blocked_ns, event.bytes, event.group,
                              event.step, 0});
    record(is_sample ? RecordKind::kSample : RecordKind::kTraced, body);
  }
  return *this;
}

LogBuilder &LogBuilder::record(RecordKind kind, const std::vector<std::byte> &body, bool finished) {
  RecordHeader header;
  header.kind = finished ? static_cast<std::uint16_t>(kind) : 0;
  header.size = static_cast<std::uint32_t>((sizeof header + body.size() + 7) / 8 * 8);
  const std::size_t end = records_.size() + header.size;
  append(records_, header);
  records_.insert(records_.end(), body.begin(), body.end());
  records_.resize(end);
  return *this;
}

std::vector<std::byte> LogBuilder::bytes() const {
  std::vector<std::byte> result;
  append(result, header);
  result.insert(result.end(), records_.begin(), records_.end());
  return result;
}

Recording replay(const LogBuilder &log) {
  return replay({log});
}

Recording replay(std::initializer_list<LogBuilder> logs) {
  Recording recording{SourcePaths("/src")};
  for (const LogBuilder &log : logs) {
    core::Result<ProcessLog> parsed = parseLog(log.bytes(), "test.devsanlog");
    if (!parsed || !parsed->damage.empty()) {
      std::fprintf(stderr, "the test's log is malformed\n");
      std::abort();
    }
    recording.add(*parsed, log.symbols());
  }
  return recording;
}

} // namespace devsan::runtime::testing
