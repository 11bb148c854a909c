/** The keys of a party, for the program that runs on its leg. */
export class PartyKeys {
  /** Fixed by the first key: some telephones send each key in both. */
  private transport: 'rtp' | 'info' | null = null
  private readonly listeners = new Set<(key: string) => void>()

  /** Returns whether a key counts: it came by the transport of the first one. */
  takes(transport: 'rtp' | 'info'): boolean {
    this.transport ??= transport
    return this.transport === transport
  }

  press(key: string): void {
    for (const listener of [...this.listeners]) listener(key)
  }

  /** Gives each key to a listener. Returns a function that ends it. */
  listen(listener: (key: string) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
}
