#include "command/commands.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace devsan::command {

// The list is made by the build beside the simulator
// (runtime/sim/operators/generate_not_simulated.py): this command links no LibTorch that could be
// asked.
int listNotSimulated(const InstallTree &tree, const std::string &format) {
  if (format != "text" && format != "json")
    return fail("unknown format '" + format + "'; valid: text, json");
  const std::filesystem::path path = tree.notSimulated();
  std::ifstream file(path);
  if (!file)
    return fail("no " + path.string() + ": build with -DDEVSAN_BUILD_RUNTIME=ON");
  const auto list = nlohmann::ordered_json::parse(file, nullptr, false);
  if (list.is_discarded() || !list.contains("operators"))
    return fail(path.string() + " is damaged: build again");
  if (format == "json") {
    std::printf("%s\n", list.dump(2).c_str());
    return kSuccess;
  }
  for (const auto &entry : list["operators"])
    std::printf("%s\n    %s; remedy: %s\n", entry.value("name", "").c_str(),
                entry.value("reason", "").c_str(), entry.value("remedy", "").c_str());
  std::printf("\n%zu names: a program that calls one fails with 'not simulated: NAME'. Kernels of "
              "extensions do nothing until a test gives them a host implementation. Triton's "
              "kernels run in its interpreter. An operator of another library that has only a CPU "
              "kernel fails as on a GPU.\n",
              list["operators"].size());
  return kSuccess;
}

} // namespace devsan::command
