"builtin.module"() ({
  "func.func"() <{function_type = (f16, memref<?xf16, strided<[?], offset: ?>, #hivm.address_space<cbuf>>) -> (), sym_name = "set_l1_2d_half", sym_visibility = "private"}> ({
  }) {hacc.always_inline, hivm.func_core_type = #hivm.func_core_type<AIC>, llvm.emit_c_interface} : () -> ()
  "func.func"() <{function_type = (memref<?x?x?x?xf16, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cbuf>>, memref<?x?x?x?xf16, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cbuf>>, i1, index, index, index, memref<?x?x?x?xf32, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cc>>, i64, i64, i64, i64, i64, i64, i64, i8) -> (), sym_name = "mma_tile_half_to_float", sym_visibility = "private"}> ({
  }) {hacc.always_inline, hivm.func_core_type = #hivm.func_core_type<AIC>, llvm.emit_c_interface} : () -> ()
  "func.func"() <{function_type = (memref<?x?x?x?xf32, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cc>>, memref<?x?xf32, strided<[?, ?], offset: ?>, #hivm.address_space<gm>>, i64, i64, i1, i8) -> (), sym_name = "fixpipe_nz2nd_float_to_float_4d_to_2d", sym_visibility = "private"}> ({
  }) {hacc.always_inline, hivm.func_core_type = #hivm.func_core_type<AIC>, llvm.emit_c_interface} : () -> ()
  "func.func"() <{arg_attrs = [{hacc.arg_type = #hacc.arg_type<ffts_base_address>}, {hacc.arg_type = #hacc.arg_type<sync_block_lock>}, {hacc.arg_type = #hacc.arg_type<workspace>}, {}, {}, {}, {}, {}, {}], function_type = (i64, memref<?xi8, #hivm.address_space<gm>>, memref<?xi8, #hivm.address_space<gm>>, memref<?xf16, #hivm.address_space<gm>>, memref<?xf16, #hivm.address_space<gm>>, memref<?xf32, #hivm.address_space<gm>>, i32, i32, i32) -> (), sym_name = "matmul"}> ({
  ^bb0(%arg0: i64, %arg1: memref<?xi8, #hivm.address_space<gm>>, %arg2: memref<?xi8, #hivm.address_space<gm>>, %arg3: memref<?xf16, #hivm.address_space<gm>>, %arg4: memref<?xf16, #hivm.address_space<gm>>, %arg5: memref<?xf32, #hivm.address_space<gm>>, %arg6: i32, %arg7: i32, %arg8: i32):
    %0 = "arith.constant"() <{value = false}> : () -> i1
    %1 = "arith.constant"() <{value = 0 : i8}> : () -> i8
    %2 = "arith.constant"() <{value = -1 : i64}> : () -> i64
    %3 = "arith.constant"() <{value = 2 : index}> : () -> index
    %4 = "arith.constant"() <{value = 1024 : i64}> : () -> i64
    %5 = "arith.constant"() <{value = 0 : i64}> : () -> i64
    %6 = "arith.constant"() <{value = 32 : index}> : () -> index
    %7 = "arith.constant"() <{value = 1 : index}> : () -> index
    %8 = "arith.constant"() <{value = 0.000000e+00 : f16}> : () -> f16
    %9 = "arith.constant"() <{value = true}> : () -> i1
    %10 = "arith.constant"() <{value = 16 : index}> : () -> index
    "hivm.hir.set_mask_norm"() : () -> ()
    %11 = "arith.muli"(%arg6, %arg7) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
    %12 = "arith.muli"(%11, %arg8) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
    "annotation.mark"(%12) {logical_block_num} : (i32) -> ()
    "hivm.hir.set_ffts_base_addr"(%arg0) : (i64) -> ()
    %13 = "hivm.hir.get_block_idx"() : () -> i64
    %14 = "arith.index_cast"(%13) : (i64) -> index
    %15 = "hivm.hir.pointer_cast"(%5) <{operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> memref<2x1x16x16xf16, #hivm.address_space<cbuf>>
    %16 = "hivm.hir.pointer_cast"(%4) <{operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> memref<1x2x16x16xf16, #hivm.address_space<cbuf>>
    %17 = "hivm.hir.pointer_cast"(%5) <{operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> memref<2x2x2x16x16xf32, #hivm.address_space<cc>>
    "hivm.hir.set_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE1>, static_event_id = #hivm.event<EVENT_ID0>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : () -> ()
    "hivm.hir.set_flag"() <{set_pipe = #hivm.pipe<PIPE_FIX>, static_event_id = #hivm.event<EVENT_ID0>, wait_pipe = #hivm.pipe<PIPE_M>}> : () -> ()
    "hivm.hir.set_flag"() <{set_pipe = #hivm.pipe<PIPE_FIX>, static_event_id = #hivm.event<EVENT_ID1>, wait_pipe = #hivm.pipe<PIPE_M>}> : () -> ()
    %18 = "hivm.hir.get_block_num"() : () -> i64
    %19 = "arith.index_cast"(%18) : (i64) -> index
    %20 = "scf.for"(%14, %7, %19, %7) ({
    ^bb0(%arg9: index, %arg10: index):
      %21 = "arith.addi"(%arg10, %7) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %22 = "arith.remui"(%21, %3) : (index, index) -> index
      "hivm.hir.wait_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE1>, static_event_id = #hivm.event<EVENT_ID0>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : () -> ()
      %23 = "memref.collapse_shape"(%16) <{reassociation = [[0, 1, 2, 3]]}> : (memref<1x2x16x16xf16, #hivm.address_space<cbuf>>) -> memref<512xf16, #hivm.address_space<cbuf>>
      %24 = "memref.cast"(%23) : (memref<512xf16, #hivm.address_space<cbuf>>) -> memref<?xf16, strided<[?], offset: ?>, #hivm.address_space<cbuf>>
      "func.call"(%8, %24) <{callee = @set_l1_2d_half}> : (f16, memref<?xf16, strided<[?], offset: ?>, #hivm.address_space<cbuf>>) -> ()
      %25 = "memref.collapse_shape"(%15) <{reassociation = [[0, 1, 2, 3]]}> : (memref<2x1x16x16xf16, #hivm.address_space<cbuf>>) -> memref<512xf16, #hivm.address_space<cbuf>>
      %26 = "memref.cast"(%25) : (memref<512xf16, #hivm.address_space<cbuf>>) -> memref<?xf16, strided<[?], offset: ?>, #hivm.address_space<cbuf>>
      "func.call"(%8, %26) <{callee = @set_l1_2d_half}> : (f16, memref<?xf16, strided<[?], offset: ?>, #hivm.address_space<cbuf>>) -> ()
      "hivm.hir.set_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE2>, static_event_id = #hivm.event<EVENT_ID0>, wait_pipe = #hivm.pipe<PIPE_MTE1>}> : () -> ()
      "hivm.hir.wait_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE2>, static_event_id = #hivm.event<EVENT_ID0>, wait_pipe = #hivm.pipe<PIPE_MTE1>}> : () -> ()
      %27 = "arith.index_cast"(%22) : (index) -> i64
      "hivm.hir.wait_flag"(%27) <{set_pipe = #hivm.pipe<PIPE_FIX>, wait_pipe = #hivm.pipe<PIPE_M>}> : (i64) -> ()
      %28 = "memref.subview"(%17, %22) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0, 0, 0, 0>, static_sizes = array<i64: 1, 2, 2, 16, 16>, static_strides = array<i64: 1, 1, 1, 1, 1>}> : (memref<2x2x2x16x16xf32, #hivm.address_space<cc>>, index) -> memref<2x2x16x16xf32, strided<[512, 256, 16, 1], offset: ?>, #hivm.address_space<cc>>
      %29 = "memref.cast"(%16) : (memref<1x2x16x16xf16, #hivm.address_space<cbuf>>) -> memref<?x?x?x?xf16, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cbuf>>
      %30 = "memref.cast"(%15) : (memref<2x1x16x16xf16, #hivm.address_space<cbuf>>) -> memref<?x?x?x?xf16, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cbuf>>
      %31 = "memref.cast"(%28) : (memref<2x2x16x16xf32, strided<[512, 256, 16, 1], offset: ?>, #hivm.address_space<cc>>) -> memref<?x?x?x?xf32, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cc>>
      "func.call"(%29, %30, %9, %6, %10, %6, %31, %2, %2, %2, %2, %2, %2, %2, %1) <{callee = @mma_tile_half_to_float}> : (memref<?x?x?x?xf16, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cbuf>>, memref<?x?x?x?xf16, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cbuf>>, i1, index, index, index, memref<?x?x?x?xf32, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cc>>, i64, i64, i64, i64, i64, i64, i64, i8) -> ()
      %32 = "arith.index_cast"(%22) : (index) -> i64
      "hivm.hir.set_flag"(%32) <{set_pipe = #hivm.pipe<PIPE_M>, wait_pipe = #hivm.pipe<PIPE_FIX>}> : (i64) -> ()
      "hivm.hir.set_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE1>, static_event_id = #hivm.event<EVENT_ID0>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : () -> ()
      %33 = "arith.muli"(%arg9, %6) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %34 = "arith.index_cast"(%22) : (index) -> i64
      "hivm.hir.wait_flag"(%34) <{set_pipe = #hivm.pipe<PIPE_M>, wait_pipe = #hivm.pipe<PIPE_FIX>}> : (i64) -> ()
      %35 = "memref.subview"(%17, %22) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0, 0, 0, 0>, static_sizes = array<i64: 1, 2, 2, 16, 16>, static_strides = array<i64: 1, 1, 1, 1, 1>}> : (memref<2x2x2x16x16xf32, #hivm.address_space<cc>>, index) -> memref<2x2x16x16xf32, strided<[512, 256, 16, 1], offset: ?>, #hivm.address_space<cc>>
      %36 = "arith.muli"(%33, %6) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %37 = "memref.reinterpret_cast"(%arg5, %36) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808>, static_sizes = array<i64: 32, 32>, static_strides = array<i64: 32, 1>}> : (memref<?xf32, #hivm.address_space<gm>>, index) -> memref<32x32xf32, strided<[32, 1], offset: ?>, #hivm.address_space<gm>>
      %38 = "memref.cast"(%35) : (memref<2x2x16x16xf32, strided<[512, 256, 16, 1], offset: ?>, #hivm.address_space<cc>>) -> memref<?x?x?x?xf32, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cc>>
      %39 = "memref.cast"(%37) : (memref<32x32xf32, strided<[32, 1], offset: ?>, #hivm.address_space<gm>>) -> memref<?x?xf32, strided<[?, ?], offset: ?>, #hivm.address_space<gm>>
      "func.call"(%38, %39, %5, %5, %0, %1) <{callee = @fixpipe_nz2nd_float_to_float_4d_to_2d}> : (memref<?x?x?x?xf32, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cc>>, memref<?x?xf32, strided<[?, ?], offset: ?>, #hivm.address_space<gm>>, i64, i64, i1, i8) -> ()
      %40 = "arith.index_cast"(%22) : (index) -> i64
      "hivm.hir.set_flag"(%40) <{set_pipe = #hivm.pipe<PIPE_FIX>, wait_pipe = #hivm.pipe<PIPE_M>}> : (i64) -> ()
      "scf.yield"(%22) : (index) -> ()
    }) : (index, index, index, index) -> index
    "hivm.hir.wait_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE1>, static_event_id = #hivm.event<EVENT_ID0>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : () -> ()
    "hivm.hir.wait_flag"() <{set_pipe = #hivm.pipe<PIPE_FIX>, static_event_id = #hivm.event<EVENT_ID0>, wait_pipe = #hivm.pipe<PIPE_M>}> : () -> ()
    "hivm.hir.wait_flag"() <{set_pipe = #hivm.pipe<PIPE_FIX>, static_event_id = #hivm.event<EVENT_ID1>, wait_pipe = #hivm.pipe<PIPE_M>}> : () -> ()
    "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}> : () -> ()
    "func.return"() : () -> ()
  }) {SyncBlockLockArgIdx = 0 : i64, WorkspaceArgIdx = 1 : i64, func_dyn_memref_args = dense<[false, true, true, true, true, true, false, false, false]> : vector<9xi1>, hacc.entry, hacc.function_kind = #hacc.function_kind<DEVICE>, hivm.func_core_type = #hivm.func_core_type<AIC>, mix_mode = "aic"} : () -> ()
}) {dlti.target_system_spec = #dlti.target_system_spec<"NPU" : #hacc.target_device_spec<#dlti.dl_entry<"AI_CORE_COUNT", 20 : i32>, #dlti.dl_entry<"CUBE_CORE_COUNT", 20 : i32>, #dlti.dl_entry<"VECTOR_CORE_COUNT", 40 : i32>, #dlti.dl_entry<"UB_SIZE", 1572864 : i32>, #dlti.dl_entry<"L1_SIZE", 4194304 : i32>, #dlti.dl_entry<"L0A_SIZE", 524288 : i32>, #dlti.dl_entry<"L0B_SIZE", 524288 : i32>, #dlti.dl_entry<"L0C_SIZE", 1048576 : i32>, #dlti.dl_entry<"UB_ALIGN_SIZE", 256 : i32>, #dlti.dl_entry<"L1_ALIGN_SIZE", 256 : i32>, #dlti.dl_entry<"L0C_ALIGN_SIZE", 4096 : i32>>>, hacc.hivmc_compatible_print = false, hacc.hivmc_version = #hacc.hivmc_version<"0.0.0">, hivm.module_core_type = #hivm.module_core_type<AIC>, memref.memref_as_ptr} : () -> ()

