import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { createSummaryReporter } from './support/summary-reporter.ts'

const WITH_SERVERS = { globalSetup: ['test/support/global-setup.ts'] }

/**
 * Test files share processes, because a process for each file, with its modules, takes a second. No file leaves
 * anything behind.
 */
const SHARED = { isolate: false }

/**
 * Tests that wait for nothing run before all others, in one process for each core: each further process would only load
 * the same modules once more.
 */
const FIRST = { ...SHARED, maxWorkers: '100%', sequence: { groupOrder: 0 } }

/**
 * Runs the projects in the order in which they are listed, so that the projects with the shared cluster follow one
 * another and it is started once. The files of a project keep Vitest's order.
 */
class ListedProjects extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const names = this.ctx.projects.map(({ name }) => name)
    const place = ({ project }: TestSpecification) => names.indexOf(project.name)
    const group = ({ project }: TestSpecification) => project.config.sequence.groupOrder
    return (await super.sort(files)).toSorted((a, b) => group(a) - group(b) || place(a) - place(b))
  }
}

/**
 * These files change the authorities that their process trusts. Node cannot restore them, because it drops authorities
 * that are in the list twice.
 */
const ALONE = [
  'test/integration/certificates/*.test.ts',
  'test/integration/redis-modes/connect-redis.test.ts',
]

const CLIENTS = 'test/e2e/clients/*.test.ts'
const PROGRAMS = 'test/e2e/clients/programs/*.test.ts'

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    reporters: ['default', createSummaryReporter()],
    setupFiles: ['test/support/cpu/account-file.ts'],
    pool: 'forks',
    // Node runs the TypeScript of the tests as it runs the apps' TypeScript, and keeps the compiled code. Nothing needs
    // Vite's transformations, because no module is mocked.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: ListedProjects, groupOrder: 1 },
    // More workers than the two cores of a small machine, because the longest tests mostly wait. Not many more, because
    // the servers and the apps under test need the processor as well.
    maxWorkers: 6,
    // These limits only end tests that hang. They are long, because on a machine with five processes for each core a
    // failover of 4 s takes 20 s.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // The interval is long, because most polls are requests to another process, which cost both processes milliseconds.
    expect: { poll: { timeout: 60_000, interval: 100 } },
    // The shared cluster is stopped at the end of the run, and drains before it stops.
    teardownTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/unit/**/*.test.ts'], ...FIRST } },
      {
        extends: true,
        test: { name: 'architecture', include: ['test/architecture/**/*.test.ts'], ...FIRST },
      },
      { extends: true, test: { name: 'model', include: ['test/protocol-model/**/*.test.ts'], ...FIRST } },
      {
        extends: true,
        test: { name: 'contract', include: ['test/contract/**/*.test.ts'], ...SHARED, ...WITH_SERVERS },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          exclude: ALONE,
          ...SHARED,
          ...WITH_SERVERS,
        },
      },
      { extends: true, test: { name: 'integration-alone', include: ALONE, ...WITH_SERVERS } },
      // `npm run test:chart`; needs Helm.
      { extends: true, test: { name: 'chart', include: ['test/chart/**/*.test.ts'] } },
      // `npm test` leaves it out.
      { extends: true, test: { name: 'soak', include: ['test/soak/**/*.test.ts'], ...WITH_SERVERS } },
      // `npm test` leaves it out: it needs a Docker engine.
      {
        extends: true,
        test: {
          name: 'containers',
          include: ['test/containers/**/*.test.ts'],
          globalSetup: ['test/containers/global-setup.ts'],
          // The files run one after the other, because they share the machine with the cluster that they watch.
          maxWorkers: 1,
          testTimeout: 600_000,
          hookTimeout: 900_000,
        },
      },
      // `npm run test:servers`.
      {
        extends: true,
        test: { name: 'servers', include: ['test/servers/**/*.test.ts'], ...SHARED, ...WITH_SERVERS },
      },
      // `npm run test:node`, which runs it in the namespaces of a node.
      {
        extends: true,
        test: {
          name: 'node',
          include: ['test/node/**/*.test.ts'],
          globalSetup: ['test/node/global-setup.ts'],
          // The files run one after the other, because they share the node.
          maxWorkers: 1,
          testTimeout: 1_800_000,
          hookTimeout: 1_800_000,
        },
      },
      // `npm run test:kube`; needs the programs of a Kubernetes control plane.
      {
        extends: true,
        test: {
          name: 'kube',
          include: ['test/kube/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts', 'test/kube/lab/global-setup.ts'],
          // The files run one after the other, because they share the control plane, its GPUs and the processor.
          maxWorkers: 1,
          testTimeout: 600_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: [CLIENTS, PROGRAMS],
          ...SHARED,
          ...WITH_SERVERS,
        },
      },
      // The console in a browser. Without Chromium these tests are skipped, and their set-up prints the reason.
      {
        extends: true,
        test: {
          name: 'console',
          include: ['test/console/**/*.test.ts'],
          ...SHARED,
          ...WITH_SERVERS,
          globalSetup: ['test/support/global-setup.ts', 'test/console/support/global-setup.ts'],
          setupFiles: ['test/console/support/check-pages.ts'],
        },
      },
      // Attacks from outside; `npm run test:attacks` runs their long forms.
      {
        extends: true,
        test: {
          name: 'attacks',
          include: ['test/attacks/**/*.test.ts'],
          ...SHARED,
          ...WITH_SERVERS,
        },
      },
      {
        extends: true,
        test: {
          name: 'chaos',
          include: ['test/chaos/**/*.test.ts'],
          ...SHARED,
          ...WITH_SERVERS,
        },
      },
      {
        extends: true,
        test: {
          name: 'programs',
          include: [PROGRAMS],
          ...SHARED,
          globalSetup: ['test/support/global-setup.ts', 'test/programs/global-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'clients',
          include: [CLIENTS],
          ...SHARED,
          ...WITH_SERVERS,
        },
      },
    ],
  },
})
