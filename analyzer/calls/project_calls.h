// The calls of all files of a run put together.
#pragma once

#include "analyzer/calls/file_calls.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace devsan::analyzer {

class ProjectCalls {
public:
  void add(const FileCalls &calls);
  // After add(), before the questions.
  void settle();

  // Functions with several bodies belong to several programs.

  // It has callers, in the folder of each of several bodies as many files as bodies, and each of
  // them sets the device before the call or is itself called so.
  bool callersGuard(llvm::StringRef usr) const;
  // The launch without a guard that a call of this function comes to, through functions that know
  // no tensors; null where there is none, or one of several bodies' functions.
  const FileCalls::Place *launchBy(llvm::StringRef usr) const;

  // It is defined in one of the files.
  bool hasBody(llvm::StringRef usr) const;

  // A function that knows tensors calls it, or calls one that does.
  bool servesTensors(llvm::StringRef usr) const;
  // One of the functions does.
  bool knowTensors() const;

  // The function that runs on every step by itself and comes to this one, over a few calls, or is
  // it; null where there is none, or several bodies.
  struct Step {
    std::string name;
    FileCalls::Place body;
  };
  std::optional<Step> stepAround(llvm::StringRef usr) const;

  // Names whose calls and bodies, were more of them known, might change callersGuard() of one of
  // the functions, launchBy() of one of the launchers, servesTensors() of one of the servants or
  // stepAround() of one of the steps.
  llvm::StringSet<> namesToLookFor(llvm::ArrayRef<std::string> functions,
                                   llvm::ArrayRef<std::string> launchers,
                                   llvm::ArrayRef<std::string> servants,
                                   llvm::ArrayRef<std::string> steps) const;

private:
  struct Function {
    std::string name;
    FileCalls::Place body;
    bool external = false; // other files can call it
    // By folder: the bodies there, and the files there with calls.
    std::map<std::string, std::set<std::pair<std::string, unsigned>>> bodies;
    std::map<std::string, unsigned> calling_files;
    bool open = false;
    bool called = false;
    bool knows_tensors = false;
    bool callers_guard = false;
    bool serves_tensors = false;
    FileCalls::Place launch;
    bool is_step = false;
    std::optional<unsigned> step; // that runs it
    // Once for each call without a guard.
    std::vector<unsigned> callers;
    std::vector<unsigned> callees;
    // The same of the calls under one.
    std::vector<unsigned> guarding_callers;
    std::vector<unsigned> guarded_callees;
    // And of those on every run of the caller, with and without one.
    std::vector<unsigned> steady_callers;
    std::vector<unsigned> steady_callees;

    bool isSeveral() const;
    bool eachBodyIsCalled() const;
  };
  unsigned index(llvm::StringRef usr);
  const Function *find(llvm::StringRef usr) const;
  void resolveGuards();
  void resolveLaunches();
  void resolveServants();
  void resolveSteps();

  llvm::StringMap<unsigned> indices_;
  std::vector<Function> functions_;
};

} // namespace devsan::analyzer
