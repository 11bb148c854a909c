#!/usr/bin/env node
// A voice agent without a provider: it answers a call with a media stream, sends back after half a second what it hears,
// plays a tone for each key, and ends the stream with *. Where the echo is, an agent has its recogniser, model and voice.
//
//   SECRET=whsec_… node examples/voice-agent.mjs
//
// PORT        of this server; default 3001
// PUBLIC_URL  where Trunkline reaches it; default http://127.0.0.1:PORT
// SECRET      of the application; without it, requests are taken unproved

import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { WebSocketServer } from 'ws'

const { PORT = '3001', PUBLIC_URL = `http://127.0.0.1:${PORT}`, SECRET = '' } = process.env
const format = 'audio/l16;rate=8000'
const samplesPerMs = 8
const echoMs = 500
const toneMs = 400

/** Checks a signature of Standard Webhooks. The handshake of a stream is signed with an empty body. */
const isGenuine = (headers, body) => {
  if (SECRET === '') return true
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures = '' } = headers
  if (!(Math.abs(Date.now() / 1_000 - Number(timestamp)) < 300)) return false
  const key = Buffer.from(SECRET.replace('whsec_', ''), 'base64')
  const right = Buffer.from(`v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`)
  return signatures.split(' ').some((one) => one.length === right.length && timingSafeEqual(Buffer.from(one), right))
}

/** Returns a tone: samples of 16 bits, little-endian. */
const toneOf = (hertz) => {
  const samples = Buffer.alloc(toneMs * samplesPerMs * 2)
  for (let n = 0; n < samples.length / 2; n++)
    samples.writeInt16LE(Math.round(8_000 * Math.sin((2 * Math.PI * hertz * n) / (samplesPerMs * 1_000))), n * 2)
  return samples
}

/** The tone of a key: 700 Hz for 0, and 100 Hz more for each next one. */
const keyTone = (digit) => toneOf(700 + 100 * '0123456789#'.indexOf(digit))

/** The program of the call. The verbs after the stream run once it has ended. */
const program = () => [
  { verb: 'stream', url: `${PUBLIC_URL.replace('http', 'ws')}/stream`, format, parameters: { greeting: 'tone' } },
  { verb: 'play', tone: { hertz: [400], on_ms: 300 } },
  { verb: 'hangup' },
]

const server = createServer(async (request, response) => {
  const body = await text(request)
  if (!isGenuine(request.headers, body)) return response.writeHead(401).end()
  console.log(`${request.method} ${request.url} ${body}`)
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(program()))
})

/** Talks with one caller, until the socket closes. */
const talk = (socket) => {
  let streamSid = ''
  let isToneOn = false
  const send = (frame) => socket.readyState === socket.OPEN && socket.send(JSON.stringify({ ...frame, streamSid }))
  const play = (audio) => send({ event: 'media', media: { payload: audio.toString('base64') } })
  const playTone = (tone) => {
    isToneOn = true
    // What waits to be played is dropped: the caller interrupts.
    send({ event: 'clear' })
    play(tone)
    // It comes back once the tone was played.
    send({ event: 'mark', mark: { name: 'tone' } })
  }
  const heard = {
    start: ({ start }) => {
      streamSid = start.streamSid
      console.log(`start ${start.callSid} ${JSON.stringify(start.customParameters)}`)
      playTone(toneOf(600))
    },
    media: ({ media }) => {
      const audio = Buffer.from(media.payload, 'base64')
      setTimeout(() => !isToneOn && play(audio), echoMs)
    },
    dtmf: ({ dtmf: { digit } }) => {
      console.log(`key ${digit}`)
      if (digit === '*') socket.close(1000)
      else playTone(keyTone(digit))
    },
    mark: ({ mark }) => {
      console.log(`mark ${mark.name}`)
      isToneOn = false
    },
    stop: () => console.log('stop'),
  }
  socket.on('message', (data) => {
    const frame = JSON.parse(data)
    heard[frame.event]?.(frame)
  })
  socket.on('error', (error) => console.error(error.message))
}

const streams = new WebSocketServer({ noServer: true })
server.on('upgrade', (request, socket, head) => {
  if (isGenuine(request.headers, '')) streams.handleUpgrade(request, socket, head, talk)
  else socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
})
server.listen(Number(PORT), () => console.log(`The agent answers at ${PUBLIC_URL}`))
