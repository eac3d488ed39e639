;; Is one of some words in a text, and is the text ASCII? Assembled into look-wasm.ts by assemble.ts; used by processors/bytes/suspicion.ts,
;; which makes the tables.
;;
;; Memory: 0..95 three pairs of tables by half a byte, for the first three letters of the words: what the tables of a letter say of both halves
;; of a byte has in common the groups of words that have it there; 256..511 twice the class of each byte value; from 512 on the
;; automaton, the next state for each state and class in 16 bits, states being multiples of 32; the text from 135168 on, with 32 bytes of
;; room behind it.
(module
  (memory (export "memory") 4)

  ;; Result: 2 when one of the words is in the text of $length bytes, which is state $found; else 1 when the text is ASCII, else 0.
  (func $look (export "look") (param $length i32) (param $found i32) (result i32)
    (local $at i32) (local $state i32) (local $byte i32) (local $wide i32)
    (local $first v128) (local $second v128) (local $third v128) (local $all v128) (local $low v128)
    (v128.store offset=135168 (local.get $length) (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (v128.store offset=135184 (local.get $length) (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (local.set $low (v128.const i32x4 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f))
    (block $done
      (loop $blocks
        (br_if $done (i32.ge_u (local.get $at) (local.get $length)))
        (local.set $first (v128.load offset=135168 (local.get $at)))
        (local.set $second (v128.load offset=135169 (local.get $at)))
        (local.set $third (v128.load offset=135170 (local.get $at)))
        (local.set $all (v128.or (local.get $all) (local.get $first)))
        ;; Where a word may begin: a byte and the two behind it are letters of one group.
        (local.set $first
          (v128.and
            (v128.and
              (v128.and
                (i8x16.swizzle (v128.load (i32.const 0)) (v128.and (local.get $first) (local.get $low)))
                (i8x16.swizzle (v128.load (i32.const 16)) (i8x16.shr_u (local.get $first) (i32.const 4))))
              (v128.and
                (i8x16.swizzle (v128.load (i32.const 32)) (v128.and (local.get $second) (local.get $low)))
                (i8x16.swizzle (v128.load (i32.const 48)) (i8x16.shr_u (local.get $second) (i32.const 4)))))
            (v128.and
              (i8x16.swizzle (v128.load (i32.const 64)) (v128.and (local.get $third) (local.get $low)))
              (i8x16.swizzle (v128.load (i32.const 80)) (i8x16.shr_u (local.get $third) (i32.const 4))))))
        (if (i32.eqz (v128.any_true (local.get $first)))
          (then
            (local.set $at (i32.add (local.get $at) (i32.const 16)))
            (br $blocks)))
        (local.set $at
          (i32.add
            (local.get $at)
            (i32.ctz
              (i32.xor
                (i8x16.bitmask (i8x16.eq (local.get $first) (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000)))
                (i32.const 0xffff)))))
        ;; From there on the automaton, until nothing is left of what may become a word: none begins before.
        (local.set $state (i32.const 0))
        (loop $steps
          (br_if $done (i32.ge_u (local.get $at) (local.get $length)))
          (local.set $byte (i32.load8_u offset=135168 (local.get $at)))
          (local.set $wide (i32.or (local.get $wide) (local.get $byte)))
          (local.set $state
            (i32.load16_u offset=512
              (i32.add (i32.shl (local.get $state) (i32.const 1)) (i32.load8_u offset=256 (local.get $byte)))))
          (if (i32.eq (local.get $state) (local.get $found)) (then (return (i32.const 2))))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br_if $steps (local.get $state)))
        (br $blocks)))
    (i32.eqz (i32.or (i8x16.bitmask (local.get $all)) (i32.and (local.get $wide) (i32.const 0x80))))))
