#include "core/system/project_root.h"
#include "test/support/temporary_folder.h"

#include <fstream>
#include <gtest/gtest.h>

namespace devsan::core {
namespace {

namespace fs = std::filesystem;

TEST(ProjectRoot, IsTheRepositoryBeforeANearerProjectFile) {
  const test::TemporaryFolder folder;
  const fs::path project = folder.path() / "project", inside = project / "python" / "src";
  fs::create_directories(inside);
  EXPECT_EQ(findProjectRoot(inside), std::nullopt);
  EXPECT_EQ(projectRootOf(inside), inside);
  std::ofstream(project / "python" / ".devsan.toml") << "[run]\n";
  EXPECT_EQ(projectRootOf(inside), project / "python");
  fs::create_directory(project / ".git");
  EXPECT_EQ(projectRootOf(inside), project);
}

TEST(ProjectRoot, FindsTheNearestProjectFile) {
  const test::TemporaryFolder folder;
  const fs::path project = folder.path() / "project", inside = project / "src";
  fs::create_directories(inside);
  EXPECT_EQ(findProjectFile(inside), fs::path());
  std::ofstream(project / ".devsan.toml") << "[run]\n";
  EXPECT_EQ(findProjectFile(inside), project / ".devsan.toml");
  EXPECT_EQ(findProjectFile(project), project / ".devsan.toml");
  for (const char *repository : {".git", ".hg", ".jj"}) {
    fs::create_directories(inside / repository);
    EXPECT_EQ(findProjectFile(inside / "deep"), fs::path()) << repository;
    EXPECT_EQ(findProjectRoot(inside / "deep"), inside) << repository;
    fs::remove(inside / repository);
  }
  fs::create_directories(project / ".git");
  EXPECT_EQ(findProjectFile(inside), project / ".devsan.toml");
}

} // namespace
} // namespace devsan::core
