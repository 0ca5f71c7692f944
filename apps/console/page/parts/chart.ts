import { html, type TemplateResult } from 'lit-html'
import { ref } from 'lit-html/directives/ref.js'
import type uPlot from 'uplot'

export type Series = { readonly name: string; readonly values: readonly (number | null)[] }

type Chart = {
  /** Describes the chart in a sentence with its main values, such as the present and the highest value. */
  readonly sentence: string
  /** The times in seconds since 1970, UTC. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  /** True if the series are stacked, as parts of a sum. */
  readonly isStacked?: boolean
  format(value: number): string
}

const HEIGHT = 180
const DAY_S = 24 * 60 * 60
const COLOURS = ['--line-1', '--line-2', '--line-3', '--line-4', '--line-5', '--line-6'] as const

export type ChartView = { view(chart: Chart): TemplateResult; close(): void }

/**
 * Creates a chart, with a button that shows the same numbers as a table. The chart library is loaded with the first
 * chart.
 */
export function createChart(): ChartView {
  let plot: uPlot | undefined
  let place: Element | undefined
  let drawn: Chart | undefined
  let closed = false
  const resized = new ResizeObserver(([entry]) => {
    if (entry !== undefined && entry.contentRect.width > 0) {
      plot?.setSize({ width: entry.contentRect.width, height: HEIGHT })
    }
  })
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const redraw = () => void draw()
  dark.addEventListener('change', redraw)
  const themed = new MutationObserver(redraw)
  themed.observe(document.documentElement, { attributeFilter: ['data-theme'] })

  async function draw(): Promise<void> {
    const { default: UPlot } = await import('uplot')
    if (closed || drawn === undefined || !(place instanceof HTMLElement)) return
    plot?.destroy()
    plot = new UPlot(toOptions(drawn, place), toData(drawn), place)
  }

  function mount(element: Element | undefined): void {
    if (element === place) return
    resized.disconnect()
    place = element
    if (element === undefined) return
    resized.observe(element)
    void draw()
  }

  return {
    view(chart) {
      if (drawn !== chart) {
        drawn = chart
        if (place !== undefined) void draw()
      }
      return html`<figure class="chart">
        <figcaption>${chart.sentence}</figcaption>
        <div class="plot" aria-hidden="true" ${ref(mount)}></div>
        <details>
          <summary>as table</summary>
          ${asTable(chart)}
        </details>
      </figure>`
    },
    close() {
      closed = true
      resized.disconnect()
      themed.disconnect()
      dark.removeEventListener('change', redraw)
      plot?.destroy()
    },
  }
}

function asTable({ times, series, format, sentence }: Chart): TemplateResult {
  return html`<div class="scroll" role="region" aria-label=${sentence} tabindex="0">
    <table>
      <thead>
        <tr>
          <th scope="col">Time (UTC)</th>
          ${series.map(({ name }) => html`<th scope="col" class="number">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${times.map(
          (time, index) =>
            html`<tr>
              <th scope="row">${new Date(time * 1_000).toISOString().slice(0, 16).replace('T', ' ')}</th>
              ${series.map(({ values }) => {
                const value = values[index] ?? null
                return html`<td class="number">${value === null ? '–' : format(value)}</td>`
              })}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}

function toOptions(chart: Chart, place: HTMLElement): uPlot.Options {
  const style = getComputedStyle(place)
  const colour = (name: string) => style.getPropertyValue(name).trim()
  const axis = {
    stroke: colour('--dim'),
    grid: { stroke: colour('--edge'), width: 1 },
    ticks: { show: false },
  }
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: chart.series.length > 1 },
    cursor: { drag: { x: false, y: false } },
    tzDate: (seconds) => new Date(seconds * 1_000 + new Date(seconds * 1_000).getTimezoneOffset() * 60_000),
    axes: [
      { ...axis, size: 30, values: (_, ticks) => ticks.map((tick) => toTick(tick, chart.times)) },
      { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => chart.format(tick)) },
    ],
    scales: { y: { range: (_, __, highest) => [0, Math.max(highest * 1.05, Number.EPSILON)] } },
    series: [
      { value: '{YYYY}-{MM}-{DD} {HH}:{mm}' },
      ...chart.series.map(({ name, values }, index) => ({
        label: name,
        stroke: colour(COLOURS[index % COLOURS.length] ?? '--line-1'),
        ...(chart.isStacked === true ? { fill: colour(COLOURS[index % COLOURS.length] ?? '--line-1') } : {}),
        width: 1.5,
        points: { show: false },
        value: (...[, , , at]: [uPlot, number | null, number, number | null]) => {
          const value = at === null ? null : (values[at] ?? null)
          return value === null ? '–' : chart.format(value)
        },
      })),
    ],
  }
}

/** Formats a tick in UTC: the day if the chart spans more than two days, else the time of day. */
function toTick(seconds: number, times: readonly number[]): string {
  const isLong = (times.at(-1) ?? 0) - (times[0] ?? 0) > 2 * DAY_S
  const text = new Date(seconds * 1_000).toISOString()
  return isLong ? text.slice(5, 10) : text.slice(11, 16)
}

function toData({ times, series, isStacked }: Chart): uPlot.AlignedData {
  if (isStacked !== true) return [[...times], ...series.map(({ values }) => [...values])]
  // Each series is drawn at the sum of itself and all later series. uPlot draws later series over earlier ones.
  const sums = times.map(() => 0)
  const stacked = series
    .toReversed()
    .map(({ values }) => sums.map((sum, index) => (sums[index] = sum + (values[index] ?? 0))))
  return [[...times], ...stacked.toReversed()]
}
