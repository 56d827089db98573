// DevSan in programs with GoogleTest. Header only; under `devsan run` it sees what the tests do,
// without it the tests run as ever, and one line on stderr says that nothing was observed.
//
//   DEVSAN_GTEST_LISTENER;                      // once, in any file: tests fail for their findings
//
//   TEST(Model, Forward) {
//     devsan::testing::allow("device-mismatch");       // the test means it
//     devsan::testing::limit("device-host-sync", 1);   // at most so often in this test
//     DEVSAN_EXPECT_NO_SYNC { model->forward(batch); } // fails here where the host waits
//   }
//
// The findings of a test are those of the process and its children while the test runs.
#pragma once

#include <devsan/devsan.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace devsan::testing {
namespace detail {

inline void sayThatNothingIsObserved() {
  static std::atomic<bool> said{false};
  if (!said.exchange(true))
    std::fprintf(stderr, "devsan: nothing is observed here: start the tests with `devsan run -- "
                         "CMD` to have copies and waits seen\n");
}

// `devsan session`, a process beside this one (command/session.cpp).
class Session {
public:
  // Null where this process is not observed, or the session cannot be started, which it says.
  static std::unique_ptr<Session> start() {
    const char *program = std::getenv("DEVSAN_BUILDER");
    const char *logs = std::getenv("DEVSAN_LOG_DIR");
    if (!isActive() || !program || !logs) {
      sayThatNothingIsObserved();
      return nullptr;
    }
    std::unique_ptr<Session> session(new Session);
    if (!session->spawn(program, logs) || session->answer().verdict != "passed") {
      std::fprintf(stderr, "devsan: cannot start `%s session`: findings fail no test\n", program);
      return nullptr;
    }
    return session;
  }

  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;
  ~Session() {
    if (answers_)
      std::fclose(answers_);
    // A death test's child has the pipes, and not the process.
    if (child_ > 0 && getpid() == owner_)
      while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
      }
  }

  struct Answer {
    std::string verdict = "error";
    std::string text = "`devsan session` ended early\n";
    std::string file = {}; // of the first finding, where it has a place
    int line = 0;
  };

  bool isOurs() const { return getpid() == owner_; }

  Answer ask(const std::string &line) {
    const std::string question = line + "\n";
    for (std::size_t sent = 0; sent < question.size();) {
      // No signal where the session has ended.
      const ssize_t count =
          send(fileno(answers_), question.data() + sent, question.size() - sent, MSG_NOSIGNAL);
      if (count < 0 && errno != EINTR)
        return {};
      sent += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    return answer();
  }

private:
  Session() = default;

  bool spawn(const char *program, const char *logs) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return false;
    // It must not be observed itself.
    std::vector<char *> environment;
    for (char **entry = environ; *entry; ++entry)
      if (!std::string_view(*entry).starts_with("LD_PRELOAD=") &&
          !std::string_view(*entry).starts_with("DEVSAN_LIBS="))
        environment.push_back(*entry);
    environment.push_back(nullptr);
    std::string words[] = {program, "session", logs, std::to_string(getpid()), "--text"};
    std::vector<char *> arguments;
    for (std::string &word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    const int error =
        posix_spawn(&child_, program, &actions, nullptr, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    answers_ = fdopen(ends[0], "r");
    if (error)
      child_ = 0;
    return !error && answers_;
  }

  Answer answer() {
    char verdict[16];
    std::size_t size = 0;
    int line = 0;
    if (std::fscanf(answers_, "%15s %zu %d", verdict, &size, &line) != 3 ||
        std::fgetc(answers_) != ' ')
      return {};
    Answer answer{verdict, std::string(size, '\0'), {}, line};
    for (int c; (c = std::fgetc(answers_)) != '\n'; answer.file += static_cast<char>(c))
      if (c == EOF)
        return {};
    if (std::fread(answer.text.data(), 1, size, answers_) != size)
      return {};
    return answer;
  }

  pid_t owner_ = getpid();
  pid_t child_ = 0;
  std::FILE *answers_ = nullptr;
};

// What the running test said of itself.
struct Words {
  std::string limits;
  std::string allowed;
  std::string told; // what has failed it already
};
inline Words &words() {
  static Words words;
  return words;
}

class Listener : public ::testing::EmptyTestEventListener {
public:
  void OnTestStart(const ::testing::TestInfo &) override {
    words() = {};
    // Not earlier: the runtime comes with LibTorch, which a plugin may bring.
    if (!asked_) {
      asked_ = true;
      session_ = Session::start();
    }
    ++count_;
    ask("enter test" + std::to_string(count_));
  }

  void OnTestEnd(const ::testing::TestInfo &test) override {
    if (!session_ || !session_->isOurs())
      return;
    const Session::Answer answer = session_->ask("judge test" + std::to_string(count_) +
                                                 words().limits + words().allowed + words().told);
    if (answer.verdict != "passed") {
      const bool has_place = answer.line > 0 && !answer.file.empty();
      ADD_FAILURE_AT(has_place ? answer.file.c_str() : test.file(),
                     has_place ? answer.line : test.line())
          << "devsan: " << answer.text;
      return;
    }
    if (!words().told.empty()) // the test has failed, and this says where
      std::printf("devsan: %s", answer.text.c_str());
    ask("enter outside");
  }

  void OnTestProgramEnd(const ::testing::UnitTest &) override { session_.reset(); }

private:
  void ask(const std::string &line) {
    if (session_ && session_->isOurs())
      session_->ask(line);
  }

  std::unique_ptr<Session> session_;
  std::uint64_t count_ = 0;
  bool asked_ = false;
};

inline bool install() {
  static const bool installed = [] {
    // Last in the list: ends are told in reverse order, so the test fails before it is printed.
    ::testing::UnitTest::GetInstance()->listeners().Append(new Listener);
    return true;
  }();
  return installed;
}

// See DEVSAN_EXPECT_NO_SYNC.
class NoSyncBlock {
public:
  NoSyncBlock(const char *file, int line) : file_(file), line_(line) {
    if (isActive())
      count_.emplace();
    else
      sayThatNothingIsObserved();
  }
  NoSyncBlock(const NoSyncBlock &) = delete;
  NoSyncBlock &operator=(const NoSyncBlock &) = delete;
  ~NoSyncBlock() {
    const std::uint64_t waits = count_ ? count_->syncs() : 0;
    if (!waits || std::uncaught_exceptions() != exceptions_)
      return;
    ADD_FAILURE_AT(file_, line_) << "devsan: the host waited for a device "
                                 << (waits == 1 ? "once" : "")
                                 << (waits == 1 ? "" : std::to_string(waits) + " times")
                                 << " in this block; the report of `devsan run` names the places";
    words().told = " told=device-host-sync";
  }

private:
  const char *file_;
  int line_;
  int exceptions_ = std::uncaught_exceptions();
  ExpectNoSync no_sync_; // the report has them as errors
  std::optional<SyncCount> count_;
};

} // namespace detail

// The rule never fails the test that runs. An unknown rule does.
inline void allow(std::string_view rule) {
  detail::words().allowed += " allow=" + std::string(rule);
}

// The rule fails the test that runs where it has more than so many findings, and then only.
inline void limit(std::string_view rule, std::uint64_t most) {
  detail::words().limits += " max=" + std::string(rule) + "=" + std::to_string(most);
}

// What DEVSAN_GTEST_LISTENER does, for programs with a main() of their own: before RUN_ALL_TESTS().
inline bool install() {
  return detail::install();
}

} // namespace devsan::testing

#define DEVSAN_GTEST_LISTENER                                                                      \
  [[maybe_unused]] static const bool devsan_gtest_listener = ::devsan::testing::install()

// A statement: the block that follows must not wait for a device.
#define DEVSAN_EXPECT_NO_SYNC                                                                      \
  GTEST_AMBIGUOUS_ELSE_BLOCKER_                                                                    \
  if (::devsan::testing::detail::NoSyncBlock devsan_no_sync(__FILE__, __LINE__); false) {          \
  } else
