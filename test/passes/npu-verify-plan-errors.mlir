// RUN: tilewright-opt %s --split-input-file --npu-verify-plan --verify-diagnostics

func.func @next_turn(%A: memref<64xf32, #npu.space<gm>>) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %sum = npu.alloc "sum" {address = 0} : memref<64xf32, #npu.space<ub>>
  %y = npu.alloc "y" {address = 128} : memref<64xf32, #npu.space<ub>>
  npu.fill %zero : f32, (%sum[%c0] [%c64] : memref<64xf32, #npu.space<ub>>)
  scf.for %i = %c0 to %c64 step %c1 {
    // expected-error @below {{reads 'sum', which was overwritten while it was still needed}}
    npu.elementwise <exp> (%sum[%c0] [%c64] : memref<64xf32, #npu.space<ub>>, %sum[%c0] [%c64] : memref<64xf32, #npu.space<ub>>)
                          {maps = [array<i64: 0>, array<i64: 0>]}
    // expected-note @below {{overwritten here}}
    npu.load (%y[%c0] [%c64] : memref<64xf32, #npu.space<ub>>, %A[%c0] [%c64] : memref<64xf32, #npu.space<gm>>)
    npu.store (%A[%c0] [%c64] : memref<64xf32, #npu.space<gm>>, %y[%c0] [%c64] : memref<64xf32, #npu.space<ub>>)
  }
  return
}

// -----

func.func @one_branch(%A: memref<64xf32, #npu.space<gm>>, %flag: i1) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %x = npu.alloc "x" {address = 0} : memref<64xf32, #npu.space<ub>>
  %y = npu.alloc "y" {address = 0} : memref<64xf32, #npu.space<ub>>
  npu.load (%x[%c0] [%c64] : memref<64xf32, #npu.space<ub>>, %A[%c0] [%c64] : memref<64xf32, #npu.space<gm>>)
  scf.if %flag {
    // expected-note @below {{overwritten here}}
    npu.load (%y[%c0] [%c64] : memref<64xf32, #npu.space<ub>>, %A[%c0] [%c64] : memref<64xf32, #npu.space<gm>>)
  }
  // expected-error @below {{reads 'x', which was overwritten}}
  npu.store (%A[%c0] [%c64] : memref<64xf32, #npu.space<gm>>, %x[%c0] [%c64] : memref<64xf32, #npu.space<ub>>)
  return
}

// -----

func.func @unaligned() attributes {npu.core = #npu.core<aiv>} {
  // expected-error @below {{'x' begins at 16, no multiple of 32}}
  %x = npu.alloc "x" {address = 16} : memref<64xf32, #npu.space<ub>>
  return
}

// -----

func.func @beyond() attributes {npu.core = #npu.core<aic>} {
  // expected-error @below {{'x' ends at 589824, beyond the 524288 bytes of l1}}
  %x = npu.alloc "x" {address = 65536} : memref<512x512xf16, #npu.space<l1>>
  return
}

// -----

func.func @missing() attributes {npu.core = #npu.core<aiv>} {
  // expected-error @below {{'x' has no address}}
  %x = npu.alloc "x" : memref<64xf32, #npu.space<ub>>
  return
}
