#include "analyzer/files/regular_files.h"

#include "analyzer/files/launch_spelling.h"
#include "analyzer/files/source_files.h"
#include "core/system/whole_file.h"

#include <llvm/ADT/STLExtras.h>

namespace devsan::analyzer {
namespace {

// Is read and not mapped, and has the size that was known before, so that what is analysed stays
// what it is while somebody writes the file.
class SourceFile : public llvm::vfs::File {
public:
  SourceFile(std::unique_ptr<llvm::vfs::File> file, bool respells, bool has_other_name)
      : file_(std::move(file)), respells_(respells), has_other_name_(has_other_name) {}

  llvm::ErrorOr<llvm::vfs::Status> status() override {
    llvm::ErrorOr<llvm::vfs::Status> status = file_->status();
    if (status)
      status->ExposesExternalVFSPath |= has_other_name_;
    return status;
  }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> getBuffer(const llvm::Twine &name,
                                                               int64_t size, bool, bool) override {
    auto buffer =
        file_->getBuffer(name, size, /*RequiresNullTerminator=*/true, /*IsVolatile=*/true);
    const std::optional<std::string> respelled =
        buffer && respells_ ? withClangsLaunches((*buffer)->getBuffer()) : std::nullopt;
    if (respelled)
      return llvm::MemoryBuffer::getMemBufferCopy(*respelled, name);
    return buffer;
  }
  std::error_code close() override { return file_->close(); }

private:
  std::unique_ptr<llvm::vfs::File> file_;
  bool respells_;
  bool has_other_name_; // than it was asked for by
};

class RegularFileSystem : public llvm::vfs::ProxyFileSystem {
public:
  RegularFileSystem(llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files, std::string precompiled,
                    std::vector<std::string> &refused)
      : ProxyFileSystem(std::move(files)), precompiled_(std::move(precompiled)), refused_(refused) {
  }

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine &spelled) override {
    const std::string path = present(spelled);
    llvm::ErrorOr<llvm::vfs::Status> status = ProxyFileSystem::status(path);
    if (status)
      status->ExposesExternalVFSPath |= path != spelled.str();
    return status;
  }

  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>>
  openFileForRead(const llvm::Twine &spelled) override {
    const std::string path = present(spelled);
    // Opening a pipe waits for its writer.
    const llvm::ErrorOr<llvm::vfs::Status> status = ProxyFileSystem::status(path);
    if (!status)
      return status.getError();
    if (!status->isRegularFile() && !status->isDirectory())
      return refuse(path, " is no regular file");
    // Clang would believe what another compiler, or another person, has put there.
    if (path != precompiled_ &&
        (llvm::StringRef(path).ends_with(".pch") || llvm::StringRef(path).ends_with(".gch")))
      return refuse(path, " is a precompiled header");
    if (status->getSize() > core::kMaxSource && path != precompiled_)
      return refuse(path, " is larger than " + std::to_string(core::kMaxSource >> 20) + " MB");
    auto file = ProxyFileSystem::openFileForRead(path);
    if (!file || path == precompiled_)
      return file;
    return std::make_unique<SourceFile>(std::move(*file), isCudaFile(path), path != spelled.str());
  }

private:
  // By the name that it is there under.
  std::string present(const llvm::Twine &path) {
    std::string name = path.str();
    return llvm::StringRef(name).contains('\\') && !ProxyFileSystem::status(name)
               ? withSlashes(std::move(name))
               : name;
  }

  // As a file that is not there: clang reads on without it.
  std::error_code refuse(const std::string &path, const std::string &why) {
    if (!llvm::is_contained(refused_, path + why))
      refused_.push_back(path + why);
    return std::make_error_code(std::errc::no_such_file_or_directory);
  }

  std::string precompiled_;
  std::vector<std::string> &refused_;
};

} // namespace

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>
regularFiles(llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files, std::string precompiled,
             std::vector<std::string> &refused) {
  return llvm::makeIntrusiveRefCnt<RegularFileSystem>(std::move(files), std::move(precompiled),
                                                      refused);
}

} // namespace devsan::analyzer
