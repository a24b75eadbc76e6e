// RUN: tilewright-sim %s --symbol n=4096 --check --time | FileCheck %s
// RUN: tilewright-sim %s --symbol n=4096 --checksums > %t.plain
// RUN: tilewright-sim %s --symbol n=4096 --checksums --delay 1 > %t.delayed
// RUN: diff %t.plain %t.delayed
// RUN: tilewright-sim %s --symbol n=4096 --print-program | FileCheck %s --check-prefix=CODE
// RUN: tilewright-sim %s --shape 0=5000 --shape 1=5000 --shape 2=5000 --set 0=one --set 1=iota --check | FileCheck %s --check-prefix=TAIL

// Double-buffered sum of vectors; the last block is clipped.

// CHECK: time {{.*}} us
// CHECK: AIV busy:{{.*}} V {{.*}} MTE2 {{.*}} MTE3
// CHECK-NOT: finding
// CHECK: argument 2 (C): float32 [4096] checksum

// TAIL-NOT: finding
// TAIL: argument 2 (C): float32 [5000] checksum
// TAIL: 1., {{ *}}2., {{ *}}3.

// CODE: program vector_add
// CODE-NEXT: tensor A f32
// CODE-NEXT: tensor B f32
// CODE-NEXT: tensor C f32 written
// CODE-NEXT: scalars 1
// CODE: buffer a AIV UB @0 2x4096
// CODE: buffer c AIV UB @16384 2x4096

func.func @vector_add(%A: memref<?xf32> {tile.name = "A", tile.shape = affine_map<()[n] -> (n)>},
                      %B: memref<?xf32> {tile.name = "B", tile.shape = affine_map<()[n] -> (n)>},
                      %C: memref<?xf32> {tile.name = "C", tile.shape = affine_map<()[n] -> (n)>, tile.output})
    attributes {tile.symbols = ["n"]} {
  npu.launch aiv @vector_add_aiv(%A, %B, %C) : memref<?xf32>, memref<?xf32>, memref<?xf32>
  return
}

func.func @vector_add_aiv(%A: memref<?xf32, #npu.space<gm>> {npu.name = "A"}, %B: memref<?xf32, #npu.space<gm>> {npu.name = "B"},
                          %C: memref<?xf32, #npu.space<gm>> {npu.name = "C"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %n = memref.dim %A, %c0 : memref<?xf32, #npu.space<gm>>
  %blocks = arith.ceildivsi %n, %c1024 : index
  %a = npu.alloc "a" {slots = 2, address = 0} : memref<1024xf32, #npu.space<ub>>
  %b = npu.alloc "b" {slots = 2, address = 8192} : memref<1024xf32, #npu.space<ub>>
  %c = npu.alloc "c" {slots = 2, address = 16384} : memref<1024xf32, #npu.space<ub>>
  npu.set_flag <V> to <MTE2> id 0
  npu.set_flag <V> to <MTE2> id 1
  npu.set_flag <MTE3> to <V> id 0
  npu.set_flag <MTE3> to <V> id 1
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %blocks step %count {
    npu.begin_block %block
    %from = arith.muli %block, %c1024 : index
    %rest = arith.subi %n, %from : index
    %size = arith.minsi %rest, %c1024 : index
    npu.advance %a : memref<1024xf32, #npu.space<ub>>
    npu.advance %b : memref<1024xf32, #npu.space<ub>>
    npu.wait_flag <V> to <MTE2> id 0 rotate %a : memref<1024xf32, #npu.space<ub>>
    npu.load (%a[%c0] [%size] : memref<1024xf32, #npu.space<ub>>, %A[%from] [%size] : memref<?xf32, #npu.space<gm>>)
    npu.load (%b[%c0] [%size] : memref<1024xf32, #npu.space<ub>>, %B[%from] [%size] : memref<?xf32, #npu.space<gm>>)
    npu.set_flag <MTE2> to <V> id 0 rotate %a : memref<1024xf32, #npu.space<ub>>
    npu.wait_flag <MTE2> to <V> id 0 rotate %a : memref<1024xf32, #npu.space<ub>>
    npu.advance %c : memref<1024xf32, #npu.space<ub>>
    npu.wait_flag <MTE3> to <V> id 0 rotate %c : memref<1024xf32, #npu.space<ub>>
    npu.elementwise <add> (%c[%c0] [%size] : memref<1024xf32, #npu.space<ub>>, %a[%c0] [%size] : memref<1024xf32, #npu.space<ub>>,
                         %b[%c0] [%size] : memref<1024xf32, #npu.space<ub>>) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
    npu.set_flag <V> to <MTE2> id 0 rotate %a : memref<1024xf32, #npu.space<ub>>
    npu.set_flag <V> to <MTE3> id 0 rotate %c : memref<1024xf32, #npu.space<ub>>
    npu.wait_flag <V> to <MTE3> id 0 rotate %c : memref<1024xf32, #npu.space<ub>>
    npu.store (%C[%from] [%size] : memref<?xf32, #npu.space<gm>>, %c[%c0] [%size] : memref<1024xf32, #npu.space<ub>>)
    npu.set_flag <MTE3> to <V> id 0 rotate %c : memref<1024xf32, #npu.space<ub>>
  }
  npu.wait_flag <V> to <MTE2> id 0
  npu.wait_flag <V> to <MTE2> id 1
  npu.wait_flag <MTE3> to <V> id 0
  npu.wait_flag <MTE3> to <V> id 1
  return
}
