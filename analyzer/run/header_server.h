// A process that has LibTorch's headers parsed, or loaded from the cache, and forks for each file
// that begins with them: a child starts where the headers end and reads on in its own file. So a
// run pays for the headers once, however many files there are, and children share the memory.
#pragma once

#include "analyzer/flags/compile_commands.h"
#include "analyzer/parse/clang_run.h"
#include "analyzer/run/torch_header.h"
#include "analyzer/system/processes.h"

#include <llvm/ADT/ArrayRef.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace devsan::analyzer {

// What the server of a header is made from. The files of one server have the same arguments.
struct ServedHeader {
  TorchHeader header;
  bool is_stored = false;
};

// The scheduler's end. Requests are numbers of files; the server answers each when it is done.
class HeaderServer {
public:
  // The number that asks to keep the header in the cache.
  static constexpr std::uint32_t kStore = 0xffff'fffe;
  // The same, of a server that is asked for nothing more: it does so itself, which spares a child
  // the copies of the pages it writes to. The answer is that to kStore, and the server's last.
  static constexpr std::uint32_t kStoreAndEnd = 0xffff'fffd;
  // The same, but the answer comes before: the server stores behind whoever asked, who leaves it.
  static constexpr std::uint32_t kStoreBehind = 0xffff'fffc;

  // Forks. Null where that fails. `instead` is read for the files of these names.
  static std::unique_ptr<HeaderServer> start(const ServedHeader &served,
                                             llvm::ArrayRef<CompileCommand> commands,
                                             std::size_t model, const std::string &checks,
                                             Seconds limit, const std::vector<MemoryFile> &instead);
  ~HeaderServer(); // ends it, and its children, unless it was left
  Limit end();     // the same, and tells the limit that had ended it
  void leave() { process_ = -1; }

  bool isReady() const { return ready_; }
  int file() const { return socket_; }
  void request(std::uint32_t number);

  // To be called when file() can be read: takes what has come. False where the server has died.
  bool receive(llvm::function_ref<void(std::uint32_t, Outcome)> done);

private:
  HeaderServer() = default;

  int socket_ = -1;
  pid_t process_ = -1;
  bool ready_ = false;
  std::string received_;
};

} // namespace devsan::analyzer
