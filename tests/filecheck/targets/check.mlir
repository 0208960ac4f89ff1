// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// Each check has one cold block, after the function's last return, which keeps its two numbers and leaves by the one
// error return, from however deep a loop.
// CHECK-LABEL: define internal i32 @"mlirad.body.checked"
// CHECK: {{^}}body
// CHECK: {{^}}body
// CHECK: br i1 {{%v[0-9]+}}, label %ok{{[0-9]+}}, label %[[FIRST:fail[0-9]+]], !prof !0
// CHECK: br i1 {{%[av][0-9]+}}, label %ok{{[0-9]+}}, label %[[SECOND:fail[0-9]+]], !prof !0
// CHECK: ret i32 0
// CHECK-NEXT: {{^}}[[FIRST]]:
// CHECK-NEXT: [[A:%v[0-9]+]] = getelementptr inbounds i8, ptr %ctx, i64 8
// CHECK-NEXT: store i64 {{%v[0-9]+}}, ptr [[A]]
// CHECK-NEXT: [[B:%v[0-9]+]] = getelementptr inbounds i8, ptr %ctx, i64 16
// CHECK-NEXT: store i64 4, ptr [[B]]
// CHECK-NEXT: br label %leave
// CHECK-NEXT: {{^}}[[SECOND]]:
// CHECK: {{^}}leave:
// CHECK-NEXT: %code = phi i32 [ 1, %[[FIRST]] ], [ 2, %[[SECOND]] ]
// CHECK-NEXT: ret i32 %code
// CHECK-NEXT: }
// The object carries its table of errors.
// CHECK: @mlirad.manifest = constant
// CHECK-SAME: IndexError
// CHECK-SAME: user.py
// CHECK-SAME: ValueError
// CHECK: !0 = !{!"branch_weights", i32 1000000, i32 1}
func.func private @mlirad_check(i1, i64, i64)
func.func public @checked(%x: memref<4xf64>, %n: i64, %ok: i1) -> f64 {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c4 = arith.constant 4 : i64
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f64) : i64 {
    %t = scf.for %j = %c0 to %n step %c1 iter_args(%t = %s) -> (f64) : i64 {
      %in = arith.cmpi ult, %j, %c4 : i64
      func.call @mlirad_check(%in, %j, %c4) {mlirad.error = "IndexError", mlirad.message = "index {0} of {1}"}
        : (i1, i64, i64) -> () loc("user.py":7:9)
      func.call @mlirad_check(%ok, %j, %i) {mlirad.error = "ValueError", mlirad.message = "not ok"}
        : (i1, i64, i64) -> () loc("user.py":8:9)
      %k = arith.index_cast %j : i64 to index
      %v = memref.load %x[%k] : memref<4xf64>
      %u = arith.addf %t, %v : f64
      scf.yield %u : f64
    }
    scf.yield %t : f64
  }
  func.return %s : f64
}
