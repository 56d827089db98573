"""script/history on a small repository: what it takes for a fix, and what it says of it. Usage: history_test.py SOURCE BUILD"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
WAITS = """\
#include <torch/torch.h>
#include <vector>
float train(torch::nn::Linear model, const std::vector<torch::Tensor> &batches) {
  model->to(torch::kCUDA);
  float total = 0;
  for (const auto &batch : batches) {
    total += model->forward(batch.to(torch::kCUDA)).sum().item<float>();
  }
  return total;
}
"""
FIXED = WAITS.replace("float total = 0;", "auto total = torch::zeros({}, torch::kCUDA);").replace(".item<float>()", "") \
             .replace("float train", "torch::Tensor train")


class History(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.repo = self.folder / "trainer"
        self.git("init", "-q", str(self.repo))

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments], check=True, env=ENVIRONMENT,
                       cwd=self.repo if self.repo.exists() else None)

    def commit(self, message, **files):
        for name, text in files.items():
            (self.repo / f"{name}.cpp").write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def history(self, *options):
        return subprocess.run([sys.executable, SOURCE / "script/history", self.repo, "--build", BUILD, "--folder", self.folder / "out", *options],
                              capture_output=True, text=True, check=False, env=ENVIRONMENT)

    def test_a_wait_that_was_removed_is_found_and_the_fix_is_silent(self):
        self.commit("A trainer", train=WAITS)
        self.commit("Faster: no sync in each step", train=FIXED)
        result = self.history()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"wait removed +1 +1 100% .* 1/1\n")
        (row,) = map(json.loads, (self.folder / "out/results.jsonl").read_text().splitlines())
        self.assertEqual((row["before"], row["after"]), (["train.cpp:7: device-host-sync"], []))

    def test_a_guard_covers_the_launch_that_its_function_comes_to_over_others(self):
        launcher = """\
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
__global__ void kernel(float *x) {}
void launch(at::Tensor x) {
  kernel<<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>());
}
void steps(at::Tensor x) {
  launch(x);
}
void run(at::Tensor x) {
  steps(x);
}
"""
        row = self.row_of("run.cu", launcher, launcher.replace("  steps(x)", "  const c10::cuda::CUDAGuard guard(x.device());\n  steps(x)"))
        self.assertEqual((row["before"], row["after"]), (["run.cu:5: device-missing-guard"], []))

    def test_what_stands_in_the_comment_of_a_launcher_is_not_its_name(self):
        launcher = """\
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
__global__ void kernel(float *x) {}
// Of shape (n), and not {n, 1}.
void launch(at::Tensor x) {
  kernel<<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>());
}
void run(at::Tensor x) {
  launch(x);
}
"""
        row = self.row_of("run.cu", launcher, launcher.replace("  launch(x)", "  const c10::cuda::CUDAGuard guard(x.device());\n  launch(x)"))
        self.assertEqual((row["before"], row["after"]), (["run.cu:6: device-missing-guard"], []))

    def test_commits_of_files_without_pytorch_are_told_apart(self):
        kernel = "__global__ void kernel(float *x) {}\nvoid launch(float *x) {\n  kernel<<<1, 32>>>(x);\n}\n"
        self.assertFalse(self.row_of("c.cu", kernel, kernel.replace("  kernel", "  cudaSetDevice(1);\n  kernel"))["pytorch"])
        result = self.history()
        self.assertRegex(result.stdout, r"\nnone of PyTorch's +1 ")
        self.assertNotRegex(result.stdout, r"\nPyTorch's names")
        kernel = "#include <torch/extension.h>\n" + kernel
        self.commit("Another kernel", other="")
        (self.repo / "torch.cu").write_text(kernel)
        self.commit("Another kernel, of PyTorch")
        (self.repo / "torch.cu").write_text(kernel.replace("  kernel", "  cudaSetDevice(1);\n  kernel"))
        self.commit("Set the device there, too")
        self.assertRegex(self.history().stdout, r"\nPyTorch's names +1 [^\n]*\nnone of PyTorch's +1 ")

    def test_a_bug_counts_where_it_is_reported_at_the_call_in_another_file(self):
        launcher = """\
#include <cuda_runtime.h>
__global__ void kernel(float *x) {}
void launch(float *x) {
  kernel<<<1, 32>>>(x);
}
"""
        self.commit("Who calls", run="#include <torch/extension.h>\nvoid launch(float *x);\n"
                                     "void run(at::Tensor x) {\n  launch(x.data_ptr<float>());\n}\n")
        row = self.row_of("launch.cu", launcher, launcher.replace("  kernel", "  cudaSetDevice(1);\n  kernel"))
        self.assertEqual((row["before"], row["after"]), (["launch.cu:4: device-missing-guard"], []))

    def row_of(self, file, before, after):
        for text, message in ((before, "A kernel"), (after, "Set the device")):
            (self.repo / file).write_text(text)
            self.commit(message)
        result = self.history()
        self.assertEqual(result.returncode, 0, result.stderr)
        (row,) = map(json.loads, (self.folder / "out/results.jsonl").read_text().splitlines())
        return row

    def test_new_files_and_other_messages_are_no_fixes(self):
        self.commit("A trainer for the GPU", train=WAITS)
        self.commit("Tidy up", train=FIXED)
        self.commit("Fix: another trainer for GPUs", other=WAITS.replace("train(", "other("))
        result = self.history("--choose-only")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.folder / "out/chosen.jsonl").read_text(), "")

    def chosen(self):
        result = self.history("--choose-only")
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line)["kind"] for line in (self.folder / "out/chosen.jsonl").read_text().splitlines()]

    def test_a_statement_that_has_a_device_now_is_a_fix_and_one_more_is_none(self):
        made = "at::Tensor f(at::Tensor x) {\n  auto y = torch::zeros({2});\n  return x + y;\n}\n"
        self.commit("A function", made=made)
        self.commit("Fix the device", made=made.replace("{2})", "{2}, x.options())"))
        self.assertEqual(self.chosen(), ["device passed"])
        self.commit("Counts on the device", made=made.replace("{2})", "{2}, x.options())")
                    .replace("  return", "  auto z = torch::ones({2}, x.options());\n  return"))
        self.assertEqual(self.chosen(), ["device passed"])

    def test_a_guard_counts_where_none_was_and_no_stream_is_chosen(self):
        work = "void f(at::Tensor x) {\n  g(x);\n}\nvoid h(at::Tensor x) {\n  at::cuda::SetDevice(0);\n  g(x);\n}\n"
        self.commit("Functions", work=work)
        self.commit("Many GPUs", work=work.replace("at::cuda::SetDevice(0);", "c10::cuda::CUDAGuard guard(x.device());"))
        self.assertEqual(self.chosen(), [])
        self.commit("A stream on the GPU", work=work.replace("{\n  g", "{\n  c10::cuda::CUDAStreamGuard guard(stream);\n  g"))
        self.assertEqual(self.chosen(), [])
        self.commit("Functions again", work=work)
        self.commit("All GPUs", work=work.replace("{\n  g", "{\n  c10::cuda::CUDAGuard guard(x.device());\n  g"))
        self.assertEqual(self.chosen(), ["guard added"])

    def test_tests_clean_ups_and_waits_that_move_are_no_fixes(self):
        self.commit("A trainer", train=WAITS, train_test=WAITS)
        self.commit("Faster tests: no sync", train=WAITS, train_test=FIXED)
        self.commit("Clean up: no sync", train=FIXED)
        self.commit("The trainer", train=WAITS)
        self.commit("Sync later", train=WAITS.replace("item<float>()", "item<double>()").replace("return total", "total = total;\n  return total"))
        self.assertEqual(self.chosen(), [])

    def test_a_registration_that_is_only_written_otherwise_is_no_fix(self):
        net = "struct Net : torch::nn::Module {\n  Net() {\n    a = register_module(\"a\", Linear(2, 2));\n    b = Linear(2, 2);\n  }\n  Linear a, b;\n};\n"
        self.commit("A net", net=net.replace('module("a", ', 'module(\n            "a", '))
        self.commit("Load parameters", net=net)
        self.assertEqual(self.chosen(), [])
        self.commit("Save parameters", net=net.replace("b = Linear(2, 2);", 'b = register_module("b", Linear(2, 2));'))
        self.assertEqual(self.chosen(), ["state registered"])

    def test_what_is_no_repository_is_named(self):
        self.repo = self.folder / "nowhere"
        result = self.history("--choose-only")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("nowhere", result.stderr)


if __name__ == "__main__":
    unittest.main()
