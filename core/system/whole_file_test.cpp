#include "core/system/whole_file.h"
#include "test/support/temporary_folder.h"

#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace devsan::core {
namespace {

namespace fs = std::filesystem;

class WholeFile : public testing::Test {
protected:
  static Result<void> write(const fs::path &path, const std::string &text) {
    return writeFile(path, [&](std::ostream &out) { out << text; });
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  test::TemporaryFolder temporary_;
  const fs::path &folder_ = temporary_.path();
};

TEST_F(WholeFile, ReplacesWhatIsThere) {
  ASSERT_TRUE(write(folder_ / "a", "long before"));
  fs::permissions(folder_ / "a", fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write(folder_ / "a", "after"));
  EXPECT_EQ(readFile(folder_ / "a", kMaxSettings).value(), "after");
  EXPECT_EQ(fs::status(folder_ / "a").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files(), 1u);
}

TEST_F(WholeFile, KeepsWhatIsThereWhereItFails) {
  ASSERT_TRUE(write(folder_ / "a", "before"));
  const Result<void> written = writeFile(folder_ / "a", [](std::ostream &out) {
    out << "half";
    out.setstate(std::ios::badbit);
  });
  ASSERT_FALSE(written);
  EXPECT_EQ(readFile(folder_ / "a", kMaxSettings).value(), "before");
  EXPECT_EQ(files(), 1u);
}

TEST_F(WholeFile, KeepsLinks) {
  ASSERT_TRUE(write(folder_ / "a", "before"));
  fs::create_symlink(folder_ / "a", folder_ / "link");
  ASSERT_TRUE(write(folder_ / "link", "after"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(readFile(folder_ / "a", kMaxSettings).value(), "after");
}

TEST_F(WholeFile, FollowsNoLinkOutOfAProject) {
  const fs::path project = folder_ / "project", out = folder_ / "out";
  fs::create_directories(project / ".git");
  fs::create_directory(out);
  ASSERT_TRUE(write(out / "a", "before"));
  fs::create_symlink("../out/a", project / "file");
  fs::create_symlink("../out/absent", project / "dangling");
  fs::create_symlink(out, project / "folder");
  fs::create_symlink("folder/a", project / "twice");
  for (const char *name : {"file", "dangling", "folder/a", "folder/absent", "twice"}) {
    const Result<void> written = write(project / name, "after");
    ASSERT_FALSE(written) << name;
    EXPECT_NE(written.error().message.find("is a link that leads out of " + project.string()),
              std::string::npos)
        << written.error().message;
  }
  EXPECT_EQ(readFile(out / "a", kMaxSettings).value(), "before");
  EXPECT_FALSE(fs::exists(out / "absent"));
  // Nobody but the user made this one.
  fs::create_symlink(project / ".git", folder_ / "in");
  EXPECT_TRUE(write(folder_ / "in" / "a", "text"));
  EXPECT_TRUE(fs::exists(project / ".git" / "a"));
  fs::create_symlink("../project/.git/b", project / "inside");
  EXPECT_TRUE(write(project / "inside", "text"));
  EXPECT_TRUE(fs::exists(project / ".git" / "b"));
}

TEST_F(WholeFile, LeavesOtherHardLinks) {
  ASSERT_TRUE(write(folder_ / "a", "before"));
  fs::create_hard_link(folder_ / "a", folder_ / "b");
  ASSERT_TRUE(write(folder_ / "a", "after"));
  EXPECT_EQ(readFile(folder_ / "b", kMaxSettings).value(), "before");
}

TEST_F(WholeFile, WritesToOpenFiles) {
  const int file = open((folder_ / "a").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_TRUE(write("/dev/fd/" + std::to_string(file), "text"));
  char text[8] = {};
  EXPECT_EQ(pread(file, text, sizeof text, 0), 4);
  close(file);
  EXPECT_EQ(files(), 1u);
}

TEST_F(WholeFile, TriesWithoutWriting) {
  EXPECT_TRUE(tryToWriteFile(folder_ / "a", "the report"));
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(tryToWriteFile(folder_, "the report").error().message,
            "cannot write the report " + folder_.string() + ": Is a directory");
}

TEST_F(WholeFile, NamesFileAndReason) {
  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_EQ(write(folder_ / "loop", "text").error().message,
            "cannot write " + (folder_ / "loop").string() + ": Too many levels of symbolic links");
  EXPECT_EQ(write(folder_, "text").error().message,
            "cannot write " + folder_.string() + ": Is a directory");
  EXPECT_EQ(write("/dev/full", "text").error().message,
            "cannot write /dev/full: No space left on device");
  EXPECT_EQ(write("/no/such/folder/a", "text").error().message,
            "cannot write /no/such/folder/a: No such file or directory");
  EXPECT_EQ(readFile("/no/such", kMaxSettings).error().message,
            "cannot read /no/such: No such file or directory");
  EXPECT_EQ(readFile("/", kMaxSettings).error().message, "cannot read /: it is a directory");
}

TEST_F(WholeFile, ReadsWhatTheKernelMakes) {
  EXPECT_EQ(readFile("/proc/self/comm", kMaxSettings).value().back(), '\n');
}

TEST_F(WholeFile, ReadsNoMoreThanAllowed) {
  ASSERT_TRUE(write(folder_ / "a", "12345"));
  EXPECT_EQ(readFile(folder_ / "a", 5).value(), "12345");
  EXPECT_FALSE(readFile(folder_ / "a", 4));
  fs::resize_file(folder_ / "a", std::uintmax_t{8} << 30);
  EXPECT_EQ(readFile(folder_ / "a", kMaxSettings).error().message,
            "cannot read " + (folder_ / "a").string() + ": it holds more than 4 MB");
  EXPECT_EQ(readNamedFile("/dev/zero", kMaxSettings).error().message,
            "cannot read /dev/zero: it holds more than 4 MB");
}

TEST_F(WholeFile, TakesNoPipesThatAreFound) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(readFile(folder_ / "pipe", kMaxSettings).error().message,
            "cannot read " + (folder_ / "pipe").string() +
                ": it is a pipe, not a file; remove it, or put a file in its place");
  EXPECT_NE(readFile("/dev/zero", kMaxSettings).error().message.find("it is a device"),
            std::string::npos);
}

TEST_F(WholeFile, TakesPipesThatAreNamed) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string text(300'000, 'x'); // more than a pipe holds
  std::thread writer([&] {
    usleep(20'000);
    std::ofstream(pipe) << text;
  });
  EXPECT_EQ(readNamedFile(pipe, kMaxSettings).value(), text);
  writer.join();
}

} // namespace
} // namespace devsan::core
