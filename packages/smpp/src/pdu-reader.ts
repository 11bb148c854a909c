import { type Address, noTlvs, statuses, type Tlvs } from './pdu.ts'

/**
 * Reads the fields of one PDU body in order. Never throws and never reads beyond the frame. The first field that does
 * not fit sets `fault`, and every later field is empty.
 */
export class PduReader {
  readonly frame: Buffer
  offset: number
  /** The command_status that answers the body; 0 while it is valid. */
  fault = 0

  constructor(frame: Buffer, offset: number) {
    this.frame = frame
    this.offset = offset
  }

  get left(): number {
    return this.frame.length - this.offset
  }

  byte(): number {
    if (this.fault || this.offset >= this.frame.length) return this.fail(statuses.ESME_RINVMSGLEN)
    return this.frame[this.offset++] ?? 0
  }

  /** A C-octet string of at most `size` octets, its NUL included (SMPP 3.4, 3.1). */
  text(size: number): string {
    if (this.fault) return ''
    const start = this.offset
    const end = Math.min(start + size, this.frame.length)
    for (let i = start; i < end; i++) {
      if (this.frame[i] === 0) {
        this.offset = i + 1
        return i === start ? '' : this.frame.toString('latin1', start, i)
      }
    }
    this.fail(statuses.ESME_RINVMSGLEN)
    return ''
  }

  /** A C-octet string whose NUL may be missing, as in the responses of some carriers. */
  lenientText(): string {
    const nul = this.frame.indexOf(0, this.offset)
    const end = nul < 0 ? this.frame.length : nul
    const text = this.frame.toString('latin1', this.offset, end)
    this.offset = Math.min(end + 1, this.frame.length)
    return text
  }

  address(size: number): Address {
    const ton = this.byte()
    const npi = this.byte()
    return { ton, npi, address: this.text(size) }
  }

  octets(length: number): Buffer {
    if (this.fault || length > this.left) {
      this.fail(statuses.ESME_RINVMSGLEN)
      return Buffer.alloc(0)
    }
    this.offset += length
    return this.frame.subarray(this.offset - length, this.offset)
  }

  /** Reads the rest as optional parameters; one that exceeds the frame is a fault. */
  tlvs(): Tlvs {
    if (this.fault || this.left === 0) return noTlvs
    const found = new Map<number, Buffer>()
    while (this.left > 0) {
      if (this.left < 4) {
        this.fail(statuses.ESME_RINVOPTPARSTREAM)
        break
      }
      const tag = this.frame.readUInt16BE(this.offset)
      const length = this.frame.readUInt16BE(this.offset + 2)
      this.offset += 4
      if (length > this.left) {
        this.fail(statuses.ESME_RINVPARLEN)
        break
      }
      found.set(tag, this.octets(length))
    }
    return found
  }

  /** As `tlvs`, but a fault only ends the list. */
  lenientTlvs(): Tlvs {
    const found = this.tlvs()
    this.fault = 0
    return found
  }

  private fail(fault: number): 0 {
    this.fault ||= fault
    return 0
  }
}
