import { randomBytes } from 'node:crypto'
import { readBinding, writeRoleConflict, writeSuccess } from '@trunkline/rtp/stun.ts'
import { maxPeers } from '../limits.ts'

/** An address with its port. */
export type Peer = { readonly address: string; readonly port: number }

type Credentials = { readonly ufrag: string; readonly password: string }

/** Returns random ice-chars (RFC 8839, 5.4); hexadecimal digits suffice. */
const word = (bytes: number) => randomBytes(bytes).toString('hex')

const keyOf = ({ address, port }: Peer) => `${address} ${port}`

/**
 * The lite side of ICE (RFC 8445, 2.5 and 7.3). The server has a public address, answers checks, and uses the pair that
 * the browser nominates. Addresses without a signed check are ignored.
 */
export class Ice {
  local: Credentials = { ufrag: word(4), password: word(16) }
  private remoteUfrag: string | null = null
  /** Credentials before a restart. Checks with them continue until the browser knows the new ones (RFC 8445, 9). */
  private former: (Credentials & { readonly remoteUfrag: string | null }) | null = null
  private readonly peers = new Set<string>()
  selected: Peer | null = null

  /** Sets the browser's ufrag. A different one is an ICE restart, so our credentials change too. */
  setRemote(ufrag: string): void {
    if (this.remoteUfrag !== null && this.remoteUfrag !== ufrag) {
      this.former = { ...this.local, remoteUfrag: this.remoteUfrag }
      this.local = { ufrag: word(4), password: word(16) }
      this.peers.clear()
      if (this.selected) this.peers.add(keyOf(this.selected))
    }
    this.remoteUfrag = ufrag
  }

  /** @returns the response to a check; null if the packet is not a check for this call */
  answer(packet: Buffer, peer: Peer): Buffer | null {
    const request = readBinding(packet)
    if (!request) return null
    // An answering browser may send checks before its answer arrives; only our half of the user name is known then.
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
