import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'

const REPOSITORY = new URL('../..', import.meta.url).pathname
const FOLDER = 'deploy/helm/millrace/files/rules'

const Alert = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(['page', 'ticket']) }),
  annotations: z.strictObject({ summary: z.string(), runbook_url: z.string() }),
})
export type Alert = z.infer<typeof Alert>

const Recording = z.strictObject({
  record: z.string(),
  expr: z.string(),
  labels: z.record(z.string(), z.string()).optional(),
})
type Recording = z.infer<typeof Recording>

const RuleFile = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), rules: z.array(z.union([Alert, Recording])) })),
})

/** Reads the rules from the chart's files. Throws if a file has anything else in it, or if there is no file. */
export function readRules(): { paths: string[]; alerts: Alert[]; recordings: Recording[] } {
  const paths = globSync(`${FOLDER}/*.yaml`, { cwd: REPOSITORY }).toSorted()
  if (paths.length === 0) throw new Error(`${FOLDER} has no rules`)
  const rules = paths.flatMap((path) =>
    RuleFile.parse(parse(readFileSync(join(REPOSITORY, path), 'utf8'))).groups.flatMap(
      (group) => group.rules,
    ),
  )
  return {
    paths: paths.map((path) => join(REPOSITORY, path)),
    alerts: rules.filter((rule) => 'alert' in rule),
    recordings: rules.filter((rule) => 'record' in rule),
  }
}
