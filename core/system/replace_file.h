// How a file is replaced: by a new one that takes its name. Whoever reads it sees the old file or
// the new one, and where the writing fails the old one is untouched.
#pragma once

#include "core/system/result.h"

#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <sys/stat.h>
#include <utility>

namespace devsan::core {

class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor &&other) noexcept : number_(other.release()) {}
  Descriptor &operator=(Descriptor &&other) noexcept;
  ~Descriptor();

  int get() const { return number_; }
  int release();
  explicit operator bool() const { return number_ >= 0; }

private:
  int number_ = -1;
};

// A file, there or not: its name, and its folder, which is held open, so that it does not matter
// what becomes of the path.
//
// Links are followed, except two kinds, which are errors. A link in a project does not lead out of
// it: it came with the sources, and whoever means a file outside names that one. A link that
// another user made where everybody can, as in /tmp, is not followed: the rule of the kernel's
// fs.protected_symlinks.
class FilePlace {
public:
  // The error is a reason without the path.
  static Result<FilePlace> of(const std::filesystem::path &path);
  // The file itself, also where it is a link, in a folder that any links may lead to.
  static Result<FilePlace> in(const std::filesystem::path &folder, std::string name);

  int folder() const { return folder_.get(); }
  const std::string &name() const { return name_; } // "." where the path ends in "/", "." or ".."
  std::filesystem::path path() const;               // without links and dots
  // One of /proc/PID/fd, to which /dev/stdout leads: an open file, not a path.
  bool isOpenFile() const { return is_open_file_; }
  // What is there under the name; false, and errno, where nothing is.
  bool look(struct stat &status) const;

private:
  Descriptor folder_;
  std::filesystem::path folder_path_;
  std::string name_;
  bool is_open_file_ = false;
};

inline constexpr const char *kNewFile = ".devsan-"; // what the names of these files begin with

// A file beside another one, under a name that nobody can know before. It goes with this object.
class NewFile {
public:
  // May fail, and then is false and has set errno, as the functions below.
  NewFile(const FilePlace &place, mode_t mode);
  ~NewFile();
  NewFile(const NewFile &) = delete;
  NewFile &operator=(const NewFile &) = delete;

  int descriptor() const { return file_.get(); }
  explicit operator bool() const { return static_cast<bool>(file_); }
  // What stands under the new name.
  bool look(struct stat &status) const;
  // Gives the new file the owner and the permissions of another that has the place, and what it
  // can of its access control list and extended attributes.
  bool resemble(const struct stat &other);
  // Takes the place of what is there, if anything is.
  bool takePlace();
  // Trades names with what is there: that is under the new name then, and goes with this object.
  bool tradePlaces();
  // After tradePlaces(): back, and where somebody else has put yet another file there, that one.
  bool putBack();
  // Lets what stands under the new name stay. Returns the name.
  std::string keep() { return std::exchange(name_, {}); }

private:
  const FilePlace &place_;
  std::string name_; // empty: not there any more
  Descriptor file_;
};

// Held as long as the object lives, against others that lock it: for those who write what they have
// read. Whoever keeps it locked for seconds is not waited for.
Descriptor lockFolderOf(const std::filesystem::path &path);

// Writes to an open file. error() is of the system, 0 where all is well so far.
class DescriptorStream : public std::ostream {
public:
  explicit DescriptorStream(int descriptor);
  ~DescriptorStream() override;
  int error() const;

private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

} // namespace devsan::core
