// RUN: mlirad-opt %s -p mlirad-tape | filecheck %s

// The reverse of a branch asks for cos(%t), which the branch has computed: it is kept, and not computed again.
// CHECK-LABEL:   func.func @kept
// CHECK:         nd.cos
// CHECK-NOT:     nd.cos
// CHECK:         func.return
func.func @kept(%x: f64, %g: f64, %zero: i64, %one: i64, %last: i64) -> f64 {
  %n = nd.constant {value = 5 : i64} : i64
  %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (f64) : i64 {
    %u = nd.sin %s : f64
    %v = nd.cos %s : f64
    %w = nd.mul %u, %v : f64
    ad.record 0 %s, %u : f64, f64
    scf.yield %w : f64
  }
  %d_x = scf.for %j = %zero to %n step %one iter_args(%d = %g) -> (f64) : i64 {
    %i = nd.sub %last, %j : i64
    %trip = ad.replay 0 trip %i
    %s = ad.residual %trip 0 : f64
    %u = ad.residual %trip 1 : f64
    %slope = nd.cos %s : f64
    %e = nd.mul %d, %slope : f64
    %h = nd.mul %e, %u : f64
    scf.yield %h : f64
  }
  func.return %d_x : f64
}

// What an array holds is computed again: that costs less than to keep it.
// CHECK-LABEL:   func.func @of_an_array
// CHECK-COUNT-2: nd.cos
// CHECK:         func.return
func.func @of_an_array(%x: tensor<99xf64>, %g: tensor<99xf64>, %zero: i64, %one: i64, %last: i64) -> tensor<99xf64> {
  %n = nd.constant {value = 5 : i64} : i64
  %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (tensor<99xf64>) : i64 {
    %v = nd.cos %s : tensor<99xf64>
    ad.record 0 %s : tensor<99xf64>
    scf.yield %v : tensor<99xf64>
  }
  %d_x = scf.for %j = %zero to %n step %one iter_args(%d = %g) -> (tensor<99xf64>) : i64 {
    %i = nd.sub %last, %j : i64
    %trip = ad.replay 0 trip %i
    %s = ad.residual %trip 0 : tensor<99xf64>
    %slope = nd.cos %s : tensor<99xf64>
    %e = nd.mul %d, %slope : tensor<99xf64>
    scf.yield %e : tensor<99xf64>
  }
  func.return %d_x : tensor<99xf64>
}
