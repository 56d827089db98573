#include "command/run_folder.h"
#include "core/system/replace_file.h"
#include "core/system/whole_file.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace devsan::command {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kFile = "run.json";
constexpr const char *kInnerRun = ".inner-run"; // after its number
constexpr const char *kRunSchema = "devsan-run/1";
constexpr std::uintmax_t kMaxBytes = 16 << 20;

std::string hostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && *name ? name : "host";
}

// In TMPDIR, or where that cannot be, in what every program may write to.
core::Result<std::string> makeTemporary() {
  const char *chosen = std::getenv("TMPDIR");
  const std::string first = chosen && *chosen ? chosen : "/tmp";
  int why_not = 0;
  for (const std::string &folder :
       {first, std::string("/tmp"), std::string("/var/tmp"), std::string("/dev/shm")}) {
    std::string pattern = fs::path(folder) / "devsan-XXXXXX";
    if (mkdtemp(pattern.data())) {
      if (why_not)
        std::fprintf(stderr,
                     "devsan: note: no folder for the logs can be made in %s: %s; it is %s\n",
                     first.c_str(), std::strerror(why_not), pattern.c_str());
      return pattern;
    }
    if (!why_not)
      why_not = errno;
  }
  return core::failure("cannot make a directory for the logs in " + first + ": " +
                       std::strerror(why_not) +
                       "; set TMPDIR to a directory that exists and can be written to");
}

// Runs of several hosts may share the folder.
core::Result<std::string> makeBelow(const fs::path &keep) {
  std::error_code error;
  const fs::path folder = fs::absolute(keep, error);
  fs::path there = folder; // before any folder is made
  while (!fs::exists(there, error) && there.has_relative_path())
    there = there.parent_path();
  if (const auto place = core::FilePlace::of(there / kFile); !place)
    return core::failure("--keep-logs=" + keep.string() + ": " + place.error().message);
  fs::create_directories(folder, error);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const fs::path path =
      folder / (hostName() + "-" +
                std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) +
                "-" + std::to_string(getpid()));
  // Logs hold the program's arguments and paths: for its owner alone.
  if (!error && mkdir(path.c_str(), 0700) != 0)
    error = std::error_code(errno, std::generic_category());
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
  if (path_.empty() || kept_)
    return;
  // A process that outlives the run may have been about to make its log.
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::error_code error;
    fs::remove_all(path_, error);
    if (!error)
      return;
  }
}

core::Result<void> RunFolder::write(const RunFacts &facts) const {
  if (!kept_)
    return {};
  const Json json = {
      {"schema", kRunSchema},     {"host", hostName()},
      {"command", facts.command}, {"working_directory", facts.working_directory.string()},
      {"wall_ns", facts.wall_ns}, {"ended_early", facts.ended_early},
      {"missing", facts.missing}};
  const fs::path path = path_ / kFile;
  core::Result<void> written = core::writeFile(path, [&](std::ostream &out) {
    out << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  });
  std::error_code error;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, error);
  return written;
}

core::Result<RunFacts> readRunFacts(const fs::path &folder) {
  RunFacts facts;
  std::error_code error;
  facts.command = folder.lexically_normal().string();
  facts.working_directory = fs::current_path(error);
  const fs::path path = folder / kFile;
  if (!fs::exists(path, error))
    return facts;
  core::Result<std::string> text = core::readFile(path, core::kMaxSettings);
  if (!text)
    return tl::unexpected(text.error());
  core::Result<void> parsed = parseRunFacts(*text, path, facts);
  if (!parsed)
    return tl::unexpected(parsed.error());
  return facts;
}

void noteInnerRun(const fs::path &outer) {
  const std::string file = outer / (std::to_string(getpid()) + kInnerRun);
  if (const int made = open(file.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600); made >= 0)
    close(made);
}

std::size_t innerRuns(const fs::path &folder) {
  std::error_code error;
  std::size_t runs = 0;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    runs += entry->path().extension() == kInnerRun;
  return runs;
}

core::Result<void> parseRunFacts(std::string_view text, const fs::path &path, RunFacts &facts) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
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
  // An older devsan writes none.
  if (has("missing", &Json::is_array))
    for (const Json &sentence : json["missing"])
      if (sentence.is_string())
        facts.missing.push_back(sentence.get<std::string>());
  return {};
}

} // namespace devsan::command
