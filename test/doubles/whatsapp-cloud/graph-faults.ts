/** Faults of the network, each for a number of times. */
export const faultKinds = [
  /** An error of the Graph API with `code` and the HTTP status `status`, without executing the request. */
  'error',
  /** Executes the request and closes the connection instead of responding. */
  'lose-answer',
  /** Calls the webhook twice with the same bytes. */
  'twice',
  /** Sends the statuses of a message in reverse order, before the response. */
  'backwards',
] as const

export type FaultKind = (typeof faultKinds)[number]

export type Fault = {
  kind: FaultKind
  /** Limits the fault to a method and a part of the path. Default: all requests. */
  method?: string
  path?: string
  times: number
  code: number
  status: number
  /** Retry-After of an error. */
  seconds?: number
}

export class Faults {
  private list: Fault[] = []

  add(fault: Fault): void {
    this.list.push(fault)
  }

  clear(): void {
    this.list = []
  }

  /** Returns and counts a fault that applies. */
  take(kind: FaultKind, method = '', path = ''): Fault | null {
    const found = this.list.find(
      (one) =>
        one.kind === kind &&
        (one.method === undefined || one.method === method) &&
        (one.path === undefined || path.includes(one.path)),
    )
    if (!found) return null
    if (--found.times <= 0) this.list = this.list.filter((one) => one !== found)
    return found
  }
}
