#include "core/finding/ownership.h"
#include "core/system/file_glob.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace devsan::core {
namespace {

constexpr std::string_view kPackages = "-packages/"; // site-packages, Debian's dist-packages
constexpr std::array<std::string_view, 6> kSystemFolders = {
    "/usr/include/", "/usr/lib/", "/usr/local/include/", "/usr/local/lib/", "/lib/", "/lib64/"};
// Code that torch makes while a program runs.
constexpr std::array<std::string_view, 2> kGenerated = {"<eval_with_key>", "/torchinductor_"};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

bool isInstalled(std::string_view path) {
  return contains(path, kPackages) || contains(path, "/lib/python3") ||
         std::ranges::any_of(kSystemFolders,
                             [&](std::string_view folder) { return path.starts_with(folder); }) ||
         std::ranges::any_of(kGenerated,
                             [&](std::string_view part) { return contains(path, part); });
}

// What an installation puts beside the interpreter, to call a package: `torchrun`.
bool isEntryPoint(const Frame &frame) {
  const std::string_view path = frame.location.file;
  const std::size_t slash = path.rfind('/');
  return frame.module.empty() && slash != path.npos && path.substr(0, slash).ends_with("/bin") &&
         !contains(path.substr(slash), ".");
}

// "lightning" of ".venv/lib/python3.11/site-packages/lightning/trainer.py", else the file's name.
std::string libraryOf(std::string_view path) {
  if (const std::size_t packages = path.rfind(kPackages); packages != path.npos)
    path = path.substr(packages + kPackages.size());
  else
    path = path.substr(path.rfind('/') + 1);
  path = path.substr(0, path.find('/'));
  return std::string(path.substr(0, path.find('.')));
}

bool isInterpreted(const Frame &frame) {
  return frame.module.empty() && !frame.location.file.empty();
}

bool isPlaceOf(const Frame &frame, const Finding &finding) {
  if (finding.locations.empty())
    return false;
  const Location &place = finding.locations.front();
  return (frame.location.file.empty() ? frame.module : frame.location.file) == place.file &&
         frame.location.line == place.line;
}

} // namespace

bool Ownership::isOwn(const Frame &frame) const {
  if (!frame.user)
    return false;
  const std::string &file = frame.location.file;
  if (file.empty() && frame.module.empty())
    return true; // stands for those that were not kept
  if (!globs_.empty())
    return std::ranges::any_of(globs_, [&](const std::string &glob) {
      return coversFile(glob, file.empty() ? frame.module : file);
    });
  // An extension that is installed may be built from own sources; absolute paths of others' are
  // those of the machine that built it.
  const bool is_project_file = !file.empty() && file.front() != '/';
  return !isInstalled(file) && !isEntryPoint(frame) &&
         (is_project_file || !isInstalled(frame.module));
}

void Ownership::mark(std::span<Finding> findings) const {
  for (Finding &finding : findings) {
    const Frame *foreign = nullptr;
    bool has_own = false;
    for (Frame &frame : finding.stack) {
      frame.own = isOwn(frame);
      has_own |= frame.own;
      // torch's own Python code is no frame of the program's, but says who called.
      if (!foreign && (frame.user || isInterpreted(frame)))
        foreign = &frame;
    }
    for (const Related &related : finding.related)
      has_own |= !related.location.file.empty() &&
                 isOwn({.location = related.location, .module = {}, .user = true});
    finding.library =
        has_own || !foreign
            ? ""
            : libraryOf(foreign->location.file.empty() ? foreign->module : foreign->location.file);
  }
}

const Frame *nearestOwn(const Finding &finding) {
  const auto place = std::ranges::find_if(
      finding.stack, [&](const Frame &frame) { return isPlaceOf(frame, finding); });
  if (place == finding.stack.end() || place->own)
    return nullptr;
  const auto own = std::find_if(place, finding.stack.end(), [](const Frame &frame) {
    return frame.own && !frame.location.file.empty();
  });
  return own == finding.stack.end() ? nullptr : &*own;
}

Location ownPlace(const Finding &finding) {
  if (const Frame *own = nearestOwn(finding))
    return own->location;
  return finding.locations.empty() ? Location{} : finding.locations.front();
}

} // namespace devsan::core
