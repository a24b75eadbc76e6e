// RUN: tilewright-opt %s --tile-verify-channels -o %t.ok.mlir

// Two versions go from the cube core to the vector cores in each turn, the second in a branch.

#l1 = #tile.scope<l1>
#l0c = #tile.scope<l0c>
#ub = #tile.scope<ub>
#workspace = #tile.scope<workspace>

func.func @two_versions(%A: memref<32x32xf16> {tile.name = "A"}, %B: memref<32x32xf16> {tile.name = "B"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<32x32xf16, #l1>
    %s = tile.alloc "s" : memref<32x32xf32, #l0c>
    %x = tile.alloc "x" : memref<32x32xf32, #ub>
    %x.exchange = tile.alloc "x.exchange" {slots = 2} : memref<32x32xf32, #workspace>
    tile.copy(%a[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #l1>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf16>) {tile.core = #tile.core<aic>}
    scf.for %t = %c0 to %c4 step %c1 {
      %first = arith.cmpi eq, %t, %c0 : index
      %always = arith.cmpi sge, %t, %c0 : index
      tile.acquire %x.exchange on <aic> : memref<32x32xf32, #workspace>
      tile.gemm(%s[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #l0c>, %a[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #l1>, %a[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #l1>) init %true {tile.core = #tile.core<aic>}
      tile.copy(%x.exchange[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #workspace>, %s[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #l0c>) {tile.core = #tile.core<aic>}
      tile.publish %x.exchange on <aic> : memref<32x32xf32, #workspace>
      tile.acquire %x.exchange on <aic> : memref<32x32xf32, #workspace>
      tile.copy(%x.exchange[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #workspace>, %s[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #l0c>) {tile.core = #tile.core<aic>}
      tile.publish %x.exchange on <aic> : memref<32x32xf32, #workspace>
      tile.wait %x.exchange on <aiv> : memref<32x32xf32, #workspace>
      tile.copy(%x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #ub>, %x.exchange[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #workspace>) {tile.core = #tile.core<aiv>}
      tile.release %x.exchange on <aiv> : memref<32x32xf32, #workspace>
      tile.copy(%B[%c0, %c0] [%c32, %c32] : memref<32x32xf16>, %x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #ub>) {tile.core = #tile.core<aiv>}
      scf.if %always {
        tile.wait %x.exchange on <aiv> : memref<32x32xf32, #workspace>
        tile.copy(%x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #ub>, %x.exchange[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #workspace>) {tile.core = #tile.core<aiv>}
        tile.release %x.exchange on <aiv> : memref<32x32xf32, #workspace>
      }
    }
  }
  return
}

// The reader starts with the channel that is published last: both versions of the other have to be under way by then.
func.func @last_comes_first(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%bx) in (%c1) {
    %two.exchange = tile.alloc "two.exchange" {slots = 2} : memref<32xf32, #workspace>
    %last.exchange = tile.alloc "last.exchange" {slots = 2} : memref<32xf32, #workspace>
    scf.for %t = %c0 to %n step %c1 {
      tile.acquire %two.exchange on <aic> : memref<32xf32, #workspace>
      tile.publish %two.exchange on <aic> : memref<32xf32, #workspace>
      tile.acquire %two.exchange on <aic> : memref<32xf32, #workspace>
      tile.publish %two.exchange on <aic> : memref<32xf32, #workspace>
      tile.acquire %last.exchange on <aic> : memref<32xf32, #workspace>
      tile.publish %last.exchange on <aic> : memref<32xf32, #workspace>
      tile.wait %last.exchange on <aiv> : memref<32xf32, #workspace>
      tile.release %last.exchange on <aiv> : memref<32xf32, #workspace>
      tile.wait %two.exchange on <aiv> : memref<32xf32, #workspace>
      tile.release %two.exchange on <aiv> : memref<32xf32, #workspace>
      tile.wait %two.exchange on <aiv> : memref<32xf32, #workspace>
      tile.release %two.exchange on <aiv> : memref<32xf32, #workspace>
    }
  }
  return
}
