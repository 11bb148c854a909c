import { Counter, Gauge, Histogram, Registry } from 'prom-client'

/** Registry of the metrics of /metrics. */
export type Metrics = {
  readonly registry: Registry
  /** Returns the function that counts responses of a route; `elapsed` in milliseconds. */
  route(method: string, route: string): (status: number, elapsed: number) => void
  /** Registers a gauge that is read at each scrape. A name in `formerGauges` is served too, as deprecated. */
  gauge(name: string, help: string, labels: string[], read: () => Promise<GaugeReading[]> | GaugeReading[]): void
  /** @returns a function that counts events, one by default; the set of label values must be bounded */
  counter(name: string, help: string, labels: string[]): (labels: Record<string, string>, count?: number) => void
  /** @returns a function that records a duration in seconds; the set of label values must be bounded */
  histogram(
    name: string,
    help: string,
    labels: string[],
    buckets: number[],
  ): (labels: Record<string, string>, seconds: number) => void
}

/** Gauges by their new names, with the deprecated name under which each is still served. */
export const formerGauges: ReadonlyMap<string, string> = new Map([
  ['trunkline_smpp_window_available', 'trunkline_carriers_room'],
  ['trunkline_call_capacity_available', 'trunkline_calls_room'],
  ['trunkline_sms_pending_commit', 'trunkline_sms_accepting'],
  ['trunkline_supplier_catalogue_stale', 'trunkline_supplier_missing'],
  ['trunkline_msgapp_dead_letters', 'trunkline_msgapp_set_aside'],
])

export type GaugeReading = { labels: Record<string, string>; value: number }

export const makeMetrics = (): Metrics => {
  const registry = new Registry()
  const durations = new Histogram({
    name: 'trunkline_http_request_duration_seconds',
    help: 'Time from the request headers to the response',
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
      // Looks up a labelled child once, not for every request.
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
      const register = (shown: string, about: string) =>
        new Gauge({
          name: shown,
          help: about,
          labelNames,
          registers: [registry],
          async collect() {
            this.reset()
            for (const { labels, value } of await read()) this.set(labels, value)
          },
        })
      register(name, help)
      const former = formerGauges.get(name)
      if (former !== undefined) register(former, `Deprecated: use ${name}`)
    },
    counter: (name, help, labelNames) => {
      const counter = new Counter({ name, help, labelNames, registers: [registry] })
      return (labels, count = 1) => counter.inc(labels, count)
    },
    histogram: (name, help, labelNames, buckets) => {
      const histogram = new Histogram({ name, help, labelNames, buckets, registers: [registry] })
      return (labels, seconds) => histogram.observe(labels, seconds)
    },
  }
}
