import { expect, test } from 'vitest'
import { COMMANDS } from '#apps/ctl/commands.ts'
import { parseCommandLine } from '#apps/ctl/parse-command-line.ts'
import { namedMetrics } from '#test/observability/known-metrics.ts'
import { toMetric } from '#test/observability/metric-names.ts'
import { readRules } from '#test/observability/read-rules.ts'
import { sourceFiles } from './source-files.ts'

const FOLDER = 'docs/runbooks/'
const SECTIONS = ['Meaning', 'What users see', 'Look at', 'Do', 'Afterwards']
const BLOCK = /^ *```sh\n([\s\S]*?)^ *```$/gm
const CODE = /`([^`\n]+)`/g
const METRIC = /^(?:millrace[_:]|gen_ai_|nodejs_|process_|redis_|certmanager_)[a-z0-9_:]*[a-z0-9]$/
const VERBS: Readonly<Record<string, readonly string[]>> = {
  kubectl: [
    'annotate',
    'cordon',
    'delete',
    'describe',
    'get',
    'logs',
    'port-forward',
    'rollout',
    'scale',
    'top',
    'uncordon',
  ],
  helm: ['history', 'rollback', 'upgrade'],
}

const { alerts } = readRules()
const pages = sourceFiles(`${FOLDER}*.md`).filter(({ path }) => !path.endsWith('/README.md'))

test('every alert has a page of its own, and every page an alert', () => {
  expect(alerts.length).toBeGreaterThan(20)
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length)
  expect(alerts.map(({ annotations }) => annotations.runbook_url).toSorted()).toEqual(
    pages.map(({ path }) => path).toSorted(),
  )
})

test('every page is named after its alert and has the five sections in order', () => {
  for (const { alert, annotations } of alerts) {
    const page = pages.find(({ path }) => path === annotations.runbook_url)
    expect(page?.text).toMatch(new RegExp(`^# ${alert}\n`))
    expect(Array.from(page?.text.matchAll(/^## (.*)$/gm) ?? [], ([, title]) => title)).toEqual(SECTIONS)
  }
})

test('the index lists every alert with its severity', () => {
  const [index] = sourceFiles(`${FOLDER}README.md`)
  for (const { alert, labels, annotations } of alerts) {
    const file = annotations.runbook_url.slice(FOLDER.length)
    expect(index?.text).toContain(`| [${alert}](${file}) | ${labels.severity} |`)
  }
})

test('every command of a page exists, with its options', () => {
  const commands = pages.flatMap(({ path, text }) => commandsOf(text).map((command) => ({ path, command })))
  expect(commands.length).toBeGreaterThan(50)
  expect(commands.filter(({ command }) => !isKnown(command))).toEqual([])
})

test('every metric of a page exists', () => {
  const known = namedMetrics()
  const named = pages.flatMap(({ path, text }) =>
    codeOf(text)
      .filter((code) => METRIC.test(code))
      .map((metric) => ({ path, metric })),
  )
  expect(named.length).toBeGreaterThan(40)
  expect(named.filter(({ metric }) => !known.has(metric) && !known.has(toMetric(metric)))).toEqual([])
})

test('a command that does not exist is found', () => {
  expect(
    ['millrace workers lst', 'millrace holds list --older 9', 'kubectl destroy pod', 'rm file'].map(isKnown),
  ).toEqual([false, false, false, false])
})

/** Returns every line of a code block, and every piece of code in a sentence that begins like a command. */
function commandsOf(text: string): string[] {
  const lines = Array.from(text.matchAll(BLOCK), ([, block = '']) => block.split('\n')).flat()
  const inline = codeOf(text).filter((code) => /^(?:millrace|kubectl|helm) /.test(code))
  return [...lines, ...inline].map((line) => line.trim()).filter((line) => line !== '')
}

function codeOf(text: string): string[] {
  return Array.from(text.replaceAll(BLOCK, '').matchAll(CODE), ([, code = '']) => code)
}

function isKnown(command: string): boolean {
  const [program = '', ...words] = Array.from(
    command.matchAll(/"([^"]*)"|(\S+)/g),
    ([, quoted, bare]) => quoted ?? bare ?? '',
  )
  if (program === 'millrace') return isCommandOfMillrace(words)
  return VERBS[program]?.includes(words[0] ?? '') === true
}

function isCommandOfMillrace(words: string[]): boolean {
  try {
    return parseCommandLine(COMMANDS, words).kind === 'run'
  } catch {
    return false
  }
}
