import { Counter, Gauge, Histogram, Registry } from 'prom-client'

/** What /metrics shows. */
export type Metrics = {
  readonly registry: Registry
  /** The way to count the answers of a route; time in milliseconds. */
  route(method: string, route: string): (status: number, elapsed: number) => void
  /** A figure that is read when it is asked for; labels by name. */
  gauge(name: string, help: string, labels: string[], read: () => Promise<Reading[]> | Reading[]): void
  /** @returns counts one event; the values of labels must be bounded */
  counter(name: string, help: string, labels: string[]): (labels: Record<string, string>) => void
  /** @returns records a time in seconds; the values of labels must be bounded */
  histogram(
    name: string,
    help: string,
    labels: string[],
    buckets: number[],
  ): (labels: Record<string, string>, seconds: number) => void
}

export type Reading = { labels: Record<string, string>; value: number }

export const makeMetrics = (): Metrics => {
  const registry = new Registry()
  const durations = new Histogram({
    name: 'trunkline_http_request_duration_seconds',
    help: 'Time from the head of a request to its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers: [registry],
  })
  new Gauge({
    name: 'trunkline_process_resident_memory_bytes',
    help: 'Resident memory of this process',
    registers: [registry],
    collect() {
      this.set(process.memoryUsage.rss())
    },
  })
  return {
    registry,
    route: (method, route) => {
      // A labelled child is looked up once, not for every request.
      const children = new Map<number, { observe(value: number): void }>()
      return (status, elapsed) => {
        let child = children.get(status)
        if (!child) {
          child = durations.labels(method, route, String(status))
          children.set(status, child)
        }
        child.observe(elapsed / 1000)
      }
    },
    gauge: (name, help, labelNames, read) => {
      new Gauge({
        name,
        help,
        labelNames,
        registers: [registry],
        async collect() {
          this.reset()
          for (const { labels, value } of await read()) this.set(labels, value)
        },
      })
    },
    counter: (name, help, labelNames) => {
      const counter = new Counter({ name, help, labelNames, registers: [registry] })
      return (labels) => counter.inc(labels)
    },
    histogram: (name, help, labelNames, buckets) => {
      const histogram = new Histogram({ name, help, labelNames, buckets, registers: [registry] })
      return (labels, seconds) => histogram.observe(labels, seconds)
    },
  }
}
