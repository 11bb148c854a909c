import type { Dialog } from '../dialog/dialog.ts'
import type { Flow, SipTarget, TlsTrust } from '../transport/flow.ts'
import { locate, type SipResolver } from '../transport/locate.ts'
import { readUri, uriOf } from '../uri.ts'

/** Resolves the targets of our requests, best first. */
export class TargetResolver {
  private readonly names: SipResolver
  private readonly random: () => number

  constructor(names: SipResolver, random: () => number) {
    this.names = names
    this.random = random
  }

  /** @throws Error when a name cannot be resolved, SipError when `via` is not a URI */
  async resolve(via: Flow | SipTarget | string, trust?: TlsTrust): Promise<readonly (Flow | SipTarget)[]> {
    if (typeof via !== 'string') return [via]
    const found = await locate(readUri(via), this.names, this.random)
    return trust ? found.map((target) => ({ ...target, trust })) : found
  }

  /** Targets within a dialog. An open connection is reused; datagrams go to the dialog's next hop if that resolves. */
  async resolveInDialog(dialog: Dialog): Promise<readonly (Flow | SipTarget)[]> {
    const { flow, nextHop } = dialog
    if (flow?.isOpen && flow.protocol !== 'UDP') return [flow]
    const uri = uriOf(nextHop)
    // Browsers name a host that does not exist (RFC 7118, 5.2) and accept no connections.
    if (!uri || uri.host.endsWith('.invalid')) return this.lastKnown(dialog)
    try {
      const found = await locate(uri, this.names, this.random)
      return found.length > 0 ? found : this.lastKnown(dialog)
    } catch {
      return this.lastKnown(dialog)
    }
  }

  close(): void {
    this.names.close()
  }

  private lastKnown(dialog: Dialog): readonly (Flow | SipTarget)[] {
    if (dialog.flow?.isOpen) return [dialog.flow]
    const { hop } = dialog.snapshot()
    return hop.protocol === 'WS' || hop.protocol === 'WSS' ? [] : [hop]
  }
}
