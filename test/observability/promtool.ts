import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'

/** The tests of alerts that need days of data take half a minute of an idle processor. */
const LIMIT_MS = 600_000

/**
 * Returns the path of Prometheus' promtool: from the Kubernetes lab (KUBE_LAB_BIN, else ~/.cache/kube-lab), else from
 * the PATH; null if there is none.
 */
export function findPromtool(): string | null {
  const inLab = join(process.env['KUBE_LAB_BIN'] ?? join(homedir(), '.cache/kube-lab'), 'promtool')
  if (existsSync(inLab)) return inLab
  return spawnSync('promtool', ['--version']).status === 0 ? 'promtool' : null
}

/** Runs promtool on files with these contents (JSON is YAML). If promtool fails, throws an Error with its output. */
export function runPromtool(
  promtool: string,
  command: readonly string[],
  files: Readonly<Record<string, unknown>>,
): void {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-rules-'))
  try {
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(join(folder, name), JSON.stringify(content))
    }
    const paths = Object.keys(files).map((name) => join(folder, name))
    const { status, error, stdout, stderr } = spawnSync(promtool, [...command, ...paths], {
      encoding: 'utf8',
      timeout: LIMIT_MS,
    })
    if (error !== undefined) throw error
    if (status !== 0) throw new Error(`${stdout}${stderr}`.trim())
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
