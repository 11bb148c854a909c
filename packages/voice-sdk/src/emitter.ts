type Listener<About> = (about: About) => void
type Handlers<Events> = { [Name in keyof Events]?: Map<Listener<Events[Name]>, Listener<Events[Name]>> }

/** Events by name; a listener that throws holds nobody else back. */
export class Emitter<Events> {
  /** What is called, by what was given. */
  private readonly handlers: Handlers<Events> = {}

  /** @returns what takes the listener away again */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    return this.keep(name, listener, listener)
  }

  once<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    return this.keep(name, listener, (about) => {
      this.off(name, listener)
      listener(about)
    })
  }

  off<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): void {
    this.handlers[name]?.delete(listener)
  }

  protected emit<Name extends keyof Events>(name: Name, about: Events[Name]): void {
    for (const run of [...(this.handlers[name]?.values() ?? [])]) {
      try {
        run(about)
      } catch (error) {
        // As the browser does with a listener of its own: told, and the others go on.
        reportError(error)
      }
    }
  }

  protected forgetListeners(): void {
    for (const name in this.handlers) delete this.handlers[name]
  }

  private keep<Name extends keyof Events>(
    name: Name,
    listener: Listener<Events[Name]>,
    run: Listener<Events[Name]>,
  ): () => void {
    const listeners = this.handlers[name] ?? new Map()
    this.handlers[name] = listeners
    listeners.set(listener, run)
    return () => this.off(name, listener)
  }
}
