export type FileCost = { project: string; name: string; tests: number; wallMs: number; cpuMs: number }

const DEAREST = 10

/**
 * Describes how a run of the tests used its processor time. The text has one line for each project, with the processor
 * seconds and the wall seconds of the project's files added up, and one line for each of the ten most expensive files.
 * Files run in parallel, so these sums may exceed the duration of the run. `allCpuMs` is the processor time of the
 * whole run.
 */
export function describeCosts(files: readonly FileCost[], allCpuMs: number): string {
  const othersMs = Math.max(0, allCpuMs - sum(files.map(({ cpuMs }) => cpuMs)))
  const projects = Map.groupBy(files, ({ project }) => project)
  const rows = [...projects].map(([project, of]) => ({
    name: project,
    files: of.length,
    tests: sum(of.map(({ tests }) => tests)),
    wallMs: sum(of.map(({ wallMs }) => wallMs)),
    cpuMs: sum(of.map(({ cpuMs }) => cpuMs)),
  }))
  const byProject = rows
    .sort((left, right) => right.cpuMs - left.cpuMs)
    .map(
      (row) =>
        `${seconds(row.cpuMs)} ${seconds(row.wallMs)}  ${row.name} (${row.tests} tests of ${row.files} files)\n`,
    )
  const dearest = [...files]
    .sort((left, right) => right.cpuMs - left.cpuMs)
    .slice(0, DEAREST)
    .map((file) => `${seconds(file.cpuMs)} ${seconds(file.wallMs)}  ${file.name}\n`)
  return [
    '  CPU s  wall s  by project: processor seconds, and the wall seconds of its files added up\n',
    ...byProject,
    `${seconds(othersMs)}          the servers that all tests share, and the test runner\n`,
    `  CPU s  wall s  the ${dearest.length} dearest files, their processes included\n`,
    ...dearest,
  ].join('')
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1).padStart(7)
}
