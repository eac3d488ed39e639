// Routes, schemas, documentation and error codes say the same.
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { errors } from '#proto/errors.ts'
import { codesOf } from './endpoint.ts'
import { openApi } from './openapi.ts'
import { routes } from './routes.ts'

const read = (path: string): Promise<string> => readFile(new URL(path, import.meta.url), 'utf8')

t.test('every route is unique and declares its shapes', async t => {
  const names = routes.map(route => `${route.method} ${route.path}`)
  t.strictSame([...new Set(names)], names)
  for (const route of routes) {
    const name = `${route.method} ${route.path}`
    t.match(route.path, /^\/(dashboard\/api|auth)(\/[\w.-]+|\/\{\w+\})+$/, name)
    t.match(route.about, /^[A-Z].+\.$/, `${name}: a sentence`)
    const shape = route.response as { type?: string; anyOf?: { type: string }[] }
    const types = shape.anyOf?.map(choice => choice.type) ?? [shape.type]
    for (const type of types) t.match(type, route.produces ? 'string' : /^(object|array|null)$/, `${name}: response`)
    if (route.request) t.match(route.request, { type: 'object' }, `${name}: request`)
  }
})

t.test('routes.ts reads as the table that it is', async t => {
  const text = await read('routes.ts')
  const listed = [...text.matchAll(/\/\/ (GET|POST|PUT|DELETE) +(\/(?:dashboard\/api|auth)\S+)/g)].map(
    ([, method, path]) => `${method} ${path}`,
  )
  t.strictSame(
    listed,
    routes.map(route => `${route.method} ${route.path}`),
  )
})

t.test('docs/api.md lists every route', async t => {
  const page = await read('../docs/api.md')
  const listed = /<!-- routes -->\n([\s\S]*?)<!-- \/routes -->/.exec(page)?.[1]
  const rows = routes.map(({ method, path, auth, about }) => `| ${method} | \`${path}\` | ${auth} | ${about} |`)
  t.equal(listed?.trim(), ['| | path | credential | answer |', '|---|---|---|---|', ...rows].join('\n'))
})

t.test('the document has every route with its shapes, and codes that exist with their status', async t => {
  const document = JSON.parse(JSON.stringify(openApi(routes)))
  t.equal(document.openapi, '3.1.0')
  const operations = new Set<string>()
  for (const route of routes) {
    const name = `${route.method} ${route.path}`
    const operation = document.paths[route.path][route.method.toLowerCase()]
    t.equal(operation.summary, route.about, name)
    operations.add(operation.operationId)
    const said = Object.entries<{ 'x-codes'?: string[] }>(operation.responses).flatMap(([status, response]) =>
      (response['x-codes'] ?? []).map(code => {
        t.equal(String(errors[code as keyof typeof errors]?.status), status, `${name}: ${code}`)
        return code
      }),
    )
    const expected = codesOf(route).filter(code => errors[code].status > 0)
    t.strictSame(said.sort(), [...expected].sort(), name)
    if (route.request && route.method !== 'GET') t.ok(operation.requestBody.content['application/json'].schema)
  }
  t.equal(operations.size, routes.length, 'operation ids are unique')
  const paths = Object.values<object>(document.paths).flatMap(path => Object.keys(path))
  t.equal(paths.length, routes.length, 'and nothing else')
})

t.test('a request body is required where a field has no default', async t => {
  const document = JSON.parse(JSON.stringify(openApi(routes)))
  t.equal(document.paths['/dashboard/api/raw-logs'].post.requestBody.required, false)
  t.equal(document.paths['/dashboard/api/event-io'].post.requestBody.required, true)
})
