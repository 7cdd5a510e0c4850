; as TVM writes it: a packed entry, behind it the work, in it a loop of 10 that is dealt out; 4 rounds within
%env = type { ptr, i32 }
%closure = type { i32, ptr, ptr }
@__TVMBackendParallelLaunch = linkonce dllexport local_unnamed_addr global ptr null, align 8
@__TVMBackendAllocWorkspace = linkonce dllexport local_unnamed_addr global ptr null, align 8
@__TVMBackendFreeWorkspace = linkonce dllexport local_unnamed_addr global ptr null, align 8
@__TVMAPISetLastError = linkonce dllexport local_unnamed_addr global ptr null, align 8
@__tvm_main__ = weak dllexport local_unnamed_addr constant [17 x i8] c"default_function\00", align 1
@.str = private constant [6 x i8] c"wrong\00", align 1
declare i32 @llvm.smin.i32(i32, i32)

define dllexport i32 @default_function(ptr noalias %args, ptr noalias %codes, i32 %n, ptr noalias %ret, ptr noalias %code, ptr noalias %handle) {
entry:
  %two = icmp eq i32 %n, 2
  br i1 %two, label %right, label %wrong
wrong:
  %tell = load ptr, ptr @__TVMAPISetLastError, align 8
  tail call void %tell(ptr @.str)
  ret i32 -1
right:
  %x.tensor = load ptr, ptr %args, align 8
  %y.at = getelementptr inbounds ptr, ptr %args, i64 1
  %y.tensor = load ptr, ptr %y.at, align 8
  %x = load ptr, ptr %x.tensor, align 8
  %y = load ptr, ptr %y.tensor, align 8
  %rank.at = getelementptr inbounds i8, ptr %x.tensor, i64 16
  %rank = load i32, ptr %rank.at, align 4
  %is = icmp eq i32 %rank, 2
  br i1 %is, label %call, label %wrong
call:
  %done = tail call fastcc i32 @default_function_compute_(i32 0, ptr %x, ptr %y)
  ret i32 %done
}

define internal fastcc i32 @default_function_compute_(i32 %dev, ptr noalias align 64 %x, ptr noalias align 64 %y) {
entry:
  %c = alloca %closure, align 8
  store i32 %dev, ptr %c, align 8
  %c1 = getelementptr inbounds %closure, ptr %c, i64 0, i32 1
  store ptr %x, ptr %c1, align 8
  %c2 = getelementptr inbounds %closure, ptr %c, i64 0, i32 2
  store ptr %y, ptr %c2, align 8
  %launch = load ptr, ptr @__TVMBackendParallelLaunch, align 8
  %done = call i32 %launch(ptr nonnull @__tvm_parallel_lambda, ptr nonnull %c, i32 0)
  ret i32 %done
}

define private i32 @__tvm_parallel_lambda(i32 %task_id, ptr nocapture readonly %env, ptr nocapture readonly %c) {
entry:
  %c1 = getelementptr inbounds %closure, ptr %c, i64 0, i32 1
  %x = load ptr, ptr %c1, align 8
  %c2 = getelementptr inbounds %closure, ptr %c, i64 0, i32 2
  %y = load ptr, ptr %c2, align 8
  %tasks.at = getelementptr inbounds %env, ptr %env, i64 0, i32 1
  %tasks = load i32, ptr %tasks.at, align 4
  %up = add nsw i32 %tasks, 9
  %step = sdiv i32 %up, %tasks
  %begin = mul nsw i32 %step, %task_id
  %from = tail call i32 @llvm.smin.i32(i32 %begin, i32 10)
  %after = add nsw i32 %task_id, 1
  %last = mul nsw i32 %step, %after
  %to = tail call i32 @llvm.smin.i32(i32 %last, i32 10)
  %any = icmp slt i32 %from, %to
  br i1 %any, label %outer, label %exit
outer:
  %i = phi i32 [ %from, %entry ], [ %i.next, %outer.end ]
  %alloc = load ptr, ptr @__TVMBackendAllocWorkspace, align 8
  %w = tail call ptr %alloc(i32 1, i32 0, i64 64, i32 2, i32 32)
  %null = icmp eq ptr %w, null
  br i1 %null, label %exit, label %rows
rows:
  %row = shl nsw i32 %i, 6
  %row64 = sext i32 %row to i64
  br label %inner
inner:
  %j = phi i64 [ 0, %rows ], [ %j.next, %inner ]
  %j16 = shl nuw nsw i64 %j, 4
  %place = add nsw i64 %j16, %row64
  %x.at = getelementptr inbounds float, ptr %x, i64 %place
  %v = load <16 x float>, ptr %x.at, align 64
  %r = fadd <16 x float> %v, %v
  %y.at = getelementptr inbounds float, ptr %y, i64 %place
  store <16 x float> %r, ptr %y.at, align 64
  %j.next = add nuw nsw i64 %j, 1
  %j.end = icmp eq i64 %j.next, 4
  br i1 %j.end, label %outer.end, label %inner
outer.end:
  %free = load ptr, ptr @__TVMBackendFreeWorkspace, align 8
  %freed = tail call i32 %free(i32 1, i32 0, ptr nonnull %w)
  %i.next = add nsw i32 %i, 1
  %i.end = icmp eq i32 %i.next, %to
  br i1 %i.end, label %exit, label %outer
exit:
  %code = phi i32 [ 0, %entry ], [ -1, %outer ], [ 0, %outer.end ]
  ret i32 %code
}
