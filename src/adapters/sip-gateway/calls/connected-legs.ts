/** The media legs of a call whose peers can hear. The media of a browser connect after its answer. */
export class ConnectedLegs {
  private readonly ids = new Set<string>()
  private readonly waiting = new Map<string, PromiseWithResolvers<void>>()

  add(id: string): void {
    this.ids.add(id)
    this.waiting.get(id)?.resolve()
  }

  /** Resolves once a leg is connected, or the wait for all has ended. */
  async wait(id: string): Promise<void> {
    if (this.ids.has(id)) return
    const waiting = this.waiting.get(id) ?? Promise.withResolvers<void>()
    this.waiting.set(id, waiting)
    await waiting.promise
  }

  endWait(): void {
    for (const { resolve } of this.waiting.values()) resolve()
  }
}
