// RUN: tilewright-opt %s --npu-plan-memory --npu-verify-plan -o %t.mlir
// RUN: tilewright-sim %t.mlir --check --time --checksums --set 0=one --set 1=one | FileCheck %s
// RUN: tilewright-sim %t.mlir --checksums > %t.plain
// RUN: tilewright-sim %t.mlir --checksums --delay 3 > %t.delayed
// RUN: diff %t.plain %t.delayed
// RUN: tilewright-sim %t.mlir --print-program | FileCheck %s --check-prefix=CODE
// RUN: tilewright-sim %t.mlir --set 0=one --set 1=iota | FileCheck %s --check-prefix=VALUES

// A tile loop over K with rotating operands; the rows of the last block are clipped.

// CHECK: time {{.*}} us
// CHECK: AIC busy:{{.*}} M {{.*}} FIX
// CHECK-NOT: finding
// CHECK: argument 2 (C): float32 [200, 256] checksum

// Row sums of a column ramp: 192 turns of 256 k + j give 4694016 + 192 j, rounded to f16 on the way in.
// VALUES: 4694016., 4694024., 4694048.

// CODE: buffer A_shared AIC L1 @0 2x16384
// CODE: buffer B_shared AIC L1 @32768 2x16384
// CODE: buffer C_local AIC L0C @0 1x65536
// CODE: mmad {L0C[0] {{.*}}"mmad C_local += A_shared . B_shared"

func.func @gemm(%A: memref<200x192xf16> {tile.name = "A"}, %B: memref<192x256xf16> {tile.name = "B"},
                %C: memref<200x256xf32> {tile.name = "C", tile.output}) {
  npu.launch aic @gemm_aic(%A, %B, %C) : memref<200x192xf16>, memref<192x256xf16>, memref<200x256xf32>
  return
}

func.func @gemm_aic(%A: memref<200x192xf16, #npu.space<gm>> {npu.name = "A"}, %B: memref<192x256xf16, #npu.space<gm>> {npu.name = "B"},
                    %C: memref<200x256xf32, #npu.space<gm>> {npu.name = "C"}) attributes {npu.core = #npu.core<aic>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c192 = arith.constant 192 : index
  %c200 = arith.constant 200 : index
  %a = npu.alloc "A_shared" {slots = 2} : memref<128x64xf16, #npu.space<l1>>
  %b = npu.alloc "B_shared" {slots = 2} : memref<64x128xf16, #npu.space<l1>>
  %c = npu.alloc "C_local" : memref<128x128xf32, #npu.space<l0c>>
  npu.set_flag <MTE1> to <MTE2> id 0
  npu.set_flag <MTE1> to <MTE2> id 1
  npu.set_flag <FIX> to <M> id 0
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %c4 step %count {
    npu.begin_block %block
    %y = arith.divsi %block, %c2 : index
    %x = arith.remsi %block, %c2 : index
    %row = arith.muli %y, %c128 : index
    %col = arith.muli %x, %c128 : index
    %rest = arith.subi %c200, %row : index
    %m = arith.minsi %rest, %c128 : index
    npu.wait_flag <FIX> to <M> id 0
    scf.for %k = %c0 to %c192 step %c64 {
      npu.advance %a : memref<128x64xf16, #npu.space<l1>>
      npu.advance %b : memref<64x128xf16, #npu.space<l1>>
      npu.wait_flag <MTE1> to <MTE2> id 0 rotate %a : memref<128x64xf16, #npu.space<l1>>
      npu.load (%a[%c0, %c0] [%m, %c64] : memref<128x64xf16, #npu.space<l1>>, %A[%row, %k] [%m, %c64] : memref<200x192xf16, #npu.space<gm>>)
      npu.load (%b[%c0, %c0] [%c64, %c128] : memref<64x128xf16, #npu.space<l1>>, %B[%k, %col] [%c64, %c128] : memref<192x256xf16, #npu.space<gm>>)
      npu.set_flag <MTE2> to <MTE1> id 0 rotate %a : memref<128x64xf16, #npu.space<l1>>
      npu.wait_flag <MTE2> to <MTE1> id 0 rotate %a : memref<128x64xf16, #npu.space<l1>>
      %first = arith.cmpi eq, %k, %c0 : index
      npu.mmad (%c[%c0, %c0] [%m, %c128] : memref<128x128xf32, #npu.space<l0c>>, %a[%c0, %c0] [%m, %c64] : memref<128x64xf16, #npu.space<l1>>,
                %b[%c0, %c0] [%c64, %c128] : memref<64x128xf16, #npu.space<l1>>) init %first
      npu.set_flag <MTE1> to <MTE2> id 0 rotate %a : memref<128x64xf16, #npu.space<l1>>
    }
    npu.set_flag <M> to <FIX> id 0
    npu.wait_flag <M> to <FIX> id 0
    npu.fixpipe (%C[%row, %col] [%m, %c128] : memref<200x256xf32, #npu.space<gm>>, %c[%c0, %c0] [%m, %c128] : memref<128x128xf32, #npu.space<l0c>>)
    npu.set_flag <FIX> to <M> id 0
  }
  npu.wait_flag <FIX> to <M> id 0
  npu.wait_flag <MTE1> to <MTE2> id 0
  npu.wait_flag <MTE1> to <MTE2> id 1
  return
}
