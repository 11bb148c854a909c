import type { Dialog } from '../dialog/dialog.ts'
import type { Flow, Target, Trust } from '../transport/flow.ts'
import { locate, type SipNames } from '../transport/locate.ts'
import { readUri, uriOf } from '../uri.ts'

/** Where requests of ours may go, best first. */
export class Ways {
  private readonly names: SipNames
  private readonly random: () => number

  constructor(names: SipNames, random: () => number) {
    this.names = names
    this.random = random
  }

  /** @throws Error when a name cannot be resolved, SipError when the URI is none */
  async to(via: Flow | Target | string, trust?: Trust): Promise<readonly (Flow | Target)[]> {
    if (typeof via !== 'string') return [via]
    const found = await locate(readUri(via), this.names, this.random)
    return trust ? found.map((target) => ({ ...target, trust })) : found
  }

  /** A connection that stands is used again; datagrams go where the dialog says, as long as that is an address. */
  async within(dialog: Dialog): Promise<readonly (Flow | Target)[]> {
    const { flow, nextHop } = dialog
    if (flow?.isOpen && flow.protocol !== 'UDP') return [flow]
    const uri = uriOf(nextHop)
    // Browsers name a host that does not exist (RFC 7118, 5.2), and cannot be connected to.
    if (!uri || uri.host.endsWith('.invalid')) return this.last(dialog)
    try {
      const found = await locate(uri, this.names, this.random)
      return found.length > 0 ? found : this.last(dialog)
    } catch {
      return this.last(dialog)
    }
  }

  close(): void {
    this.names.close()
  }

  private last(dialog: Dialog): readonly (Flow | Target)[] {
    if (dialog.flow?.isOpen) return [dialog.flow]
    const { hop } = dialog.freeze()
    return hop.protocol === 'WS' || hop.protocol === 'WSS' ? [] : [hop]
  }
}
