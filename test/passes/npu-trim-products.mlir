// RUN: tilewright-opt %s --npu-trim-products -o %t.after.mlir
// RUN: FileCheck %s < %t.after.mlir
// RUN: tilewright-opt %s --npu-plan-memory --npu-insert-sync -o %t.one.mlir
// RUN: tilewright-opt %t.after.mlir --npu-plan-memory --npu-insert-sync --npu-verify-plan --npu-verify-sync -o %t.two.mlir

// Each case is checked as text and run, before and after.

// DEFINE: %{name} =
// DEFINE: %{options} = --checksums --check --function %{name}
// DEFINE: %{same} = tilewright-sim %t.one.mlir %{options} > %t.before && tilewright-sim %t.two.mlir %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = edges
// RUN: %{same}

// REDEFINE: %{name} = transposed
// RUN: %{same}

// REDEFINE: %{name} = outside
// RUN: %{same}

// REDEFINE: %{name} = all_copied
// RUN: %{same}

!gmA = memref<40x24xf16, #npu.space<gm>>
!gmB = memref<24x40xf16, #npu.space<gm>>
!gmC = memref<40x40xf32, #npu.space<gm>>
!gmD = memref<64x64xf32, #npu.space<gm>>
!l1a = memref<32x16xf16, #npu.space<l1>>
!l1b = memref<16x32xf16, #npu.space<l1>>
!acc = memref<32x32xf32, #npu.space<l0c>>

// Rows and columns as they were loaded, and tiles cleared where the inner dimension is cut.
// CHECK-LABEL: func.func private @edges_aic(
// CHECK: %[[ROWS:.+]] = arith.subi
// CHECK: %[[COLS:.+]] = arith.subi
// CHECK: scf.for
// CHECK: %[[DEPTH:.+]] = arith.subi
// CHECK: %[[CUT:.+]] = arith.cmpi ne, %[[DEPTH]], %c16
// CHECK: scf.if %[[CUT]]
// CHECK: scf.if %[[CUT]]
// CHECK: npu.mmad (%acc[%c0, %c0] [%[[ROWS]], %[[COLS]]] {{.+}}, %a[%c0, %c0] [%[[ROWS]], %c16] {{.+}}, %b[%c0, %c0] [%c16, %[[COLS]]]
func.func @edges(%A: !gmA {tile.name = "A"}, %B: !gmB {tile.name = "B"}, %C: !gmC {tile.name = "C", tile.output}) {
  npu.launch aic @edges_aic(%A, %B, %C) : !gmA, !gmB, !gmC
  return
}
func.func private @edges_aic(%A: !gmA {npu.name = "A"}, %B: !gmB {npu.name = "B"}, %C: !gmC {npu.name = "C"}) attributes {npu.core = #npu.core<aic>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %c32 = arith.constant 32 : index
  %c40 = arith.constant 40 : index
  %blocks = arith.constant 4 : index
  %zero = arith.constant 0.0 : f16
  %a = npu.alloc "a" : !l1a
  %b = npu.alloc "b" : !l1b
  %acc = npu.alloc "acc" : !acc
  %core = npu.core_id
  %cores = npu.core_count
  scf.for %n = %core to %blocks step %cores {
    npu.begin_block %n
    %x = arith.remui %n, %c2 : index
    %y = arith.divui %n, %c2 : index
    %i0 = arith.muli %y, %c32 : index
    %i = arith.minsi %i0, %c40 : index
    %endi = arith.addi %i, %c32 : index
    %lasti = arith.minsi %endi, %c40 : index
    %rows = arith.subi %lasti, %i : index
    %j = arith.muli %x, %c32 : index
    %endj = arith.addi %j, %c32 : index
    %lastj = arith.minsi %endj, %c40 : index
    %cols = arith.subi %lastj, %j : index
    %cutRows = arith.cmpi ne, %rows, %c32 : index
    %cutCols = arith.cmpi ne, %cols, %c32 : index
    scf.for %t = %c0 to %c2 step %c1 {
      %k = arith.muli %t, %c16 : index
      %endk = arith.addi %k, %c16 : index
      %lastk = arith.minsi %endk, %c24 : index
      %depth = arith.subi %lastk, %k : index
      %cutDepth = arith.cmpi ne, %depth, %c16 : index
      %cutA = arith.ori %cutRows, %cutDepth : i1
      scf.if %cutA {
        npu.fill_l1 %zero : f16, (%a[%c0, %c0] [%c32, %c16] : !l1a)
      }
      npu.load (%a[%c0, %c0] [%rows, %depth] : !l1a, %A[%i, %k] [%rows, %depth] : !gmA)
      %cutB = arith.ori %cutDepth, %cutCols : i1
      scf.if %cutB {
        npu.fill_l1 %zero : f16, (%b[%c0, %c0] [%c16, %c32] : !l1b)
      }
      npu.load (%b[%c0, %c0] [%depth, %cols] : !l1b, %B[%k, %j] [%depth, %cols] : !gmB)
      %first = arith.cmpi eq, %t, %c0 : index
      npu.mmad (%acc[%c0, %c0] [%c32, %c32] : !acc, %a[%c0, %c0] [%c32, %c16] : !l1a, %b[%c0, %c0] [%c16, %c32] : !l1b) init %first
    }
    npu.fixpipe (%C[%i, %j] [%rows, %cols] : !gmC, %acc[%c0, %c0] [%rows, %cols] : !acc)
  }
  return
}

// CHECK-LABEL: func.func private @transposed_aic(
// CHECK: %[[ROWS:.+]] = arith.subi
// CHECK: npu.mmad (%acc[%c0, %c0] [%[[ROWS]], %{{.+}}] {{.+}}, %a[%c0, %c0] [%c16, %[[ROWS]]]
func.func @transposed(%A: !gmB {tile.name = "A"}, %B: !gmB {tile.name = "B"}, %C: !gmC {tile.name = "C", tile.output}) {
  npu.launch aic @transposed_aic(%A, %B, %C) : !gmB, !gmB, !gmC
  return
}
func.func private @transposed_aic(%A: !gmB {npu.name = "A"}, %B: !gmB {npu.name = "B"}, %C: !gmC {npu.name = "C"}) attributes {npu.core = #npu.core<aic>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %c32 = arith.constant 32 : index
  %c40 = arith.constant 40 : index
  %blocks = arith.constant 4 : index
  %zero = arith.constant 0.0 : f16
  %a = npu.alloc "a" : !l1b
  %b = npu.alloc "b" : !l1b
  %acc = npu.alloc "acc" : !acc
  %core = npu.core_id
  %cores = npu.core_count
  scf.for %n = %core to %blocks step %cores {
    npu.begin_block %n
    %x = arith.remui %n, %c2 : index
    %y = arith.divui %n, %c2 : index
    %i0 = arith.muli %y, %c32 : index
    %i = arith.minsi %i0, %c40 : index
    %endi = arith.addi %i, %c32 : index
    %lasti = arith.minsi %endi, %c40 : index
    %rows = arith.subi %lasti, %i : index
    %j = arith.muli %x, %c32 : index
    %endj = arith.addi %j, %c32 : index
    %lastj = arith.minsi %endj, %c40 : index
    %cols = arith.subi %lastj, %j : index
    %cutRows = arith.cmpi ne, %rows, %c32 : index
    %cutCols = arith.cmpi ne, %cols, %c32 : index
    scf.for %t = %c0 to %c2 step %c1 {
      %k = arith.muli %t, %c16 : index
      %endk = arith.addi %k, %c16 : index
      %lastk = arith.minsi %endk, %c24 : index
      %depth = arith.subi %lastk, %k : index
      %cutDepth = arith.cmpi ne, %depth, %c16 : index
      %cutA = arith.ori %cutRows, %cutDepth : i1
      scf.if %cutA {
        npu.fill_l1 %zero : f16, (%a[%c0, %c0] [%c16, %c32] : !l1b)
      }
      npu.load (%a[%c0, %c0] [%depth, %rows] : !l1b, %A[%k, %i] [%depth, %rows] : !gmB)
      %cutB = arith.ori %cutDepth, %cutCols : i1
      scf.if %cutB {
        npu.fill_l1 %zero : f16, (%b[%c0, %c0] [%c16, %c32] : !l1b)
      }
      npu.load (%b[%c0, %c0] [%depth, %cols] : !l1b, %B[%k, %j] [%depth, %cols] : !gmB)
      %first = arith.cmpi eq, %t, %c0 : index
      npu.mmad (%acc[%c0, %c0] [%c32, %c32] : !acc, %a[%c0, %c0] [%c16, %c32] : !l1b, %b[%c0, %c0] [%c16, %c32] : !l1b) init %first {transpose_a}
    }
    npu.fixpipe (%C[%i, %j] [%rows, %cols] : !gmC, %acc[%c0, %c0] [%rows, %cols] : !acc)
  }
  return
}

// Two blocks have no row: their products are empty.
// CHECK-LABEL: func.func private @outside_aic(
// CHECK: %[[ROWS:.+]] = arith.subi
// CHECK: npu.mmad (%acc[%c0, %c0] [%[[ROWS]],
func.func @outside(%A: !gmA {tile.name = "A"}, %B: !gmB {tile.name = "B"}, %C: !gmC {tile.name = "C", tile.output}) {
  npu.launch aic @outside_aic(%A, %B, %C) : !gmA, !gmB, !gmC
  return
}
func.func private @outside_aic(%A: !gmA {npu.name = "A"}, %B: !gmB {npu.name = "B"}, %C: !gmC {npu.name = "C"}) attributes {npu.core = #npu.core<aic>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %c32 = arith.constant 32 : index
  %c40 = arith.constant 40 : index
  %blocks = arith.constant 6 : index
  %zero = arith.constant 0.0 : f16
  %a = npu.alloc "a" : !l1a
  %b = npu.alloc "b" : !l1b
  %acc = npu.alloc "acc" : !acc
  %core = npu.core_id
  %cores = npu.core_count
  scf.for %n = %core to %blocks step %cores {
    npu.begin_block %n
    %x = arith.remui %n, %c2 : index
    %y = arith.divui %n, %c2 : index
    %i0 = arith.muli %y, %c32 : index
    %i = arith.minsi %i0, %c40 : index
    %endi = arith.addi %i, %c32 : index
    %lasti = arith.minsi %endi, %c40 : index
    %rows = arith.subi %lasti, %i : index
    %j = arith.muli %x, %c32 : index
    %endj = arith.addi %j, %c32 : index
    %lastj = arith.minsi %endj, %c40 : index
    %cols = arith.subi %lastj, %j : index
    %cutRows = arith.cmpi ne, %rows, %c32 : index
    %cutCols = arith.cmpi ne, %cols, %c32 : index
    scf.for %t = %c0 to %c2 step %c1 {
      %k = arith.muli %t, %c16 : index
      %endk = arith.addi %k, %c16 : index
      %lastk = arith.minsi %endk, %c24 : index
      %depth = arith.subi %lastk, %k : index
      %cutDepth = arith.cmpi ne, %depth, %c16 : index
      %cutA = arith.ori %cutRows, %cutDepth : i1
      scf.if %cutA {
        npu.fill_l1 %zero : f16, (%a[%c0, %c0] [%c32, %c16] : !l1a)
      }
      npu.load (%a[%c0, %c0] [%rows, %depth] : !l1a, %A[%i, %k] [%rows, %depth] : !gmA)
      %cutB = arith.ori %cutDepth, %cutCols : i1
      scf.if %cutB {
        npu.fill_l1 %zero : f16, (%b[%c0, %c0] [%c16, %c32] : !l1b)
      }
      npu.load (%b[%c0, %c0] [%depth, %cols] : !l1b, %B[%k, %j] [%depth, %cols] : !gmB)
      %first = arith.cmpi eq, %t, %c0 : index
      npu.mmad (%acc[%c0, %c0] [%c32, %c32] : !acc, %a[%c0, %c0] [%c32, %c16] : !l1a, %b[%c0, %c0] [%c16, %c32] : !l1b) init %first
    }
    npu.fixpipe (%C[%i, %j] [%rows, %cols] : !gmC, %acc[%c0, %c0] [%rows, %cols] : !acc)
  }
  return
}

// The zeros beside the sum are wanted too.
// CHECK-LABEL: func.func private @all_copied_aic(
// CHECK: npu.mmad (%acc[%c0, %c0] [%c32, %c32] {{.+}}, %a[%c0, %c0] [%c32, %c16] {{.+}}, %b[%c0, %c0] [%c16, %c32]
func.func @all_copied(%A: !gmA {tile.name = "A"}, %B: !gmB {tile.name = "B"}, %C: !gmD {tile.name = "C", tile.output}) {
  npu.launch aic @all_copied_aic(%A, %B, %C) : !gmA, !gmB, !gmD
  return
}
func.func private @all_copied_aic(%A: !gmA {npu.name = "A"}, %B: !gmB {npu.name = "B"}, %C: !gmD {npu.name = "C"}) attributes {npu.core = #npu.core<aic>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %c32 = arith.constant 32 : index
  %c40 = arith.constant 40 : index
  %blocks = arith.constant 4 : index
  %zero = arith.constant 0.0 : f16
  %a = npu.alloc "a" : !l1a
  %b = npu.alloc "b" : !l1b
  %acc = npu.alloc "acc" : !acc
  %core = npu.core_id
  %cores = npu.core_count
  scf.for %n = %core to %blocks step %cores {
    npu.begin_block %n
    %x = arith.remui %n, %c2 : index
    %y = arith.divui %n, %c2 : index
    %i0 = arith.muli %y, %c32 : index
    %i = arith.minsi %i0, %c40 : index
    %endi = arith.addi %i, %c32 : index
    %lasti = arith.minsi %endi, %c40 : index
    %rows = arith.subi %lasti, %i : index
    %j = arith.muli %x, %c32 : index
    %endj = arith.addi %j, %c32 : index
    %lastj = arith.minsi %endj, %c40 : index
    %cols = arith.subi %lastj, %j : index
    %cutRows = arith.cmpi ne, %rows, %c32 : index
    %cutCols = arith.cmpi ne, %cols, %c32 : index
    scf.for %t = %c0 to %c2 step %c1 {
      %k = arith.muli %t, %c16 : index
      %endk = arith.addi %k, %c16 : index
      %lastk = arith.minsi %endk, %c24 : index
      %depth = arith.subi %lastk, %k : index
      %cutDepth = arith.cmpi ne, %depth, %c16 : index
      %cutA = arith.ori %cutRows, %cutDepth : i1
      scf.if %cutA {
        npu.fill_l1 %zero : f16, (%a[%c0, %c0] [%c32, %c16] : !l1a)
      }
      npu.load (%a[%c0, %c0] [%rows, %depth] : !l1a, %A[%i, %k] [%rows, %depth] : !gmA)
      %cutB = arith.ori %cutDepth, %cutCols : i1
      scf.if %cutB {
        npu.fill_l1 %zero : f16, (%b[%c0, %c0] [%c16, %c32] : !l1b)
      }
      npu.load (%b[%c0, %c0] [%depth, %cols] : !l1b, %B[%k, %j] [%depth, %cols] : !gmB)
      %first = arith.cmpi eq, %t, %c0 : index
      npu.mmad (%acc[%c0, %c0] [%c32, %c32] : !acc, %a[%c0, %c0] [%c32, %c16] : !l1a, %b[%c0, %c0] [%c16, %c32] : !l1b) init %first
    }
    npu.fixpipe (%C[%i, %j] [%c32, %c32] : !gmD, %acc[%c0, %c0] [%c32, %c32] : !acc)
  }
  return
}
