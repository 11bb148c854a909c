/** How the supplier misbehaves, a number of times each. */
export const faultKinds = [
  /** Does what it was asked for, and closes the connection instead of answering. */
  'lose-answer',
  /** Closes the connection before it has done anything. */
  'lose-request',
  /** 429 with Retry-After. */
  'too-many',
  /** 500. */
  'broken',
  /** Answers after `ms`. */
  'slow',
  /** What it answers is not what its interface says. */
  'garbled',
  /** The number has just been sold to somebody else. */
  'number-gone',
  /** The order is taken, and canceled in the end. */
  'cancel-order',
  /** The order stays pending until the fault is cleared. */
  'hold-order',
] as const

export type FaultKind = (typeof faultKinds)[number]

export type Fault = {
  kind: FaultKind
  /** Only requests with this method, and with this path at the beginning; every one unless given. */
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

  /** The fault that meets this request, counted. */
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
