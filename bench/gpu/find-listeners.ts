import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const LISTENS = '0A'

/**
 * Returns the processes of this machine that listen on a TCP port. The list is empty if they run on another machine or
 * belong to another user.
 */
export function findListeners(port: number): number[] {
  const sockets = new Set(['tcp', 'tcp6'].flatMap((table) => readSockets(table, port)))
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .map(Number)
    .filter((pid) => readLinks(pid).some((link) => sockets.has(link)))
}

/** Returns the sockets that listen on the port, named as in the links of `/proc/PID/fd`. */
function readSockets(table: string, port: number): string[] {
  const [, ...lines] = readFileSync(`/proc/net/${table}`, 'utf8').trim().split('\n')
  return lines.flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/u)
    const isIt = state === LISTENS && Number.parseInt(local.split(':').at(-1) ?? '', 16) === port
    return isIt ? [`socket:[${inode}]`] : []
  })
}

function readLinks(pid: number): string[] {
  try {
    const folder = `/proc/${pid}/fd`
    return readdirSync(folder).flatMap((name) => {
      try {
        return [readlinkSync(`${folder}/${name}`)]
      } catch {
        return []
      }
    })
  } catch {
    // The process has ended, or belongs to another user.
    return []
  }
}
