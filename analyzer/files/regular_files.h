// What clang may open: regular files that are no larger than sources are. A pipe or a device that
// a source includes would never end. CUDA files are shown with launches as clang takes them (launch_spelling.h).
#pragma once

#include <llvm/ADT/IntrusiveRefCntPtr.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <string>
#include <vector>

namespace devsan::analyzer {

// Whatever else `files` holds is not there, and `refused` tells of it: "/dev/zero is no regular
// file". None is mapped, as its user may write it while it is analysed. `precompiled` is ours: it
// may be of any size, and is mapped.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>
regularFiles(llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files, std::string precompiled,
             std::vector<std::string> &refused);

} // namespace devsan::analyzer
