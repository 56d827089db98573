/* A function for each of imports.inc that jumps to where its entry of devsan_functions points. While that is null,
   devsan_find_function looks for it; all arguments are kept. Each takes 16 bytes, by which imports.cpp finds its name: tables of
   names and of addresses would make most of the library. */
#if defined(__x86_64__)

.macro DEVSAN_DEFINE index, name
  .p2align 4
  .globl \name
  .type \name, @function
\name:
  movl $\index, %r11d
  jmp devsan_dispatch
  .size \name, . - \name
.endm

  .text
  .type devsan_dispatch, @function
devsan_dispatch:
  pushq %rax
  leaq devsan_functions(%rip), %rax
  movq (%rax,%r11,8), %rax
  testq %rax, %rax
  jz devsan_search
  movq %rax, %r11
  popq %rax
  jmp *%r11
  .size devsan_dispatch, . - devsan_dispatch

  .type devsan_search, @function
devsan_search:
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %r10
  subq $136, %rsp
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  movq %r11, %rdi
  call devsan_find_function
  movq %rax, %r11
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  addq $136, %rsp
  popq %r10
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rax
  jmp *%r11
  .size devsan_search, . - devsan_search

#elif defined(__aarch64__)

.macro DEVSAN_DEFINE index, name
  .p2align 4
  .globl \name
  .type \name, %function
\name:
  mov x17, #\index
  b devsan_dispatch
  .size \name, . - \name
.endm

  .text
  .type devsan_dispatch, %function
devsan_dispatch:
  adrp x16, devsan_functions
  add x16, x16, :lo12:devsan_functions
  ldr x16, [x16, x17, lsl #3]
  cbz x16, devsan_search
  br x16
  .size devsan_dispatch, . - devsan_dispatch

  .type devsan_search, %function
devsan_search:
  stp x29, x30, [sp, #-224]!
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  mov x0, x17
  bl devsan_find_function
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldr x8, [sp, #80]
  ldp q0, q1, [sp, #96]
  ldp q2, q3, [sp, #128]
  ldp q4, q5, [sp, #160]
  ldp q6, q7, [sp, #192]
  ldp x29, x30, [sp], #224
  br x16
  .size devsan_search, . - devsan_search

#endif

  .hidden devsan_functions
  .hidden devsan_find_function
  .hidden devsan_imports
  .globl devsan_functions
  .globl devsan_imports
  .text
  .p2align 4
devsan_imports:
#define DEVSAN_IMPORT(index, name) DEVSAN_DEFINE index, name
#include "imports.inc"
  .p2align 4
devsan_end:
  .bss
  .p2align 3
devsan_functions:
  .zero (devsan_end - devsan_imports) / 2
/* A program that asks whether a generator is CUDA's compares with this, by name: the class is the simulator's. */
  .section .rodata
.Lgenerator_name:
  .string "N2at17CUDAGeneratorImplE"
  .section .data.rel.ro, "aw"
  .p2align 3
  .globl _ZTIN2at17CUDAGeneratorImplE
  .type _ZTIN2at17CUDAGeneratorImplE, %object
_ZTIN2at17CUDAGeneratorImplE:
  .quad _ZTVN10__cxxabiv120__si_class_type_infoE+16
  .quad .Lgenerator_name
  .quad _ZTIN3c1013GeneratorImplE
  .size _ZTIN2at17CUDAGeneratorImplE, 24

  .section .note.GNU-stack, "", %progbits
