// What single words of code say about devices and streams: identifiers, and literals with their
// quotes.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/StringSet.h>

namespace devsan::analyzer {

const llvm::StringSet<> &kindsBesideCuda();
bool isKindBesideCuda(llvm::StringRef word);
bool isProse(llvm::StringRef word);
bool isDeviceWord(llvm::StringRef word);
bool isHostWord(llvm::StringRef word);
bool namesSecondDevice(llvm::StringRef word);
bool asksForDevice(llvm::StringRef literal);
bool isNameOfDevice(llvm::StringRef word);
bool setsDevice(llvm::StringRef word);
bool isGuardOfDevice(llvm::StringRef word);
bool worksOnSeveralDevices(llvm::StringRef word);
bool choosesStream(llvm::StringRef word);
bool asksWhatThereIs(llvm::StringRef word);
bool isForOthers(llvm::StringRef word);
bool isOfTorch(llvm::StringRef word);

} // namespace devsan::analyzer
