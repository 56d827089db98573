// A command line as reports show it. Reports are handed around, and command lines hold secrets.
#pragma once

#include <string>
#include <vector>

namespace devsan::command {

// The words, with spaces between them. `***` stands for the values of options and variables that
// are named like secrets (--password=…, --api-key …, HF_TOKEN=…), and for a name and password in
// the address of a server.
std::string shownCommand(const std::vector<std::string> &command);

} // namespace devsan::command
