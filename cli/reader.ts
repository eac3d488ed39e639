// What becomes of a command whose reader has gone: `parley … | head` has read enough, which is no failure.

/** Ends the process well when nobody reads `output` any more; other errors of it are thrown. */
export function endWithReader(output: NodeJS.EventEmitter, exit: (code: number) => void): void {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    exit(0)
  })
}
