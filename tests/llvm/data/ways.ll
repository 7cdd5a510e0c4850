; a switch with two ways to one block, a call, and a variable in an alloca
define internal i32 @twice(i32 %x) {
entry:
  %y = add i32 %x, %x
  ret i32 %y
}
define i32 @ways(i32 %n) {
entry:
  %kept = alloca i32, align 4
  store i32 0, ptr %kept, align 4
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %join ]
  %which = urem i32 %i, 5
  switch i32 %which, label %other [
    i32 0, label %zero
    i32 1, label %few
    i32 2, label %few
  ]
zero:
  br label %join
few:
  %t = call i32 @twice(i32 %i)
  store i32 %t, ptr %kept, align 4
  br label %join
other:
  %odd = and i32 %i, 1
  %is = icmp ne i32 %odd, 0
  br i1 %is, label %join, label %even
even:
  br label %join
join:
  %next = add nuw i32 %i, 1
  %end = icmp eq i32 %next, %n
  br i1 %end, label %exit, label %head
exit:
  %out = load i32, ptr %kept, align 4
  ret i32 %out
}
