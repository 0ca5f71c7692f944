import type { RedisServerPlace } from '#libs/config/redis-fields.ts'
import type { Releasers } from '#libs/lifecycle/releasers.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { connectRedis, type RedisPatience } from './connect-redis.ts'
import type { Rights } from './rights.ts'

/**
 * Returns the function that opens the connections of an app to one server of the bus, as `connectRedis` does, and
 * registers their release: one to publish, and one to subscribe.
 */
export function createConnectBus(of: { app: string; rights: Rights; releasers: Releasers; log: Logger }) {
  const { app, rights, releasers, log } = of
  return async (place: RedisServerPlace) => {
    const connect = async (role: string, patience: RedisPatience) =>
      releasers.add(role, await connectRedis({ place, name: `${app}-${role}`, patience, log, rights }), {
        run: (redis) => redis.disconnect(),
      })
    return {
      bus: await connect('bus', 'fail-fast'),
      subscriber: await connect('bus-subscriber', 'patient'),
    }
  }
}
