import { parentPort } from 'node:worker_threads'
import { type ConversionRequest, convert } from './conversion.ts'
import type { ConversionReply } from './sound-converter.ts'
import { UnusableSound } from './unusable-sound.ts'

// The MP3 decoder prints each fault of a file.
console.error = () => {}

const reply = async (request: ConversionRequest): Promise<ConversionReply> => {
  try {
    return { conversion: await convert(request) }
  } catch (error) {
    if (error instanceof UnusableSound) return { fault: { code: error.code, reason: error.message } }
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

parentPort?.on('message', async (request: ConversionRequest) => parentPort?.postMessage(await reply(request)))
