import { randomBytes } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isRtcp } from '@trunkline/rtp/rtp.ts'
import { type AudioDescription, readAudio } from '@trunkline/rtp/sdp.ts'
import { RtpHeader, SrtpSession } from 'werift'
import type { Peer } from './peer.ts'
import { makeTelephone } from './telephone.ts'

/** The form of an offer: RTP/AVP with keys, RTP/SAVP with keys, both as two streams, or plain RTP. */
export type OfferForm = 'plain' | 'optional' | 'secure' | 'both'

export type SecurePeer = Peer & {
  /** True when the last exchange agreed on SRTP. */
  readonly isEncrypted: boolean
  /** Packets that arrived in clear while SRTP was agreed, or that failed authentication with the agreed key. */
  readonly wrong: number
  /** The last received description. */
  readonly theirs: string
}

const bound = async (): Promise<Socket> => {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return socket
}

const audioOf = (text: string): AudioDescription => {
  const audio = readAudio(text)
  if (typeof audio === 'string') throw new Error(audio)
  return audio
}

/** A carrier endpoint that uses SRTP with keys in SDP: a telephone behind werift's SRTP. */
export const makeSecurePeer = async (form: OfferForm, mayEncrypt = true): Promise<SecurePeer> => {
  const telephone = await makeTelephone()
  const [outer, inner, rtcp] = [await bound(), await bound(), await bound()]
  const key = randomBytes(30)
  let session: SrtpSession | null = null
  let remoteKey = ''
  let to: AudioDescription | null = null
  let [theirs, wrong] = ['', 0]

  inner.on('message', (packet: Buffer) => {
    if (!to) return
    const header = RtpHeader.deSerialize(packet)
    const sent = session ? session.encrypt(packet.subarray(header.payloadOffset), header) : packet
    outer.send(sent, to.port, to.address)
  })
  outer.on('message', (packet: Buffer) => {
    if (isRtcp(packet)) return
    try {
      inner.send(session ? session.decrypt(packet) : packet, telephone.port, '127.0.0.1')
    } catch {
      wrong++
    }
  })

  const take = (text: string): AudioDescription => {
    theirs = text
    const audio = audioOf(text)
    to = audio
    const [found] = mayEncrypt ? audio.crypto : []
    if (audio.protocol.startsWith('RTP/SAVP') && !found) throw new Error(`SRTP without a key: ${text}`)
    const read = found?.key.toString('hex') ?? ''
    if (read === remoteKey) return audio
    remoteKey = read
    session = found
      ? new SrtpSession({
          profile: 1,
          keys: {
            localMasterKey: key.subarray(0, 16),
            localMasterSalt: key.subarray(16),
            remoteMasterKey: found.key.subarray(0, 16),
            remoteMasterSalt: found.key.subarray(16),
          },
        })
      : null
    return audio
  }
  const keyLine = (tag: number) => `a=crypto:${tag} AES_CM_128_HMAC_SHA1_80 inline:${key.toString('base64')}|2^20`
  const described = (text: string, protocol: string, ...lines: string[]) =>
    [
      text
        .replace(/^m=audio \d+ \S+/m, `m=audio ${outer.address().port} ${protocol}`)
        .replace(/^a=rtcp:\d+/m, `a=rtcp:${rtcp.address().port}`),
      ...lines.map((line) => `${line}\r\n`),
    ].join('')
  // The telephone sends to the relay, in clear.
  await telephone.accept((await telephone.offer()).replace(/^m=audio \d+/m, `m=audio ${inner.address().port}`))

  return {
    ...telephone,
    get digits() {
      return telephone.digits
    },
    get sent() {
      return telephone.sent
    },
    get received() {
      return telephone.received
    },
    get isEncrypted() {
      return session !== null
    },
    get wrong() {
      return wrong
    },
    get theirs() {
      return theirs
    },
    offer: async () => {
      const text = await telephone.offer()
      // Unusable lines come first: DTLS, an unsupported suite and an unsupported key identifier.
      const unusable = keyLine(4).replace('SHA1_80', 'SHA1_32')
      const dtls = ['a=setup:actpass', `a=fingerprint:sha-256 ${Array(32).fill('AB').join(':')}`]
      const keys = [...dtls, unusable, `${keyLine(5)}|1:4`, keyLine(6)]
      if (form === 'plain') return described(text, 'RTP/AVP')
      if (form !== 'both') return described(text, form === 'secure' ? 'RTP/SAVP' : 'RTP/AVP', ...keys)
      const [, head = '', audio = ''] = /^(.*?)(m=audio .*)$/s.exec(text) ?? []
      return `${head}${described(audio, 'RTP/AVP')}${described(audio, 'RTP/SAVP', ...keys)}`
    },
    answer: async (offer) => {
      const { protocol, crypto, lines, index } = take(offer)
      const [found] = mayEncrypt ? crypto : []
      const text = described(await telephone.offer(), protocol, ...(found ? [keyLine(found.tag)] : []))
      const refused = (some: readonly string[]) => some.map(() => 'm=audio 0 RTP/AVP 0\r\n').join('')
      // The answer has as many streams as the offer (RFC 3264, 6).
      return `${text.replace(/^m=/m, `${refused(lines.slice(0, index))}m=`)}${refused(lines.slice(index + 1))}`
    },
    accept: async (answer) => void take(answer),
    close: async () => {
      await telephone.close()
      for (const socket of [outer, inner, rtcp]) socket.close()
    },
  }
}
