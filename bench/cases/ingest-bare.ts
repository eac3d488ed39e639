// What the machine can do: uWebSockets.js collects the body and answers 200; nothing is checked and nothing kept. A body that comes
// in one piece is left where it is, as a server that checks in place may do. Sends its port to the parent.
import { App, us_socket_local_port } from 'uWebSockets.js'

process.on('disconnect', () => process.exit())

App()
  .post('/*', res => {
    let pieces: Buffer[] = []
    let aborted = false
    res.onAborted(() => {
      aborted = true
    })
    res.onData((chunk, last) => {
      // A chunk dies with this call: what is not the whole body must be copied.
      if (!last || pieces.length > 0) pieces.push(Buffer.copyBytesFrom(new Uint8Array(chunk)))
      if (!last || aborted) return
      if (pieces.length > 0) Buffer.concat(pieces)
      pieces = []
      res.cork(() => void res.writeHeader('content-type', 'application/json').end('{"ok":true}'))
    })
  })
  .listen('127.0.0.1', 0, socket => {
    if (socket) process.send?.(us_socket_local_port(socket))
  })
