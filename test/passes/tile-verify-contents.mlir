// RUN: tilewright-opt %s --tile-verify-contents -o %t.ok.mlir

#l1 = #tile.scope<l1>
#l0c = #tile.scope<l0c>
#ub = #tile.scope<ub>
#workspace = #tile.scope<workspace>

// Two halves make a tile; a tile is filled in the first turn and read in all; a rotating tile is filled in each turn.
func.func @written(%A: memref<64xf32> {tile.name = "A"}, %B: memref<32x32xf16> {tile.name = "B"}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %upper = arith.constant 32 : index
  %never = arith.constant false
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<32xf32, #ub>
    %k = tile.alloc "k" : memref<32xf32, #ub>
    %w = tile.alloc "w" {slots = 2} : memref<32xf32, #ub>
    %w.exchange = tile.alloc "w.exchange" {slots = 2} : memref<32xf32, #workspace>
    %b = tile.alloc "b" : memref<32x32xf16, #l1>
    %s = tile.alloc "s" : memref<32x32xf32, #l0c>
    tile.copy(%x[%c0] [%c16] : memref<32xf32, #ub>, %A[%upper] [%c16] : memref<64xf32>)
    tile.copy(%x[%c16] [%c16] : memref<32xf32, #ub>, %A[%c0] [%c16] : memref<64xf32>)
    tile.copy(%b[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #l1>, %B[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    scf.for %i = %c0 to %n step %c1 {
      %next = arith.addi %i, %c1 : index
      %isfirst = arith.cmpi eq, %i, %c0 : index
      %islast = arith.cmpi eq, %next, %n : index
      %fresh = arith.cmpi eq, %i, %c0 : index
      scf.if %isfirst {
        tile.fill %zero : f32, (%k[%c0] [%c32] : memref<32xf32, #ub>)
      }
      tile.advance %w : memref<32xf32, #ub>
      tile.copy(%w[%c0] [%c32] : memref<32xf32, #ub>, %A[%c0] [%c32] : memref<64xf32>)
      tile.elementwise <add> (%w[%c0] [%c32] : memref<32xf32, #ub>, %w[%c0] [%c32] : memref<32xf32, #ub>, %x[%c0] [%c32] : memref<32xf32, #ub>)
      tile.elementwise <add> (%w[%c0] [%c32] : memref<32xf32, #ub>, %w[%c0] [%c32] : memref<32xf32, #ub>, %k[%c0] [%c32] : memref<32xf32, #ub>)
      tile.acquire %w.exchange on <aiv> : memref<32xf32, #workspace>
      tile.copy(%w.exchange[%c0] [%c32] : memref<32xf32, #workspace>, %w[%c0] [%c32] : memref<32xf32, #ub>) // slot
      tile.publish %w.exchange on <aiv> : memref<32xf32, #workspace>
      tile.wait %w.exchange on <aic> : memref<32xf32, #workspace>
      tile.copy(%x[%c0] [%c32] : memref<32xf32, #ub>, %w.exchange[%c0] [%c32] : memref<32xf32, #workspace>)
      tile.release %w.exchange on <aic> : memref<32xf32, #workspace>
      tile.gemm(%s[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #l0c>, %b[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #l1>, %b[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #l1>) init %fresh
    } // filled
    %e = tile.load %w[%c0] : memref<32xf32, #ub> -> f32
    tile.store %e, %A[%c0] : f32, memref<64xf32>
  }
  return
}
