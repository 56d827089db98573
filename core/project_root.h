// Where a project begins: paths inside it are shown relative to it, so that fingerprints are the
// same on other machines.
#pragma once

#include <filesystem>
#include <optional>

namespace devsan::core {

// The repository that holds `directory`, or else the folder of the nearest .devsan.toml.
std::optional<std::filesystem::path> findProjectRoot(const std::filesystem::path &directory);

// The same, or else `directory` itself.
std::filesystem::path projectRootOf(const std::filesystem::path &directory);

// The nearest .devsan.toml from `directory` upwards; empty where there is none.
std::filesystem::path findProjectFile(const std::filesystem::path &directory);

} // namespace devsan::core
