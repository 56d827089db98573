// Turns of a loop that wait for a person, are for one of several commands, or there are not; results and errors that are told.
// RUN: not %check_mock | %file_check
#include <cuda_runtime_api.h>
#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

// Somebody types in what each turn is for.
void prompt(torch::nn::Linear model) {
  std::string line;
  while (std::getline(std::cin, line)) {
    auto scores = model->forward(torch::ones({3}, torch::kCUDA));
    std::cout << scores.sum().item<double>();
    for (int i = 0; i < 3; ++i) {
      auto score = scores[i].item<double>();
    }
  }
  while (true) {
    std::cout << "next? ";
    std::cin >> line;
    if (line == "q")
      break;
    double shown = model->forward(torch::ones({3}, torch::kCUDA)).sum().item<double>();
  }
}
void promptedTraining(torch::nn::Linear model, const std::vector<torch::Tensor> &batches) {
  std::string command;
  while (std::cin >> command)
    for (const auto &batch : batches) {
      auto loss = model->forward(batch.cuda()).sum();
      loss.backward();
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'loss.item<double>()' makes {{.*}} (in a loop) [device-host-sync]
      double shown = loss.item<double>();
    }
}
// A file of names is read on by itself.
void listed(torch::nn::Linear model, std::istream &names) {
  std::string name;
  while (std::getline(names, name)) {
    auto y = model->forward(torch::ones({3}, torch::kCUDA)).sum();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.item<double>()' makes {{.*}} (in a loop) [device-host-sync]
    double shown = y.item<double>();
  }
}

// One of the commands of a script.
struct Command {
  std::string name;
};
double temperature(const torch::Tensor &speeds) { return speeds.cuda().square().sum().item<double>(); }
double pressure(const torch::Tensor &speeds) {
  // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: {{.*}} (in 'pressure', which a loop in 'execute' calls) [device-host-sync]
  return speeds.cuda().sum().item<double>();
}
void execute(const std::vector<Command> &commands, const torch::Tensor &speeds, const std::string &mode) {
  for (const auto &command : commands) {
    if (command.name == "save") {
      std::ofstream("out") << "saved";
    } else if (command.name == "heat") {
      double start = temperature(speeds);
    }
    // That is the same on each turn.
    if (mode == "slow")
      pressure(speeds);
  }
}
// Once for each batch all the same.
void named(const std::vector<torch::Tensor> &batches, const std::vector<std::string> &names) {
  for (const auto &batch : batches) {
    auto x = batch.cuda();
    for (const auto &name : names)
      if (name == "scale") {
        // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'x.sum().item<double>()' makes {{.*}} [device-host-sync]
        double scale = x.sum().item<double>();
      }
  }
}

// No loop.
void single(const torch::Tensor &x) {
  const int epochs = 1;
  for (int epoch = 0; epoch < epochs; ++epoch)
    double shown = x.cuda().sum().item<double>();
  for (int i = 0; i < 2; ++i)
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: {{.*}} (in a loop) [device-host-sync]
    double shown = x.cuda().sum().item<double>();
}

// Results, told at the end.
class Atoms {
public:
  const torch::Tensor &positions() const;
  void move(const torch::Tensor &by);
};
void save(const Atoms &atoms, torch::Tensor forces, int n) {
  std::ofstream file("atoms");
  forces = forces.cuda();
  for (int i = 0; i < n; ++i) {
    file << atoms.positions()[i][0].item<double>() << " " << atoms.positions()[i][1].item<double>() << "\n";
    for (int j = 0; j < 3; ++j)
      file << forces[i][j].item<double>() * 2;
    std::printf("%f", forces[i].item<double>());
  }
}
// Not what is read to compute with, of which one finding is enough.
double sumOf(const Atoms &atoms, torch::Tensor forces, int n) {
  double sum = 0;
  forces = forces.cuda();
  for (int i = 0; i < n; ++i) {
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'forces[i].item<double>()' makes {{.*}} (in a loop) [device-host-sync]
    sum += forces[i].item<double>();
    // CHECK: remedy: copy the whole tensor once, before the loop
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'atoms.positions()[i][0].item<double>()' makes {{.*}} (in a loop) [device-host-sync]
    sum += atoms.positions()[i][0].item<double>();
    sum += atoms.positions()[i][1].item<double>();
  }
  return sum;
}
// Nor what a loop around it makes anew.
void frames(torch::nn::Linear model, const std::vector<torch::Tensor> &batches) {
  for (const auto &batch : batches) {
    auto boxes = model->forward(batch.cuda());
    for (int i = 0; i < 3; ++i)
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'boxes[i].item<double>()' makes {{.*}} (in a loop) [device-host-sync]
      std::cout << boxes[i].item<double>();
  }
}

// Errors.
void checked(const std::vector<torch::Tensor> &batches) {
  for (const auto &batch : batches) {
    auto x = batch.cuda();
    if (x.size(0) == 0) {
      std::cerr << "no rows: ";
      std::cerr << x.sum().item<double>();
      continue;
    }
    try {
      x = x.sum();
    } catch (...) {
      double shown = x.item<double>();
    }
    if (x.size(0) > 1) {
      std::cerr << "step" << std::endl;
      x = x * 2;
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: {{.*}} (in a loop) [device-host-sync]
      std::cerr << x.sum().item<double>();
    }
  }
}

// A measurement whose wait a macro checks.
void report(cudaError_t error);
#define CHECKED(call)                                                                              \
  do {                                                                                             \
    const cudaError_t error = call;                                                                \
    report(error);                                                                                 \
  } while (0)
double measured(torch::nn::Linear model, torch::Tensor x, cudaStream_t stream) {
  double seconds = 0;
  for (int i = 0; i < 100; ++i) {
    const auto start = std::chrono::steady_clock::now();
    x = model->forward(x);
    CHECKED(cudaStreamSynchronize(stream));
    const auto end = std::chrono::steady_clock::now();
    seconds += std::chrono::duration<double>(end - start).count();
    x = x + 1;
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'cudaStreamSynchronize(stream)' makes {{.*}} (in a loop) [device-host-sync]
    CHECKED(cudaStreamSynchronize(stream));
    x = x + 1;
  }
  return seconds;
}
