// A WebAssembly module in base64 -> instances of it, and views of their memory. What both scanners need of the engine.

/** The memory of an instance. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer
  /** Adds pages; every view of the former buffer is dead afterwards. */
  grow(pages: number): number
}

const PAGE_BYTES = 65_536

// What TypeScript has no declarations for outside of browsers.
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: { Module: new (bytes: Uint8Array) => object; Instance: new (module: object) => { exports: object } }
}

/** Compiles a module; the result makes instances, each with a memory of its own. `Exports`: what its text exports. */
export function compile<Exports extends { readonly memory: WasmMemory }>(base64: string): () => Exports {
  const wasmModule = new WebAssembly.Module(Buffer.from(base64, 'base64'))
  return () => new WebAssembly.Instance(wasmModule).exports as Exports
}

/** A view from `at` to the end of a memory, which grows until the view has `size` bytes. */
export function viewOf(memory: WasmMemory, at: number, size: number): Uint8Array {
  const missing = at + size - memory.buffer.byteLength
  if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES))
  return new Uint8Array(memory.buffer, at)
}
