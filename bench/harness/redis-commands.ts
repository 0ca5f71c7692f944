import { Redis } from 'ioredis'

/** How many commands the server has processed. */
export async function readRedisCommands(url: string): Promise<number> {
  const redis = new Redis(url, { lazyConnect: true })
  await redis.connect()
  const info = await redis.info('stats')
  redis.disconnect()
  const match = /^total_commands_processed:(\d+)/mu.exec(info)
  if (match === null) throw new Error('INFO has no total_commands_processed')
  return Number(match[1])
}
