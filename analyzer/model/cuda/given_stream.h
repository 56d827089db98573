#pragma once

#include "analyzer/model/cuda/cuda_work.h"

namespace devsan::analyzer {

// The parameter by which its caller says which stream to work on: one with a name, which the
// function neither writes nor decides by.
const clang::ParmVarDecl *givenStream(const CudaWork &work);

} // namespace devsan::analyzer
