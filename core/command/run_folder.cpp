#include "core/command/run_folder.h"
#include "core/whole_file.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace devsan::command {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kFile = "run.json";
constexpr const char *kRunSchema = "devsan-run/1";

std::string hostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && *name ? name : "host";
}

core::Result<std::string> makeTemporary() {
  std::error_code error;
  std::string pattern = fs::temp_directory_path(error) / "devsan-XXXXXX";
  if (error || !mkdtemp(pattern.data())) {
    const std::string reason = error ? error.message() : std::strerror(errno);
    const char *chosen = std::getenv("TMPDIR");
    return core::failure("cannot make a directory for the logs in " +
                         std::string(chosen ? chosen : "/tmp") + ": " + reason +
                         "; set TMPDIR to a directory that exists and can be written to");
  }
  return pattern;
}

// Runs of several hosts may share the folder.
core::Result<std::string> makeBelow(const fs::path &keep) {
  std::error_code error;
  const fs::path folder = fs::absolute(keep, error);
  fs::create_directories(folder, error);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const fs::path path =
      folder / (hostName() + "-" +
                std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) +
                "-" + std::to_string(getpid()));
  if (!error)
    fs::create_directory(path, error);
  if (error)
    return core::failure("--keep-logs=" + keep.string() + ": cannot make " + path.string() + ": " +
                         error.message());
  return path.string();
}

} // namespace

core::Result<RunFolder> RunFolder::make(const fs::path &keep) {
  core::Result<std::string> path = keep.empty() ? makeTemporary() : makeBelow(keep);
  if (!path)
    return tl::unexpected(path.error());
  return RunFolder(*path, !keep.empty());
}

RunFolder::RunFolder(RunFolder &&other) noexcept
    : path_(std::move(other.path_)), kept_(other.kept_) {
  other.path_.clear();
}

RunFolder::~RunFolder() {
  std::error_code error;
  if (!path_.empty() && !kept_)
    fs::remove_all(path_, error);
}

core::Result<void> RunFolder::write(const RunFacts &facts) const {
  if (!kept_)
    return {};
  const Json json = {
      {"schema", kRunSchema},     {"host", hostName()},
      {"command", facts.command}, {"working_directory", facts.working_directory.string()},
      {"wall_ns", facts.wall_ns}, {"ended_early", facts.ended_early}};
  return core::writeFile(path_ / kFile, [&](std::ostream &out) {
    out << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  });
}

core::Result<RunFacts> readRunFacts(const fs::path &folder) {
  RunFacts facts;
  std::error_code error;
  facts.command = folder.lexically_normal().string();
  facts.working_directory = fs::current_path(error);
  const fs::path path = folder / kFile;
  if (!fs::exists(path, error))
    return facts;
  core::Result<std::string> text = core::readFile(path);
  if (!text)
    return tl::unexpected(text.error());
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const auto has = [&](const char *key, bool (Json::*is)() const noexcept) {
    return json.is_object() && json.contains(key) && (json[key].*is)();
  };
  if (!has("schema", &Json::is_string) || json["schema"] != kRunSchema ||
      !has("command", &Json::is_string) || !has("working_directory", &Json::is_string) ||
      !has("wall_ns", &Json::is_number_unsigned) || !has("ended_early", &Json::is_boolean))
    return core::failure(path.string() + ": this is not what `devsan run --keep-logs` writes (\"" +
                         kRunSchema + "\"); without the file the logs are read all the same");
  facts.command = json["command"].get<std::string>();
  facts.working_directory = json["working_directory"].get<std::string>();
  facts.wall_ns = json["wall_ns"].get<std::uint64_t>();
  facts.ended_early = json["ended_early"].get<bool>();
  return facts;
}

} // namespace devsan::command
