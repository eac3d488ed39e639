;; The walk of proto/otlp/check-protobuf.ts over a trace export that is as it should be: the same tables, one look per field, no
;; allocation. Assembled into protobuf-wasm.ts by assemble.ts; used by otlp-protobuf.ts. Where a function here returns -1 nothing is
;; decided: the walk in JavaScript then finds what is wrong, or that the bytes are good but unusual.
;;
;; Memory: 0 spans, 4 of them rejected, 8 number of the first rejected, 12 position of the first good trace id; 16 the value $number
;; read; 72, 80 and 88 position and length of the span's trace id, span id and parent id; from 4096 on one table of 256 bytes per
;; message, which says by tag what to do (see otlp-protobuf.ts); the body from 8192 on, followed by 256 bytes that may be read, whatever
;; they hold: what they are taken for ends behind the end of a message, and that is refused. Positions count from the body's first byte.
(module
  (memory (export "memory") 2)

  ;; Reads a number of at most four bytes into 16; longer ones are unusual as tags and as lengths. Result: the position behind, or -1.
  (func $number (param $at i32) (result i32)
    (local $byte i32) (local $value i32) (local $shift i32)
    (loop $more
      (local.set $byte (i32.load8_u offset=8192 (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (local.set $value
        (i32.or
          (local.get $value)
          (i32.shl (i32.and (local.get $byte) (i32.const 0x7f)) (local.get $shift))))
      (local.set $shift (i32.add (local.get $shift) (i32.const 7)))
      (if (i32.ge_u (local.get $byte) (i32.const 0x80))
        (then
          (if (i32.eq (local.get $shift) (i32.const 28)) (then (return (i32.const -1))))
          (br $more))))
    (i32.store (i32.const 16) (local.get $value))
    (local.get $at))

  ;; The position behind the varint at $at, or -1 when it is longer than ten bytes or beyond 64 bits.
  (func $varint (param $at i32) (result i32)
    (local $length i32)
    (local.set $length
      (i32.ctz (i32.xor (i8x16.bitmask (v128.load offset=8192 (local.get $at))) (i32.const -1))))
    (local.set $at (i32.add (local.get $at) (local.get $length)))
    (if (i32.ge_u (local.get $length) (i32.const 9))
      (then
        (if (i32.gt_u (local.get $length) (i32.const 9)) (then (return (i32.const -1))))
        (if (i32.gt_u (i32.load8_u offset=8192 (local.get $at)) (i32.const 1)) (then (return (i32.const -1))))))
    (i32.add (local.get $at) (i32.const 1)))

  ;; Steps over attributes that follow one another under $tag, as long as they are what nearly all are: a key of less than 128 bytes,
  ;; then one value, which is a string of less than 16 KiB, a number or a bool. Result: the position behind the last of them.
  (func $attributes (param $at i32) (param $end i32) (param $tag i32) (result i32)
    (local $to i32) (local $next i32) (local $byte i32) (local $length i32)
    (loop $attribute
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (local.get $at))))
      (if (i32.ne (i32.load8_u offset=8192 (local.get $at)) (local.get $tag)) (then (return (local.get $at))))
      (local.set $to (i32.load8_u offset=8193 (local.get $at)))
      (local.set $next (i32.add (local.get $at) (i32.const 2)))
      (if (i32.ge_u (local.get $to) (i32.const 0x80))
        (then
          (local.set $byte (i32.load8_u offset=8192 (local.get $next)))
          (if (i32.ge_u (local.get $byte) (i32.const 0x80)) (then (return (local.get $at))))
          (local.set $to (i32.or (i32.and (local.get $to) (i32.const 0x7f)) (i32.shl (local.get $byte) (i32.const 7))))
          (local.set $next (i32.add (local.get $next) (i32.const 1)))))
      (local.set $to (i32.add (local.get $next) (local.get $to)))
      (if (i32.gt_u (local.get $to) (local.get $end)) (then (return (local.get $at))))
      ;; KeyValue: 1 key.
      (local.set $byte (i32.load16_u offset=8192 (local.get $next)))
      (if (i32.ne (i32.and (local.get $byte) (i32.const 0x80ff)) (i32.const 0x0a)) (then (return (local.get $at))))
      (local.set $next (i32.add (i32.add (local.get $next) (i32.const 2)) (i32.shr_u (local.get $byte) (i32.const 8))))
      ;; 2 value, to the end of the KeyValue.
      (local.set $byte (i32.load16_u offset=8192 (local.get $next)))
      (if (i32.ne (i32.and (local.get $byte) (i32.const 0xff)) (i32.const 0x12)) (then (return (local.get $at))))
      (local.set $length (i32.shr_u (local.get $byte) (i32.const 8)))
      (local.set $next (i32.add (local.get $next) (i32.const 2)))
      (if (i32.ge_u (local.get $length) (i32.const 0x80))
        (then
          (local.set $byte (i32.load8_u offset=8192 (local.get $next)))
          (if (i32.ge_u (local.get $byte) (i32.const 0x80)) (then (return (local.get $at))))
          (local.set $length
            (i32.or (i32.and (local.get $length) (i32.const 0x7f)) (i32.shl (local.get $byte) (i32.const 7))))
          (local.set $next (i32.add (local.get $next) (i32.const 1)))))
      (if (i32.ne (i32.add (local.get $next) (local.get $length)) (local.get $to)) (then (return (local.get $at))))
      ;; AnyValue: one field, to the end of it. An empty one fails here: what stands behind it begins at $to.
      (local.set $byte (i32.load16_u offset=8192 (local.get $next)))
      (local.set $next (i32.add (local.get $next) (i32.const 2)))
      (block $good
        (local.set $length (i32.shr_u (local.get $byte) (i32.const 8)))
        (local.set $byte (i32.and (local.get $byte) (i32.const 0xff)))
        (if (i32.eq (local.get $byte) (i32.const 0x0a))
          (then
            (if (i32.ge_u (local.get $length) (i32.const 0x80))
              (then
                (local.set $byte (i32.load8_u offset=8192 (local.get $next)))
                (if (i32.ge_u (local.get $byte) (i32.const 0x80)) (then (return (local.get $at))))
                (local.set $length
                  (i32.or (i32.and (local.get $length) (i32.const 0x7f)) (i32.shl (local.get $byte) (i32.const 7))))
                (local.set $next (i32.add (local.get $next) (i32.const 1)))))
            (br_if $good (i32.eq (i32.add (local.get $next) (local.get $length)) (local.get $to)))
            (return (local.get $at))))
        (if (i32.or (i32.eq (local.get $byte) (i32.const 0x18)) (i32.eq (local.get $byte) (i32.const 0x10)))
          (then
            (br_if $good
              (i32.eq (call $varint (i32.sub (local.get $next) (i32.const 1))) (local.get $to)))
            (return (local.get $at))))
        (if (i32.eq (local.get $byte) (i32.const 0x21))
          (then (br_if $good (i32.eq (i32.add (local.get $next) (i32.const 7)) (local.get $to)))))
        (return (local.get $at)))
      (local.set $at (local.get $to))
      (br $attribute))
    (unreachable))

  ;; Counts the span whose ids were noted. Result: 0, or -1 when its parent is neither none nor of 8 bytes.
  (func $judge (result i32)
    (if (i32.load (i32.const 92))
      (then (if (i32.ne (i32.load (i32.const 92)) (i32.const 8)) (then (return (i32.const -1))))))
    (block $counted
      (block $bad
        (br_if $bad (i32.ne (i32.load (i32.const 76)) (i32.const 16)))
        (br_if $bad (i32.ne (i32.load (i32.const 84)) (i32.const 8)))
        (br_if $bad (i32.eqz (v128.any_true (v128.load offset=8192 (i32.load (i32.const 72))))))
        (br_if $bad (i32.eqz (v128.any_true (v128.load64_zero offset=8192 (i32.load (i32.const 80))))))
        (if (i32.lt_s (i32.load (i32.const 12)) (i32.const 0))
          (then (i32.store (i32.const 12) (i32.load (i32.const 72)))))
        (br $counted))
      (if (i32.eqz (i32.load (i32.const 4))) (then (i32.store (i32.const 8) (i32.load (i32.const 0)))))
      (i32.store (i32.const 4) (i32.add (i32.load (i32.const 4)) (i32.const 1))))
    (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
    (i32.const 0))

  ;; Steps over the message of table $table that ends at $end; $depth messages are around it. Result: $end, or -1.
  (func $message (export "message")
    (param $table i32) (param $at i32) (param $end i32) (param $depth i32) (result i32)
    (local $from i32) (local $tag i32) (local $action i32) (local $length i32) (local $byte i32)
    (local.set $table (i32.shl (local.get $table) (i32.const 8)))
    (loop $field
      (if (i32.ge_u (local.get $at) (local.get $end))
        (then
          (if (i32.gt_u (local.get $at) (local.get $end)) (then (return (i32.const -1))))
          (return (local.get $at))))
      (local.set $from (local.get $at))
      (local.set $tag (i32.load8_u offset=8192 (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (if (i32.ge_u (local.get $tag) (i32.const 0x80))
        (then
          (local.set $at (call $number (local.get $from)))
          (if (i32.lt_s (local.get $at) (i32.const 0)) (then (return (i32.const -1))))
          (local.set $tag (i32.load (i32.const 16)))
          ;; Beyond the table: no message has a field 31 either.
          (if (i32.ge_u (local.get $tag) (i32.const 256))
            (then (local.set $tag (i32.or (i32.and (local.get $tag) (i32.const 7)) (i32.const 248)))))))
      (local.set $action (i32.load8_u (i32.add (local.get $table) (local.get $tag))))
      (if (i32.le_u (local.get $action) (i32.const 8))
        (then
          (if (i32.gt_u (local.get $action) (i32.const 1))
            (then
              (local.set $at (i32.add (local.get $at) (local.get $action)))
              (br $field)))
          (if (i32.eqz (local.get $action)) (then (return (i32.const -1))))
          (if (i32.lt_u (i32.load8_u offset=8192 (local.get $at)) (i32.const 0x80))
            (then
              (local.set $at (i32.add (local.get $at) (i32.const 1)))
              (br $field)))
          (local.set $at (call $varint (local.get $at)))
          (if (i32.lt_s (local.get $at) (i32.const 0)) (then (return (i32.const -1))))
          (br $field)))
      (if (i32.eq (local.get $action) (i32.const 18))
        (then
          (if (i32.lt_u (local.get $depth) (i32.const 32))
            (then
              (local.set $length (call $attributes (local.get $from) (local.get $end) (local.get $tag)))
              (if (i32.ne (local.get $length) (local.get $from))
                (then
                  (local.set $at (local.get $length))
                  (br $field)))))))
      (local.set $length (i32.load8_u offset=8192 (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (if (i32.ge_u (local.get $length) (i32.const 0x80))
        (then
          (local.set $at (call $number (i32.sub (local.get $at) (i32.const 1))))
          (if (i32.lt_s (local.get $at) (i32.const 0)) (then (return (i32.const -1))))
          (local.set $length (i32.load (i32.const 16)))))
      (if (i32.le_u (local.get $action) (i32.const 12))
        (then
          (if (i32.lt_u (local.get $action) (i32.const 12))
            (then
              (local.set $byte (i32.shl (local.get $action) (i32.const 3)))
              (i32.store (local.get $byte) (local.get $at))
              (i32.store offset=4 (local.get $byte) (local.get $length))))
          (local.set $at (i32.add (local.get $at) (local.get $length)))
          (br $field)))
      (if (i32.ge_u (local.get $depth) (i32.const 63)) (then (return (i32.const -1))))
      (local.set $length (i32.add (local.get $at) (local.get $length)))
      (if (i32.gt_u (local.get $length) (local.get $end)) (then (return (i32.const -1))))
      (if (i32.eq (local.get $action) (i32.const 17))
        (then
          (i32.store (i32.const 76) (i32.const 0))
          (i32.store (i32.const 84) (i32.const 0))
          (i32.store (i32.const 92) (i32.const 0))))
      (local.set $at
        (call $message
          (local.get $action) (local.get $at) (local.get $length) (i32.add (local.get $depth) (i32.const 1))))
      (if (i32.lt_s (local.get $at) (i32.const 0)) (then (return (i32.const -1))))
      (if (i32.eq (local.get $action) (i32.const 17))
        (then (if (i32.lt_s (call $judge) (i32.const 0)) (then (return (i32.const -1))))))
      (br $field))
    (unreachable)))
