/* A function for each of imports.inc that jumps to where its entry of devsan_functions points: first to its own search,
   which lets devsan_find_function look for it and keeps all arguments, then to what was found. */
#if defined(__x86_64__)

.macro DEVSAN_DEFINE index, name
  .text
  .globl \name
  .type \name, @function
\name:
  jmp *devsan_functions+8*\index(%rip)
  .size \name, . - \name
.Lsearch\index:
  pushq $\index
  jmp devsan_search
  .data
  .quad .Lsearch\index
.endm

  .text
  .type devsan_search, @function
devsan_search:
  pushq %rax
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %r10
  subq $128, %rsp
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  movq 192(%rsp), %rdi
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
  addq $128, %rsp
  popq %r10
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rax
  addq $8, %rsp
  jmp *%r11
  .size devsan_search, . - devsan_search

#elif defined(__aarch64__)

.macro DEVSAN_DEFINE index, name
  .text
  .globl \name
  .type \name, %function
\name:
  adrp x16, devsan_functions + 8*\index
  ldr x16, [x16, :lo12:devsan_functions + 8*\index]
  br x16
  .size \name, . - \name
.Lsearch\index:
  mov x17, #\index
  b devsan_search
  .data
  .xword .Lsearch\index
.endm

  .text
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

  .hidden devsan_functions
  .hidden devsan_find_function
  .globl devsan_functions
  .data
  .p2align 3
devsan_functions:
#define DEVSAN_IMPORT(index, name) DEVSAN_DEFINE index, name
#include "imports.inc"
  .section .note.GNU-stack, "", %progbits
