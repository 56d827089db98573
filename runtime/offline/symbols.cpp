#include "runtime/offline/symbols.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

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

} // namespace

core::Result<SymbolTable> symbolize(const std::filesystem::path &symbolizer,
                                    const std::set<CodeAddress> &addresses) {
  SymbolTable table;
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
    return table;
  std::fflush(questions.get());
  std::rewind(questions.get());

  int answers[2];
  if (pipe2(answers, O_CLOEXEC) != 0)
    return tl::unexpected(failed(symbolizer, errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(questions.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answers[1], STDOUT_FILENO);
  std::string program = symbolizer;
  char *argv[] = {program.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(answers[1]);
  if (error) {
    close(answers[0]);
    return tl::unexpected(failed(symbolizer, error));
  }

  File output(fdopen(answers[0], "r"), std::fclose);
  char *line = nullptr;
  std::size_t capacity = 0;
  for (const CodeAddress *address : asked) {
    if (getline(&line, &capacity, output.get()) < 0)
      break;
    if (std::vector<SymbolFrame> frames = parseAnswer(line); !frames.empty())
      table.emplace(*address, std::move(frames));
  }
  std::free(line);
  output.reset();
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return table;
}

core::Result<void> SymbolCache::start() {
  int questions[2], answers[2];
  if (pipe2(questions, O_CLOEXEC) != 0)
    return tl::unexpected(failed(symbolizer_, errno));
  if (pipe2(answers, O_CLOEXEC) != 0) {
    const int error = errno;
    close(questions[0]);
    close(questions[1]);
    return tl::unexpected(failed(symbolizer_, error));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, questions[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answers[1], STDOUT_FILENO);
  std::string program = symbolizer_;
  char *argv[] = {program.data(), nullptr};
  const int error = posix_spawn(&child_, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(questions[0]);
  close(answers[1]);
  if (error) {
    child_ = 0;
    close(questions[1]);
    close(answers[0]);
    return tl::unexpected(failed(symbolizer_, error));
  }
  questions_ = fdopen(questions[1], "w");
  answers_ = fdopen(answers[0], "r");
  return {};
}

core::Result<void> SymbolCache::lookUp(const std::set<CodeAddress> &addresses) {
  char *line = nullptr;
  std::size_t capacity = 0;
  core::Result<void> result;
  for (const CodeAddress &address : addresses) {
    if (failed_ || !canBeAsked(address) || !asked_.insert(address).second)
      continue;
    if (!child_)
      result = start();
    // One at a time, so that neither side waits with a full pipe.
    if (!result ||
        std::fprintf(questions_, "%s\t%llu\n", address.module.c_str(),
                     static_cast<unsigned long long>(address.offset)) < 0 ||
        std::fflush(questions_) != 0 || getline(&line, &capacity, answers_) < 0) {
      failed_ = true;
      if (result)
        result = core::failure(symbolizer_.string() + " ended early; stacks have no names");
      break;
    }
    if (std::vector<SymbolFrame> frames = parseAnswer(line); !frames.empty())
      table_.emplace(address, std::move(frames));
  }
  std::free(line);
  return result;
}

SymbolCache::~SymbolCache() {
  if (!child_)
    return;
  std::fclose(questions_);
  std::fclose(answers_);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

} // namespace devsan::runtime
