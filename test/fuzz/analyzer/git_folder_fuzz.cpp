// .git, its HEAD and its configuration: whatever they say, of the settings that git then sees none
// names a command. The input is the files' contents, one after the other, each but the last ended
// by a zero byte: .git/config, .git/HEAD, .git/commondir.
#include "analyzer/files/git_repository.h"
#include "test/fuzz/check.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>

namespace {

namespace fs = std::filesystem;

const std::regex &harmless() {
  static const std::regex kNames("core\\.(autocrlf|filemode|ignorecase|symlinks|eol|checkstat|"
                                 "trustctime|repositoryformatversion|bare|quotepath|excludesfile)"
                                 "|extensions\\.(objectformat|refstorage)"
                                 "|branch\\.[^]*\\.(remote|merge)|remote\\.[^]*\\.fetch");
  return kNames;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static const devsan::analyzer::TemporaryFolder folder("devsan-fuzz");
  const fs::path root = folder.path();
  std::error_code ignored;
  fs::remove_all(root / ".git", ignored);
  for (const char *name : {".git", "other"}) // git reads no settings without objects
    fs::create_directories(root / name / "objects");
  std::string_view rest(reinterpret_cast<const char *>(data), size);
  for (const char *name : {"config", "HEAD", "commondir"}) {
    const std::string_view content = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(content.size() + 1, rest.size()));
    if (!content.empty())
      std::ofstream(root / ".git" / name, std::ios::binary) << content;
    if (name == std::string_view("config")) // of the repository that a worktree belongs to
      std::ofstream(root / "other" / name, std::ios::binary) << content;
  }
  const auto git = devsan::analyzer::GitRepository::open(root);
  if (!git) {
    CHECK(!git.error().message.empty());
    return 0;
  }
  const auto told = git->ask({"config", "--null", "--name-only", "--list"});
  std::string_view names = told.output;
  while (!names.empty()) {
    const std::string name(names.substr(0, names.find('\0')));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    CHECK(std::regex_match(name, harmless()));
  }
  return 0;
}
