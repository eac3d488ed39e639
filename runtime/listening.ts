// Why a server cannot listen: the system's code and the settings go in; an error that names the one to correct comes out.
import { ParleyError } from '#proto/errors.ts'

/** Where it was to listen, and which variables say so. */
export interface Listening {
  readonly host: string
  readonly port: number
  readonly hostVariable: string
  readonly portVariable: string
}

const NO_SUCH_HOST = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN']

/** RUN_PORT_IN_USE, or CFG_INVALID where another port or another process would change nothing. */
export function cannotListen(code: string, { host, port, hostVariable, portVariable }: Listening): ParleyError {
  if (code === 'EADDRINUSE') {
    return new ParleyError(
      'RUN_PORT_IN_USE',
      `${port} on ${host}; set ${portVariable} to another one or end what uses it`,
    )
  }
  return NO_SUCH_HOST.includes(code)
    ? new ParleyError('CFG_INVALID', `${hostVariable}: ${host} is no address of this machine (${code})`)
    : new ParleyError('CFG_INVALID', `${portVariable}: ${host}:${port} cannot be listened on (${code})`)
}
