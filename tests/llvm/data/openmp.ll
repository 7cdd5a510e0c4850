; openmp.c, as clang-19 -O1 -fopenmp compiles it; attributes, types of aliases and names of the file taken away
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%struct.ident_t = type { i32, i32, i32, i32, ptr }

@0 = private unnamed_addr constant [23 x i8] c";unknown;unknown;0;0;;\00", align 1
@1 = private unnamed_addr constant %struct.ident_t { i32 0, i32 514, i32 0, i32 22, ptr @0 }, align 8
@2 = private unnamed_addr constant %struct.ident_t { i32 0, i32 2, i32 0, i32 22, ptr @0 }, align 8
@.gomp_critical_user_.reduction.var = common global [8 x i32] zeroinitializer, align 8
@3 = private unnamed_addr constant %struct.ident_t { i32 0, i32 18, i32 0, i32 22, ptr @0 }, align 8

define dso_local void @scale(ptr noalias noundef %y, ptr noalias noundef %x, i32 noundef %n) local_unnamed_addr {
entry:
  %y.addr = alloca ptr, align 8
  %x.addr = alloca ptr, align 8
  %n.addr = alloca i32, align 4
  store ptr %y, ptr %y.addr, align 8
  store ptr %x, ptr %x.addr, align 8
  store i32 %n, ptr %n.addr, align 4
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr nonnull @2, i32 3, ptr nonnull @scale.omp_outlined, ptr nonnull %n.addr, ptr nonnull %y.addr, ptr nonnull %x.addr)
  ret void
}

define internal void @scale.omp_outlined(ptr noalias nocapture noundef readonly %.global_tid., ptr noalias nocapture readnone %.bound_tid., ptr nocapture noundef nonnull readonly align 4 dereferenceable(4) %n, ptr nocapture noundef nonnull readonly align 8 dereferenceable(8) %y, ptr nocapture noundef nonnull readonly align 8 dereferenceable(8) %x) {
entry:
  %.omp.lb = alloca i32, align 4
  %.omp.ub = alloca i32, align 4
  %.omp.stride = alloca i32, align 4
  %.omp.is_last = alloca i32, align 4
  %0 = load i32, ptr %n, align 4
  %cmp = icmp sgt i32 %0, 0
  br i1 %cmp, label %omp.precond.then, label %omp.precond.end

omp.precond.then:                                 ; preds = %entry
  %sub2 = add nsw i32 %0, -1
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %.omp.lb)
  store i32 0, ptr %.omp.lb, align 4
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %.omp.ub)
  store i32 %sub2, ptr %.omp.ub, align 4
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %.omp.stride)
  store i32 1, ptr %.omp.stride, align 4
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %.omp.is_last)
  store i32 0, ptr %.omp.is_last, align 4
  %1 = load i32, ptr %.global_tid., align 4
  call void @__kmpc_for_static_init_4(ptr nonnull @1, i32 %1, i32 34, ptr nonnull %.omp.is_last, ptr nonnull %.omp.lb, ptr nonnull %.omp.ub, ptr nonnull %.omp.stride, i32 1, i32 1)
  %2 = load i32, ptr %.omp.ub, align 4
  %cond = call i32 @llvm.smin.i32(i32 %2, i32 %sub2)
  store i32 %cond, ptr %.omp.ub, align 4
  %3 = load i32, ptr %.omp.lb, align 4
  %cmp5.not26 = icmp sgt i32 %3, %cond
  br i1 %cmp5.not26, label %omp.loop.exit, label %for.cond.preheader.lr.ph

for.cond.preheader.lr.ph:                         ; preds = %omp.precond.then
  %4 = load ptr, ptr %x, align 8
  %5 = load ptr, ptr %y, align 8
  %6 = sext i32 %3 to i64
  %7 = add nsw i32 %cond, 1
  br label %for.cond.preheader

for.cond.preheader:                               ; preds = %for.cond.preheader.lr.ph, %for.cond.cleanup
  %indvars.iv30 = phi i64 [ %6, %for.cond.preheader.lr.ph ], [ %indvars.iv.next31, %for.cond.cleanup ]
  %8 = shl nsw i64 %indvars.iv30, 4
  br label %for.body

for.cond.cleanup:                                 ; preds = %for.body
  %indvars.iv.next31 = add nsw i64 %indvars.iv30, 1
  %lftr.wideiv = trunc i64 %indvars.iv.next31 to i32
  %exitcond34.not = icmp eq i32 %7, %lftr.wideiv
  br i1 %exitcond34.not, label %omp.loop.exit, label %for.cond.preheader

for.body:                                         ; preds = %for.cond.preheader, %for.body
  %indvars.iv = phi i64 [ 0, %for.cond.preheader ], [ %indvars.iv.next, %for.body ]
  %9 = add nuw nsw i64 %indvars.iv, %8
  %arrayidx = getelementptr inbounds float, ptr %4, i64 %9
  %10 = load float, ptr %arrayidx, align 4
  %mul9 = fmul float %10, 2.000000e+00
  %arrayidx13 = getelementptr inbounds float, ptr %5, i64 %9
  store float %mul9, ptr %arrayidx13, align 4
  %indvars.iv.next = add nuw nsw i64 %indvars.iv, 1
  %exitcond.not = icmp eq i64 %indvars.iv.next, 16
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body

omp.loop.exit:                                    ; preds = %for.cond.cleanup, %omp.precond.then
  call void @__kmpc_for_static_fini(ptr nonnull @1, i32 %1)
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %.omp.is_last)
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %.omp.stride)
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %.omp.ub)
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %.omp.lb)
  br label %omp.precond.end

omp.precond.end:                                  ; preds = %omp.loop.exit, %entry
  ret void
}

declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture)

declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture)

declare void @__kmpc_for_static_init_4(ptr, i32, i32, ptr, ptr, ptr, ptr, i32, i32) local_unnamed_addr

declare void @__kmpc_for_static_fini(ptr, i32) local_unnamed_addr

declare void @__kmpc_fork_call(ptr, i32, ptr, ...) local_unnamed_addr

define dso_local float @total(ptr noundef %x, i64 noundef %n) local_unnamed_addr {
entry:
  %x.addr = alloca ptr, align 8
  %n.addr = alloca i64, align 8
  %sum = alloca float, align 4
  store ptr %x, ptr %x.addr, align 8
  store i64 %n, ptr %n.addr, align 8
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %sum)
  store float 0.000000e+00, ptr %sum, align 4
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr nonnull @2, i32 3, ptr nonnull @total.omp_outlined, ptr nonnull %n.addr, ptr nonnull %sum, ptr nonnull %x.addr)
  %0 = load float, ptr %sum, align 4
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %sum)
  ret float %0
}

define internal void @total.omp_outlined(ptr noalias nocapture noundef readonly %.global_tid., ptr noalias nocapture readnone %.bound_tid., ptr nocapture noundef nonnull readonly align 8 dereferenceable(8) %n, ptr nocapture noundef nonnull align 4 dereferenceable(4) %sum, ptr nocapture noundef nonnull readonly align 8 dereferenceable(8) %x) {
entry:
  %.omp.lb = alloca i64, align 8
  %.omp.ub = alloca i64, align 8
  %.omp.stride = alloca i64, align 8
  %.omp.is_last = alloca i32, align 4
  %sum3 = alloca float, align 4
  %.omp.reduction.red_list = alloca [1 x ptr], align 8
  %0 = load i64, ptr %n, align 8
  %cmp = icmp sgt i64 %0, 0
  br i1 %cmp, label %omp.precond.then, label %omp.precond.end

omp.precond.then:                                 ; preds = %entry
  %sub2 = add nsw i64 %0, -1
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %.omp.lb)
  store i64 0, ptr %.omp.lb, align 8
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %.omp.ub)
  store i64 %sub2, ptr %.omp.ub, align 8
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %.omp.stride)
  store i64 1, ptr %.omp.stride, align 8
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %.omp.is_last)
  store i32 0, ptr %.omp.is_last, align 4
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %sum3)
  store float 0.000000e+00, ptr %sum3, align 4
  %1 = load i32, ptr %.global_tid., align 4
  tail call void @__kmpc_dispatch_init_8(ptr nonnull @2, i32 %1, i32 1073741859, i64 0, i64 %sub2, i64 1, i64 1)
  %2 = call i32 @__kmpc_dispatch_next_8(ptr nonnull @2, i32 %1, ptr nonnull %.omp.is_last, ptr nonnull %.omp.lb, ptr nonnull %.omp.ub, ptr nonnull %.omp.stride)
  %tobool.not20 = icmp eq i32 %2, 0
  br i1 %tobool.not20, label %omp.dispatch.end, label %omp.dispatch.body

omp.dispatch.cond.loopexit:                       ; preds = %omp.inner.for.body, %omp.dispatch.body
  %3 = call i32 @__kmpc_dispatch_next_8(ptr nonnull @2, i32 %1, ptr nonnull %.omp.is_last, ptr nonnull %.omp.lb, ptr nonnull %.omp.ub, ptr nonnull %.omp.stride)
  %tobool.not = icmp eq i32 %3, 0
  br i1 %tobool.not, label %omp.dispatch.end, label %omp.dispatch.body

omp.dispatch.body:                                ; preds = %omp.precond.then, %omp.dispatch.cond.loopexit
  %4 = load i64, ptr %.omp.lb, align 8
  %5 = load i64, ptr %.omp.ub, align 8
  %cmp5.not17 = icmp sgt i64 %4, %5
  br i1 %cmp5.not17, label %omp.dispatch.cond.loopexit, label %omp.inner.for.body.lr.ph

omp.inner.for.body.lr.ph:                         ; preds = %omp.dispatch.body
  %sum3.promoted = load float, ptr %sum3, align 4
  %6 = load ptr, ptr %x, align 8
  br label %omp.inner.for.body

omp.inner.for.body:                               ; preds = %omp.inner.for.body.lr.ph, %omp.inner.for.body
  %.omp.iv.019 = phi i64 [ %4, %omp.inner.for.body.lr.ph ], [ %add7, %omp.inner.for.body ]
  %add61618 = phi float [ %sum3.promoted, %omp.inner.for.body.lr.ph ], [ %add6, %omp.inner.for.body ]
  %arrayidx = getelementptr inbounds float, ptr %6, i64 %.omp.iv.019
  %7 = load float, ptr %arrayidx, align 4
  %add6 = fadd float %7, %add61618
  store float %add6, ptr %sum3, align 4
  %add7 = add i64 %.omp.iv.019, 1
  %exitcond.not = icmp eq i64 %.omp.iv.019, %5
  br i1 %exitcond.not, label %omp.dispatch.cond.loopexit, label %omp.inner.for.body

omp.dispatch.end:                                 ; preds = %omp.dispatch.cond.loopexit, %omp.precond.then
  call void @__kmpc_dispatch_deinit(ptr nonnull @2, i32 %1)
  store ptr %sum3, ptr %.omp.reduction.red_list, align 8
  %8 = call i32 @__kmpc_reduce_nowait(ptr nonnull @3, i32 %1, i32 1, i64 8, ptr nonnull %.omp.reduction.red_list, ptr nonnull @total.omp_outlined.omp.reduction.reduction_func, ptr nonnull @.gomp_critical_user_.reduction.var)
  switch i32 %8, label %.omp.reduction.default [
    i32 1, label %.omp.reduction.case1
    i32 2, label %.omp.reduction.case2
  ]

.omp.reduction.case1:                             ; preds = %omp.dispatch.end
  %9 = load float, ptr %sum, align 4
  %10 = load float, ptr %sum3, align 4
  %add8 = fadd float %9, %10
  store float %add8, ptr %sum, align 4
  call void @__kmpc_end_reduce_nowait(ptr nonnull @3, i32 %1, ptr nonnull @.gomp_critical_user_.reduction.var)
  br label %.omp.reduction.default

.omp.reduction.case2:                             ; preds = %omp.dispatch.end
  %11 = load float, ptr %sum3, align 4
  %12 = atomicrmw fadd ptr %sum, float %11 monotonic, align 4
  br label %.omp.reduction.default

.omp.reduction.default:                           ; preds = %.omp.reduction.case2, %.omp.reduction.case1, %omp.dispatch.end
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %sum3)
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %.omp.is_last)
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %.omp.stride)
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %.omp.ub)
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %.omp.lb)
  br label %omp.precond.end

omp.precond.end:                                  ; preds = %.omp.reduction.default, %entry
  ret void
}

declare void @__kmpc_dispatch_init_8(ptr, i32, i32, i64, i64, i64, i64) local_unnamed_addr

declare i32 @__kmpc_dispatch_next_8(ptr, i32, ptr, ptr, ptr, ptr) local_unnamed_addr

declare void @__kmpc_dispatch_deinit(ptr, i32) local_unnamed_addr

define internal void @total.omp_outlined.omp.reduction.reduction_func(ptr nocapture noundef readonly %0, ptr nocapture noundef readonly %1) {
entry:
  %2 = load ptr, ptr %1, align 8
  %3 = load ptr, ptr %0, align 8
  %4 = load float, ptr %3, align 4
  %5 = load float, ptr %2, align 4
  %add = fadd float %4, %5
  store float %add, ptr %3, align 4
  ret void
}

declare i32 @__kmpc_reduce_nowait(ptr, i32, i32, i64, ptr, ptr, ptr) local_unnamed_addr

declare void @__kmpc_end_reduce_nowait(ptr, i32, ptr) local_unnamed_addr

declare i32 @llvm.smin.i32(i32, i32)

