import { html, svg, type TemplateResult } from 'lit-html'

const WIDTH = 120
const HEIGHT = 24

/** Draws a line of values over time, the newest at the right. `sentence` describes it in words. */
export function sparkline(values: readonly (number | null)[], sentence: string): TemplateResult {
  return html`<svg
    class="spark"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    preserveAspectRatio="none"
    role="img"
    aria-label=${sentence}
  >
    ${svg`<polyline points=${pointsOf(values)} fill="none" stroke="currentColor" vector-effect="non-scaling-stroke" />`}
  </svg>`
}

/**
 * Caches the drawn lines by their arrays of values, because a table draws hundreds of lines each second, and most
 * arrays are the same as before.
 */
const drawn = new WeakMap<readonly (number | null)[], string>()

function pointsOf(values: readonly (number | null)[]): string {
  const points = drawn.get(values) ?? toPoints(values)
  drawn.set(values, points)
  return points
}

function toPoints(values: readonly (number | null)[]): string {
  const known = values.filter((value) => value !== null)
  const top = Math.max(...known, 0)
  const step = WIDTH / Math.max(values.length - 1, 1)
  const toY = (value: number) => (top === 0 ? HEIGHT - 1 : HEIGHT - 1 - (value / top) * (HEIGHT - 3))
  return values
    .map((value, index) => (value === null ? '' : `${(index * step).toFixed(1)},${toY(value).toFixed(1)}`))
    .join(' ')
}

/** Draws a part of a whole as a bar. The number stands beside the bar, so screen readers skip the bar. */
export function bar(part: number, all: number): TemplateResult {
  const width = all === 0 ? 0 : Math.min(100, (100 * part) / all)
  return html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    ${svg`<rect class="rest" width="100" height="8" /><rect class="part" width=${width.toFixed(1)} height="8" />`}
  </svg>`
}
