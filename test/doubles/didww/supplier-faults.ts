/** Faults of the supplier, each for a number of times. */
export const faultKinds = [
  /** Executes the request and closes the connection instead of responding. */
  'lose-answer',
  /** Closes the connection before executing the request. */
  'lose-request',
  /** 429 with Retry-After. */
  'too-many',
  /** 500. */
  'broken',
  /** Responds after `ms`. */
  'slow',
  /** Responds with a body that violates the API. */
  'garbled',
  /** The number has just been sold to another customer. */
  'number-gone',
  /** The order is accepted and later canceled. */
  'cancel-order',
  /** The order stays pending until the fault is cleared. */
  'hold-order',
] as const

export type FaultKind = (typeof faultKinds)[number]

export type Fault = {
  kind: FaultKind
  /** Limits the fault to a method and a path prefix. Default: all requests. */
  method?: string
  path?: string
  times: number
  ms: number
}

export class Faults {
  #list: Fault[] = []

  get list(): readonly Fault[] {
    return this.#list
  }

  add(fault: Fault): void {
    this.#list.push(fault)
  }

  clear(): void {
    this.#list = []
  }

  /** Returns and counts a fault that applies to this request. */
  take(kinds: readonly FaultKind[], method: string, path: string): Fault | null {
    const found = this.#list.find(
      (one) =>
        kinds.includes(one.kind) &&
        (one.method === undefined || one.method === method) &&
        (one.path === undefined || path.startsWith(one.path)),
    )
    if (!found) return null
    if (--found.times <= 0) this.#list = this.#list.filter((one) => one !== found)
    return found
  }

  has(kind: FaultKind): boolean {
    return this.#list.some((one) => one.kind === kind)
  }
}
