import type { FigureSpec } from './bench.ts'

// Figures that several benches, or several paces of one, report.

/** The cost of an operation, which most benches report. */
export const costFigures = (key: string, of: string): { [key: string]: FigureSpec } => ({
  [`${key}.node`]: { label: `${of}: CPU of Node`, unit: 'µs' },
  [`${key}.postgres`]: { label: `${of}: CPU of PostgreSQL`, unit: 'µs' },
  [`${key}.peer`]: { label: `${of}: CPU of the counterparts`, unit: 'µs' },
  [`${key}.cpu`]: { label: `${of}: CPU of all processes`, unit: 'µs', isHeadline: true },
  [`${key}.wal`]: { label: `${of}: WAL`, unit: 'B', isHeadline: true },
})

export const acceptFigures = (connections: number): { [key: string]: FigureSpec } => ({
  [`accepted.${connections}`]: { label: `accepted, ${connections} connections`, unit: '/s', isHeadline: true },
  [`empty.${connections}`]: { label: `empty route, ${connections} connections`, unit: '/s' },
  [`ratio.${connections}`]: {
    label: `accepted to empty route, ${connections} connections`,
    unit: '×',
    isHeadline: true,
  },
  [`p50.${connections}`]: { label: `time of a request, ${connections} connections, p50`, unit: 'ms' },
  [`p99.${connections}`]: { label: `time of a request, ${connections} connections, p99`, unit: 'ms' },
  ...costFigures(`cost.${connections}`, `an accepted SMS, ${connections} connections`),
})

export const compatFigures = (connections: number): { [key: string]: FigureSpec } => ({
  [`compat.${connections}`]: { label: `accepted in the shape of Twilio, ${connections} connections`, unit: '/s' },
  [`compat_ratio.${connections}`]: { label: `the same to the native interface, ${connections} connections`, unit: '×' },
})

export const relayFigures = (key: string, what: string): { [key: string]: FigureSpec } => ({
  [`${key}.relayed`]: { label: `relayed, ${what}`, unit: '/s', isHeadline: true },
  [`${key}.kannel`]: { label: `Kannel with its file store, ${what}`, unit: '/s' },
  [`${key}.ratio`]: { label: `relayed to Kannel with its file store, ${what}`, unit: '×', isHeadline: true },
  [`${key}.spool`]: { label: `relayed to Kannel with its spool, ${what}`, unit: '×' },
  [`${key}.p50`]: { label: `from the answer to submit_sm, ${what}, p50`, unit: 'ms' },
  [`${key}.p99`]: { label: `from the answer to submit_sm, ${what}, p99`, unit: 'ms' },
  [`${key}.kannelCpu`]: { label: `Kannel with its file store, ${what}: CPU of a message`, unit: 'µs' },
  ...costFigures(`${key}.cost`, `a relayed SMS, ${what}`),
})

const delayFigures = (key: string, what: string, isHeadline: boolean): { [key: string]: FigureSpec } => ({
  [`${key}.p50`]: { label: `${what}, p50`, unit: 'ms', isHeadline },
  [`${key}.p99`]: { label: `${what}, p99`, unit: 'ms', isHeadline },
  [`${key}.p999`]: { label: `${what}, p99.9`, unit: 'ms' },
})

export const paceFigures = (gateway: 'ours' | 'kannel', pace: number): { [key: string]: FigureSpec } => {
  const [key, at] = [`${gateway}.${pace}`, `${gateway === 'ours' ? '' : 'Kannel, '}${pace}/s`]
  const isHeadline = gateway === 'ours' && pace === 100
  return {
    ...delayFigures(`${key}.api`, `${at}: response of the API`, isHeadline),
    ...delayFigures(`${key}.submit`, `${at}: from the request to submit_sm`, false),
    ...delayFigures(`${key}.receipt`, `${at}: from the receipt to the webhook`, false),
    ...delayFigures(`${key}.inbound`, `${at}: from an inbound message to the webhook`, isHeadline),
    [`${key}.missing`]: { label: `${at}: callbacks that did not come`, unit: '×' },
    [`${key}.statements`]: { label: `${at}: statements of a message, nested ones included`, unit: '×' },
    ...costFigures(`${key}.cost`, `${at}, a message with receipt and webhook`),
  }
}

export const idleFigures = (key: string, what: string): { [key: string]: FigureSpec } => ({
  [`${key}.cpu`]: { label: `idle, ${what}: CPU of a core`, unit: '%', isHeadline: true },
  [`${key}.statements`]: { label: `idle, ${what}: statements`, unit: '/s', isHeadline: true },
  [`${key}.wakeUps`]: { label: `idle, ${what}: wake-ups`, unit: '/s' },
  [`${key}.wal`]: { label: `idle, ${what}: WAL a second`, unit: 'B' },
})

export const directFigures = (connections: number): { [key: string]: FigureSpec } => {
  const [key, at] = [`direct.${connections}`, `${connections} connection${connections === 1 ? '' : 's'}`]
  return {
    [`${key}.ours`]: { label: `accepted, ${at}`, unit: '/s' },
    [`${key}.yardstick`]: { label: `straightforward server, ${at}`, unit: '/s' },
    [`${key}.ratio`]: { label: `accepted to straightforward server, ${at}`, unit: '×', isHeadline: true },
    [`${key}.p50`]: { label: `time of a request, ${at}, p50`, unit: 'ms' },
    [`${key}.yardstickP50`]: { label: `straightforward server, time of a request, ${at}, p50`, unit: 'ms' },
  }
}
