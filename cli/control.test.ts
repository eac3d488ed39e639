// `parley control` from outside: everything an installation knows of its people, moved to another NATS.
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { putOrganization } from '#control/admin.ts'
import type { Organization } from '#control/records.ts'
import { apiKeyKey, hashApiKey, organizationKey, signingKeyKey } from '#control/records.ts'
import { applyStreams, openBuckets } from '#streams/apply.ts'
import { ends, runCommand } from '#test/command.ts'
import { connectNats, createTenant, startNats, tempDir, testLimits } from '#test/rig.ts'

t.test('records are exported, imported elsewhere, and what stands there stays', async t => {
  const [from, to, dir] = await Promise.all([startNats(t), startNats(t), tempDir(t)])
  const parley = (url: string, ...args: string[]) => runCommand(['control', ...args], { NATS_URL: url })
  const { buckets } = await applyStreams(await connectNats(t, from.url), testLimits)
  const tenant = await createTenant(buckets)
  const { control: target } = await openBuckets(await connectNats(t, to.url))

  const file = join(dir, 'control.jsonl')
  ends(t, await parley(from.url, 'export', file), { code: 0, err: /exported \d+ records/ })
  t.equal((await stat(file)).mode & 0o777, 0o600)
  const lines = (await readFile(file, 'utf8')).trim().split('\n')
  const kinds = new Set(lines.map(line => (JSON.parse(line) as { key: string }).key.split('.')[0]))
  t.strictSame([...kinds], ['apikey', 'display', 'email', 'member', 'organization', 'owners', 'user'])
  const secrets = await parley(from.url, 'export', '-', '--secrets')
  t.match(secrets.out, `"${signingKeyKey('').slice(0, -1)}.`)

  ends(t, await parley(to.url, 'import', file), { code: 0, out: `written ${lines.length}, kept 0` })
  t.equal((await target.get(apiKeyKey(hashApiKey(tenant.apiKey))))?.operation, 'PUT')
  const organization = (await target.get(organizationKey(tenant.organization)))?.json<Organization>() as Organization
  await putOrganization(target, { ...organization, name: 'renamed' })
  ends(t, await parley(to.url, 'import', file), { code: 0, out: `written 0, kept ${lines.length}` })
  t.equal((await target.get(organizationKey(tenant.organization)))?.json<Organization>().name, 'renamed')
  ends(t, await parley(to.url, 'import', file, '--overwrite'), { code: 0, out: `written ${lines.length}, kept 0` })
  t.equal((await target.get(organizationKey(tenant.organization)))?.json<Organization>().name, 'test')

  await writeFile(file, `${lines[0]}\n{"key":"a b","value":{}}\n`)
  ends(t, await parley(to.url, 'import', file), { code: 2, err: /line 2/ })
  ends(t, await parley(to.url, 'import', join(dir, 'none')), { code: 2, err: /cannot be read/ })
  ends(t, await parley(to.url, 'export'), { code: 2, err: /parley control export FILE/ })
})
