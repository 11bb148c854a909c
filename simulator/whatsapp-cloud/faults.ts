/** How the network misbehaves, a number of times each. */
export const faultKinds = [
  /** An error of the Graph API with `code`, under the HTTP status `status`, and nothing done. */
  'error',
  /** Does what it was asked for, and closes the connection instead of answering. */
  'lose-answer',
  /** Our callback is called twice with the same bytes. */
  'twice',
  /** What is told of a message comes in the opposite order, before its answer. */
  'backwards',
] as const

export type FaultKind = (typeof faultKinds)[number]

export type Fault = {
  kind: FaultKind
  /** Only requests with this method, and with this in the path; every one unless given. */
  method?: string
  path?: string
  times: number
  code: number
  status: number
  /** Of Retry-After, with an error. */
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

  /** The fault that meets this, counted. */
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
