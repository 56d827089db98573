// The program needs the answer of an inference: one copy of it, after all work of the step on the device, is no finding.
// RUN: not %check_mock | %file_check
#include <torch/script.h>
#include <torch/torch.h>

#include <functional>
#include <vector>

void draw(const float *values);
void show(torch::Tensor answer);

void perImage(torch::jit::Module &model, const std::vector<torch::Tensor> &images, torch::Device device) {
  for (const auto &image : images) {
    auto output = model.forward({image.to(device)}).toTensor();
    auto found = output.argmax(1);
    found = found.to(torch::kCPU).to(torch::kFloat).reshape({10});
    for (int i = 0; i < found.size(0); ++i)
      draw(found[i].data_ptr<float>());
    show(found);
    draw(found.data_ptr<float>() + output.size(0));
  }
}

void inOneExpression(torch::nn::Linear model, const std::vector<torch::Tensor> &images) {
  model->to(torch::kCUDA);
  for (const auto &image : images)
    show(model->forward(image.to(torch::kCUDA)).softmax(1).cpu());
}

void ofSeveral(torch::jit::Module &model, const std::vector<torch::Tensor> &images) {
  for (const auto &image : images) {
    auto elements = model.forward({image.to(torch::kCUDA)}).toTuple()->elements();
    auto boxes = elements[0].toTensor();
    auto scores = elements[1].toTensor();
    // Two copies could be one.
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'boxes.cpu()' copies from the device{{.*}} [device-host-sync]
    auto boxes_here = boxes.cpu();
    auto scores_here = scores.cpu();
    show(boxes_here + scores_here);
  }
}

// The function is called for each image, and so is the one that it calls.
void decode(const torch::Tensor &output, int wanted) {
  auto best = torch::max(output, wanted);
  auto here = output.cpu();
  show(here * 2);
}
void detect(torch::jit::Module &model, torch::Tensor image) {
  torch::NoGradGuard no_grad;
  auto output = model.forward({image.to(torch::kCUDA)}).toTensor();
  decode(output, 1);
}
torch::Tensor classify(torch::jit::Module &model, torch::Tensor image) {
  return model.forward({image.to(torch::kCUDA)}).toTensor().cpu();
}
void detectAll(torch::jit::Module &model, const std::vector<torch::Tensor> &images) {
  detect(model, images[0]);
  for (const auto &image : images)
    detect(model, image);
  for (const auto &image : images)
    show(classify(model, image));
}

// More is done on the device afterwards: by the step, by what it calls, by who called it.
torch::Tensor normalized(torch::Tensor x) { return x.to(torch::kCUDA) / 255; }
torch::Tensor first(torch::jit::Module &model, torch::Tensor image) {
  auto output = model.forward({image.to(torch::kCUDA)}).toTensor();
  // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'output.cpu()' copies {{.*}} (in 'first', which a loop in 'more' calls) [device-host-sync]
  return output.cpu();
}
void more(torch::jit::Module &model, const std::vector<torch::Tensor> &images, bool twice) {
  torch::Tensor kept;
  for (const auto &image : images) {
    auto output = model.forward({image.to(torch::kCUDA)}).toTensor();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'output.cpu()' copies {{.*}} [device-host-sync]
    show(output.cpu());
    if (twice)
      kept = output * 2;
  }
  for (const auto &image : images) {
    auto output = model.forward({image.to(torch::kCUDA)}).toTensor();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'output.cpu()' copies {{.*}} [device-host-sync]
    show(output.cpu());
    kept = normalized(image);
  }
  for (const auto &image : images) {
    auto output = model.forward({image.to(torch::kCUDA)}).toTensor();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'output.cpu()' copies {{.*}} [device-host-sync]
    auto here = output.cpu();
    show(model.forward({image}).toTensor());
  }
  for (const auto &image : images) {
    auto here = first(model, image);
    kept = image.to(torch::kCUDA);
  }
}

// A function whose body is elsewhere may do more on the device, unless it is given data alone.
void refine(torch::nn::Linear &model);
void tick();
struct Pipe {
  void next();
};
struct Hook {
  virtual void after() {}
};
void elsewhere(torch::jit::Module &model, torch::nn::Linear &other, Pipe &pipe, Hook &hook, void (*pointer)(),
               std::function<void()> held, const std::vector<torch::Tensor> &images) {
  torch::NoGradGuard no_grad;
  for (const auto &image : images) {
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: {{.*}} copies {{.*}} [device-host-sync]
    show(model.forward({image.to(torch::kCUDA)}).toTensor().cpu());
    refine(other);
  }
  for (const auto &image : images) {
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: {{.*}} copies {{.*}} [device-host-sync]
    show(model.forward({image.to(torch::kCUDA)}).toTensor().cpu());
    tick();
  }
  for (const auto &image : images) {
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: {{.*}} copies {{.*}} [device-host-sync]
    show(model.forward({image.to(torch::kCUDA)}).toTensor().cpu());
    pipe.next();
  }
  for (const auto &image : images) {
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: {{.*}} copies {{.*}} [device-host-sync]
    show(model.forward({image.to(torch::kCUDA)}).toTensor().cpu());
    hook.after();
  }
  for (const auto &image : images) {
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: {{.*}} copies {{.*}} [device-host-sync]
    show(model.forward({image.to(torch::kCUDA)}).toTensor().cpu());
    pointer();
  }
  for (const auto &image : images) {
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: {{.*}} copies {{.*}} [device-host-sync]
    show(model.forward({image.to(torch::kCUDA)}).toTensor().cpu());
    held();
  }
}

// Where another file may train, only evaluation is known to be one.
void learnFrom(torch::Tensor loss);
void learns(torch::nn::Linear &model, const std::vector<torch::Tensor> &images) {
  model->to(torch::kCUDA);
  for (const auto &image : images) {
    auto loss = model->forward(image.to(torch::kCUDA)).sum();
    learnFrom(loss);
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'loss.cpu()' copies {{.*}} [device-host-sync]
    show(loss.cpu());
  }
}

// One element after the other: of what was computed before, of each detection; a number.
void elements(torch::jit::Module &model, const std::vector<torch::Tensor> &images) {
  auto all = model.forward({images[0].to(torch::kCUDA)}).toTensor();
  for (int i = 0; i < 10; ++i)
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'all[i].cpu()' copies {{.*}} [device-host-sync]
    show(all[i].cpu());
  for (const auto &image : images) {
    auto output = model.forward({image.to(torch::kCUDA)}).toTensor();
    for (int i = 0; i < 10; ++i)
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'output[i].cpu()' copies {{.*}} [device-host-sync]
      show(output[i].cpu());
  }
  for (const auto &image : images) {
    auto output = model.forward({image.to(torch::kCUDA)}).toTensor();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'all.cpu()' copies {{.*}} [device-host-sync]
    show(all.cpu());
  }
  for (const auto &image : images) {
    auto output = model.forward({image.to(torch::kCUDA)}).toTensor();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'output.item<float>()' makes {{.*}} [device-host-sync]
    output.item<float>();
  }
}

// What runs after a step, or an operator, is not known.
struct TwoStagesImpl : torch::nn::Module {
  torch::nn::Linear fc{nullptr};
  torch::Tensor forward(torch::Tensor x) {
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'fc->forward(x.to(torch::kCUDA)).cpu()' copies {{.*}} [device-host-sync]
    return fc->forward(x.to(torch::kCUDA)).cpu();
  }
};
