// scan.wat -> scan-wasm.ts, and so the others of MODULES: `node proto/scan/assemble.ts` after a change of the former; a test fails
// when the two differ. Knows as much of the WebAssembly text format as these files use: folded instructions, named locals and labels,
// one module.
import { readFileSync, writeFileSync } from 'node:fs'

/** The texts, by the name they have without `.wat`. */
export const MODULES = ['scan', 'protobuf', 'sha1', 'look'] as const

type Node = string | readonly Node[]

const VALUE_TYPES: Readonly<Record<string, number>> = { i32: 0x7f, v128: 0x7b }
const PLAIN: Readonly<Record<string, readonly number[]>> = {
  unreachable: [0x00],
  return: [0x0f],
  'i32.eqz': [0x45],
  'i32.eq': [0x46],
  'i32.ne': [0x47],
  'i32.lt_s': [0x48],
  'i32.lt_u': [0x49],
  'i32.gt_u': [0x4b],
  'i32.le_u': [0x4d],
  'i32.ge_u': [0x4f],
  'i32.ctz': [0x68],
  'i32.add': [0x6a],
  'i32.sub': [0x6b],
  'i32.mul': [0x6c],
  'i32.and': [0x71],
  'i32.or': [0x72],
  'i32.xor': [0x73],
  'i32.shl': [0x74],
  'i32.shr_u': [0x76],
  'i8x16.swizzle': [0xfd, 0x0e],
  'i8x16.eq': [0xfd, 0x23],
  'i8x16.lt_u': [0xfd, 0x26],
  'v128.and': [0xfd, 0x4e],
  'v128.or': [0xfd, 0x50],
  'v128.xor': [0xfd, 0x51],
  'v128.any_true': [0xfd, 0x53],
  'i8x16.all_true': [0xfd, 0x63],
  'i8x16.bitmask': [0xfd, 0x64],
  'v128.bitselect': [0xfd, 0x52],
  'i8x16.shl': [0xfd, 0x6b],
  'i8x16.shr_u': [0xfd, 0x6d],
  'i8x16.add': [0xfd, 0x6e],
  'i8x16.sub': [0xfd, 0x71],
  'i8x16.sub_sat_u': [0xfd, 0x73],
  'i32x4.shl': [0xfd, 0xab, 0x01],
  'i32x4.shr_u': [0xfd, 0xad, 0x01],
  'i32x4.add': [0xfd, 0xae, 0x01],
}
/** Instructions with an offset into the memory. */
const MEMORY: Readonly<Record<string, readonly number[]>> = {
  'i32.load': [0x28],
  'i32.load8_u': [0x2d],
  'i32.load16_u': [0x2f],
  'i32.store': [0x36],
  'i32.store8': [0x3a],
  'v128.load': [0xfd, 0x00],
  'v128.store': [0xfd, 0x0b],
  'v128.load64_zero': [0xfd, 0x5d],
}
const LOCALS: Readonly<Record<string, number>> = { 'local.get': 0x20, 'local.set': 0x21, 'local.tee': 0x22 }
const BRANCHES: Readonly<Record<string, number>> = { br: 0x0c, br_if: 0x0d }
const BLOCKS: Readonly<Record<string, number>> = { block: 0x02, loop: 0x03 }
const NO_RESULT = 0x40
const ELSE = 0x05
const END = 0x0b

/** The names that an instruction may use: locals, functions, and labels from the inside to the outside. */
interface Scope {
  readonly locals: readonly string[]
  readonly functions: readonly string[]
  readonly labels: readonly string[]
}

/** The binary module of a text. @throws Error naming the word that is not known here. */
export function assemble(source: string): Uint8Array {
  const fields = list(parse(source)[0]).slice(1).map(list)
  const memory = fields.find(field => field[0] === 'memory')
  const declared = fields.filter(field => field[0] === 'func')
  const names = declared.map(field => String(field[1]))
  const functions = declared.map(field => assembleFunction(field, names))
  if (memory === undefined) throw new Error('no memory')
  const exports = [
    [...text(exportName(memory)), 0x02, 0],
    ...declared.flatMap((field, index) =>
      exportName(field) === '' ? [] : [[...text(exportName(field)), 0x00, ...unsigned(index)]],
    ),
  ]
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, vector(functions.map(({ type }) => type))),
    ...section(3, vector(functions.map((_, index) => unsigned(index)))),
    ...section(5, vector([[0x00, ...unsigned(Number(memory.at(-1)))]])),
    ...section(7, vector(exports)),
    ...section(10, vector(functions.map(({ code }) => [...unsigned(code.length), ...code]))),
  ])
}

function assembleFunction(field: readonly Node[], functions: readonly string[]): { type: number[]; code: number[] } {
  const rest = field.slice(2).map(list)
  const declared = (word: string) => rest.filter(node => node[0] === word)
  const typesOf = (word: string) => declared(word).map(node => [valueType(node.at(-1))])
  const locals = [...declared('param'), ...declared('local')].map(node => String(node[1]))
  const body = rest.filter(node => !['export', 'param', 'local', 'result'].includes(String(node[0])))
  const code = body.flatMap(node => instruction(node, { locals, functions, labels: [] }))
  return {
    type: [0x60, ...vector(typesOf('param')), ...vector(typesOf('result'))],
    code: [...vector(typesOf('local').map(type => [1, ...type])), ...code, END],
  }
}

function instruction(node: readonly Node[], scope: Scope): number[] {
  const [head, ...rest] = node
  const word = String(head)
  const inner = (from: readonly Node[], label?: string) =>
    from.flatMap(child =>
      instruction(list(child), label === undefined ? scope : { ...scope, labels: [label, ...scope.labels] }),
    )
  const operands = rest.filter(child => typeof child !== 'string')
  const index = (names: readonly string[]): number[] => {
    const at = names.indexOf(String(rest[0]))
    if (at < 0) throw new Error(`${String(rest[0])} is not known`)
    return unsigned(at)
  }
  const block = BLOCKS[word]
  if (block !== undefined) return [block, NO_RESULT, ...inner(rest.slice(1), String(rest[0])), END]
  if (word === 'if') {
    const [condition, then, otherwise] = rest.map(list)
    const branch = otherwise === undefined ? [] : [ELSE, ...inner(otherwise.slice(1), '')]
    return [...inner([condition ?? []]), 0x04, NO_RESULT, ...inner(then?.slice(1) ?? [], ''), ...branch, END]
  }
  if (word === 'call') return [...inner(operands), 0x10, ...index(scope.functions)]
  if (word === 'i32.const') return [0x41, ...signed(Number(rest[0]))]
  if (word === 'v128.const') {
    const words = rest.slice(1).map(value => Number(value))
    return [0xfd, 0x0c, ...Buffer.from(Int32Array.from(words).buffer)]
  }
  const local = LOCALS[word]
  if (local !== undefined) return [...inner(operands), local, ...index(scope.locals)]
  const branch = BRANCHES[word]
  if (branch !== undefined) return [...inner(operands), branch, ...index(scope.labels)]
  const access = MEMORY[word]
  if (access !== undefined) {
    const offset = typeof rest[0] === 'string' ? Number(rest[0].replace('offset=', '')) : 0
    return [...inner(operands), ...access, 0x00, ...unsigned(offset)]
  }
  const plain = PLAIN[word]
  if (plain === undefined) throw new Error(`${word} is not known`)
  return [...inner(operands), ...plain]
}

function parse(source: string): readonly Node[] {
  const words = source.replaceAll(/;;.*/g, '').match(/[()]|"[^"]*"|[^\s()]+/g) ?? []
  const stack: Node[][] = [[]]
  for (const word of words) {
    if (word === '(') stack.push([])
    else if (word === ')') {
      const done = stack.pop() ?? []
      stack.at(-1)?.push(done)
    } else stack.at(-1)?.push(word)
  }
  return stack[0] ?? []
}

function list(node: Node | undefined): readonly Node[] {
  if (typeof node !== 'object') throw new Error(`a list was expected, not ${String(node)}`)
  return node
}

/** The name under which a field is exported, '' when it is not. */
function exportName(field: readonly Node[]): string {
  const found = field.find(node => typeof node === 'object' && node[0] === 'export')
  return found === undefined ? '' : String(found[1]).slice(1, -1)
}

function valueType(node: Node | undefined): number {
  const type = VALUE_TYPES[String(node)]
  if (type === undefined) throw new Error(`${String(node)} is no type`)
  return type
}

function section(id: number, body: readonly number[]): number[] {
  return [id, ...unsigned(body.length), ...body]
}

function vector(items: readonly (readonly number[])[]): number[] {
  return [...unsigned(items.length), ...items.flat()]
}

function text(value: string): number[] {
  return [...unsigned(value.length), ...Buffer.from(value, 'latin1')]
}

/** LEB128. */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)]
}

function signed(value: number): number[] {
  const low = value & 0x7f
  const rest = value >> 7
  const done = (rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0)
  return done ? [low] : [low | 0x80, ...signed(rest)]
}

/** The module that holds the binary of a text under a name. */
export function moduleText(name: string, source: string): string {
  const lines =
    Buffer.from(assemble(source))
      .toString('base64')
      .match(/.{1,116}/g) ?? []
  return [
    `// ${name}.wat in binary, base64. Written by assemble.ts; not by hand.`,
    `export const ${name}Wasm =`,
    lines.map(line => `  '${line}'`).join(' +\n'),
    '',
  ].join('\n')
}

if (process.argv[1] === import.meta.filename) {
  const at = (name: string) => new URL(name, import.meta.url)
  for (const name of MODULES)
    writeFileSync(at(`${name}-wasm.ts`), moduleText(name, readFileSync(at(`${name}.wat`), 'utf8')))
}
