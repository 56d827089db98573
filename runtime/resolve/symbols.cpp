#include "runtime/resolve/symbols.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace devsan::runtime {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE *)>;

// The protocol is one line per address, so a path with a line break in it cannot be asked for.
bool canBeAsked(const CodeAddress &address) {
  return address.module.find_first_of("\n\t") == std::string::npos;
}

std::vector<SymbolFrame> parseAnswer(const std::string &line) {
  const auto answer = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  std::vector<SymbolFrame> frames;
  if (!answer.is_object() || !answer.contains("frames") || !answer["frames"].is_array())
    return frames;
  auto text = [](const nlohmann::json &frame, const char *key) {
    return frame.contains(key) && frame[key].is_string() ? frame[key].get<std::string>()
                                                         : std::string();
  };
  auto number = [](const nlohmann::json &frame, const char *key) {
    return frame.contains(key) && frame[key].is_number_unsigned() ? frame[key].get<unsigned>() : 0u;
  };
  for (const nlohmann::json &frame : answer["frames"])
    frames.push_back({text(frame, "function"), text(frame, "file"), number(frame, "line"),
                      number(frame, "column")});
  return frames;
}

core::Error failed(const std::filesystem::path &symbolizer, int error) {
  return {"cannot execute " + symbolizer.string() + ": " + std::strerror(error) +
          "; stacks have no names"};
}

// How long an answer may take: the first one opens LibTorch, on a busy machine.
constexpr int kMaxWaitSeconds = 30;
constexpr std::size_t kMaxBytes = 16 << 20; // of one answer

// Starts the program, which reads from the one descriptor and writes to the other. An errno, or 0.
int start(const std::filesystem::path &symbolizer, int questions, int answers, pid_t &child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, questions, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answers, STDOUT_FILENO);
  // Whoever makes a report may block all signals.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::string program = symbolizer;
  char *argv[] = {program.data(), nullptr};
  const int error = posix_spawn(&child, program.c_str(), &actions, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Ends it where it has not ended by itself: nothing more is asked. Says why it told no more.
std::string end(const std::filesystem::path &symbolizer, pid_t child, AnswerReader::End why) {
  kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::string text = symbolizer.string();
  if (why == AnswerReader::End::kSilence)
    text += " gave no answer for " + std::to_string(kMaxWaitSeconds) + " s";
  else if (WIFSIGNALED(status))
    text += " was ended by signal " + std::to_string(WTERMSIG(status));
  else
    text += " ended early";
  return text;
}

} // namespace

AnswerReader::AnswerReader(AnswerReader &&other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), text_(std::move(other.text_)) {}

AnswerReader::~AnswerReader() {
  if (descriptor_ >= 0)
    close(descriptor_);
}

AnswerReader::End AnswerReader::read(std::string &line) {
  for (;;) {
    if (const std::size_t length = text_.find('\n'); length != text_.npos) {
      line = text_.substr(0, length);
      text_.erase(0, length + 1);
      return End::kNone;
    }
    if (text_.size() > kMaxBytes)
      return End::kEnd;
    pollfd answer = {descriptor_, POLLIN, 0};
    const int ready = poll(&answer, 1, kMaxWaitSeconds * 1000);
    if (ready < 0 && errno == EINTR)
      continue;
    char buffer[16384];
    const ssize_t got = ready > 0 ? ::read(descriptor_, buffer, sizeof buffer) : 0;
    if (got <= 0)
      return ready == 0 ? End::kSilence : End::kEnd;
    text_.append(buffer, static_cast<std::size_t>(got));
  }
}

core::Result<void> symbolize(const std::filesystem::path &symbolizer,
                             const std::set<CodeAddress> &addresses, SymbolTable &table) {
  std::vector<const CodeAddress *> asked;
  // The questions lie in a file: with two pipes, both sides could wait for each other.
  File questions(std::tmpfile(), std::fclose);
  if (!questions)
    return tl::unexpected(failed(symbolizer, errno));
  for (const CodeAddress &address : addresses) {
    if (!canBeAsked(address))
      continue;
    asked.push_back(&address);
    std::fprintf(questions.get(), "%s\t%llu\n", address.module.c_str(),
                 static_cast<unsigned long long>(address.offset));
  }
  if (asked.empty())
    return {};
  if (std::fflush(questions.get()) != 0)
    return tl::unexpected(failed(symbolizer, errno));
  std::rewind(questions.get());

  int answers[2];
  if (pipe2(answers, O_CLOEXEC) != 0)
    return tl::unexpected(failed(symbolizer, errno));
  pid_t child = 0;
  const int error = start(symbolizer, fileno(questions.get()), answers[1], child);
  close(answers[1]);
  AnswerReader reader(answers[0]);
  if (error)
    return tl::unexpected(failed(symbolizer, error));

  std::size_t answered = 0;
  AnswerReader::End why = AnswerReader::End::kNone;
  std::string line;
  for (const CodeAddress *address : asked) {
    why = reader.read(line);
    if (why != AnswerReader::End::kNone)
      break;
    ++answered;
    if (std::vector<SymbolFrame> frames = parseAnswer(line); !frames.empty())
      table.emplace(*address, std::move(frames));
  }
  const std::string how = end(symbolizer, child, why);
  if (answered < asked.size())
    return core::failure(how + ": " + std::to_string(asked.size() - answered) + " of " +
                         std::to_string(asked.size()) + " addresses have no names");
  return {};
}

core::Result<void> SymbolCache::begin() {
  int questions[2], answers[2];
  if (pipe2(questions, O_CLOEXEC) != 0)
    return tl::unexpected(failed(symbolizer_, errno));
  if (pipe2(answers, O_CLOEXEC) != 0) {
    const int error = errno;
    close(questions[0]);
    close(questions[1]);
    return tl::unexpected(failed(symbolizer_, error));
  }
  const int error = start(symbolizer_, questions[0], answers[1], child_);
  close(questions[0]);
  close(answers[1]);
  answers_ = AnswerReader(answers[0]);
  if (error) {
    child_ = 0;
    close(questions[1]);
    return tl::unexpected(failed(symbolizer_, error));
  }
  questions_ = fdopen(questions[1], "w");
  return {};
}

core::Result<void> SymbolCache::lookUp(const std::set<CodeAddress> &addresses) {
  std::string line;
  for (const CodeAddress &address : addresses) {
    if (failed_ || !canBeAsked(address) || !asked_.insert(address).second)
      continue;
    if (!child_)
      if (core::Result<void> begun = begin(); !begun) {
        failed_ = true;
        return begun;
      }
    // One at a time, so that neither side waits with a full pipe.
    AnswerReader::End why = AnswerReader::End::kEnd;
    if (std::fprintf(questions_, "%s\t%llu\n", address.module.c_str(),
                     static_cast<unsigned long long>(address.offset)) >= 0 &&
        std::fflush(questions_) == 0)
      why = answers_.read(line);
    if (why != AnswerReader::End::kNone) {
      failed_ = true;
      const std::string how = end(symbolizer_, std::exchange(child_, 0), why);
      std::fclose(questions_);
      return core::failure(how + "; stacks have no names");
    }
    if (std::vector<SymbolFrame> frames = parseAnswer(line); !frames.empty())
      table_.emplace(address, std::move(frames));
  }
  return {};
}

SymbolCache::~SymbolCache() {
  if (!child_)
    return;
  std::fclose(questions_);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

} // namespace devsan::runtime
