// RUN: tilewright-opt %s --split-input-file --npu-plan-memory --verify-diagnostics
// RUN: not tilewright-opt %s --split-input-file --npu-plan-memory=chip=nochip 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not tilewright-opt %s --split-input-file --npu-plan-memory 2>&1 | FileCheck %s

// CHIP: error: {{.*}}nochip

// The table, with what would fit.
// CHECK: error: E0701: the tiles do not fit the unified buffer: @too_big needs 224 KiB of 192 KiB UB
// CHECK-NEXT: acc  line {{[0-9]+}}  128x256 float32, 128 KiB
// CHECK-NEXT: p  line {{[0-9]+}}  128x192 float32, 96 KiB
// CHECK-NEXT: it would fit if 'acc' took at most 96 KiB instead of 128 KiB
func.func @too_big(%A: memref<128x256xf32, #npu.space<gm>>) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %m = arith.constant 128 : index
  %n = arith.constant 256 : index
  %k = arith.constant 192 : index
  // expected-error @below {{the tiles do not fit the unified buffer: @too_big needs 224 KiB of 192 KiB UB}}
  // expected-note @below {{'acc': 128x256 float32, 128 KiB}}
  %acc = npu.alloc "acc" : memref<128x256xf32, #npu.space<ub>>
  // expected-note @below {{'p': 128x192 float32, 96 KiB}}
  %p = npu.alloc "p" : memref<128x192xf32, #npu.space<ub>>
  npu.load (%acc[%c0, %c0] [%m, %n] : memref<128x256xf32, #npu.space<ub>>, %A[%c0, %c0] [%m, %n] : memref<128x256xf32, #npu.space<gm>>)
  npu.load (%p[%c0, %c0] [%m, %k] : memref<128x192xf32, #npu.space<ub>>, %A[%c0, %c0] [%m, %k] : memref<128x256xf32, #npu.space<gm>>)
  npu.store (%A[%c0, %c0] [%m, %n] : memref<128x256xf32, #npu.space<gm>>, %acc[%c0, %c0] [%m, %n] : memref<128x256xf32, #npu.space<ub>>)
  npu.store (%A[%c0, %c0] [%m, %k] : memref<128x256xf32, #npu.space<gm>>, %p[%c0, %c0] [%m, %k] : memref<128x192xf32, #npu.space<ub>>)
  return
}

// -----

func.func @dynamic(%n: index) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{tile 't' has a size that is not known when the kernel is compiled}}
  %t = npu.alloc "t" : memref<?xf32, #npu.space<ub>>
  npu.fill %zero : f32, (%t[%c0] [%n] : memref<?xf32, #npu.space<ub>>)
  return
}

// -----

func.func @exchange() {
  npu.launch aic @exchange_aic aiv @exchange_aiv()
  return
}
func.func @exchange_aic() attributes {npu.core = #npu.core<aic>} {
  // expected-note @below {{the other side}}
  %u = npu.alloc "u" : memref<512xf32, #npu.space<workspace>>
  return
}
func.func @exchange_aiv() attributes {npu.core = #npu.core<aiv>} {
  // expected-error @below {{exchange buffer 'u' differs between the cores that share it}}
  %u = npu.alloc "u" : memref<256xf32, #npu.space<workspace>>
  return
}

// -----

func.func @placed_past_the_end(%A: memref<16xf32, #npu.space<gm>>) attributes {npu.core = #npu.core<aiv>} {
  // expected-error @below {{'x' is placed at byte 196608 and ends at 196672 of UB, which has 196608 bytes; addresses are multiples of 32}}
  %x = npu.alloc "x" {address = 196608 : i64} : memref<16xf32, #npu.space<ub>>
  return
}

// -----

func.func @placed_between_blocks(%A: memref<16xf32, #npu.space<gm>>) attributes {npu.core = #npu.core<aiv>} {
  // expected-error @below {{'x' is placed at byte 8 and ends at 72 of UB}}
  %x = npu.alloc "x" {address = 8 : i64} : memref<16xf32, #npu.space<ub>>
  return
}
