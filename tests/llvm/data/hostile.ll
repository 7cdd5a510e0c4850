; programs that must not hurt whoever asks about them
@far = internal global i64 1311768464867721216
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @abort()
declare i32 @getpid()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define void @endless() {
entry:
  br label %spin
spin:
  %i = phi i64 [ 0, %entry ], [ %next, %spin ]
  %next = add i64 %i, 1
  %never = icmp eq i64 %next, -1
  br i1 %never, label %exit, label %spin
exit:
  ret void
}
define void @endless_stores(ptr %a) {
entry:
  br label %spin
spin:
  store volatile i32 1, ptr %a, align 4
  br label %spin
}
define void @wild() {
  %p = load i64, ptr @far, align 8
  %at = inttoptr i64 %p to ptr
  store i32 1, ptr %at, align 4
  ret void
}
define void @null(ptr %a) {
  %p = load ptr, ptr %a, align 8
  store i32 1, ptr %p, align 4
  ret void
}
define void @beyond(ptr %a) {
  %p = getelementptr i8, ptr %a, i64 8192
  store i32 1, ptr %p, align 4
  ret void
}
define void @glutton() {
entry:
  br label %more
more:
  %p = call ptr @malloc(i64 1048576)
  call void @llvm.memset.p0.i64(ptr %p, i8 1, i64 4096, i1 false)
  br label %more
}
define void @hoarder(ptr %a) {
entry:
  br label %more
more:
  %i = phi i64 [ 0, %entry ], [ %next, %more ]
  %at = getelementptr i8, ptr %a, i64 %i
  store i8 1, ptr %at, align 1
  %next = add i64 %i, 4096
  br label %more
}
define void @deep(i64 %n) {
  %room = alloca [65536 x i8], align 16
  store volatile i8 1, ptr %room, align 1
  %m = add i64 %n, 1
  call void @deep(i64 %m)
  store volatile i8 2, ptr %room, align 1
  ret void
}
define i32 @divides(ptr %a) {
  %zero = load volatile i32, ptr %a, align 4
  %q = sdiv i32 7, %zero
  ret i32 %q
}
define void @assembly() {
  call void asm sideeffect "cli", ""()
  ret void
}
define void @gives_up() {
  call void @abort()
  unreachable
}
define i32 @reaches_out() {
  %p = call i32 @getpid()
  ret i32 %p
}
define i32 @fine() {
  ret i32 3
}
define internal i32 @refuses_compute_() {
  ret i32 -7
}
