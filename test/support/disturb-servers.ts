import { Redis } from 'ioredis'
import { Client } from 'pg'
import { expect } from 'vitest'

/** A process, seen through its output. */
type Printing = { readonly name: string; logs(): string }

type Apps = {
  readonly gateway: Printing
  readonly worker: Printing
  readonly billing: Printing
  readonly scaler: Printing
  readonly console: Printing
}

/**
 * Makes the servers of a cluster fail in several ways, one after another. Each failure makes a client library throw an
 * error that contains a command or a login. After each failure, waits until the processes have noticed it and are
 * served again. `underStream` runs a stream during a failure.
 */
export async function disturbServers(options: {
  apps: Apps
  /** The administrator's URL. */
  redisUrl: string
  /** The user of the apps. */
  redisUser: { name: string; password: string }
  databaseUrl: string
  databaseUser: { name: string; password: string }
  underStream: (act: () => Promise<void>) => Promise<void>
  untilServed: () => Promise<void>
}): Promise<void> {
  const { apps, redisUser, databaseUser, underStream, untilServed } = options
  const redis = new Redis(options.redisUrl)
  const lines = ({ logs }: Printing, word: string) => logs().split(word).length

  /** Waits until each process has printed the word once more. */
  async function untilPrinted(word: string, by: readonly Printing[], act: () => Promise<unknown>) {
    const before = by.map((app) => lines(app, word))
    await act()
    for (const [index, app] of by.entries()) {
      const more = () => lines(app, word) - (before[index] ?? 0)
      await expect.poll(more, { message: `${app.name} prints ${word}` }).toBeGreaterThan(0)
    }
  }

  const setUser = async (...rules: string[]) => await redis.acl('SETUSER', redisUser.name, ...rules)
  const disconnectApps = async () => await redis.call('CLIENT', 'KILL', 'USER', redisUser.name)

  await underStream(async () => {
    await untilPrinted('NOPERM', [apps.worker, apps.gateway], async () => await setUser('-publish'))
    await setUser('+publish')
  })
  await untilServed()

  await redis.config('SET', 'busy-reply-threshold', 50)
  await underStream(async () => {
    const busy = new Redis(options.redisUrl, { maxRetriesPerRequest: 0 })
    const loop = busy.eval('while true do end', 0).catch(() => null)
    await untilPrinted('BUSY', [apps.worker, apps.gateway, apps.billing], () => Promise.resolve())
    await redis.call('SCRIPT', 'KILL')
    await loop
    busy.disconnect()
  })
  await untilServed()

  await underStream(async () => {
    const used = /used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]
    await untilPrinted('OOM', [apps.worker], async () => {
      await redis.config('SET', 'maxmemory', Math.floor(Number(used) / 2))
    })
    await redis.config('SET', 'maxmemory', 0)
  })
  await untilServed()

  await underStream(async () => {
    await untilPrinted('WRONGPASS', Object.values(apps), async () => {
      await setUser('resetpass', '>another')
      await disconnectApps()
    })
    await setUser('resetpass', `>${redisUser.password}`)
  })
  await untilServed()
  redis.disconnect()

  const database = new Client({ connectionString: options.databaseUrl })
  await database.connect()
  const setPassword = async (password: string) =>
    await database.query(`alter role ${databaseUser.name} password '${password}'`)
  await untilPrinted('password authentication failed', [apps.billing], async () => {
    await setPassword('another')
    await database.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [
      databaseUser.name,
    ])
  })
  await setPassword(databaseUser.password)
  await database.end()
  await untilServed()
}
