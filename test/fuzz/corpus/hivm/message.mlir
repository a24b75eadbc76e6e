"builtin.module"() ({
  "llvm.mlir.global"() <{addr_space = 0 : i32, constant, global_type = !llvm.array<34 x i8>, linkage = #llvm.linkage<private>, sym_name = "_debug_prefix_0", unnamed_addr = 0 : i64, value = "the first element must be positive", visibility_ = 0 : i64}> ({
  }) {hivm.func_core_type = #hivm.func_core_type<AIC_OR_AIV>} : () -> ()
  "func.func"() <{function_type = (memref<?xi32, strided<[?], offset: ?>, #hivm.address_space<gm>>, memref<?xi32, strided<[?], offset: ?>, #hivm.address_space<ub>>, i32, i32, index) -> (), sym_name = "load_gm_to_ubuf_1d_int32_t", sym_visibility = "private"}> ({
  }) {hacc.always_inline, hivm.func_core_type = #hivm.func_core_type<AIV>, llvm.emit_c_interface} : () -> ()
  "func.func"() <{function_type = (!llvm.ptr, i64, i32) -> (), sym_name = "_mlir_ciface_assert_scalar_int32_t_gm", sym_visibility = "private"}> ({
  }) {hacc.always_inline, hivm.func_core_type = #hivm.func_core_type<AIC_OR_AIV>, llvm.emit_c_interface} : () -> ()
  "func.func"() <{function_type = (memref<?xi32, strided<[?], offset: ?>, #hivm.address_space<ub>>, memref<?xi32, strided<[?], offset: ?>, #hivm.address_space<gm>>, i32) -> (), sym_name = "store_ubuf_to_gm_1d_int32_t", sym_visibility = "private"}> ({
  }) {hacc.always_inline, hivm.func_core_type = #hivm.func_core_type<AIV>, llvm.emit_c_interface} : () -> ()
  "func.func"() <{arg_attrs = [{hacc.arg_type = #hacc.arg_type<ffts_base_address>}, {hacc.arg_type = #hacc.arg_type<sync_block_lock>}, {hacc.arg_type = #hacc.arg_type<workspace>}, {}, {}, {}, {}, {}], function_type = (i64, memref<?xi8, #hivm.address_space<gm>>, memref<?xi8, #hivm.address_space<gm>>, memref<?xi32, #hivm.address_space<gm>>, memref<?xi32, #hivm.address_space<gm>>, i32, i32, i32) -> (), sym_name = "asserting"}> ({
  ^bb0(%arg0: i64, %arg1: memref<?xi8, #hivm.address_space<gm>>, %arg2: memref<?xi8, #hivm.address_space<gm>>, %arg3: memref<?xi32, #hivm.address_space<gm>>, %arg4: memref<?xi32, #hivm.address_space<gm>>, %arg5: i32, %arg6: i32, %arg7: i32):
    %0 = "llvm.mlir.constant"() <{value = 34 : i64}> : () -> i64
    %1 = "llvm.mlir.addressof"() <{global_name = @_debug_prefix_0}> : () -> !llvm.ptr
    %2 = "arith.constant"() <{value = 32 : index}> : () -> index
    %3 = "arith.constant"() <{value = 2 : index}> : () -> index
    %4 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = 1 : index}> : () -> index
    %6 = "arith.constant"() <{value = 0 : index}> : () -> index
    "hivm.hir.set_mask_norm"() : () -> ()
    %7 = "arith.muli"(%arg5, %arg6) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
    %8 = "arith.muli"(%7, %arg7) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
    "annotation.mark"(%8) {logical_block_num} : (i32) -> ()
    "hivm.hir.set_ffts_base_addr"(%arg0) : (i64) -> ()
    %9 = "hivm.hir.get_block_idx"() : () -> i64
    %10 = "arith.index_cast"(%9) : (i64) -> index
    "hivm.hir.set_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE3>, static_event_id = #hivm.event<EVENT_ID0>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : () -> ()
    "hivm.hir.set_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE3>, static_event_id = #hivm.event<EVENT_ID1>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : () -> ()
    %11 = "hivm.hir.get_block_num"() : () -> i64
    %12 = "arith.index_cast"(%11) : (i64) -> index
    %13 = "scf.for"(%10, %5, %12, %5) ({
    ^bb0(%arg8: index, %arg9: index):
      %14 = "arith.addi"(%arg9, %5) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %15 = "arith.remui"(%14, %3) : (index, index) -> index
      %16 = "arith.index_cast"(%15) : (index) -> i64
      "hivm.hir.wait_flag"(%16) <{set_pipe = #hivm.pipe<PIPE_MTE3>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : (i64) -> ()
      %17 = "memref.reinterpret_cast"(%arg3) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0>, static_sizes = array<i64: 5>, static_strides = array<i64: 1>}> : (memref<?xi32, #hivm.address_space<gm>>) -> memref<5xi32, strided<[1]>, #hivm.address_space<gm>>
      %18 = "arith.muli"(%15, %2) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %19 = "arith.index_cast"(%18) : (index) -> i64
      %20 = "hivm.hir.pointer_cast"(%19) <{operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> memref<5xi32, #hivm.address_space<ub>>
      %21 = "memref.cast"(%17) : (memref<5xi32, strided<[1]>, #hivm.address_space<gm>>) -> memref<?xi32, strided<[?], offset: ?>, #hivm.address_space<gm>>
      %22 = "memref.cast"(%20) : (memref<5xi32, #hivm.address_space<ub>>) -> memref<?xi32, strided<[?], offset: ?>, #hivm.address_space<ub>>
      "func.call"(%21, %22, %4, %4, %6) <{callee = @load_gm_to_ubuf_1d_int32_t}> : (memref<?xi32, strided<[?], offset: ?>, #hivm.address_space<gm>>, memref<?xi32, strided<[?], offset: ?>, #hivm.address_space<ub>>, i32, i32, index) -> ()
      %23 = "arith.index_cast"(%15) : (index) -> i64
      "hivm.hir.set_flag"(%23) <{set_pipe = #hivm.pipe<PIPE_MTE2>, wait_pipe = #hivm.pipe<PIPE_MTE3>}> : (i64) -> ()
      %24 = "memref.load"(%arg3, %6) : (memref<?xi32, #hivm.address_space<gm>>, index) -> i32
      %25 = "arith.cmpi"(%24, %4) <{predicate = 4 : i64}> : (i32, i32) -> i1
      %26 = "arith.extui"(%25) : (i1) -> i32
      %27 = "llvm.getelementptr"(%1) <{elem_type = !llvm.array<34 x i8>, rawConstantIndices = array<i32: 0, 0>}> : (!llvm.ptr) -> !llvm.ptr
      "func.call"(%27, %0, %26) <{callee = @_mlir_ciface_assert_scalar_int32_t_gm}> : (!llvm.ptr, i64, i32) -> ()
      %28 = "arith.index_cast"(%15) : (index) -> i64
      "hivm.hir.wait_flag"(%28) <{set_pipe = #hivm.pipe<PIPE_MTE2>, wait_pipe = #hivm.pipe<PIPE_MTE3>}> : (i64) -> ()
      %29 = "arith.muli"(%15, %2) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %30 = "arith.index_cast"(%29) : (index) -> i64
      %31 = "hivm.hir.pointer_cast"(%30) <{operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> memref<5xi32, #hivm.address_space<ub>>
      %32 = "memref.reinterpret_cast"(%arg4) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0>, static_sizes = array<i64: 5>, static_strides = array<i64: 1>}> : (memref<?xi32, #hivm.address_space<gm>>) -> memref<5xi32, strided<[1]>, #hivm.address_space<gm>>
      %33 = "memref.cast"(%31) : (memref<5xi32, #hivm.address_space<ub>>) -> memref<?xi32, strided<[?], offset: ?>, #hivm.address_space<ub>>
      %34 = "memref.cast"(%32) : (memref<5xi32, strided<[1]>, #hivm.address_space<gm>>) -> memref<?xi32, strided<[?], offset: ?>, #hivm.address_space<gm>>
      "func.call"(%33, %34, %4) <{callee = @store_ubuf_to_gm_1d_int32_t}> : (memref<?xi32, strided<[?], offset: ?>, #hivm.address_space<ub>>, memref<?xi32, strided<[?], offset: ?>, #hivm.address_space<gm>>, i32) -> ()
      %35 = "arith.index_cast"(%15) : (index) -> i64
      "hivm.hir.set_flag"(%35) <{set_pipe = #hivm.pipe<PIPE_MTE3>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : (i64) -> ()
      "scf.yield"(%15) : (index) -> ()
    }) : (index, index, index, index) -> index
    "hivm.hir.wait_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE3>, static_event_id = #hivm.event<EVENT_ID0>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : () -> ()
    "hivm.hir.wait_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE3>, static_event_id = #hivm.event<EVENT_ID1>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : () -> ()
    "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}> : () -> ()
    "func.return"() : () -> ()
  }) {SyncBlockLockArgIdx = 0 : i64, WorkspaceArgIdx = 1 : i64, func_dyn_memref_args = dense<[false, true, true, true, true, false, false, false]> : vector<8xi1>, hacc.entry, hacc.function_kind = #hacc.function_kind<DEVICE>, hivm.func_core_type = #hivm.func_core_type<AIV>, mix_mode = "aiv", tilewright.free_ub = array<i64: 64, 196608>} : () -> ()
}) {dlti.target_system_spec = #dlti.target_system_spec<"NPU" : #hacc.target_device_spec<#dlti.dl_entry<"AI_CORE_COUNT", 20 : i32>, #dlti.dl_entry<"CUBE_CORE_COUNT", 20 : i32>, #dlti.dl_entry<"VECTOR_CORE_COUNT", 40 : i32>, #dlti.dl_entry<"UB_SIZE", 1572864 : i32>, #dlti.dl_entry<"L1_SIZE", 4194304 : i32>, #dlti.dl_entry<"L0A_SIZE", 524288 : i32>, #dlti.dl_entry<"L0B_SIZE", 524288 : i32>, #dlti.dl_entry<"L0C_SIZE", 1048576 : i32>, #dlti.dl_entry<"UB_ALIGN_SIZE", 256 : i32>, #dlti.dl_entry<"L1_ALIGN_SIZE", 256 : i32>, #dlti.dl_entry<"L0C_ALIGN_SIZE", 4096 : i32>>>, hacc.hivmc_compatible_print = false, hacc.hivmc_version = #hacc.hivmc_version<"0.0.0">, hivm.module_core_type = #hivm.module_core_type<AIV>, memref.memref_as_ptr} : () -> ()

