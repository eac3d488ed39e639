// The module that worker threads load: the task over the parsers of this build, with the operator's settings of parsing.
import { Piscina } from 'piscina'
import { maskAlso } from './parsers/secrets.ts'
import { parsers } from './registry.ts'
import { createWorker } from './worker-task.ts'

const { secretKeys } = Piscina.workerData as { readonly secretKeys: readonly string[] }
maskAlso(secretKeys)

export default createWorker(parsers)
