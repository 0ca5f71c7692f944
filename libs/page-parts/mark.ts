import { html, svg, type TemplateResult } from 'lit-html'

/** The meaning of a state for the viewer. Each meaning has its own shape besides its colour. */
export type Meaning = 'good' | 'busy' | 'off' | 'warn' | 'bad'

const SHAPES = {
  good: svg`<circle cx="6" cy="6" r="4" fill="currentColor" />`,
  busy: svg`<circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="1.6" stroke-dasharray="2 1.6" />`,
  off: svg`<circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="1.6" />`,
  warn: svg`<path d="M6 1.2 11.2 10.6H.8Z" fill="none" stroke="currentColor" stroke-width="1.6" />`,
  bad: svg`<path d="M6 1 11.4 10.8H.6Z" fill="currentColor" />`,
} as const

/** Shows a state with shape, word and colour. */
export function mark(meaning: Meaning, word: unknown): TemplateResult {
  return html`<span class="mark ${meaning}"
    ><svg viewBox="0 0 12 12" aria-hidden="true">${SHAPES[meaning]}</svg>${word}</span
  >`
}
