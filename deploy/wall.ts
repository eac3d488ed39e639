// The wall between tenants on a server of one's own: users from the addresses that were set, or of names and passwords of our making.
import { createHash } from 'node:crypto'
import { ParleyError } from '#proto/errors.ts'
import type { Values } from '#runtime/settings.ts'
import type { WallLogin } from '#store/wall/raise.ts'
import { raiseWall } from '#store/wall/raise.ts'
import type { layoutSettings } from './settings.ts'

/** Addresses by which the parts read; '' where there is no such user. */
export interface WallUrls {
  readonly readerUrl: string
  readonly sqlUrl: string
}

/** What raising needs. */
export interface ServerWall {
  readonly settings: Values<typeof layoutSettings>
  readonly clickhouseUrl: string
  /** What passwords of our making are made from; left out, none is made. */
  readonly secret?: string
  readonly say: (line: string) => void
}

/**
 * Raises the wall on every shard. It stands when it stands on all: reads with it on some would be reads without it.
 * @throws ParleyError RUN_WALL_FAILED when it is required and does not stand; CFG_INVALID when a shard lacks its address.
 */
export async function raiseServerWalls(wall: ServerWall): Promise<WallUrls> {
  const shards = wall.clickhouseUrl.split(',')
  const { readerUrl, sqlUrl } = wall.settings
  const urlsOf = (name: string, list: string): string[] => {
    const urls = list === '' ? shards.map(() => '') : list.split(',')
    if (urls.length !== shards.length) {
      throw new ParleyError('CFG_INVALID', `${name} takes an address for each of the ${shards.length} shards`)
    }
    return urls
  }
  const [readers, sqls] = [urlsOf('PARLEY_READER_URL', readerUrl), urlsOf('PARLEY_SQL_URL', sqlUrl)]
  const raised: WallUrls[] = []
  for (const [i, clickhouseUrl] of shards.entries()) {
    const settings = { ...wall.settings, readerUrl: readers[i] as string, sqlUrl: sqls[i] as string }
    raised.push(await raiseServerWall({ ...wall, settings, clickhouseUrl }))
  }
  const joined = (urls: readonly string[]): string => (urls.includes('') ? '' : urls.join(','))
  return { readerUrl: joined(raised.map(one => one.readerUrl)), sqlUrl: joined(raised.map(one => one.sqlUrl)) }
}

/**
 * Raises the wall on a server. Where the server refuses, one line says so, and reads go on without it.
 * @throws ParleyError RUN_WALL_FAILED when it is required and does not stand.
 */
async function raiseServerWall({ settings, clickhouseUrl, secret, say }: ServerWall): Promise<WallUrls> {
  const given = { readerUrl: settings.readerUrl, sqlUrl: settings.sqlUrl }
  const database = settings.clickhouseDatabase
  if (settings.wall === 'off') return given
  const readerUrl = given.readerUrl || made(clickhouseUrl, `${database}_reader`, secret)
  const sqlUrl = given.sqlUrl || made(clickhouseUrl, `${database}_sql`, secret)
  // Nothing was asked of us: the query node says that it reads without.
  if (readerUrl === '' && sqlUrl === '' && settings.wall === 'auto') return given
  if (readerUrl === '' || sqlUrl === '') {
    return refused('PARLEY_READER_URL and PARLEY_SQL_URL, which name its users, are not both set')
  }
  const reason = await raiseWall({
    store: { url: clickhouseUrl, database, application: 'parley wall' },
    cluster: settings.cluster,
    users: { reader: loginOf(readerUrl), sql: loginOf(sqlUrl), definer: `${database}_definer` },
  })
  return reason === undefined ? { readerUrl, sqlUrl } : refused(reason)

  function refused(why: string): WallUrls {
    if (settings.wall === 'required') throw new ParleyError('RUN_WALL_FAILED', why)
    const prepared = given.readerUrl !== ''
    say(
      prepared
        ? `the users of the wall are taken as they stand (${why})`
        : `dashboard reads have no wall beneath them: ${why}; docs/wall.md says what to grant, PARLEY_WALL=off leaves it so`,
    )
    return given
  }
}

/** The address for another user of the same server. */
function made(clickhouseUrl: string, name: string, secret: string | undefined): string {
  if (secret === undefined) return ''
  const url = new URL(clickhouseUrl)
  url.username = name
  url.password = createHash('sha256').update(`${name}:${secret}`).digest('hex')
  return url.href
}

function loginOf(address: string): WallLogin {
  const url = new URL(address)
  return { name: decodeURIComponent(url.username), password: decodeURIComponent(url.password) }
}
