// A program wants the waits that it has, but for those that it could have later, or once for several. A library's callers may
// want none of them.
// RUN: rm -rf %t && mkdir -p %t/program/.git %t/library/.git
// RUN: cp %s %t/program/train.cpp && cp %s %t/library/train.cpp
// RUN: echo 'void everything(); int main() { everything(); }' > %t/program/main.cpp
// DEFINE: %{check} = %devsan_check --torch=none --no-cache --checks=device-host-sync
// RUN: not %{check} %t/program/train.cpp -- -isystem %mock | FileCheck %s --implicit-check-not='[device-'
// RUN: not %{check} %t/library/train.cpp -- -isystem %mock | FileCheck %s --check-prefix=LIBRARY
#include <torch/torch.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <vector>

struct Logger {
  void log(double value);
};
struct Environment {
  int step(int action);
};

torch::Tensor next() { return torch::rand({8}, torch::kCUDA); }
torch::Tensor flags() { return torch::rand({8}, torch::kCUDA) > 0; }

void gathered() {
  double total = 0, mean = 0;
  std::vector<double> losses, table(9);
  int count = 0;
  for (int i = 0; i < 9; ++i) {
    torch::Tensor loss = next().sum();
    // CHECK: [[#@LINE+2]]:{{.*}} [device-host-sync]
    // LIBRARY: [[#@LINE+1]]:{{.*}} [device-host-sync]
    total += loss.item<double>();
    ++count;
  }
  for (int i = 0; i < 9; ++i) {
    // CHECK: [[#@LINE+1]]:{{.*}} [device-host-sync]
    const double loss = next().sum().item().toDouble();
    losses.push_back(loss * 2);
    mean = mean + loss / 9;
  }
  for (int i = 0; i < 9; ++i)
    // CHECK: [[#@LINE+1]]:{{.*}} [device-host-sync]
    table[i] = next().sum().item<double>();
  double last = 0;
  for (int i = 0; i < 9; ++i)
    // CHECK: [[#@LINE+1]]:{{.*}} [device-host-sync]
    last = next().sum().item<double>();
  std::printf("%f %f %f %zu %f\n", total / count, mean, last, losses.size(), table[0]);
}

void seldom() {
  double total = 0;
  for (int i = 0; i < 1000; ++i) {
    // CHECK: [[#@LINE+1]]:{{.*}} [device-host-sync]
    const double loss = next().sum().item<double>();
    if (i % 100 == 0)
      std::cout << loss << std::endl;
  }
  for (int i = 0; i < 1000; ++i) {
    // CHECK: [[#@LINE+1]]:{{.*}} [device-host-sync]
    total += next().sum().item<double>();
    if (i % 100 == 0)
      std::cout << total << std::endl;
  }
}

void computed(torch::Tensor x) {
  for (int i = 0; i < 9; ++i) {
    // CHECK: [[#@LINE+1]]:{{.*}} [device-host-sync]
    const double highest = next().max().item<double>();
    x = torch::clamp(x, 0, highest);
  }
}

void trains(Logger logger) {
  for (int i = 0; i < 9; ++i) {
    torch::Tensor loss = next().sum();
    // CHECK: [[#@LINE+1]]:{{.*}} [device-host-sync]
    logger.log(loss.item<double>());
    loss.backward();
  }
  for (int i = 0; i < 9; ++i) {
    torch::Tensor loss = next().sum();
    loss.backward();
    // LIBRARY: [[#@LINE+1]]:{{.*}} [device-host-sync]
    logger.log(loss.item<double>());
  }
}

void elements(torch::Tensor scores) {
  torch::Tensor box = next();
  double sum = 0;
  for (int i = 0; i < 9; ++i)
    // CHECK: [[#@LINE+1]]:{{.*}} [device-host-sync]
    if (box[i].item<float>() > 0.5)
      std::printf("%d\n", i);
  for (int i = 0; i < 9; ++i) {
    torch::Tensor found = next();
    // CHECK: [[#@LINE+1]]:{{.*}} [device-host-sync]
    std::printf("%f\n", found[0].item<double>());
    std::printf("%f\n", found[1].item<double>());
  }
  for (int i = 0; i < 9; ++i) {
    torch::Tensor x = next();
    // CHECK: [[#@LINE+2]]:17:{{.*}} [device-host-sync]
    // CHECK: [[#@LINE+1]]:42:{{.*}} [device-host-sync]
    if (x.min().item<double>() < x.max().item<double>())
      std::printf("%d\n", i);
    torch::Tensor loss = next().sum();
    if (loss.item<double>() > 3)
      std::printf("%f\n", loss.item<double>());
  }
  for (int i = 0; i < 9; ++i)
    if (i == 0 && sum == 0)
      std::printf("%f\n", next().sum().item<double>());
}

void masks(torch::Tensor x, torch::Tensor y) {
  for (int i = 0; i < 9; ++i) {
    torch::Tensor mask = flags();
    x.index_put_({mask}, y);
    y = x.index({mask});
  }
}

void copies() {
  torch::Tensor table = next();
  for (int i = 0; i < 9; ++i)
    // CHECK: [[#@LINE+1]]:{{.*}} [device-host-sync]
    std::printf("%f\n", table.cpu().data_ptr<float>()[i]);
  for (int i = 0; i < 9; ++i) {
    torch::Tensor row = next();
    // LIBRARY: [[#@LINE+1]]:{{.*}} [device-host-sync]
    std::printf("%f\n", row.cpu().data_ptr<float>()[0]);
  }
  for (int i = 0; i < 9; ++i)
    // CHECK: [[#@LINE+1]]:{{.*}} [device-host-sync]
    torch::tensor({1.0, 2.0}, torch::kCUDA);
  for (int i = 0; i < 9; ++i)
    torch::tensor({1.0 * i, 2.0}, torch::kCUDA);
}

// Callers gather it.
double step(torch::Tensor x) {
  // CHECK: [[#@LINE+1]]:{{.*}} [device-host-sync]
  return x.sum().item<double>();
}
void returned() {
  double total = 0;
  for (int i = 0; i < 9; ++i)
    total += std::sqrt(step(next()));
  std::printf("%f\n", total);
}

struct Scene {
  torch::Tensor image = next();
  double error = 0;
  void render();
  bool done() const;
  void show() {
    for (int i = 0; i < 9; ++i) {
      render();
      std::printf("%f\n", image.cpu().data_ptr<float>()[0]);
    }
    for (int i = 0; i < 9; ++i) {
      error += next().sum().item<double>();
      if (done())
        break;
    }
  }
};

// Others may change it between two turns, or want it in each.
void changed(torch::Tensor seen, Environment environment) {
  Scene scene;
  double state[2] = {};
  for (int i = 0; i < 9; ++i) {
    if (seen[i].item<double>() > 0)
      continue;
    seen[i] = 1.0;
  }
  for (int i = 0; i < 9; ++i) {
    scene.render();
    environment.step(scene.image[i].item<int>());
  }
  for (int i = 0; i < 9; ++i) {
    scene.error += next().sum().item<double>();
    if (scene.done())
      break;
  }
  for (int i = 0; i < 9; ++i) {
    state[0] = next().sum().item<double>();
    environment.step(i);
  }
  std::vector<double> values;
  for (int i = 0; i < 9; ++i) {
    torch::Tensor x = next(), value = next().sum();
    const int action = x.argmax().item<int>();
    values.push_back(value.item<double>());
    environment.step(action);
  }
  for (int i = 0; i < 9; ++i) {
    torch::Tensor x = next();
    if (i > 3)
      environment.step(x.sum().item<int>());
    else
      environment.step(x.sum().item<int>() + 1);
  }
  for (int i = 0; i < 9; ++i) {
    torch::Tensor x = next();
    switch (i) {
    case 0:
      environment.step(x.min().item<int>());
      break;
    case 1:
      environment.step(x.max().item<int>());
      break;
    }
  }
  for (int i = 0; i < 9; ++i) {
    torch::Tensor x = next();
    switch (i) {
    case 0:
      // CHECK: [[#@LINE+1]]:{{.*}} [device-host-sync]
      environment.step(x.min().item<int>());
      // CHECK: [[#@LINE+1]]:{{.*}} [device-host-sync]
      environment.step(x.max().item<int>());
      break;
    }
  }
  for (int i = 0; i < 9; ++i) {
    const int action = next().argmax().item<int>();
    if (i % 2 == 0)
      std::printf("%d\n", action);
    else
      environment.step(action);
  }
}

// What the program needs there and then.
void needed(Environment environment) {
  for (int i = 0; i < 9; ++i) {
    const int action = next().argmax().item<int>();
    environment.step(action);
    std::cout << next() << std::endl;
  }
  for (int i = 0; i < 9; ++i)
    if (next().sum().item<double>() < 1)
      break;
  double total = 0;
  for (int i = 0; i < 9; ++i) {
    total += next().sum().item<double>();
    if (total > 100)
      environment.step(1);
  }
  for (int i = 0; i < 9; ++i) {
    double sum = 0;
    sum += next().sum().item<double>();
    environment.step(sum > 0);
  }
  for (int i = 0; i < 9; ++i)
    torch::zeros({next().sum().item<int64_t>()}, torch::kCUDA);
}

void everything() {
  gathered();
  seldom();
  computed(next());
  trains(Logger());
  elements(next());
  masks(next(), next());
  copies();
  needed(Environment());
  returned();
  Scene().show();
  changed(next(), Environment());
}
