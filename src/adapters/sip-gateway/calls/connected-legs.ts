/** The media legs of a call whose peers can hear. The media of a browser connect after its answer. */
export class ConnectedLegs {
  private readonly connections = new Map<string, PromiseWithResolvers<void>>()

  add(id: string): void {
    this.connectionOf(id).resolve()
  }

  /** Resolves once a leg is connected, or the wait for all has ended. */
  wait(id: string): Promise<void> {
    return this.connectionOf(id).promise
  }

  endWait(): void {
    for (const { resolve } of this.connections.values()) resolve()
  }

  private connectionOf(id: string): PromiseWithResolvers<void> {
    const connection = this.connections.get(id) ?? Promise.withResolvers<void>()
    this.connections.set(id, connection)
    return connection
  }
}
