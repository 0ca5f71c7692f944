// The program behind `createGuard`: reads charges line by line and ends what is left of them, last started
// first, when its input ends, which is when its owner stopped, however it did.
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { Charge, endProcess } from './end-process.ts'

const Line = z.discriminatedUnion('verb', [
  z.strictObject({ verb: z.literal('watch'), charge: Charge }),
  z.strictObject({ verb: z.literal('release'), pid: z.int() }),
])

const charges: Charge[] = []
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

for await (const text of createInterface({ input: process.stdin })) {
  const line = Line.parse(JSON.parse(text))
  if (line.verb === 'watch') {
    charges.push(line.charge)
  } else {
    const index = charges.findIndex((charge) => charge.identity.pid === line.pid)
    if (index !== -1) charges.splice(index, 1)
  }
}
for (const charge of charges.reverse()) await endProcess(charge)
