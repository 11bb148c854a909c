/** The most recently set keys with their values; the oldest are evicted. */
export class LruMap<T> {
  private readonly entries = new Map<string, T>()
  private readonly capacity: number

  constructor(most: number) {
    this.capacity = most
  }

  get(key: string): T | undefined {
    return this.entries.get(key)
  }

  has(key: string): boolean {
    return this.entries.has(key)
  }

  delete(key: string): void {
    this.entries.delete(key)
  }

  set(key: string, value: T): void {
    this.entries.delete(key)
    this.entries.set(key, value)
    const [oldest] = this.entries.keys()
    if (this.entries.size > this.capacity && oldest !== undefined) this.entries.delete(oldest)
  }
}
