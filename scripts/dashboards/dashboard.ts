/** A dashboard in this project's own form, which `toGrafana` converts. */
export type Dashboard = {
  /** The dashboard's name, and the name of its file. */
  readonly name: string
  readonly title: string
  /** True if the dashboard shows one model, which is chosen above the panels. */
  readonly byModel?: true
  readonly panels: readonly Panel[]
}

export type Panel = {
  readonly title: string
  /** One sentence that explains how to read the panel. */
  readonly help: string
  readonly unit: Unit
  readonly kind?: 'lines' | 'number'
  /**
   * PromQL expressions; the key of each expression is its legend. A legend may contain labels, such as `{{model}}`. In
   * an expression, `$namespace` and `$model` are the namespace and the model that the viewer has chosen above the
   * panels.
   */
  readonly shows: Readonly<Record<string, string>>
}

/** Grafana's names of units. */
type Unit = 'short' | 's' | 'reqps' | 'percentunit' | 'ops' | 'bool'

const PANELS_PER_ROW = 3
const WIDTH = 24 / PANELS_PER_ROW
const HEIGHT = 8

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' }

/** Returns the dashboard in the form of a Grafana file. */
export function toGrafana({ name, title, byModel, panels }: Dashboard) {
  const namespace = variable('namespace', 'label_values(millrace_build_info, namespace)')
  const model = variable(
    'model',
    'label_values(millrace_gateway_admissions_total{namespace="$namespace"}, model)',
  )
  return {
    uid: `millrace-${name}`,
    title: `Millrace: ${title}`,
    tags: ['millrace'],
    schemaVersion: 39,
    timezone: 'utc',
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        namespace,
        ...(byModel === true ? [model] : []),
      ],
    },
    panels: panels.map(toGrafanaPanel),
  }
}

function variable(name: string, query: string): object {
  return { name, label: name, type: 'query', datasource: DATASOURCE, query, refresh: 2, sort: 1 }
}

function toGrafanaPanel({ title, help, unit, kind = 'lines', shows }: Panel, index: number): object {
  return {
    id: index + 1,
    type: kind === 'lines' ? 'timeseries' : 'stat',
    title,
    description: help,
    datasource: DATASOURCE,
    gridPos: {
      x: (index % PANELS_PER_ROW) * WIDTH,
      y: Math.floor(index / PANELS_PER_ROW) * HEIGHT,
      w: WIDTH,
      h: HEIGHT,
    },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: Object.entries(shows).map(([legend, expr], n) => ({
      refId: 'ABCDEFGH'.charAt(n),
      datasource: DATASOURCE,
      legendFormat: legend,
      expr,
    })),
  }
}
