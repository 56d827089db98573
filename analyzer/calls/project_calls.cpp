#include "analyzer/calls/project_calls.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/Path.h>

#include <utility>

namespace devsan::analyzer {
namespace {

bool isPlace(const FileCalls::Place &place) {
  return !place.file.empty();
}

std::string folderOf(const FileCalls::Place &place) {
  return llvm::sys::path::parent_path(place.file).str();
}

// How far what a step runs may be from it, as within a file.
constexpr unsigned kMaxStepDepth = 3;

} // namespace

bool ProjectCalls::Function::isSeveral() const {
  return bodies.size() > 1 || (!bodies.empty() && bodies.begin()->second.size() > 1);
}

bool ProjectCalls::Function::eachBodyIsCalled() const {
  return llvm::all_of(bodies, [&](const auto &in_folder) {
    const auto calls = calling_files.find(in_folder.first);
    return calls != calling_files.end() && calls->second >= in_folder.second.size();
  });
}

unsigned ProjectCalls::index(llvm::StringRef usr) {
  const auto [known, is_new] = indices_.try_emplace(usr, functions_.size());
  if (is_new) {
    functions_.emplace_back();
    // clang names the file where a declaration is its own.
    functions_.back().external = usr.starts_with("c:@");
  }
  return known->second;
}

const ProjectCalls::Function *ProjectCalls::find(llvm::StringRef usr) const {
  const auto known = indices_.find(usr);
  return known == indices_.end() ? nullptr : &functions_[known->second];
}

void ProjectCalls::add(const FileCalls &calls) {
  std::vector<unsigned> here;
  for (const FileCalls::Function &function : calls.functions) {
    here.push_back(index(function.usr));
    Function &known = functions_[here.back()];
    known.name = function.name;
    known.open |= function.open;
    known.knows_tensors |= function.knows_tensors;
    known.is_step |= function.is_step;
    if (isPlace(function.launch))
      known.launch = function.launch;
    if (isPlace(function.body)) {
      known.bodies[folderOf(function.body)].insert({function.body.file, function.body.line});
      known.body = function.body;
    }
  }
  std::set<std::pair<unsigned, std::string>> calling;
  for (const FileCalls::Call &call : calls.calls)
    if (const FileCalls::Place &body = calls.functions[call.caller].body; isPlace(body))
      calling.emplace(here[call.callee], folderOf(body));
  for (const auto &[callee, folder] : calling)
    ++functions_[callee].calling_files[folder];
  for (const FileCalls::Call &call : calls.calls) {
    const unsigned caller = here[call.caller], callee = here[call.callee];
    if (caller == callee)
      continue;
    functions_[callee].called = true;
    (call.guarded ? functions_[caller].guarded_callees : functions_[caller].callees)
        .push_back(callee);
    (call.guarded ? functions_[callee].guarding_callers : functions_[callee].callers)
        .push_back(caller);
    if (call.each_run) {
      functions_[caller].steady_callees.push_back(callee);
      functions_[callee].steady_callers.push_back(caller);
    }
  }
}

void ProjectCalls::settle() {
  resolveGuards();
  resolveLaunches();
  resolveServants();
  resolveSteps();
}

// From the functions that are called under guards only to those that only such functions call.
// Functions that do nothing but call each other stay where they are.
void ProjectCalls::resolveGuards() {
  std::vector<std::size_t> bare;
  std::vector<unsigned> settled;
  const auto look_at = [&](unsigned i) {
    Function &function = functions_[i];
    function.callers_guard = function.called && bare[i] == 0 && !function.open &&
                             (!function.isSeveral() || function.eachBodyIsCalled());
    if (function.callers_guard)
      settled.push_back(i);
  };
  for (const Function &function : functions_)
    bare.push_back(function.callers.size());
  for (unsigned i = 0; i < functions_.size(); ++i)
    look_at(i);
  while (!settled.empty()) {
    const unsigned caller = settled.back();
    settled.pop_back();
    for (const unsigned callee : functions_[caller].callees)
      if (--bare[callee] == 0)
        look_at(callee);
  }
}

// From the functions that launch to those that call them without a guard.
void ProjectCalls::resolveLaunches() {
  std::vector<unsigned> launching;
  for (unsigned i = 0; i < functions_.size(); ++i)
    if (isPlace(functions_[i].launch) && !functions_[i].isSeveral())
      launching.push_back(i);
  for (std::size_t next = 0; next < launching.size(); ++next)
    for (const unsigned i : functions_[launching[next]].callers) {
      Function &caller = functions_[i];
      if (isPlace(caller.launch) || caller.knows_tensors || caller.isSeveral())
        continue;
      caller.launch = functions_[launching[next]].launch;
      launching.push_back(i);
    }
}

// From the functions with tensors to those that they call.
void ProjectCalls::resolveServants() {
  std::vector<unsigned> serving;
  for (unsigned i = 0; i < functions_.size(); ++i) {
    functions_[i].serves_tensors = functions_[i].knows_tensors;
    if (functions_[i].knows_tensors)
      serving.push_back(i);
  }
  while (!serving.empty()) {
    const unsigned caller = serving.back();
    serving.pop_back();
    for (const std::vector<unsigned> *callees :
         {&functions_[caller].callees, &functions_[caller].guarded_callees})
      for (const unsigned i : *callees)
        if (!std::exchange(functions_[i].serves_tensors, true))
          serving.push_back(i);
  }
}

bool ProjectCalls::hasBody(llvm::StringRef usr) const {
  const Function *function = find(usr);
  return function && !function->bodies.empty();
}

bool ProjectCalls::servesTensors(llvm::StringRef usr) const {
  const Function *function = find(usr);
  return function && function->serves_tensors && !function->isSeveral();
}

bool ProjectCalls::knowTensors() const {
  return llvm::any_of(functions_, [](const Function &function) { return function.knows_tensors; });
}

// From the functions that run on every step to those that they call each time.
void ProjectCalls::resolveSteps() {
  std::vector<unsigned> running;
  for (unsigned i = 0; i < functions_.size(); ++i) {
    functions_[i].step.reset();
    if (functions_[i].is_step && !functions_[i].isSeveral()) {
      functions_[i].step = i;
      running.push_back(i);
    }
  }
  for (unsigned depth = 0; depth < kMaxStepDepth; ++depth) {
    std::vector<unsigned> called;
    for (const unsigned caller : running)
      for (const unsigned i : functions_[caller].steady_callees)
        if (!functions_[i].step && !functions_[i].isSeveral()) {
          functions_[i].step = functions_[caller].step;
          called.push_back(i);
        }
    running = std::move(called);
  }
}

bool ProjectCalls::callersGuard(llvm::StringRef usr) const {
  const Function *function = find(usr);
  return function && function->callers_guard;
}

const FileCalls::Place *ProjectCalls::launchBy(llvm::StringRef usr) const {
  const Function *function = find(usr);
  return function && isPlace(function->launch) && !function->isSeveral() ? &function->launch
                                                                         : nullptr;
}

std::optional<ProjectCalls::Step> ProjectCalls::stepAround(llvm::StringRef usr) const {
  const Function *function = find(usr);
  if (!function || !function->step)
    return std::nullopt;
  const Function &step = functions_[*function->step];
  return Step{step.name, &step == function ? FileCalls::Place() : step.body};
}

llvm::StringSet<> ProjectCalls::namesToLookFor(llvm::ArrayRef<std::string> functions,
                                               llvm::ArrayRef<std::string> launchers,
                                               llvm::ArrayRef<std::string> servants,
                                               llvm::ArrayRef<std::string> steps) const {
  llvm::StringSet<> names;
  // A walk of the graph from `start`; `step` says where to go on.
  const auto walk = [&](llvm::ArrayRef<std::string> start, auto step) {
    std::vector<bool> seen(functions_.size());
    std::vector<unsigned> open;
    const auto add = [&](unsigned i) {
      if (!seen[i])
        open.push_back(i);
      seen[i] = true;
    };
    for (const std::string &usr : start)
      if (const auto known = indices_.find(usr); known != indices_.end())
        add(known->second);
    while (!open.empty()) {
      const Function &function = functions_[open.back()];
      open.pop_back();
      llvm::for_each(step(function), add);
    }
  };
  const auto look_for = [&](const Function &function) {
    if (function.external)
      names.insert(function.name);
  };
  constexpr llvm::ArrayRef<unsigned> kNone;
  walk(functions, [&](const Function &function) -> llvm::ArrayRef<unsigned> {
    // These stay what they are, whatever others do.
    if (function.open ||
        llvm::any_of(function.callers, [&](unsigned i) { return functions_[i].open; }))
      return kNone;
    look_for(function);
    return function.callers;
  });
  walk(launchers, [&](const Function &function) -> llvm::ArrayRef<unsigned> {
    if (function.knows_tensors || function.isSeveral())
      return kNone;
    look_for(function);
    return function.callees;
  });
  walk(servants, [&](const Function &function) -> llvm::ArrayRef<unsigned> {
    if (function.serves_tensors || function.isSeveral())
      return kNone;
    look_for(function);
    return function.callers.empty() ? function.guarding_callers : function.callers;
  });
  walk(steps, [&](const Function &function) -> llvm::ArrayRef<unsigned> {
    if (function.step || function.isSeveral())
      return kNone;
    look_for(function);
    return function.steady_callers;
  });
  return names;
}

} // namespace devsan::analyzer
