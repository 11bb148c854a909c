import type { Outbound } from '../../../platform/lib/outbound.ts'
import { OutboundError } from '../../../platform/lib/outbound-exchange.ts'
import { refusals as msgappRefusals } from '../../msgapp/refusals.ts'
import type { SimulatorClient, SimulatorFile } from '../simulator-client.ts'

/** Maximum bytes of a file that a handset sends; the simulator stores no larger one. */
const maxBytes = 33_554_432

const timeoutMs = 10_000

/**
 * Imports a file at a tenant's URL into the simulator, which fetches no tenant URLs itself. The URL and its redirects
 * are checked like any other tenant URL.
 * @throws the 400 Problem when the URL is refused or cannot be fetched
 */
export const importFile = async (
  outbound: Outbound,
  simulator: SimulatorClient,
  url: string,
): Promise<SimulatorFile> => {
  const signal = AbortSignal.timeout(timeoutMs)
  const { status, type, body } = await outbound.get({ url, idleMs: timeoutMs, signal }).catch((error: unknown) => {
    if (error instanceof OutboundError) throw msgappRefusals.urlRefused(error.message)
    throw error
  })
  let fault: string | null = status === 200 ? null : `answered ${status}`
  const bounded = async function* (): AsyncGenerator<Buffer> {
    let size = 0
    try {
      for await (const piece of body) {
        size += piece.length
        if (size > maxBytes) throw new Error(`leads to a file of more than ${maxBytes} bytes`)
        yield piece
      }
    } catch (error) {
      fault = error instanceof Error ? error.message : String(error)
      throw error
    }
  }
  try {
    if (fault !== null) throw msgappRefusals.urlRefused(fault)
    return await simulator.storeFile(bounded(), type?.split(';')[0]?.trim() || 'application/octet-stream')
  } catch (error) {
    if (fault !== null) throw msgappRefusals.urlRefused(fault)
    throw error
  } finally {
    body.destroy()
  }
}
