// Text that the verifiers refuse, each with its message.
// RUN: tilewright-opt --split-input-file --verify-diagnostics %s

#ub = #npu.space<ub>
#gm = #npu.space<gm>

func.func @load_to_global(%A: memref<8xf32, #gm>, %i: index, %n: index) {
  // expected-error@+1 {{'npu.load' op box 0 is in gm, allowed: ub, l1}}
  npu.load (%A[%i] [%n] : memref<8xf32, #gm>, %A[%i] [%n] : memref<8xf32, #gm>)
  return
}

// -----

#ub = #npu.space<ub>

func.func @load_on_chip(%i: index, %n: index) {
  %x = npu.alloc "x" : memref<8xf32, #ub>
  // expected-error@+1 {{box 1 is in ub, allowed: gm, workspace}}
  npu.load (%x[%i] [%n] : memref<8xf32, #ub>, %x[%i] [%n] : memref<8xf32, #ub>)
  return
}

// -----

#ub = #npu.space<ub>

func.func @fill_l1(%i: index, %n: index, %s: f32) {
  %x = npu.alloc "x" : memref<8xf32, #ub>
  // expected-error@+1 {{box 0 is in ub, allowed: l1}}
  npu.fill_l1 %s : f32, (%x[%i] [%n] : memref<8xf32, #ub>)
  return
}

// -----

#ub = #npu.space<ub>
#l1 = #npu.space<l1>

func.func @mmad_in_unified_buffer(%i: index, %n: index, %p: i1) {
  %c = npu.alloc "c" : memref<16x16xf32, #ub>
  %a = npu.alloc "a" : memref<16x16xf16, #l1>
  // expected-error@+1 {{box 0 is in ub, allowed: l0c}}
  npu.mmad (%c[%i, %i] [%n, %n] : memref<16x16xf32, #ub>, %a[%i, %i] [%n, %n] : memref<16x16xf16, #l1>, %a[%i, %i] [%n, %n] : memref<16x16xf16, #l1>) init %p
  return
}

// -----

#ub = #npu.space<ub>
#l0c = #npu.space<l0c>

func.func @mmad_operand(%i: index, %n: index, %p: i1) {
  %c = npu.alloc "c" : memref<16x16xf32, #l0c>
  %a = npu.alloc "a" : memref<16x16xf16, #ub>
  // expected-error@+1 {{box 1 is in ub, allowed: l1}}
  npu.mmad (%c[%i, %i] [%n, %n] : memref<16x16xf32, #l0c>, %a[%i, %i] [%n, %n] : memref<16x16xf16, #ub>, %a[%i, %i] [%n, %n] : memref<16x16xf16, #ub>) init %p
  return
}

// -----

#ub = #npu.space<ub>
#l0c = #npu.space<l0c>

func.func @fixpipe_to_unified_buffer(%i: index, %n: index) {
  %c = npu.alloc "c" : memref<16x16xf32, #l0c>
  %x = npu.alloc "x" : memref<16x16xf32, #ub>
  // expected-error@+1 {{box 0 is in ub, allowed: gm, workspace, l1}}
  npu.fixpipe (%x[%i, %i] [%n, %n] : memref<16x16xf32, #ub>, %c[%i, %i] [%n, %n] : memref<16x16xf32, #l0c>)
  return
}

// -----

#l0c = #npu.space<l0c>
#gm = #npu.space<gm>

func.func @store_from_l0c(%A: memref<8xf32, #gm>, %i: index, %n: index) {
  %x = npu.alloc "x" : memref<8xf32, #l0c>
  // expected-error@+1 {{'npu.store' op box 1 is in l0c, allowed: ub, l1}}
  npu.store (%A[%i] [%n] : memref<8xf32, #gm>, %x[%i] [%n] : memref<8xf32, #l0c>)
  return
}

// -----

#ub = #npu.space<ub>

func.func @atomic_in_workspace(%W: memref<8xf32, #npu.space<workspace>>, %i: index, %n: index) {
  %x = npu.alloc "x" : memref<8xf32, #ub>
  // expected-error@+1 {{box 0 is in workspace, allowed: gm}}
  npu.atomic <sum> (%W[%i] [%n] : memref<8xf32, #npu.space<workspace>>, %x[%i] [%n] : memref<8xf32, #ub>)
  return
}

// -----

#ub = #npu.space<ub>

func.func @one_map_per_box(%i: index, %n: index) {
  %x = npu.alloc "x" : memref<8xf32, #ub>
  // expected-error@+1 {{needs one map per box}}
  npu.elementwise <exp> (%x[%i] [%n] : memref<8xf32, #ub>, %x[%i] [%n] : memref<8xf32, #ub>) {maps = [array<i64: 0>]}
  return
}

// -----

func.func @vector_op_on_global(%A: memref<8xf32, #npu.space<gm>>, %i: index, %n: index, %s: f32) {
  // expected-error@+1 {{'npu.fill' op box 0 is in gm, allowed: ub}}
  npu.fill %s : f32, (%A[%i] [%n] : memref<8xf32, #npu.space<gm>>)
  return
}

// -----

#ub = #npu.space<ub>

func.func @offsets_and_sizes(%i: index, %n: index, %s: f32) {
  %x = npu.alloc "x" : memref<4x8xf32, #ub>
  // expected-error@+1 {{needs one offset and one size per dimension: the buffers have 2 dimensions, found 1 offsets and 1 sizes}}
  "npu.fill"(%x, %i, %n, %s) {operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (memref<4x8xf32, #ub>, index, index, f32) -> ()
  return
}

// -----

// expected-error@+2 {{expected ::tilewright::npu::Space to be one of}}
// expected-error@+1 {{failed to parse Npu_SpaceAttr parameter 'value'}}
func.func @no_such_space(%A: memref<8xf32, #npu.space<l2>>) {
  return
}

// -----

func.func @no_such_pipe() {
  // expected-error@+2 {{expected ::tilewright::Pipe to be one of}}
  // expected-error@+1 {{failed to parse Npu_PipeAttr parameter 'value'}}
  npu.barrier <MTE4>
  return
}

// -----

func.func @unit_flag_between_others() {
  // expected-error @below {{unit orders M and FIX only, found MTE2 to V}}
  npu.set_flag <MTE2> to <V> id 0 {unit}
  return
}

// -----

func.func @operands_in_two_places(%n: index, %yes: i1) {
  %a = npu.alloc "a" : memref<16x16xf16, #npu.space<l0a>>
  %b = npu.alloc "b" : memref<16x16xf16, #npu.space<l1>>
  %c = npu.alloc "c" : memref<16x16xf32, #npu.space<l0c>>
  // expected-error@+1 {{'npu.mmad' op box 2 is in l1, allowed: l0b}}
  npu.mmad (%c[%n, %n] [%n, %n] : memref<16x16xf32, #npu.space<l0c>>, %a[%n, %n] [%n, %n] : memref<16x16xf16, #npu.space<l0a>>, %b[%n, %n] [%n, %n] : memref<16x16xf16, #npu.space<l1>>) init %yes
  return
}
