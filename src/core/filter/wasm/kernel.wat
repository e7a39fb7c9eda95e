;; Built by test/support/build-kernel.ts into kernel-binary.ts. The TypeScript in bit-array.ts says what each function must
;; give. Addresses and lengths are in bytes, lengths multiples of four; vectors may lie unaligned.
(module
  (import "env" "memory" (memory 0))

  ;; target |= source
  (func (export "or") (param $target i32) (param $source i32) (param $length i32)
    (local $end i32) (local $wide i32)
    (local.set $end (i32.add (local.get $target) (local.get $length)))
    (local.set $wide (i32.add (local.get $target) (i32.and (local.get $length) (i32.const -64))))
    (block $narrow
      (loop $next
        (br_if $narrow (i32.ge_u (local.get $target) (local.get $wide)))
        (v128.store (local.get $target)
          (v128.or (v128.load (local.get $target)) (v128.load (local.get $source))))
        (v128.store offset=16 (local.get $target)
          (v128.or (v128.load offset=16 (local.get $target)) (v128.load offset=16 (local.get $source))))
        (v128.store offset=32 (local.get $target)
          (v128.or (v128.load offset=32 (local.get $target)) (v128.load offset=32 (local.get $source))))
        (v128.store offset=48 (local.get $target)
          (v128.or (v128.load offset=48 (local.get $target)) (v128.load offset=48 (local.get $source))))
        (local.set $target (i32.add (local.get $target) (i32.const 64)))
        (local.set $source (i32.add (local.get $source) (i32.const 64)))
        (br $next)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $target) (local.get $end)))
        (i32.store (local.get $target) (i32.or (i32.load (local.get $target)) (i32.load (local.get $source))))
        (local.set $target (i32.add (local.get $target) (i32.const 4)))
        (local.set $source (i32.add (local.get $source) (i32.const 4)))
        (br $next))))

  ;; target &= source
  (func (export "and") (param $target i32) (param $source i32) (param $length i32)
    (local $end i32) (local $wide i32)
    (local.set $end (i32.add (local.get $target) (local.get $length)))
    (local.set $wide (i32.add (local.get $target) (i32.and (local.get $length) (i32.const -64))))
    (block $narrow
      (loop $next
        (br_if $narrow (i32.ge_u (local.get $target) (local.get $wide)))
        (v128.store (local.get $target)
          (v128.and (v128.load (local.get $target)) (v128.load (local.get $source))))
        (v128.store offset=16 (local.get $target)
          (v128.and (v128.load offset=16 (local.get $target)) (v128.load offset=16 (local.get $source))))
        (v128.store offset=32 (local.get $target)
          (v128.and (v128.load offset=32 (local.get $target)) (v128.load offset=32 (local.get $source))))
        (v128.store offset=48 (local.get $target)
          (v128.and (v128.load offset=48 (local.get $target)) (v128.load offset=48 (local.get $source))))
        (local.set $target (i32.add (local.get $target) (i32.const 64)))
        (local.set $source (i32.add (local.get $source) (i32.const 64)))
        (br $next)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $target) (local.get $end)))
        (i32.store (local.get $target) (i32.and (i32.load (local.get $target)) (i32.load (local.get $source))))
        (local.set $target (i32.add (local.get $target) (i32.const 4)))
        (local.set $source (i32.add (local.get $source) (i32.const 4)))
        (br $next))))

  ;; By the processor's own instruction for 64 bits; vectors of 128, which have none, took up to twice as long.
  (func (export "countSet") (param $at i32) (param $length i32) (result f64)
    (local $end i32) (local $wide i32) (local $count i64)
    (local.set $end (i32.add (local.get $at) (local.get $length)))
    (local.set $wide (i32.add (local.get $at) (i32.and (local.get $length) (i32.const -16))))
    (block $narrow
      (loop $next
        (br_if $narrow (i32.ge_u (local.get $at) (local.get $wide)))
        (local.set $count
          (i64.add (local.get $count)
            (i64.add
              (i64.popcnt (i64.load (local.get $at)))
              (i64.popcnt (i64.load offset=8 (local.get $at))))))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br $next)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $count
          (i64.add (local.get $count) (i64.extend_i32_u (i32.popcnt (i32.load (local.get $at))))))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (br $next)))
    (f64.convert_i64_u (local.get $count))))
