// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// A bool is a bit in a register and a byte in memory; any byte but 0 is true.
// CHECK-LABEL: define internal i32 @"mlirad.body.invert"
// CHECK: [[BYTE:%v[0-9]+]] = load i8, ptr
// CHECK-NEXT: [[BIT:%v[0-9]+]] = icmp ne i8 [[BYTE]], 0
// CHECK-NEXT: [[NOT:%v[0-9]+]] = xor i1 [[BIT]], true
// CHECK-NEXT: [[OUT:%v[0-9]+]] = zext i1 [[NOT]] to i8
// CHECK: store i8 [[OUT]]
// CHECK: load <8 x i8>
// CHECK-NEXT: icmp ne <8 x i8> {{.*}}, zeroinitializer
func.func public @invert(%x: memref<8xi1> {mlirad.written = 0 : i64}) {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %v = memref.load %x[%c0] : memref<8xi1>
  %w = arith.xori %v, %true : i1
  memref.store %w, %x[%c0] : memref<8xi1>
  %u = vector.load %x[%c0] : memref<8xi1>, vector<8xi1>
  vector.store %u, %x[%c0] : memref<8xi1>, vector<8xi1>
  func.return
}
