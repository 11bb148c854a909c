type Listener<Payload> = (payload: Payload) => void
type Handlers<Events> = { [Name in keyof Events]?: Map<Listener<Events[Name]>, Listener<Events[Name]>> }

/** Emits events by name. A listener that throws does not stop the others. */
export class Emitter<Events> {
  /** Functions to call, by the listener that was passed. */
  private readonly handlers: Handlers<Events> = {}

  /** @returns a function that removes the listener */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    return this.addListener(name, listener, listener)
  }

  once<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    return this.addListener(name, listener, (payload) => {
      this.off(name, listener)
      listener(payload)
    })
  }

  off<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): void {
    this.handlers[name]?.delete(listener)
  }

  protected emit<Name extends keyof Events>(name: Name, payload: Events[Name]): void {
    for (const run of [...(this.handlers[name]?.values() ?? [])]) {
      try {
        run(payload)
      } catch (error) {
        // Reports the error and continues, as the browser does with its own listeners.
        reportError(error)
      }
    }
  }

  protected forgetListeners(): void {
    for (const name in this.handlers) delete this.handlers[name]
  }

  private addListener<Name extends keyof Events>(
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
