#include "command/process/shown_command.h"

#include <gtest/gtest.h>

namespace devsan::command {
namespace {

TEST(ShownCommand, KeepsWhatIsNoSecret) {
  EXPECT_EQ(shownCommand({"python", "train.py", "--epochs=3", "--max-tokens", "128",
                          "--tokenizer=gpt2", "--key=value", "x=1", "https://host/path?q=a@b"}),
            "python train.py --epochs=3 --max-tokens 128 --tokenizer=gpt2 --key=value x=1 "
            "https://host/path?q=a@b");
}

TEST(ShownCommand, HidesValuesOfSecrets) {
  EXPECT_EQ(shownCommand({"train", "--password=a b", "--hub-token", "x", "HF_TOKEN=y", "--apiKey=z",
                          "--api_key=z", "-Dauth.secret=1", "--token", "--epochs=3"}),
            "train --password=*** --hub-token *** HF_TOKEN=*** --apiKey=*** --api_key=*** "
            "-Dauth.secret=*** --token --epochs=3");
  EXPECT_EQ(shownCommand({"train", "--data=s3://key:pass@host/x", "ftp://a:b@c"}),
            "train --data=s3://***@host/x ftp://***@c");
}

} // namespace
} // namespace devsan::command
