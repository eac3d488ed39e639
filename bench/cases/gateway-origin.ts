// The origin of the gateway bench: collects the body, answers 200, stores nothing. Sends its port to the parent.
import { App, us_socket_local_port } from 'uWebSockets.js'

App()
  .post('/*', res => {
    res.onAborted(() => undefined)
    res.onData((_chunk, last) => {
      if (last) res.cork(() => res.end('{"ok":true}'))
    })
  })
  .listen('127.0.0.1', 0, socket => {
    if (socket) process.send?.(us_socket_local_port(socket))
  })
