import { say } from './progress.mjs'
import { runNode } from './run-node.mjs'

const FOLDERS = ['apps', 'libs', 'test', 'scripts', 'bench']

const CHECKS = [
  { name: 'types', args: ['node_modules/typescript/bin/tsc'] },
  // Code of browsers: without the types of Node.
  { name: 'types of the console', args: ['node_modules/typescript/bin/tsc', '-p', 'apps/console/page'] },
  { name: 'types of the account page', args: ['node_modules/typescript/bin/tsc', '-p', 'apps/gateway/page'] },
  { name: 'lint', args: ['node_modules/oxlint/bin/oxlint', '--type-aware', ...FOLDERS] },
  { name: 'format', args: ['node_modules/oxfmt/bin/oxfmt', '--check', ...FOLDERS] },
  { name: 'dead code', args: ['node_modules/knip/bin/knip.js', '--no-progress'] },
]

const IMPORTS = {
  name: 'imports',
  args: [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'test/vitest.config.ts',
    '--project',
    'architecture',
  ],
}

/**
 * Runs the checks one after the other and resolves with the names of those that passed and that failed.
 *
 * @returns {Promise<{ passed: string[]; failed: string[] }>}
 */
export async function runChecks({ imports }) {
  /** @type {{ passed: string[]; failed: string[] }} */
  const outcome = { passed: [], failed: [] }
  for (const { name, args } of imports ? [...CHECKS, IMPORTS] : CHECKS) {
    say(`check: ${name}`)
    const code = await runNode(args)
    outcome[code === 0 ? 'passed' : 'failed'].push(name)
    if (code !== 0) say(`check: ${name} FAILED (exit code ${code})`)
  }
  return outcome
}
