// Precompiled for what is plain C++: the headers that most files need and that take most of their
// compile time.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tl/expected.hpp>
#include <vector>
