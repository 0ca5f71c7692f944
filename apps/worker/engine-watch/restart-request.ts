import { constants } from 'node:fs'
import { access, rename, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { readHostPort } from '#libs/config/host-port.ts'
import { ConfigError } from '#libs/config/load-config.ts'
import type { RestartRequest } from './engine-life.ts'

/**
 * Opens the request for a restart of the engine. The request is a file (ENGINE_RESTART_FILE). A liveness probe of the
 * engine's container checks whether the file exists. The file appears with its whole text, because it is written under
 * another name first. Removes files that an earlier process has left. Rejects with a ConfigError if the file's folder
 * cannot be written.
 */
export async function openRestartRequest(path: string): Promise<RestartRequest> {
  const folder = dirname(path)
  try {
    await access(folder, constants.W_OK)
  } catch (cause) {
    throw Object.assign(new ConfigError([`ENGINE_RESTART_FILE: the folder ${folder} cannot be written`]), {
      cause,
    })
  }
  const draft = `${path}.new`
  const remove = async () => await rm(path, { force: true })
  await Promise.all([remove(), rm(draft, { force: true })])
  return {
    async create(reason) {
      await writeFile(draft, `${reason}\n`)
      await rename(draft, path)
    },
    remove,
  }
}

const CONNECT_LIMIT_MS = 1_000

/** Returns whether `address` (`host:port`) refuses connections, because nothing listens there. Never rejects. */
export async function isRefused(address: string): Promise<boolean> {
  const socket = connect(readHostPort(address))
  const { promise, resolve } = Promise.withResolvers<boolean>()
  socket.setTimeout(CONNECT_LIMIT_MS, () => resolve(false))
  socket.once('connect', () => resolve(false))
  socket.once('error', (error) => resolve('code' in error && error.code === 'ECONNREFUSED'))
  try {
    return await promise
  } finally {
    socket.destroy()
  }
}
