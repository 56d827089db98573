#include "command/commands.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace devsan::command {

int check(const InstallTree &tree, const std::vector<std::string> &arguments) {
  const std::string program = tree.check();
  std::vector<char *> argv{const_cast<char *>(program.c_str())};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  return fail("cannot execute " + program + ": " + std::strerror(errno) +
              "; build it with -DDEVSAN_BUILD_ANALYZER=ON");
}

} // namespace devsan::command
