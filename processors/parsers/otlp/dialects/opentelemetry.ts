// OpenTelemetry's general conventions: sessions, users, exceptions.
import type { Dialect } from '../dialect.ts'

export const opentelemetry: Dialect = {
  name: 'opentelemetry',
  source: 'open-telemetry/semantic-conventions docs/registry/attributes/{session,user,enduser,error,exception}.md',
  matches: {},
  fields: {
    session_id: ['session.id'],
    user_id: ['user.id', 'enduser.id'],
    user_email: ['user.email', 'enduser.email'],
    error_type: ['exception.type', { event: 'exception', key: 'exception.type' }, 'error.type'],
    error_message: ['exception.message', { event: 'exception', key: 'exception.message' }, 'error.message'],
  },
  late: {
    user_id: ['enduser.pseudo.id'],
    error_type: [{ event: 'exception', key: 'error.type' }],
    error_message: ['error'],
  },
}
