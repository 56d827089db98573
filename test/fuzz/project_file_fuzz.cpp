// .devsan.toml: what is taken is a setting that has a place, what is not is named with its line.
#include "core/project/project_file.h"
#include "test/fuzz/check.h"

#include <cstdint>

using namespace devsan::core;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  constexpr const char *kFile = "/p/.devsan.toml";
  const auto file =
      parseProjectFile(std::string_view(reinterpret_cast<const char *>(data), size), kFile);
  if (!file) {
    CHECK(file.error().message.starts_with("/p/.devsan.toml:"));
    return 0;
  }
  for (const ProjectTable *table : {&file->run, &file->check})
    for (const auto &[key, setting] : table->all())
      CHECK(!setting.text.empty() && setting.where.starts_with(kFile));
  for (const ProjectSetting &setting : file->reports)
    CHECK(setting.text.starts_with("/") && setting.where.starts_with(kFile));
  for (const std::vector<ProjectSetting> *list : {&file->exclude, &file->extra_flags})
    for (const ProjectSetting &setting : *list)
      CHECK(!setting.text.empty() && setting.where.starts_with(kFile));
  for (const ProjectSetting &setting : file->budgets)
    CHECK(setting.text.find('=') != std::string::npos && setting.where.starts_with(kFile));
  return 0;
}
