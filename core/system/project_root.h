// Where a project begins: paths inside it are shown relative to it, so that fingerprints are the
// same on other machines.
#pragma once

#include <filesystem>
#include <optional>

namespace devsan::core {

// The repository (of git, Mercurial or Jujutsu) that holds `directory`, or else the folder of the
// nearest .devsan.toml.
std::optional<std::filesystem::path> findProjectRoot(const std::filesystem::path &directory);

// From now on `folder`, absolute and without dots, is the project of all that it holds, and nothing
// above it is looked at.
void setProjectRoot(const std::filesystem::path &folder);
// That folder; empty where none was set.
const std::filesystem::path &setRoot();

// The same, or else `directory` itself.
std::filesystem::path projectRootOf(const std::filesystem::path &directory);

// The project that a folder is part of, by its path without links: as above, or else the working
// directory where that holds it, unless it is /, a folder such as /tmp, or the user's home or above
// it. Nothing where there is none.
std::optional<std::filesystem::path> projectAround(const std::filesystem::path &folder);

// Where all users work, or all of a user's work is: /, a folder such as /tmp, the user's home or
// above it.
bool holdsManyProjects(const std::filesystem::path &folder);

// Both absolute, without links and dots.
bool isWithin(const std::filesystem::path &path, const std::filesystem::path &folder);

// The nearest .devsan.toml from `directory` upwards, but not above the repository: what is there is
// not the project's. Empty where there is none.
std::filesystem::path findProjectFile(const std::filesystem::path &directory);

} // namespace devsan::core
