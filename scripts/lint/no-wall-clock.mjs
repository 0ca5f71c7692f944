// A plugin for oxlint: only one module (libs/clock/wall-clock.ts) reads the wall clock, for dates. The wall clock may
// step by hours, so no duration may depend on it. `new Date(value)`, `Date.parse` and `Date.UTC` read no clock.

const MESSAGE = 'The wall clock may step: performance.now() for durations, wallClockMs() for dates.'

const noWallClock = {
  create(context) {
    const report = (node) => context.report({ node, message: MESSAGE })
    const isDate = (node) =>
      (node.type === 'Identifier' && node.name === 'Date') ||
      (node.type === 'MemberExpression' && nameOf(node) === 'Date')
    return {
      // Reports `Date.now`, `globalThis.Date.now`, `Date['now']`, `Temporal.Now` and `performance.timeOrigin`, called
      // or passed on.
      MemberExpression(node) {
        const name = nameOf(node)
        if (name === 'now' && isDate(node.object)) report(node)
        if (name === 'Now' && node.object.name === 'Temporal') report(node)
        if (name === 'timeOrigin') report(node)
      },
      VariableDeclarator({ id, init }) {
        if (id.type === 'ObjectPattern' && init != null && isDate(init)) report(id)
      },
      NewExpression(node) {
        if (isDate(node.callee) && node.arguments.length === 0) report(node)
      },
      // `Date` called without `new` returns the present as text, whatever its arguments are.
      CallExpression(node) {
        if (isDate(node.callee)) report(node)
      },
    }
  },
}

function nameOf({ computed, property }) {
  return computed ? property.value : property.name
}

export default { meta: { name: 'clocks' }, rules: { 'no-wall-clock': noWallClock } }
