const STRING = /"(?:[^"\\]|\\.)*"/g
const MATCHERS = /\{[^{}]*\}/g
const LABEL_LIST = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^()]*\)/g
const RANGE = /\[[^[\]]*\]/g
const NAME = /[a-zA-Z_:][\w:]*/g
/** A name before a parenthesis is a function; the rest of the language are these words and units of time. */
const WORDS = new Set(['and', 'or', 'unless', 'offset', 'bool', 'inf', 'nan'])
const DURATION = /\b\d+(?:ms|[smhdwy])\b/g
const NUMBER = /\b\d+(?:\.\d+)?(?:e\d+)?\b/gi

/** The names of metrics and recorded series in an expression of PromQL. */
export function metricNames(expression: string): string[] {
  const bare = [STRING, MATCHERS, LABEL_LIST, RANGE, DURATION, NUMBER].reduce(
    (text, pattern) => text.replaceAll(pattern, ' '),
    expression,
  )
  const names = Array.from(bare.matchAll(NAME), ({ 0: name, index }) => ({
    name,
    isFunction: /^\s*\(/.test(bare.slice(index + name.length)),
  }))
  return names.filter(({ name, isFunction }) => !isFunction && !WORDS.has(name)).map(({ name }) => name)
}

/** The metric that a series of a histogram belongs to; other names stay. */
export function toMetric(series: string): string {
  return series.replace(/_(?:bucket|sum|count)$/, '')
}
