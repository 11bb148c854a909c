/** Replay list of the last 64 sequence numbers (RFC 3711, 3.3.2). Bit n is the number n below the highest one. */
export class ReplayWindow {
  static readonly size = 64
  private low = 0
  private high = 0

  /** @param below the highest number, 0 to 63 */
  has(below: number): boolean {
    return (((below < 32 ? this.low : this.high) >>> (below & 31)) & 1) === 1
  }

  add(below: number): void {
    if (below < 32) this.low |= 1 << below
    else this.high |= 1 << (below & 31)
  }

  /** Moves the window up to a new highest number, which is marked as received. */
  advance(by: number): void {
    this.high =
      by < 32 ? (this.high << by) | (this.low >>> (32 - by)) : by < ReplayWindow.size ? this.low << (by - 32) : 0
    this.low = by < 32 ? this.low << by : 0
    this.low |= 1
  }
}
