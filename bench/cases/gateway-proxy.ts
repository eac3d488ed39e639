// The gateway of the gateway bench: node:http in, keep-alive agent out, bodies piped both ways. Argument: the origin's port.
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

const port = Number(process.argv[2])
const agent = new Agent({ keepAlive: true, maxSockets: 512 })
const server = createServer((req, res) => {
  const upstream = request({ host: '127.0.0.1', port, agent, method: req.method, path: req.url, headers: req.headers })
  upstream.on('response', answer => {
    res.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(res)
  })
  upstream.on('error', () => res.destroy())
  req.pipe(upstream)
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
