#include "analyzer/run/header_server.h"

#include "analyzer/parse/clang_run.h"
#include "analyzer/run/analysis.h"

#include <clang/Frontend/CompilerInstance.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/SemaConsumer.h>
#include <clang/Serialization/ASTWriter.h>

#include <csignal>
#include <cstring>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace devsan::analyzer {
namespace {

constexpr std::uint32_t kReady = 0xffff'ffff;

// What stands where the headers end.
constexpr llvm::StringLiteral kMark = "devsan_files";

// On the socket, before the text.
struct Answer {
  std::uint32_t number = kReady;
  std::int32_t signal = 0;
  std::uint32_t has_text = 0;
  std::uint32_t limit = 0;
  std::uint64_t size = 0;
};

std::string memoryFile(const CompileCommand &command, llvm::StringRef name) {
  return (kMemoryFilePrefix + name + (isCudaFile(command.file) ? ".cu" : ".cpp")).str();
}

// The process of the server, and of its children.
class Server {
public:
  Server(int socket, const TorchHeader &header, llvm::ArrayRef<CompileCommand> commands,
         Seconds limit)
      : socket_(socket), header_(header), commands_(commands), limit_(limit) {}

  // At the end of the headers. Each child comes back from here, having entered its file, or nothing
  // more where it shall store the headers; the server itself only where that is its last work.
  void serve(clang::Preprocessor &preprocessor) {
    liftTimeLimit(); // it was one for the headers; forking for thousands of files takes longer
    answer({});
    while (true) {
      std::vector<pollfd> files = {{socket_, POLLIN, 0}};
      children_.wait(files, std::nullopt, [&](std::size_t number, Outcome outcome) {
        answer({.number = static_cast<std::uint32_t>(number),
                .signal = outcome.signal,
                .has_text = outcome.text.has_value(),
                .limit = static_cast<std::uint32_t>(outcome.limit),
                .size = outcome.text ? outcome.text->size() : 0},
               outcome.text.value_or(""));
      });
      std::uint32_t number = 0;
      if (!files.front().revents)
        continue;
      if (recv(socket_, &number, sizeof number, MSG_WAITALL) != sizeof number)
        _exit(0); // nobody asks any more
      if (number == HeaderServer::kStoreAndEnd || number == HeaderServer::kStoreBehind) {
        stores_ = true;
        behind_ = number == HeaderServer::kStoreBehind;
        if (behind_)
          moveToBackground();
        return;
      }
      const std::optional<int> out = children_.fork(number, limit_);
      if (!out)
        continue;
      close(socket_);
      out_ = *out;
      stores_ = number == HeaderServer::kStore;
      if (!stores_)
        enter(preprocessor, commands_[number]);
      return;
    }
  }

  // False in a process that has left the loop, with a file to read or the headers to store.
  bool serves() const { return out_ < 0 && !stores_; }
  bool stores() const { return stores_; }
  [[noreturn]] void stored() {
    if (behind_)
      trimTorchHeaders();
    else if (out_ < 0)
      answer({.number = HeaderServer::kStore});
    _exit(0);
  }
  [[noreturn]] void finish(const std::string &text) { Processes::finish(out_, text); }

private:
  // Whoever asked may end now: what it was given, terminal and pipes among it, is let go.
  void moveToBackground() {
    const std::optional<int> lock = lockForStoring(header_);
    detachFromParent(lock.value_or(-1), [&] { answer({.number = HeaderServer::kStore}); });
    if (!lock)
      _exit(0);
  }

  void answer(const Answer &head, const std::string &text = {}) {
    if (!writeAll(socket_, &head, sizeof head) || !writeAll(socket_, text.data(), text.size()))
      _exit(0);
  }

  // The file, and on top of it, so that they come first, the forced includes.
  void enter(clang::Preprocessor &preprocessor, const CompileCommand &command) {
    clang::SourceManager &sources = preprocessor.getSourceManager();
    auto file = preprocessor.getFileManager().getFileRef(command.file);
    if (!file) {
      llvm::consumeError(file.takeError());
      _exit(1);
    }
    // Where the file includes a neighbour, clang asks for what it knows of the file itself.
    preprocessor.markIncluded(*file);
    preprocessor.EnterSourceFile(sources.createFileID(*file, {}, clang::SrcMgr::C_User), nullptr,
                                 {});
    std::string forced;
    for (std::size_t i = 0; i + 1 < command.local.size(); i += 2)
      if (command.local[i] == "-include")
        forced += "#include \"" + command.local[i + 1] + "\"\n";
    if (!forced.empty())
      preprocessor.EnterSourceFile(
          sources.createFileID(llvm::MemoryBuffer::getMemBufferCopy(forced, "<command line>")),
          nullptr, {});
  }

  int socket_;
  const TorchHeader &header_;
  llvm::ArrayRef<CompileCommand> commands_;
  Seconds limit_;
  Processes children_;
  int out_ = -1;
  bool stores_ = false;
  bool behind_ = false;
};

class EndOfHeaders : public clang::PragmaHandler {
public:
  explicit EndOfHeaders(Server &server) : PragmaHandler(kMark), server_(server) {}

  void HandlePragma(clang::Preprocessor &preprocessor, clang::PragmaIntroducer,
                    clang::Token &) override {
    preprocessor.DiscardUntilEndOfDirective();
    if (server_.serves())
      server_.serve(preprocessor);
  }

private:
  Server &server_;
};

// Writes the headers into the cache, in the child that shall.
class HeaderWriter : public clang::SemaConsumer {
public:
  HeaderWriter(clang::CompilerInstance &compiler, Server &server, const TorchHeader &header)
      : server_(server), header_(header), content_(std::make_shared<clang::PCHBuffer>()),
        generator_(compiler.getPreprocessor(), compiler.getModuleCache(), header.path,
                   /*isysroot=*/"", content_, compiler.getCodeGenOpts(), {},
                   /*AllowASTWithErrors=*/false, /*IncludeTimestamps=*/true) {}

  void InitializeSema(clang::Sema &sema) override { generator_.InitializeSema(sema); }

  void HandleTranslationUnit(clang::ASTContext &context) override {
    if (!server_.stores())
      return;
    generator_.HandleTranslationUnit(context);
    if (content_->IsComplete)
      store(header_, llvm::StringRef(content_->Data.data(), content_->Data.size()));
    server_.stored(); // before the checks
  }

private:
  Server &server_;
  const TorchHeader &header_;
  std::shared_ptr<clang::PCHBuffer> content_;
  clang::PCHGenerator generator_;
};

[[noreturn]] void run(const ServedHeader &served, llvm::ArrayRef<CompileCommand> commands,
                      std::size_t model, const std::string &checks, Seconds limit,
                      const std::vector<MemoryFile> &instead, int socket) {
  const CompileCommand &command = commands[model];
  Server server(socket, served.header, commands, limit);
  Analysis analysis(checks, command);
  // A lone `;` so that the last declaration of the headers is complete where the mark is read.
  const std::string mark = (";\n#pragma " + kMark + "\n").str();
  const MemoryFile header = {memoryFile(command, "headers"), served.header.text + mark};
  const MemoryFile files = {memoryFile(command, "files"), mark};

  // The file's own forced includes are read after the headers.
  std::vector<std::string> arguments = clangArguments(command, ForcedIncludes::kCommon);
  if (served.is_stored)
    arguments.insert(arguments.end(), {"-include-pch", served.header.path, files.path});
  else
    arguments.push_back(header.path);

  const auto consumers = [&](clang::CompilerInstance &compiler) {
    compiler.getPreprocessor().AddPragmaHandler(new EndOfHeaders(server));
    std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
    if (!served.is_stored && !served.header.path.empty())
      consumers.push_back(std::make_unique<HeaderWriter>(compiler, server, served.header));
    return consumers;
  };
  std::vector<MemoryFile> memory_files = {header, files};
  llvm::append_range(memory_files, instead);
  runClang(command.folder, std::move(arguments), memory_files, analysis.action(consumers),
           analysis.consumer(), analysis.refused());
  if (server.serves())
    _exit(1); // the headers do not parse, or not load
  server.finish(serialize(analysis.takeResult()));
}

} // namespace

std::unique_ptr<HeaderServer> HeaderServer::start(const ServedHeader &served,
                                                  llvm::ArrayRef<CompileCommand> commands,
                                                  std::size_t model, const std::string &checks,
                                                  Seconds limit,
                                                  const std::vector<MemoryFile> &instead) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return nullptr;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    attachToParent(parent, limit);
    close(ends[0]);
    run(served, commands, model, checks, limit, instead, ends[1]);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return nullptr;
  }
  auto server = std::unique_ptr<HeaderServer>(new HeaderServer);
  server->socket_ = ends[0];
  server->process_ = child;
  return server;
}

HeaderServer::~HeaderServer() {
  end();
}

Limit HeaderServer::end() {
  close(std::exchange(socket_, -1));
  const pid_t process = std::exchange(process_, -1);
  int status = 0;
  if (process < 0)
    return Limit::kNone;
  kill(process, SIGKILL);
  waitpid(process, &status, 0);
  return limitOf(status);
}

void HeaderServer::request(std::uint32_t number) {
  send(socket_, &number, sizeof number, MSG_NOSIGNAL); // a dead server is noticed by receive()
}

bool HeaderServer::receive(llvm::function_ref<void(std::uint32_t, Outcome)> done) {
  char buffer[1 << 16];
  const ssize_t size = recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR))
    return true;
  if (size <= 0)
    return false;
  received_.append(buffer, static_cast<std::size_t>(size));
  Answer answer;
  while (received_.size() >= sizeof answer) {
    std::memcpy(&answer, received_.data(), sizeof answer);
    if (received_.size() - sizeof answer < answer.size)
      break;
    std::string text = received_.substr(sizeof answer, answer.size);
    received_.erase(0, sizeof answer + answer.size);
    if (answer.number == kReady) {
      ready_ = true;
      continue;
    }
    Outcome outcome;
    if (answer.has_text)
      outcome.text = std::move(text);
    outcome.signal = answer.signal;
    outcome.limit = static_cast<Limit>(answer.limit);
    done(answer.number, std::move(outcome));
  }
  return true;
}

} // namespace devsan::analyzer
