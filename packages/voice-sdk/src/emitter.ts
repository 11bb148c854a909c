type Handlers<Events> = { [Name in keyof Events]?: Set<(about: Events[Name]) => void> }

/** Events by name; a listener that throws holds nobody else back. */
export class Emitter<Events> {
  private readonly handlers: Handlers<Events> = {}

  /** @returns what takes the listener away again */
  on<Name extends keyof Events>(name: Name, listener: (about: Events[Name]) => void): () => void {
    const listeners = this.handlers[name] ?? new Set()
    this.handlers[name] = listeners
    listeners.add(listener)
    return () => this.off(name, listener)
  }

  once<Name extends keyof Events>(name: Name, listener: (about: Events[Name]) => void): () => void {
    const stop = this.on(name, (about) => {
      stop()
      listener(about)
    })
    return stop
  }

  off<Name extends keyof Events>(name: Name, listener: (about: Events[Name]) => void): void {
    this.handlers[name]?.delete(listener)
  }

  protected emit<Name extends keyof Events>(name: Name, about: Events[Name]): void {
    for (const listener of [...(this.handlers[name] ?? [])]) {
      try {
        listener(about)
      } catch (error) {
        // As the browser does with a listener of its own: told, and the others go on.
        reportError(error)
      }
    }
  }

  protected forgetListeners(): void {
    for (const name in this.handlers) delete this.handlers[name]
  }
}
