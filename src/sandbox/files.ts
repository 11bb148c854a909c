import { invalid } from '../http/problem.ts'
import type { Outbound } from '../lib/outbound.ts'
import { OutboundError } from '../lib/outbound-exchange.ts'
import type { Simulator, SimulatorFile } from './simulator.ts'

/** The longest file that a handset sends, bytes: what the simulator keeps of one. */
const longest = 33_554_432

const patienceMs = 10_000

const refuse = (why: string): never => invalid(`url ${why}`, 'url_refused')

/**
 * Brings the file at an address that somebody named to the simulator, which fetches nothing of the kind itself: the address
 * is judged like any other of a tenant, and so is each that it leads to.
 * @throws the 400 Problem when it may not be had, or cannot
 */
export const bringFile = async (outbound: Outbound, simulator: Simulator, url: string): Promise<SimulatorFile> => {
  const signal = AbortSignal.timeout(patienceMs)
  const { status, type, body } = await outbound.get({ url, idleMs: patienceMs, signal }).catch((error: unknown) => {
    if (error instanceof OutboundError) return refuse(error.message)
    throw error
  })
  let fault: string | null = status === 200 ? null : `answered ${status}`
  const bounded = async function* (): AsyncGenerator<Buffer> {
    let size = 0
    try {
      for await (const piece of body) {
        size += piece.length
        if (size > longest) throw new Error(`leads to a file of more than ${longest} bytes`)
        yield piece
      }
    } catch (error) {
      fault = error instanceof Error ? error.message : String(error)
      throw error
    }
  }
  try {
    if (fault !== null) return refuse(fault)
    return await simulator.keep(bounded(), type?.split(';')[0]?.trim() || 'application/octet-stream')
  } catch (error) {
    if (fault !== null) return refuse(fault)
    throw error
  } finally {
    body.destroy()
  }
}
