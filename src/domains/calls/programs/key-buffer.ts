import { maxWaitingKeys } from '../limits.ts'

/** Keys of a party that no verb has taken yet, so that a party may type ahead. Further keys are dropped. */
export class KeyBuffer {
  #keys: string[] = []
  readonly #listeners = new Set<() => void>()

  get isEmpty(): boolean {
    return this.#keys.length === 0
  }

  push(key: string): void {
    if (this.#keys.length >= maxWaitingKeys) return
    this.#keys.push(key)
    for (const listener of [...this.#listeners]) listener()
  }

  take(): string | null {
    return this.#keys.shift() ?? null
  }

  clear(): void {
    this.#keys = []
  }

  /** Calls a listener after each new key. Returns a function that ends it. */
  onKey(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Takes the next key; null after this time, or once the signal aborts. */
  async next(ms: number, signal: AbortSignal): Promise<string | null> {
    if (this.isEmpty && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const finish = () => {
          clearTimeout(timer)
          release()
          signal.removeEventListener('abort', finish)
          resolve()
        }
        const timer = setTimeout(finish, ms)
        const release = this.onKey(finish)
        signal.addEventListener('abort', finish)
      })
    }
    return signal.aborted ? null : this.take()
  }
}
