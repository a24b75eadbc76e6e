// RUN: tilewright-hivm %s --form=planned > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: tilewright-hivm --read %t.mlir | FileCheck %s --check-prefix=READ
// RUN: sed 's/512, 256, 16, 1/512, 128, 16, 1/g' %t.mlir | not tilewright-hivm --read - 2>&1 | FileCheck %s --check-prefix=BAD

// A load into L1 may begin at any row, within a fractal too; a fill of a part has its rows in one
// dimension. Both are read back as boxes.

#gm = #npu.space<gm>
#l1 = #npu.space<l1>

// CHECK: %[[W:.*]] = "hivm.hir.pointer_cast"({{.*}} -> memref<2x2x2x16x16xf16, #hivm.address_space<cbuf>>
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %c16
// CHECK: %[[SLOT:.*]] = arith.muli %{{.*}}, %c1024
// CHECK: %[[AT:.*]] = arith.addi %[[SLOT]], %[[ROW]]
// CHECK: %[[SPAN:.*]] = arith.muli %{{.*}}, %c16
// CHECK: memref.reinterpret_cast %[[W]] to offset: [%[[AT]]], sizes: [2, 1, %{{.*}}, 16], strides: [512, %[[SPAN]], 16, 1]
// CHECK: "hivm.hir.vbrc"
// CHECK: memref.reinterpret_cast %[[W]] to offset: [%{{.*}}], sizes: [2, %{{.*}}, 16, 16], strides: [512, 256, 16, 1]
// CHECK: "hivm.hir.nd2nz"

// READ: npu.fill_l1 %{{.*}} : f16, (%[[B:[a-z0-9]+]][%[[S:.*]], %[[R:.*]], %{{.*}}] [%{{.*}}, %[[N:.*]], %c32{{.*}}] : memref<2x32x32xf16, #npu.space<l1>>)
// READ: npu.load (%[[B]][%{{.*}}, %{{.*}}, %{{.*}}] [%{{.*}}, %{{.*}}, %c32{{.*}}] : memref<2x32x32xf16, #npu.space<l1>>

// BAD: error: {{.*}}fractals in another shape

func.func @host(%A: memref<64x32xf16, #gm>) {
  npu.launch aic @aic(%A) : memref<64x32xf16, #gm>
  return
}
func.func private @aic(%A: memref<64x32xf16, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aic>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f16
  %x = npu.alloc "x" {slots = 2, address = 0} : memref<32x32xf16, #l1>
  scf.for %i = %c0 to %c5 step %c1 {
    npu.advance %x : memref<32x32xf16, #l1>
    %n = arith.addi %i, %c5 : index
    npu.fill_l1 %zero : f16, (%x[%i, %c0] [%n, %c32] : memref<32x32xf16, #l1>)
    npu.barrier <All>
    npu.load (%x[%i, %c0] [%n, %c32] : memref<32x32xf16, #l1>, %A[%i, %c0] [%n, %c32] : memref<64x32xf16, #gm>)
    npu.barrier <All>
  }
  return
}
