import { randomBytes } from 'node:crypto'
import { readBinding, writeRoleConflict, writeSuccess } from '../codec/stun.ts'

/** An address with its port. */
export type Peer = { readonly address: string; readonly port: number }

type Credentials = { readonly ufrag: string; readonly password: string }

/** A browser tries some pairs; more than these of one call are not its own. */
const maxPeers = 32

/** ice-chars (RFC 8839, 5.4): letters and digits of these suffice. */
const word = (bytes: number) => randomBytes(bytes).toString('hex')

const keyOf = ({ address, port }: Peer) => `${address} ${port}`

/**
 * The lite side of ICE (RFC 8445, 2.5 and 7.3): it sits at an address that everybody reaches, answers checks, and uses the pair that the
 * browser nominates. Nothing else is accepted from an address that no signed check came from.
 */
export class Ice {
  local: Credentials = { ufrag: word(4), password: word(16) }
  private remoteUfrag: string | null = null
  /** Until the browser has heard of the new ones, checks with the old ones go on (RFC 8445, 9). */
  private former: (Credentials & { readonly remoteUfrag: string | null }) | null = null
  private readonly peers = new Set<string>()
  selected: Peer | null = null

  /** The browser's name; another one than before is a restart: we take new names too. */
  setRemote(ufrag: string): void {
    if (this.remoteUfrag !== null && this.remoteUfrag !== ufrag) {
      this.former = { ...this.local, remoteUfrag: this.remoteUfrag }
      this.local = { ufrag: word(4), password: word(16) }
      this.peers.clear()
      if (this.selected) this.peers.add(keyOf(this.selected))
    }
    this.remoteUfrag = ufrag
  }

  /** @returns the answer to a check, or null for what is none of ours */
  answer(packet: Buffer, peer: Peer): Buffer | null {
    const request = readBinding(packet)
    if (!request) return null
    // A browser that answers may check before its answer has reached us: then only our half of the name is known.
    const isFor = (mine: Credentials, theirs: string | null) =>
      (theirs === null
        ? request.username.startsWith(`${mine.ufrag}:`)
        : request.username === `${mine.ufrag}:${theirs}`) && request.isSigned(mine.password)
    const isCurrent = isFor(this.local, this.remoteUfrag)
    const former = !isCurrent && this.former && isFor(this.former, this.former.remoteUfrag) ? this.former : null
    if (!isCurrent && !former) return null
    const { password } = former ?? this.local
    if (request.controlled) return writeRoleConflict(request.transaction, password)
    if (this.peers.size < maxPeers) this.peers.add(keyOf(peer))
    if (!this.peers.has(keyOf(peer))) return null
    if (request.useCandidate && (isCurrent || !this.selected)) {
      this.selected = peer
      if (isCurrent) this.former = null
    }
    return writeSuccess(request.transaction, peer.address, peer.port, password)
  }

  knows(peer: Peer): boolean {
    const isSelected = this.selected?.port === peer.port && this.selected.address === peer.address
    return isSelected || this.peers.has(keyOf(peer))
  }
}
