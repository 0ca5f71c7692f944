import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const LISTENS = '0A'

/** The processes of this machine that listen on a TCP port; none where they run elsewhere or belong to another user. */
export function findListeners(port: number): number[] {
  const sockets = new Set(['tcp', 'tcp6'].flatMap((table) => readSockets(table, port)))
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .map(Number)
    .filter((pid) => readLinks(pid).some((link) => sockets.has(link)))
}

/** As the links of descriptors name them. */
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
    // It has ended, or belongs to another user.
    return []
  }
}
