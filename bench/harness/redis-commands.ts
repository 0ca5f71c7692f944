import { Redis } from 'ioredis'

/** Returns how many commands the server has processed. */
export async function readRedisCommands(url: string): Promise<number> {
  return (await readRedisTraffic(url)).commands
}

/**
 * The traffic of a Redis server since its start. `calls` counts the calls of each command, including commands that
 * scripts execute.
 */
export type RedisTraffic = {
  readonly commands: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly calls: Readonly<Record<string, number>>
}

export async function readRedisTraffic(url: string): Promise<RedisTraffic> {
  const redis = new Redis(url, { lazyConnect: true })
  await redis.connect()
  const [stats, byCommand] = [await redis.info('stats'), await redis.info('commandstats')]
  redis.disconnect()
  const read = (name: string) => {
    const match = new RegExp(`^${name}:(\\d+)`, 'mu').exec(stats)
    if (match === null) throw new Error(`INFO has no ${name}`)
    return Number(match[1])
  }
  const calls = [...byCommand.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gmu)]
  return {
    commands: read('total_commands_processed'),
    bytesIn: read('total_net_input_bytes'),
    bytesOut: read('total_net_output_bytes'),
    calls: Object.fromEntries(calls.map(([, name = '', count]) => [name, Number(count)])),
  }
}

/** Returns the traffic between two readings. */
export function redisBetween(before: RedisTraffic, after: RedisTraffic): RedisTraffic {
  const calls = Object.entries(after.calls).map(
    ([name, count]) => [name, count - (before.calls[name] ?? 0)] as const,
  )
  return {
    commands: after.commands - before.commands,
    bytesIn: after.bytesIn - before.bytesIn,
    bytesOut: after.bytesOut - before.bytesOut,
    calls: Object.fromEntries(calls.filter(([, count]) => count > 0)),
  }
}
