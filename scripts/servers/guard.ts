// The program that `createGuard` starts. Each line of its input names a process group to watch, or a group to watch no
// longer. When the input ends, the process that called `createGuard` has ended. The guard then ends the groups that it
// still watches, the group that was started last first.
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { GuardedGroup, endProcess } from './end-process.ts'

const Line = z.discriminatedUnion('verb', [
  z.strictObject({ verb: z.literal('watch'), group: GuardedGroup }),
  z.strictObject({ verb: z.literal('release'), pid: z.int() }),
])

const groups: GuardedGroup[] = []
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

for await (const text of createInterface({ input: process.stdin })) {
  const line = Line.parse(JSON.parse(text))
  if (line.verb === 'watch') {
    groups.push(line.group)
  } else {
    const index = groups.findIndex((group) => group.identity.pid === line.pid)
    if (index !== -1) groups.splice(index, 1)
  }
}
for (const group of groups.reverse()) await endProcess(group)
