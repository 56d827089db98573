# What holds outside of all scopes: on the command line, in .devsan.toml, in DEVSAN_OPTIONS.
# RUN: %status 0 %sim -- %python %s 2>&1 | FileCheck %s --check-prefix=PLAIN
# RUN: %status 3 %sim --transfer=host-to-device:disallow --sync=allow -- %python %s 2>&1 | %file_check
# RUN: %status 0 %sim --transfer=allow --sync=allow --fail-on=warning -- %python %s
# RUN: %status 2 %sim --transfer=up:disallow -- %python %s 2>&1 | FileCheck %s --check-prefix=DIRECTION
# RUN: %status 2 %sim --sync=never -- %python %s 2>&1 | FileCheck %s --check-prefix=LEVEL
# RUN: mkdir -p %t.dir
# RUN: echo '[run]' > %t.dir/.devsan.toml
# RUN: echo 'transfer = ["host_to_device:disallow"]' >> %t.dir/.devsan.toml
# RUN: echo 'sync = "allow"' >> %t.dir/.devsan.toml
# RUN: cd %t.dir
# RUN: %status 3 %sim -- %python %s
# RUN: env DEVSAN_OPTIONS=host_to_device=allow %status 0 %sim --fail-on=warning -- %python %s
# RUN: echo 'sync = "never"' > %t.dir/.devsan.toml
# RUN: sed -i '1i [run]' %t.dir/.devsan.toml
# RUN: %status 2 %sim -- %python %s 2>&1 | FileCheck %s --check-prefix=TOML
# PLAIN-DAG: warning: {{.*}} [device-implicit-transfer]
# PLAIN-DAG: warning: {{.*}} in aten::nonzero, once [device-host-sync]
# DIRECTION: --transfer=up:disallow: unknown direction; valid: host_to_device, device_to_host, device_to_device
# LEVEL: --sync=never: unknown level; valid: default, allow, log, disallow, log_explicit, disallow_explicit
# TOML: .devsan.toml:2: sync=never: unknown level
import torch

x = torch.ones(4).to("cuda:1")
rows = torch.tensor([1])
# CHECK: levels.test.py:[[#@LINE+1]]: error: {{.*}}, where such copies are disallowed, once {{.*}} [device-implicit-transfer]
x[rows]
x.nonzero()
