import type { Browser, Page } from 'playwright-core'
import { callFlags, launchChromium, wholeChromium } from '../chromium.ts'

/** Debian's Chromium, whose pages may make calls over the loopback. */
export const openBrowser = (): Promise<Browser> => launchChromium(callFlags, wholeChromium)

/** The sound that a page received: the strongest frequency, in hertz, and its level, in dB below full scale. */
export type Peak = { readonly hertz: number; readonly level: number }

/** A real browser as the peer of a call. It sends the tone of an oscillator, so that no audio filter changes it. */
export type PagePeer = {
  offer(options?: { iceRestart?: boolean }): Promise<string>
  answer(offer: string): Promise<string>
  accept(answer: string): Promise<void>
  direct(direction: 'sendonly' | 'sendrecv'): Promise<void>
  press(digits: string): Promise<void>
  peak(): Promise<Peak>
  stats(): Promise<{ codec: string; received: number; lost: number; sent: number; state: string }>
  close(): Promise<void>
}

const script = (hertz: number, codecs: readonly string[]) => `
  (() => {
    const peer = new RTCPeerConnection()
    const audio = new AudioContext()
    const oscillator = new OscillatorNode(audio, { frequency: ${hertz} })
    const gain = new GainNode(audio, { gain: 0.5 })
    const out = new MediaStreamAudioDestinationNode(audio)
    oscillator.connect(gain).connect(out)
    oscillator.start()
    const ear = new AnalyserNode(audio, { fftSize: 8192, smoothingTimeConstant: 0 })
    let source
    peer.ontrack = ({ track }) => {
      const stream = new MediaStream([track])
      const element = new Audio()
      element.srcObject = stream
      element.muted = true
      element.play()
      // The track comes again after a hold. Heard twice, a tone can cancel itself out.
      source?.disconnect()
      source = audio.createMediaStreamSource(stream)
      source.connect(ear)
    }
    const prefer = () => {
      const wanted = ${JSON.stringify(codecs)}
      const all = RTCRtpSender.getCapabilities('audio').codecs
      for (const transceiver of peer.getTransceivers())
        transceiver.setCodecPreferences(all.filter(({ mimeType }) => wanted.includes(mimeType.toLowerCase())))
    }
    const local = async (description) => {
      await peer.setLocalDescription(description)
      if (peer.iceGatheringState !== 'complete')
        await new Promise((resolve) => {
          peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && resolve()
        })
      return peer.localDescription.sdp
    }
    globalThis.phone = {
      offer: async (options) => {
        if (peer.getTransceivers().length === 0) peer.addTrack(out.stream.getTracks()[0], out.stream)
        prefer()
        return local(await peer.createOffer(options))
      },
      answer: async (sdp) => {
        await peer.setRemoteDescription({ type: 'offer', sdp })
        peer.addTrack(out.stream.getTracks()[0], out.stream)
        prefer()
        return local(await peer.createAnswer())
      },
      accept: (sdp) => peer.setRemoteDescription({ type: 'answer', sdp }),
      direct: (direction) => { peer.getTransceivers()[0].direction = direction },
      press: (digits) => peer.getSenders()[0].dtmf.insertDTMF(digits, 100, 50),
      peak: () => {
        const bins = new Float32Array(ear.frequencyBinCount)
        ear.getFloatFrequencyData(bins)
        let best = 1
        for (let i = 1; i < bins.length; i++) if (bins[i] > bins[best]) best = i
        return { hertz: (best * audio.sampleRate) / ear.fftSize, level: Math.max(-200, bins[best]) }
      },
      stats: async () => {
        const all = [...(await peer.getStats()).values()]
        const inbound = all.find(({ type }) => type === 'inbound-rtp')
        const outbound = all.find(({ type }) => type === 'outbound-rtp')
        const codec = all.find(({ id }) => id === inbound?.codecId)
        return {
          codec: codec?.mimeType ?? '',
          received: inbound?.packetsReceived ?? 0,
          lost: inbound?.packetsLost ?? 0,
          sent: outbound?.packetsSent ?? 0,
          state: peer.connectionState,
        }
      },
    }
  })()
`

const call = <T>(page: Page, verb: string, argument: unknown = null): Promise<T> =>
  page.evaluate(`phone.${verb}(${JSON.stringify(argument) ?? ''})`)

/** @param hertz of the tone sent @param codecs such as `audio/opus`, best first as the browser orders them */
export const openPage = async (browser: Browser, hertz: number, codecs: readonly string[]): Promise<PagePeer> => {
  const page = await browser.newPage()
  await page.evaluate(script(hertz, codecs))
  return {
    offer: (options = {}) => call(page, 'offer', options),
    answer: (offer) => call(page, 'answer', offer),
    accept: (answer) => call(page, 'accept', answer),
    direct: (direction) => call(page, 'direct', direction),
    press: (digits) => call(page, 'press', digits),
    peak: () => call(page, 'peak'),
    stats: () => call(page, 'stats'),
    close: () => page.close(),
  }
}
