import { hostname } from 'node:os'
import { startReporter, type Reporter } from '#libs/event-bus/reports.ts'
import type { BusServer } from '#libs/event-bus/scaling-signals.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { createBuildReport } from './build-report.ts'
import { createRequestBook, type RequestBook } from './request-book.ts'

type ReportDeps = Parameters<typeof createBuildReport>[0]

/** Opens the book of this gateway's requests, and sends reports of it to operators until the reporter is stopped. */
export async function openReports(deps: {
  server: BusServer
  gateway: string
  models: ReportDeps['models']
  pendingSettlements: ReportDeps['pendingSettlements']
  nowMs: () => number
  log: Logger
}): Promise<{ book: RequestBook; reporter: Reporter }> {
  const { server, gateway, models, pendingSettlements, nowMs, log } = deps
  const book = createRequestBook({ nowMs })
  const self = { id: gateway, name: hostname() }
  const build = createBuildReport({ self, book, models, pendingSettlements, nowMs })
  return { book, reporter: await startReporter({ servers: [server], build, nowMs, log }) }
}
