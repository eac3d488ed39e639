// What a setting takes for a value, and how it says what it expected.
import t from 'tap'
import { clickhouseCluster, clickhouseDatabase } from './config.ts'
import { addresses, HTTP, integer, NATS, readSettings, url } from './settings.ts'

t.test('a whole number is digits alone', async t => {
  const setting = integer('N', 'a number', { default: 7, min: 0, max: 100 })
  const f = (text: string | undefined, value: number): boolean =>
    t.equal(setting.read(text), value, JSON.stringify(text))
  const refused = (text: string): void => {
    t.match(setting.read(text), { message: `must be a whole number from 0 to 100, not ${JSON.stringify(text)}` })
  }
  f(undefined, 7)
  f('', 7)
  f('0', 0)
  f('100', 100)
  for (const text of ['101', '-1', '1.5', '1e1', '0x10', ' ', ' 5', '5 ', '5s', 'many']) refused(text)
})

t.test('an address begins with a scheme that its reader speaks, and names a host', async t => {
  const setting = url('U', 'a server', { required: false, schemes: HTTP })
  for (const text of ['', 'http://127.0.0.1:8123', 'https://u:p@store.example', 'http://[::1]:1/path']) {
    t.equal(setting.read(text), text)
  }
  for (const text of ['localhost:8123', 'nats://localhost', '127.0.0.1:8123', '//host', 'http://', 'http:', ' ']) {
    t.match(setting.read(text), { message: 'must be an address such as http://host:port' }, text)
  }
  t.match(url('U', 'a server', { required: true, schemes: HTTP }).read(''), { message: 'is required' })
})

t.test('several addresses are each one', async t => {
  const setting = addresses('A', 'servers', { required: true, schemes: NATS })
  t.equal(setting.read('nats://a:1, tls://b:2'), 'nats://a:1,tls://b:2')
  t.match(setting.read(''), { message: 'is required' })
  t.match(setting.read('nats://a,b:4222'), { message: 'must be an address such as nats://host:port' })
  t.match(setting.read('nats://a,'), Error)
  t.equal(addresses('A', 'servers', { required: false, schemes: NATS }).read(undefined), '')
})

t.test('names of the store go into SQL: a database without quotes, a cluster between them', t => {
  t.equal(clickhouseDatabase.read(undefined), 'parley')
  t.equal(clickhouseDatabase.read('_Parley2'), '_Parley2')
  for (const text of ['my-data', '2nd', 'a b', 'a.b', 'a`b', "a'", 'é']) {
    t.match(clickhouseDatabase.read(text), { message: /^must be letters, digits and _, no digit first, not "/ }, text)
  }
  for (const text of ['', 'prod-eu', 'a.b', '{cluster}']) t.equal(clickhouseCluster.read(text), text)
  for (const text of ["a'", 'a b', 'a;b']) t.match(clickhouseCluster.read(text), Error, text)
  t.end()
})

t.test('every wrong variable is named at once, and addresses are not shown', async t => {
  const table = {
    n: integer('N', 'a number', { default: 0, min: 0, max: 9 }),
    u: url('U_URL', 'a server', { required: false, schemes: HTTP }),
  }
  t.throws(() => readSettings({ N: 'x', U_URL: 'nats://user:secret@host' }, table), {
    code: 'CFG_INVALID',
    message:
      'A setting is not valid: N must be a whole number from 0 to 9, not "x"; U_URL must be an address such as http://host:port',
  })
})
