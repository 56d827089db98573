// EXPECT_ERROR(statement, "part", "another part"): the statement throws, and the message holds
// every part.
#pragma once

#include <exception>
#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

#define EXPECT_ERROR(statement, ...)                                                               \
  do {                                                                                             \
    std::string message;                                                                           \
    try {                                                                                          \
      statement;                                                                                   \
      ADD_FAILURE() << #statement " threw nothing";                                                \
    } catch (const std::exception &error) {                                                        \
      message = error.what();                                                                      \
    }                                                                                              \
    for (const std::string &part : std::initializer_list<std::string>{__VA_ARGS__})                \
      EXPECT_NE(message.find(part), std::string::npos) << "no \"" << part << "\" in: " << message; \
  } while (false)
