import { z } from 'zod'
import {
  BusRedisFields,
  checkBusRedis,
  toBusRedis,
  type RedisServerPlace,
} from '#libs/config/redis-fields.ts'
import { CommandError } from './command-error.ts'
import type { CtlConfig } from './config.ts'
import { openLocalCluster } from './local-cluster.ts'

const BusConfig = z.object(BusRedisFields).superRefine(checkBusRedis)

/** `cell` is undefined for the default cell. */
export type BusPlace = { readonly cell: string | undefined; readonly servers: readonly RedisServerPlace[] }

/**
 * Returns the cell and the servers of its bus: from the environment, else from the cluster of a running `npm start`.
 * Throws a CommandError if there is neither, or if the environment is wrong.
 */
export function findBus(config: CtlConfig): BusPlace {
  if (config.BUS_REDIS_URL === undefined) return { cell: undefined, servers: [findLocalBus(config)] }
  const result = BusConfig.safeParse(config)
  if (result.success) return { cell: result.data.CELL, servers: toBusRedis(result.data) }
  const [issue] = result.error.issues
  // The value is not printed, because a URL may contain a password.
  throw new CommandError('usage', `${issue?.path.join('.')} is wrong: ${issue?.message}`)
}

function findLocalBus(config: CtlConfig): RedisServerPlace {
  const local = openLocalCluster(config)
  const address = local.address('redis')
  if (address === undefined) {
    throw new CommandError(
      'usage',
      `No npm start runs in ${local.home}: start one, or give the address of the bus with BUS_REDIS_URL.`,
    )
  }
  const { redisPassword } = local.secrets()
  if (redisPassword !== undefined) return { mode: 'single', url: `redis://:${redisPassword}@${address}` }
  throw new CommandError('usage', `${local.secretsPath} cannot be read: set BUS_REDIS_URL.`)
}
